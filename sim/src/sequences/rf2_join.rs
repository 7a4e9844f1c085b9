//! *rf2-join*: RF 2, one replica is dead for good, and a third node joins. The operation ends, and the new node has what the other one has, whichever of the two it takes
//! ranges from.

use std::collections::BTreeSet;

use cql_protocol::Consistency;
use planted::Planted;

use super::course::{self, KEYS, create_keyspace, create_table, keys};

const JOINING: usize = 2;
/// Rows that both replicas have.
const BOTH: i32 = 24;
/// The last of those that the living one alone has.
const ONE: i32 = 48;

pub(super) fn run(seed: u64, planted: Planted) -> Result<Vec<String>, String> {
    course::run((seed, planted), &[3], |course| {
        course.form_of(&[0, 1])?;
        course.change_works(0, &create_keyspace("s", 2), "at the beginning")?;
        course.change_works(0, &create_table("t"), "at the beginning")?;
        course.write(0, Consistency::All, &(1..=BOTH).collect::<Vec<_>>())?;
        course.cut_power(1);
        course.write(0, Consistency::One, &(BOTH + 1..=ONE).collect::<Vec<_>>())?;
        course.join(JOINING, &[0]);
        course.ready(&[JOINING], "while a replica is dead")?;
        course.rest(&[0, JOINING])?;
        for node in [JOINING, 0] {
            let found = course.names(node, KEYS)?;
            let lost: BTreeSet<_> = keys(1..=ONE).difference(&found).cloned().collect();
            course.must(lost.is_empty(), || format!("node {node} has not the rows {lost:?}"));
        }
        Ok(())
    })
}
