//! A change that was answered before an acknowledged TRUNCATE began is not seen after it.
//!
//! The other half of the promise, that nothing is lost which was written after the acknowledgement, is that of [`super::acked`].

use crate::workload::Key;
use crate::workload::requests::{Requests, Seen, TruncateEnd};

/// Judges a row of a read.
pub fn judge_row(history: &Requests, seen: &Seen, key: Key) -> Result<(), String> {
    let Some(value) = seen.rows.get(&key) else { return Ok(()) };
    let Some(change) = history.changes.get(*value as usize) else { return Ok(()) };
    let takes = |start: u64, end: TruncateEnd| match end {
        TruncateEnd::Done(answered) => answered < seen.start && change.ended.is_some_and(|ended| ended < start),
        _ => false,
    };
    match history.truncations.iter().find(|truncation| takes(truncation.start, truncation.end)) {
        None => Ok(()),
        Some(truncation) => {
            Err(format!("{key:?}: a read at {} gave {value}, after {truncation:?}: {change:?}", seen.level))
        }
    }
}
