//! *serial-read*: a conditional statement with its commit at ANY is answered once it is chosen, while the commit is on its way to the other replicas. A SERIAL read through another
//! node, which does not reach the first one, must show it; so must one after the commit has arrived.

use std::time::Duration;

use cql_protocol::Consistency;
use planted::Planted;
use runtime::Runtime;
use runtime::sim::Link;

use super::course::{self, Course, create_keyspace, create_table};
use crate::client::{Client, ClientError, Row};
use crate::site::Site;

/// The first node leads the group: its links are good.
const LEADER: usize = 0;
/// A delay in milliseconds: a statement takes two of them and has more time, and one is longer than a read takes that waits for a node in vain.
const DELAY_MIN: u64 = 500;
const DELAY_MAX: u64 = 700;
/// By then the commit has arrived.
const ARRIVED: Duration = Duration::from_secs(3);
const INSERT: &str = "INSERT INTO s.t (k, v) VALUES (2, 5) IF NOT EXISTS";
const SELECT: &str = "SELECT v FROM s.t WHERE k = 2";
const CUT: Link = Link {
    latency_min_nanos: 20_000,
    latency_max_nanos: 200_000,
    lost_per_million: 0,
    held_up_nanos: 0,
    reset_per_million: 0,
    is_cut: true,
};

pub(crate) fn run(seed: u64, planted: Planted) -> Result<Vec<String>, String> {
    course::run((seed, planted), &[3], |course| {
        course.form()?;
        course.change_works(LEADER, &create_keyspace("s", 3), "at the beginning")?;
        course.change_works(LEADER, &create_table("t"), "at the beginning")?;
        let (asked, reader) = if course.below(2) == 0 { (1, 2) } else { (2, 1) };
        // The connections of both are made before.
        course.write(asked, Consistency::All, &[1])?;
        course.write(reader, Consistency::All, &[1])?;
        let nanos = (DELAY_MIN + course.below(DELAY_MAX - DELAY_MIN)) * 1_000_000;
        for other in [LEADER, reader] {
            course.link_to(
                asked,
                other,
                Link { latency_min_nanos: nanos, latency_max_nanos: nanos, ..Link::default() },
            );
        }
        let applied = once(course, asked, Consistency::Any, INSERT)?;
        if applied.first().and_then(|row| row.first()) != Some(&Some(vec![1])) {
            return Err(format!("the statement is not applied: {applied:?}"));
        }
        let began = course.now();
        course.link_to(reader, asked, CUT);
        let rows = once(course, reader, Consistency::Serial, SELECT)?;
        let took = course.now() - began;
        if took.as_nanos() as u64 >= nanos {
            return Err(format!("the read took {took:?}: the commit may have arrived"));
        }
        shows_it(course, &rows, "before the commit has arrived");
        course.link_to(reader, asked, Link::default());
        course.run_for(ARRIVED);
        let rows = course.rows_at(reader, Consistency::Serial, SELECT)?;
        shows_it(course, &rows, "after the commit has arrived");
        Ok(())
    })
}

fn shows_it(course: &mut Course, rows: &[Row], when: &str) {
    let is_shown = rows == [vec![Some(5_i32.to_be_bytes().to_vec())]];
    course.must(is_shown, || format!("{when} a SERIAL read gives {rows:?}, and the statement was answered as applied"));
}

/// The answer of a node to a statement that is sent once.
fn once(course: &mut Course, node: usize, level: Consistency, text: &'static str) -> Result<Vec<Row>, String> {
    let address = course.site.native_address(node);
    let asking = course.begin(async move |runtime: Runtime| -> Result<Vec<Row>, ClientError> {
        let mut client = Client::connect(&runtime, address).await?;
        client.consistency = level;
        client.execute(text).await
    });
    match course.answer(&asking) {
        Some(Ok(rows)) => Ok(rows),
        answer => Err(format!("node {node} does not answer {text} at {level:?}: {answer:?}")),
    }
}
