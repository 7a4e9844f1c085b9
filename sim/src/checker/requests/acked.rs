//! Acknowledged changes are read from then on, at each level that meets that of the change; and nothing is invented.

use super::at_least;
use crate::workload::Key;
use crate::workload::requests::{Change, Effect, Requests, Seen};

/// Judges a row of a read.
///
/// - A value is of a change that wrote this row, was sent before the answer, and was not refused as UNAVAILABLE.
/// - It is at least as late as each change that was acknowledged before the read began, whose replicas meet the read's, and which was not truncated since.
pub fn judge_row(history: &Requests, seen: &Seen, key: Key) -> Result<(), String> {
    if let Some(value) = seen.rows.get(&key) {
        let change = history.changes.get(*value as usize);
        let wrote = |change: &Change| {
            change.effect == Effect::Write && change.extent.covers(key) && change.start <= seen.end && !change.is_void
        };
        if !change.is_some_and(wrote) {
            return Err(format!("{key:?}: a read at {} gave {value}, which no client wrote: {change:?}", seen.level));
        }
    }
    let is_due = |change: &Change| {
        change.acknowledged.is_some_and(|told| told < seen.start)
            && change.extent.covers(key)
            && change.reach.meets(&seen.reach, &history.factors)
            && !history.may_be_truncated(change.start, seen.end)
    };
    match history.changes.iter().rposition(is_due) {
        Some(least) => at_least(history, seen, key, least as u64, "was acknowledged"),
        None => Ok(()),
    }
}

/// Judges a row of a read of one replica alone, after all hints have been delivered: it has what was acknowledged at any level, but for changes whose hints
/// may be `lost`.
pub fn lacking(history: &Requests, seen: &Seen, key: Key, lost: impl Fn(&Change) -> bool) -> Result<(), String> {
    let is_due = |change: &Change| {
        let is_told = change.acknowledged.is_some_and(|told| told < seen.start);
        is_told && change.extent.covers(key) && !lost(change) && !history.may_be_truncated(change.start, seen.end)
    };
    match history.changes.iter().rposition(is_due) {
        Some(least) => at_least(history, seen, key, least as u64, "was acknowledged and hinted"),
        None => Ok(()),
    }
}
