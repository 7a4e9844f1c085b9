//! Reads do not go back: blocking read repair writes to the replicas of a read what it shows, before it shows it.
//!
//! A read may show what a replica has in memory and has not synced. If that node ends without an order, nothing is left of it where no replica had to be
//! repaired; so [`Requests::node_ended`] forgets what was shown shortly before, and a read during which a node ended is not noted.

use super::at_least;
use crate::workload::Key;
use crate::workload::requests::{Known, Reach, Requests, Seen};

/// Judges a row of a read by what earlier reads have shown.
pub fn judge_row(history: &Requests, seen: &Seen, key: Key) -> Result<(), String> {
    let is_due = |known: &&Known| {
        known.at < seen.start
            && known.reach.meets(&seen.reach, &history.factors)
            && !history.may_be_truncated(known.since, seen.end)
    };
    let least = history.known.get(&key).into_iter().flatten().filter(is_due).map(|known| known.value).max();
    match least {
        Some(least) => at_least(history, seen, key, least, "was shown by a read before"),
        None => Ok(()),
    }
}

/// Takes note of what a read has shown, which these replicas have from its end on.
pub fn note(history: &mut Requests, seen: &Seen, reach: &Reach) {
    // Its first page may have shown what that node took along.
    if history.ended.is_some_and(|ended| seen.start <= ended) {
        return;
    }
    let mut all_known = std::mem::take(&mut history.known);
    for (key, value) in &seen.rows {
        let known = all_known.entry(*key).or_default();
        // One of each reach is enough: the latest value, unless a TRUNCATE that was under way when it was shown excuses it.
        known.retain(|known| known.reach != *reach || !history.may_be_truncated(known.since, seen.start));
        if !known.iter().any(|known| known.value >= *value && known.reach == *reach) {
            known.push(Known { value: *value, reach: reach.clone(), since: seen.start, at: seen.end });
        }
    }
    history.known = all_known;
}
