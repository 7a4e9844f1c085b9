//! What must hold of the rows that a node has, given what its clients were told.

pub mod counts;
pub mod members;
pub mod replicated;
pub mod requests;
pub mod schema;

use std::collections::{BTreeMap, BTreeSet};

use crate::client::Row;
use crate::workload::{History, Key, Restore, Write, read_row};

/// What the product promises beyond what it always does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promises {
    /// Logged batches over several partitions are whole after a crash, which takes the batch-log record.
    pub logged_batches_are_whole: bool,
}

impl Promises {
    /// What it promises today.
    pub const TODAY: Promises = Promises { logged_batches_are_whole: true };
}

/// Sentences about what does not hold, at most so many.
const VIOLATIONS_MAX: usize = 20;

/// Judges the rows of a node that stopped at `as_of`, nanoseconds of the world: later ends and writes do not count.
///
/// - Each row holds a value that somebody wrote there, with the bytes that go with it.
/// - An acknowledged value is there, or a later one of the same place, unless a TRUNCATE may have removed it, or, in `periodic`,
///   a cut came within a period of it.
/// - What was acknowledged before an acknowledged TRUNCATE began is gone, unless a snapshot that had it was brought back: then it is there.
/// - A batch is there whole or not at all.
pub fn check(history: &History, rows: &[Row], as_of: u64, promises: Promises) -> Vec<String> {
    let mut violations = history.violations.clone();
    let mut found: BTreeMap<Key, u64> = BTreeMap::new();
    for row in rows {
        match read_row(row) {
            Ok((key, value)) => {
                if let Err(what) = justify(history, key, value, as_of) {
                    violations.push(what);
                }
                if found.insert(key, value).is_some() {
                    violations.push(format!("{key:?} is there twice"));
                }
            }
            Err(what) => violations.push(what),
        }
    }
    kept(history, &found, as_of, &mut violations);
    whole(history, &found, as_of, promises, &mut violations);
    violations.truncate(VIOLATIONS_MAX);
    violations
}

/// Judges the rows of a node that was asked to take in a snapshot's files: they are back, or none of them is. What was written again meanwhile says
/// nothing.
pub fn check_refresh(history: &History, rows: &[Row], restore: &Restore) -> Option<String> {
    let found: BTreeMap<Key, u64> = rows.iter().filter_map(|row| read_row(row).ok()).collect();
    let is_of_before = |write: &Write| write.acknowledged.is_some_and(|at| at <= restore.of);
    let keys: BTreeSet<Key> =
        history.writes.iter().filter(|write| is_of_before(write)).map(|write| write.key).collect();
    let (mut back, mut missing) = (Vec::new(), Vec::new());
    for key in keys {
        match found.get(&key).and_then(|value| history.writes.get(*value as usize)) {
            None => missing.push(key),
            Some(write) if write.start <= restore.of => back.push(key),
            Some(_) => {}
        }
    }
    let (there, not_there) = (back.first()?, missing.first()?);
    let counts = (back.len(), missing.len());
    Some(format!("a refresh is there in part: {} rows, as {there:?}, but not {}, as {not_there:?}", counts.0, counts.1))
}

/// Whether the value may be there.
fn justify(history: &History, key: Key, value: u64, as_of: u64) -> Result<(), String> {
    let write = history.writes.get(value as usize).filter(|write| write.key == key && write.start <= as_of);
    let Some(write) = write else { return Err(format!("{key:?}: nobody wrote {value}")) };
    match write.acknowledged.filter(|at| *at <= as_of) {
        Some(at) if history.must_be_truncated(at, as_of) && !history.may_be_restored(write, as_of) => {
            Err(format!("{key:?}: {value} was acknowledged at {at}, then truncated, and is back"))
        }
        _ => Ok(()),
    }
}

/// Whether what was acknowledged is there.
fn kept(history: &History, found: &BTreeMap<Key, u64>, as_of: u64, violations: &mut Vec<String>) {
    for (value, write) in history.writes.iter().enumerate() {
        let Some(at) = write.acknowledged.filter(|at| *at <= as_of) else { continue };
        let may_be_gone = history.may_be_truncated(write.start, as_of) && !history.must_be_restored(write, as_of);
        if may_be_gone || history.may_be_lost(write) {
            continue;
        }
        match found.get(&write.key) {
            Some(there) if *there >= value as u64 => {}
            Some(there) => {
                violations.push(format!("{:?}: {value} was acknowledged at {at}, {there} is there", write.key));
            }
            None => {
                let end = history.ends.iter().find(|end| **end >= at);
                let what = "was acknowledged at";
                let key = write.key;
                violations.push(format!("{key:?}: {value} {what} {at} and is not there; the next end came at {end:?}"));
            }
        }
    }
}

/// Whether batches are whole.
fn whole(history: &History, found: &BTreeMap<Key, u64>, as_of: u64, promises: Promises, violations: &mut Vec<String>) {
    let mut batches: BTreeMap<u64, (BTreeSet<bool>, bool)> = BTreeMap::new();
    for (value, write) in history.writes.iter().enumerate() {
        let Some(batch) = write.batch else { continue };
        let is_there = found.get(&write.key) == Some(&(value as u64));
        let is_promised = batch.is_one_partition || promises.logged_batches_are_whole;
        let may_be_cut = !is_promised || (!batch.is_one_partition && history.may_be_truncated(write.start, as_of));
        let entry = batches.entry(batch.number).or_default();
        entry.0.insert(is_there);
        entry.1 |= may_be_cut;
    }
    for (number, (kinds, may_be_cut)) in batches {
        if kinds.len() > 1 && !may_be_cut {
            violations.push(format!("batch {number} is there in part"));
        }
    }
}

#[cfg(test)]
mod tests;
