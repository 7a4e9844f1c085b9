//! What must hold of what a ring answers, given what its clients were told.

use std::collections::BTreeMap;

use crate::workload::{Change, Effect, Key, Replicated, Seen};

/// Judges what a read gave of the rows that it `asked` for.
///
/// - What it gave was written there, is not void, and was sent before the answer came.
/// - It is at least as late as every change that was acknowledged at ALL before the read began; and, if all replicas answered, as
///   every change that was acknowledged. A row that is not there was deleted at least as late, or never written.
/// - It is at least as late as what a repairing read of all replicas gave before, as long as no node has ended since.
pub fn judge(history: &mut Replicated, seen: &Seen, asked: impl Fn(Key) -> bool, repairs: bool) {
    history.reads += 1;
    let keys: Vec<Key> = history.keys.iter().chain(seen.rows.keys()).copied().filter(|key| asked(*key)).collect();
    for key in keys {
        let given = seen.rows.get(&key).copied();
        if let Err(what) = judge_row(history, seen, key, given) {
            history.violations.push(what);
        }
        if let (Some(value), true) = (given, repairs && seen.at_all && seen.ends == history.ends) {
            let known = history.observed.entry(key).or_insert((value, seen.end));
            if value > known.0 {
                *known = (value, seen.end);
            }
        }
    }
}

fn judge_row(history: &Replicated, seen: &Seen, key: Key, given: Option<u64>) -> Result<(), String> {
    let at = if seen.at_all { "ALL" } else { "ONE" };
    let is_due = |change: &Change| {
        change.acknowledged.is_some_and(|told| told < seen.start)
            && (change.at_all || seen.at_all)
            && change.extent.covers(key)
    };
    let observed = history.observed.get(&key).filter(|(_, when)| *when < seen.start).map(|(value, _)| *value);
    let acknowledged = history.changes.iter().rposition(is_due).map(|number| number as u64);
    let least = observed.max(acknowledged);
    let late_enough = |number: u64| least.is_none_or(|least| number >= least);
    let is_possible = |change: &Change| change.start <= seen.end && !change.is_void && change.extent.covers(key);
    match given {
        Some(value) => {
            let change = history.changes.get(value as usize);
            let is_right = change.is_some_and(|change| change.effect == Effect::Write && is_possible(change));
            if !is_right {
                return Err(format!("{key:?}: a read at {at} gave {value}, which nobody wrote: {change:?}"));
            }
            if !late_enough(value) {
                return Err(format!(
                    "{key:?}: a read at {at} gave {value}, after {least:?} ({acknowledged:?}, {observed:?})"
                ));
            }
        }
        None => {
            let is_deleted = |(number, change): (usize, &Change)| {
                change.effect == Effect::Delete && is_possible(change) && late_enough(number as u64)
            };
            if least.is_some() && !history.changes.iter().enumerate().any(is_deleted) {
                return Err(format!(
                    "{key:?}: a read at {at} gave nothing, after {least:?} ({acknowledged:?}, {observed:?})"
                ));
            }
        }
    }
    Ok(())
}

/// Whether logged batches are whole, given all rows when nothing is under way any more. What was changed again since tells
/// nothing.
pub fn whole(history: &mut Replicated, rows: &BTreeMap<Key, u64>) {
    let mut batches: BTreeMap<u64, (Vec<u64>, Vec<u64>)> = BTreeMap::new();
    for (number, change) in history.changes.iter().enumerate() {
        let (Some(batch), crate::workload::Extent::Row(key)) = (change.batch, change.extent) else { continue };
        let number = number as u64;
        let given = rows.get(&key).copied();
        let (there, missing) = batches.entry(batch).or_default();
        if given == Some(number) {
            there.push(number);
        } else {
            // It may have been written over by what is there, or deleted.
            let later = &history.changes[number as usize + 1..];
            let is_deleted = later
                .iter()
                .any(|change| change.effect == Effect::Delete && !change.is_void && change.extent.covers(key));
            if !is_deleted && given.is_none_or(|given| given < number) {
                missing.push(number);
            }
        }
    }
    for (batch, (there, missing)) in batches {
        if !there.is_empty() && !missing.is_empty() {
            history.violations.push(format!("logged batch {batch}: {there:?} are there, {missing:?} are missing"));
        }
    }
}

#[cfg(test)]
mod tests;
