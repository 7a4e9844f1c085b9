//! Promises about the answers on a ring, judged by the history of its clients. Each promise is a checker of its own:
//!
//! | checker | promise |
//! |---|---|
//! | [`acked`] | what was acknowledged is read from then on, at each level that meets that of the change, through any node; nothing is invented |
//! | [`monotonic`] | what one read has shown, a later read at a level that meets it does not take back |
//! | [`whole`] | a logged batch is there whole or not at all; what was written to one partition at once is never seen in half |
//! | [`sums`] | a count has each acknowledged amount once, and each other one once or not at all; none that was shown is taken back |
//! | [`converge`] | when all is quiet, each node alone gives what all together give |
//! | [`truncated`] | what was answered before an acknowledged TRUNCATE began is not seen after it |

pub mod acked;
pub mod converge;
pub mod monotonic;
pub mod sums;
pub mod truncated;
pub mod whole;

use crate::workload::Key;
use crate::workload::requests::{CountSeen, Effect, Reach, Requests, Seen};

/// Judges a read of the rows that it `asked` for. `repaired`: the replicas that have what it has shown from now on.
pub fn judge(history: &mut Requests, seen: &Seen, asked: impl Fn(Key) -> bool, repaired: Option<Reach>) {
    history.reads += 1;
    let keys: Vec<Key> = history.keys.iter().chain(seen.rows.keys()).copied().filter(|key| asked(*key)).collect();
    for key in keys {
        for judge_row in [acked::judge_row, monotonic::judge_row, truncated::judge_row] {
            if let Err(what) = judge_row(history, seen, key) {
                history.violations.push(what);
            }
        }
    }
    if let Some(reach) = repaired {
        monotonic::note(history, seen, &reach);
    }
}

/// Judges a read of a whole piece: of a partition whose rows are all written at once.
pub fn judge_piece(history: &mut Requests, seen: &Seen, partition: i32) {
    if let Err(what) = whole::judge_piece(seen, partition) {
        history.violations.push(what);
    }
}

/// Judges a read of a counter.
pub fn judge_count(history: &mut Requests, seen: &CountSeen) {
    history.reads += 1;
    if let Err(what) = sums::judge(&mut history.sums, seen, &history.factors) {
        history.violations.push(what);
    }
    // It may have shown what a node took along that ended meanwhile.
    if history.ended.is_some_and(|ended| seen.start <= ended) {
        history.sums.node_ended(seen.end);
    }
}

/// Judges a row of which a read must show the change `least` or a later one. A row that is not there was deleted at least as late.
fn at_least(history: &Requests, seen: &Seen, key: Key, least: u64, why: &str) -> Result<(), String> {
    let given = seen.rows.get(&key).copied();
    let explains = |(number, change): (usize, &crate::workload::requests::Change)| {
        let is_possible = change.start <= seen.end && !change.is_void && change.extent.covers(key);
        is_possible && change.effect == Effect::Delete && number as u64 >= least
    };
    let is_right = match given {
        Some(value) => value >= least,
        None => history.changes.iter().enumerate().any(explains),
    };
    match is_right {
        true => Ok(()),
        false => {
            let of = &history.changes[least as usize];
            Err(format!("{key:?}: a read at {} gave {given:?}, after {least} {why}: {of:?}", seen.level))
        }
    }
}

#[cfg(test)]
mod tests;
