//! Reads do not go back: blocking read repair writes to the replicas of a read what it shows, before it shows it.
//!
//! A read may show what a replica has in memory and has not synced. If that node ends without an order, nothing is left of it where no replica had to be
//! repaired; so [`Requests::node_ended`] forgets what was shown shortly before.

use super::at_least;
use crate::workload::Key;
use crate::workload::requests::{Known, Reach, Requests, Seen};

/// Judges a row of a read by what earlier reads have shown.
pub fn judge_row(history: &Requests, seen: &Seen, key: Key) -> Result<(), String> {
    let is_due = |known: &&Known| {
        known.at < seen.start
            && known.reach.meets(&seen.reach, &history.factors)
            && !history.may_be_truncated(known.at, seen.end)
    };
    let least = history.known.get(&key).into_iter().flatten().filter(is_due).map(|known| known.value).max();
    match least {
        Some(least) => at_least(history, seen, key, least, "was shown by a read before"),
        None => Ok(()),
    }
}

/// Takes note of what a read has shown, which these replicas have from its end on.
pub fn note(history: &mut Requests, seen: &Seen, reach: &Reach) {
    for (key, value) in &seen.rows {
        let all = history.known.entry(*key).or_default();
        // One of each reach is enough: the latest value, as long as it was not shown later than what is asked about.
        if !all.iter().any(|known| known.value >= *value && known.reach == *reach) {
            all.push(Known { value: *value, reach: reach.clone(), at: seen.end });
        }
    }
}
