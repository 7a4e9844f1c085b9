//! *held-frame*: a write is held by a link until long after its client has its answer, by the other replicas; its row was
//! deleted, and the tombstone purged. The write must not apply when it arrives.

use std::collections::BTreeSet;
use std::time::Duration;

use admin::{Answer, Question, TableName};
use cql_protocol::Consistency;
use planted::Planted;
use runtime::sim::Link;

use super::course::{self, Course, KEYS, create_keyspace, keys};
use crate::client::Statement;

const ALL: [usize; 3] = [0, 1, 2];
/// The row that stays, the one whose write is held, and one that shows that tombstones were purged.
const STAYS: i32 = 1;
const HELD: i32 = 2;
const PURGED: i32 = 3;
/// Longer than the table's grace.
const GRACE: Duration = Duration::from_secs(3);
/// The longest that a flush or a compaction of a few rows may take.
const UPKEEP_AT_MOST: Duration = Duration::from_secs(30);
/// By then what a link held has arrived.
const ARRIVED: Duration = Duration::from_secs(5);

const CREATE: &str = "CREATE TABLE IF NOT EXISTS s.t (k int PRIMARY KEY, v int) WITH gc_grace_seconds = 1";
const DELETE: &str = "DELETE FROM s.t WHERE k = ?";
const INSERT_OLD: &str = "INSERT INTO s.t (k, v) VALUES (?, 1) USING TIMESTAMP 1";

pub(super) fn run(seed: u64, planted: Planted) -> Result<Vec<String>, String> {
    course::run((seed, planted), &[3], |course| {
        course.form()?;
        course.change_works(0, &create_keyspace("s", 3), "at the beginning")?;
        course.change_works(0, CREATE, "at the beginning")?;
        course.write(0, Consistency::All, &[STAYS, PURGED])?;

        let asked = course.below(3) as usize;
        let (held, other) = match course.below(2) {
            0 => ((asked + 1) % 3, (asked + 2) % 3),
            _ => ((asked + 2) % 3, (asked + 1) % 3),
        };
        course.link_to(asked, held, Link { is_cut: true, ..Link::default() });
        let cut = course.now();
        course.write(asked, Consistency::Quorum, &[HELD])?;
        run_at_all(course, other, DELETE, HELD)?;
        run_at_all(course, other, DELETE, PURGED)?;
        course.run_for(GRACE);
        ALL.into_iter().try_for_each(|node| purge(course, node))?;
        // Half of them come while their connection is still open.
        let lasts = if course.below(2) == 0 { Duration::from_secs(30) } else { Duration::from_secs(7) };
        let passed = course.now() - cut;
        course.run_for(lasts.saturating_sub(passed));
        course.link_to(asked, held, Link::default());
        course.run_for(ARRIVED);

        let is_there = |rows: &BTreeSet<String>, key: i32| keys([key]).is_subset(rows);
        for node in ALL {
            let rows = course.names(node, KEYS)?;
            let (is_back, stays) = (is_there(&rows, HELD), is_there(&rows, STAYS));
            course.must(!is_back, || format!("a write that the link held for {lasts:?} was applied: node {node}"));
            course.must(stays, || format!("a row that nothing deleted is gone: node {node}"));
        }
        // Otherwise the tombstone would have hidden what came.
        run_at_all(course, other, INSERT_OLD, PURGED)?;
        let rows = course.names(held, KEYS)?;
        match is_there(&rows, PURGED) {
            true => Ok(()),
            false => Err("tombstones are still there: it shows nothing".to_owned()),
        }
    })
}

/// Runs a statement about one key at ALL.
fn run_at_all(course: &mut Course, node: usize, text: &'static str, key: i32) -> Result<(), String> {
    course.run_at(node, Consistency::All, &[Statement { text, values: vec![key.to_be_bytes().to_vec()] }])
}

/// Writes a node's tables to files, and compacts them without what is deleted.
fn purge(course: &mut Course, node: usize) -> Result<(), String> {
    let table = || vec![TableName { keyspace: "s".to_owned(), table: "t".to_owned() }];
    for question in [Question::Flush(table()), Question::Compact(table())] {
        let words = format!("{question:?}");
        match course.site.ask(node, question, UPKEEP_AT_MOST) {
            Some(Answer::Done) => {}
            other => return Err(format!("node {node} answers {words} with {other:?}")),
        }
    }
    Ok(())
}
