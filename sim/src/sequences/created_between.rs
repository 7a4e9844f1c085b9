//! *created-between*: a table is created while a node joins, at a phase that the seed chooses, and rows are written to it at ALL. They are on the joined node: those that
//! were written by plans from before *write both* are copied, all others are written to it.

use std::collections::BTreeSet;
use std::time::Duration;

use admin::{Answer, Question};
use cql_protocol::Consistency;
use planted::Planted;

use super::course::{self, Course, Told, create_keyspace, create_table, keys};
use crate::client::Statement;

const MEMBERS: [usize; 3] = [0, 1, 2];
const JOINING: usize = 3;
/// Rows of the table that is there before.
const OLD: i32 = 8;
/// Rows of the table that is created.
const ROWS: i32 = 24;
const LATE: &str = "SELECT k FROM s.late";
/// Between two looks at the operation.
const LOOK: Duration = Duration::from_millis(5);
/// For an answer, and until the operation has begun.
const AT_MOST: Duration = Duration::from_secs(60);

pub(super) fn run(seed: u64, planted: Planted) -> Result<Vec<String>, String> {
    course::run((seed, planted), &[4], |course| {
        course.form_of(&MEMBERS)?;
        course.change_works(0, &create_keyspace("s", 3), "at the beginning")?;
        course.change_works(0, &create_table("t"), "at the beginning")?;
        course.write(0, Consistency::All, &(1..=OLD).collect::<Vec<_>>())?;

        let wanted = ["queued", "planned", "write both", "copy"][course.below(4) as usize];
        course.join(JOINING, &[0, 1]);
        wait_for(course, wanted)?;
        let (asked, writer) = (course.below(3) as usize, course.below(3) as usize);
        let told = course.change(asked, &create_table("late"));
        if told != Told::Done {
            return Err(format!("the table is not created: {told:?}"));
        }
        for key in 1..=ROWS {
            course.run_at(writer, Consistency::All, &[late(key)])?;
            if key == 1 && phase(course)?.is_some() {
                stdx::sometimes!("written to a table that was created while a node joins");
            }
        }
        course.ready(&[JOINING], "after the table was created")?;
        course.rest(&[0, 1, 2, JOINING])?;
        let all = keys(1..=ROWS);
        for node in [JOINING, 0, 1, 2] {
            let found = course.names(node, LATE)?;
            let lost: BTreeSet<_> = all.difference(&found).collect();
            course.must(lost.is_empty(), || format!("created in {wanted}: node {node} has not the rows {lost:?}"));
        }
        Ok(())
    })
}

fn late(key: i32) -> Statement {
    Statement { text: "INSERT INTO s.late (k, v) VALUES (?, 0)", values: vec![key.to_be_bytes().to_vec()] }
}

/// The phase of the operation as a member knows it.
fn phase(course: &mut Course) -> Result<Option<String>, String> {
    match course.site.ask(0, Question::Operations, AT_MOST) {
        Some(Answer::Operations(facts)) => Ok(facts.operations.first().map(|operation| operation.phase.clone())),
        answer => Err(format!("node 0 does not tell its operations: {answer:?}")),
    }
}

/// Waits until the operation is in a phase, or has just left it between two looks.
fn wait_for(course: &mut Course, wanted: &str) -> Result<(), String> {
    const PHASES: [&str; 5] = ["queued", "planned", "write both", "copy", "read new"];
    let place = |phase: &str| PHASES.iter().position(|of| *of == phase);
    let deadline = course.now() + AT_MOST;
    while course.now() < deadline {
        if phase(course)?.is_some_and(|phase| place(&phase) >= place(wanted)) {
            return Ok(());
        }
        course.run_for(LOOK);
    }
    Err(format!("the operation is never {wanted}"))
}
