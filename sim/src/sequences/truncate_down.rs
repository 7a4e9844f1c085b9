//! *truncate-with-one-down*: a TRUNCATE needs all nodes. One that is known to be down has it refused, with nothing done; one that goes away meanwhile has it answered with an error,
//! and truncates when it applies the change.

use std::collections::BTreeSet;
use std::time::Duration;

use cql_protocol::Consistency;
use planted::Planted;
use runtime::sim::Link;

use super::course::{self, Course, KEYS, Told, create_keyspace, create_table, keys};

const ALL: [usize; 3] = [0, 1, 2];
const WRITTEN: [i32; 4] = [1, 2, 3, 4];
/// A silent node is down by then, whatever its gaps were.
const CONVICTED: Duration = Duration::from_secs(15);

pub(crate) fn run(seed: u64, planted: Planted) -> Result<Vec<String>, String> {
    course::run((seed, planted), &[3], |course| {
        course.form()?;
        course.change_works(0, &create_keyspace("s", 3), "at the beginning")?;
        course.change_works(0, &create_table("t"), "at the beginning")?;
        course.write(0, Consistency::All, &WRITTEN)?;
        let (asked, away) = (course.below(3) as usize, 1 + course.below(2) as usize);
        let away = (asked + away) % 3;
        refused_while_down(course, asked, away)?;
        an_error_if_one_goes_away(course, asked, away)
    })
}

fn refused_while_down(course: &mut Course, asked: usize, away: usize) -> Result<(), String> {
    course.cut_power(away);
    course.run_for(CONVICTED);
    let told = course.change(asked, "TRUNCATE s.t");
    let words = "Error during truncate: Cannot achieve consistency level ALL";
    let is_refused = matches!(&told, Told::NothingDone(sentence) if sentence.contains(words));
    course.must(is_refused, || format!("node {away} is down, and a TRUNCATE is answered {told:?}"));
    course.start(&[away]);
    course.ready(&[away], "after a TRUNCATE that was refused")?;
    course.all_give(&ALL, KEYS, &keys(WRITTEN), "after a TRUNCATE that was refused");
    Ok(())
}

fn an_error_if_one_goes_away(course: &mut Course, asked: usize, away: usize) -> Result<(), String> {
    let others: Vec<usize> = ALL.into_iter().filter(|node| *node != away).collect();
    course.run_for(CONVICTED);
    course.link(&others, &[away], Link { is_cut: true, ..Link::default() });
    let told = course.change(asked, "TRUNCATE s.t");
    course.must(told != Told::Done, || format!("node {away} is not reached, and a TRUNCATE is answered as done"));
    course.link(&others, &[away], Link::default());
    // It may have had no leader, so that nothing was logged.
    let rows: BTreeSet<String> = course.names(asked, KEYS)?;
    let is_whole = rows.is_empty() || rows == keys(WRITTEN);
    course.must(is_whole, || format!("a part of the rows after a TRUNCATE: {rows:?}"));
    course.all_give(&ALL, KEYS, &rows, "after all nodes have met again");
    Ok(())
}
