//! *truncate-late-write*: a write is acknowledged by a quorum, and a link delays it on its way to the third replica by less than the time that it may take.
//! Meanwhile TRUNCATE is acknowledged. The write must not apply when it arrives.

use std::time::Duration;

use cql_protocol::Consistency;
use planted::Planted;
use runtime::sim::Link;

use super::course::{self, KEYS, Told, create_keyspace, create_table, keys};

/// The first node leads the group: its links are good.
const LEADER: usize = 0;
const ALL: [usize; 3] = [0, 1, 2];
/// A delay in milliseconds: longer than a TRUNCATE takes, shorter than a write may take.
const DELAY_MIN: u64 = 900;
const DELAY_MAX: u64 = 1_700;
/// By then the write has arrived.
const ARRIVED: Duration = Duration::from_secs(3);
const LATE: i32 = 2;
const AFTER: i32 = 3;

pub(super) fn run(seed: u64, planted: Planted) -> Result<Vec<String>, String> {
    course::run((seed, planted), &[3], |course| {
        course.form()?;
        course.change_works(LEADER, &create_keyspace("s", 3), "at the beginning")?;
        course.change_works(LEADER, &create_table("t"), "at the beginning")?;
        course.write(LEADER, Consistency::All, &[1])?;
        let (asked, late) = if course.below(2) == 0 { (1, 2) } else { (2, 1) };
        // The connection between the two is made before.
        course.write(asked, Consistency::All, &[1])?;
        let nanos = (DELAY_MIN + course.below(DELAY_MAX - DELAY_MIN)) * 1_000_000;
        course.link_to(asked, late, Link { latency_min_nanos: nanos, latency_max_nanos: nanos, ..Link::default() });
        course.write(asked, Consistency::Quorum, &[LATE])?;
        let began = course.now();
        let told = course.change(LEADER, "TRUNCATE s.t");
        let took = course.now() - began;
        if told != Told::Done || took.as_nanos() as u64 >= nanos {
            return Err(format!("TRUNCATE was answered with {told:?} after {took:?}: it shows nothing"));
        }
        course.run_for(ARRIVED);
        course.link_to(asked, late, Link::default());
        for node in ALL {
            let rows = course.names(node, KEYS)?;
            let is_empty = rows.is_empty();
            course
                .must(is_empty, || format!("what was acknowledged before TRUNCATE is back: node {node} has {rows:?}"));
        }
        course.write(asked, Consistency::All, &[AFTER])?;
        for node in ALL {
            let rows = course.names(node, KEYS)?;
            let has_it = keys([AFTER]).is_subset(&rows);
            course.must(has_it, || format!("a row that was written after TRUNCATE is lost: node {node} has {rows:?}"));
        }
        Ok(())
    })
}
