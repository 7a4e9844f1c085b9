//! *truncate-crash*: a TRUNCATE is committed, a shard empties its memory, and new writes are acknowledged; power is cut before the shard's positions are
//! durable. After the start the new writes are there.
//!
//! A client reads at ONE and writes at ALL through one node, beside a TRUNCATE. A row that was written after a read had found the table empty must be kept by
//! that node, whose disk is slow: it starts alone and is asked for it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use cql_protocol::Consistency;
use planted::Planted;
use runtime::Runtime;
use runtime::sim::DiskSpeed;

use super::course::{self, Course, KEYS, Told, create_keyspace, create_table, insert, keys};
use crate::client::{Client, ClientError};
use crate::site::Site;

const ALL: [usize; 3] = [0, 1, 2];
/// Keys before the TRUNCATE; those that are written beside it follow.
const OLD: i32 = 4;
/// Power is cut within this time of the TRUNCATE's begin, or when the first row is acknowledged after the table was seen empty.
const CUT_WITHIN_MICROS: u64 = 200_000;
/// The disk of the node that is asked, from that moment on.
const SLOW: DiskSpeed = DiskSpeed { latency_min_nanos: 500_000, latency_max_nanos: 20_000_000 };

/// Keys whose writes were acknowledged.
#[derive(Debug, Default)]
struct Written {
    /// Begun after the table was seen without the old rows.
    after: BTreeSet<i32>,
    /// All.
    all: BTreeSet<i32>,
}

pub(super) fn run(seed: u64, planted: Planted) -> Result<Vec<String>, String> {
    course::run((seed, planted), &[3], |course| {
        course.form()?;
        course.change_works(0, &create_keyspace("s", 3), "at the beginning")?;
        course.change_works(0, &create_table("t"), "at the beginning")?;
        course.write(0, Consistency::All, &(1..=OLD).collect::<Vec<_>>())?;

        let (asked, node) = (course.below(3) as usize, course.below(3) as usize);
        let written: Rc<RefCell<Written>> = Rc::default();
        let (address, shared) = (course.site.native_address(node), written.clone());
        let writing = course.begin(move |runtime| write_on(runtime, address, shared));
        course.run_for(Duration::from_millis(20));
        let host = course.host(node);
        course.site.world().set_disk_speed(host, SLOW);
        let truncating = course.begin_change(asked, "TRUNCATE s.t");
        let at_first = course.below(4) > 0;
        let within = Duration::from_micros(if at_first { 10_000_000 } else { course.below(CUT_WITHIN_MICROS) });
        let has_written = || at_first && !written.borrow().after.is_empty();
        course.site.world().run_until(|_| has_written(), within);
        let is_answered = truncating.is_over();
        ALL.into_iter().for_each(|node| course.cut_power(node));
        course.site.world().set_disk_speed(host, DiskSpeed::default());
        drop(writing);
        let told = if is_answered { course.told(&truncating) } else { Told::Unknown("power was cut".to_owned()) };

        let written = written.take();
        if !written.after.is_empty() {
            stdx::sometimes!("written after the table was seen empty, before the cut");
        }
        // Each by itself: what another one has is no proof of what this one kept.
        let when = "after the cut";
        course.start(&[node]);
        course.ready(&[node], when)?;
        judge(course, node, &written, &told, when)?;
        let others: Vec<usize> = ALL.into_iter().filter(|other| *other != node).collect();
        course.start(&others);
        course.ready(&others, when)?;
        course.change_works(node, "TRUNCATE s.t", when)?;
        course.write(node, Consistency::All, &[1000])?;
        course.all_give(&ALL, KEYS, &keys([1000]), "after another TRUNCATE");
        Ok(())
    })
}

/// Writes one row after another, and reads all before each, until the node is gone.
async fn write_on(
    runtime: Runtime,
    address: std::net::SocketAddr,
    written: Rc<RefCell<Written>>,
) -> Result<(), ClientError> {
    let mut client = Client::connect(&runtime, address).await?;
    for key in OLD + 1.. {
        let rows = client.rows(KEYS, 500).await?;
        let is_old = |key: i32| rows.iter().any(|row| row[0].as_deref() == Some(&key.to_be_bytes()[..]));
        let is_emptied = !(1..=OLD).any(is_old);
        client.consistency = Consistency::All;
        client.run(&insert(key), None).await?;
        client.consistency = Consistency::One;
        let mut written = written.borrow_mut();
        written.all.insert(key);
        if is_emptied {
            written.after.insert(key);
        }
    }
    Ok(())
}

fn judge(course: &mut Course, node: usize, written: &Written, told: &Told, when: &str) -> Result<(), String> {
    let rows = course.names(node, KEYS)?;
    let lost: BTreeSet<String> = keys(written.after.iter().copied()).difference(&rows).cloned().collect();
    course.must(lost.is_empty(), || format!("{when} rows are lost that were written to the emptied table: {lost:?}"));
    let old: BTreeSet<String> = keys(1..=OLD).intersection(&rows).cloned().collect();
    let is_emptied = *told == Told::Done || !written.after.is_empty();
    course.must(!is_emptied || old.is_empty(), || format!("{when} truncated rows are back: {old:?}"));
    course.must(old.is_empty() || old.len() == OLD as usize, || format!("{when} a part of the old rows: {old:?}"));
    if !old.is_empty() {
        let lost: BTreeSet<String> = keys(written.all.iter().copied()).difference(&rows).cloned().collect();
        course.must(lost.is_empty(), || format!("{when} nothing was truncated, and rows are lost: {lost:?}"));
    }
    Ok(())
}
