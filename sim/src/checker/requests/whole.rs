//! Batches are there whole or not at all.

use std::collections::BTreeMap;

use histories::write_isolation::are_together;

use crate::workload::Key;
use crate::workload::requests::{Change, Effect, Extent, PIECE_ROWS, Requests, Seen};

/// Judges a read of a piece: all of its rows have one value, or none is there.
pub fn judge_piece(seen: &Seen, partition: i32) -> Result<(), String> {
    let rows = (0..PIECE_ROWS).map(|clustering| seen.rows.get(&Key { partition, clustering }).copied());
    let rows: Vec<Option<u64>> = rows.collect();
    match are_together(&rows) {
        true => Ok(()),
        false => Err(format!("piece {partition}: a read at {} gave {rows:?}, written in one go", seen.level)),
    }
}

/// Judges those logged batches that `must_be_whole`, given all rows when nothing is under way any more. What was changed again since tells nothing.
pub fn judge_batches(
    history: &Requests,
    rows: &BTreeMap<Key, u64>,
    must_be_whole: impl Fn(&Change) -> bool,
) -> Vec<String> {
    let mut violations = Vec::new();
    let judged = |change: &Change| change.is_logged && must_be_whole(change);
    for (number, change) in history.changes.iter().enumerate().filter(|(_, change)| judged(change)) {
        let Extent::Rows(keys) = &change.extent else { continue };
        let number = number as u64;
        let (mut there, mut missing) = (Vec::new(), Vec::new());
        for key in keys.iter() {
            let given = rows.get(key).copied();
            if given == Some(number) {
                there.push(*key);
                continue;
            }
            let later = &history.changes[number as usize + 1..];
            let is_gone = later
                .iter()
                .any(|change| change.effect == Effect::Delete && !change.is_void && change.extent.covers(*key));
            if !is_gone && given.is_none_or(|given| given < number) {
                missing.push(*key);
            }
        }
        let is_truncated = history.may_be_truncated(change.start, u64::MAX);
        if !there.is_empty() && !missing.is_empty() && !is_truncated {
            let Change { node, reach, start, acknowledged, ended, .. } = change;
            violations.push(format!(
                "logged batch {number}, asked of node {node} at {start}, reach {reach:?}, acknowledged {acknowledged:?}, ended {ended:?}: \
                 {there:?} are there, {missing:?} are missing"
            ));
        }
    }
    violations
}
