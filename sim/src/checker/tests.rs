//! Histories with rows that hold, and such as do not.

use super::*;
use crate::workload::{Batched, Restore, Truncate, Write, padding};

const KEY: Key = Key { partition: 1, clustering: 5 };

fn row(key: Key, value: u64) -> Row {
    vec![
        Some(key.partition.to_be_bytes().to_vec()),
        Some(key.clustering.to_be_bytes().to_vec()),
        Some(value.to_be_bytes().to_vec()),
        Some(padding(value)),
    ]
}

fn write(key: Key, start: u64, acknowledged: Option<u64>) -> Write {
    Write { key, start, acknowledged, batch: None }
}

fn history(writes: &[Write], truncates: &[(u64, Option<u64>)]) -> History {
    let truncates = truncates.iter().map(|&(start, acknowledged)| Truncate { start, acknowledged });
    History { writes: writes.to_vec(), truncates: truncates.collect(), ..History::default() }
}

/// All that there may be to promise.
const ALL: Promises = Promises { logged_batches_are_whole: true };

fn holds(history: &History, rows: &[Row]) -> bool {
    check(history, rows, 1000, ALL).is_empty()
}

#[test]
fn what_was_acknowledged_is_kept() {
    let one = history(&[write(KEY, 1, Some(2))], &[]);
    assert!(holds(&one, &[row(KEY, 0)]));
    assert!(!holds(&one, &[]));
    assert!(check(&one, &[], 1, ALL).is_empty(), "it was not acknowledged then");
    let two = history(&[write(KEY, 1, Some(2)), write(KEY, 3, None)], &[]);
    assert!(holds(&two, &[row(KEY, 0)]) && holds(&two, &[row(KEY, 1)]));
    let two = history(&[write(KEY, 1, Some(2)), write(KEY, 3, Some(4))], &[]);
    assert!(!holds(&two, &[row(KEY, 0)]), "an old value is back");
}

#[test]
fn what_came_within_a_period_of_a_cut_may_be_lost() {
    let mut history = history(&[write(KEY, 1, Some(20))], &[]);
    (history.loss_nanos, history.cuts) = (10, vec![25]);
    assert!(holds(&history, &[]) && holds(&history, &[row(KEY, 0)]));
    history.cuts = vec![15];
    assert!(holds(&history, &[]), "the answer was on its way");
    history.cuts = vec![0, 31];
    assert!(!holds(&history, &[]), "it was sent after one cut, and acknowledged a period before the other");
    (history.loss_nanos, history.cuts) = (0, vec![20, 25]);
    assert!(!holds(&history, &[]), "only periodic may lose");
}

#[test]
fn nothing_is_invented() {
    let one = history(&[write(KEY, 1, None)], &[]);
    assert!(holds(&one, &[]) && holds(&one, &[row(KEY, 0)]));
    assert!(!holds(&one, &[row(Key { clustering: 6, ..KEY }, 0)]));
    assert!(!holds(&one, &[row(KEY, 1)]));
    assert!(!check(&one, &[row(KEY, 0)], 0, ALL).is_empty(), "it was not sent then");
    let mut garbled = row(KEY, 0);
    garbled[3] = Some(vec![1; 7]);
    assert!(!holds(&one, &[garbled]));
    assert!(!holds(&one, &[row(KEY, 0), row(KEY, 0)]));
}

#[test]
fn what_was_truncated_stays_away() {
    let before = history(&[write(KEY, 1, Some(2))], &[(5, Some(9))]);
    assert!(holds(&before, &[]));
    assert!(!holds(&before, &[row(KEY, 0)]));
    let meanwhile = history(&[write(KEY, 1, Some(7))], &[(5, Some(9))]);
    assert!(holds(&meanwhile, &[]) && holds(&meanwhile, &[row(KEY, 0)]));
    let after = history(&[write(KEY, 10, Some(12))], &[(5, Some(9))]);
    assert!(holds(&after, &[row(KEY, 0)]));
    assert!(!holds(&after, &[]));
    let unknown = history(&[write(KEY, 1, Some(2)), write(KEY, 20, Some(30))], &[(5, None)]);
    assert!(holds(&unknown, &[]) && holds(&unknown, &[row(KEY, 1)]));
}

#[test]
fn what_a_snapshot_had_is_back_when_it_was_brought_back() {
    let restored = |of, start, acknowledged| {
        let mut history = history(&[write(KEY, 1, Some(2))], &[(5, Some(9))]);
        history.restores.push(Restore { of, start, acknowledged, by_refresh: false });
        history
    };
    let back = restored(4, 20, Some(30));
    assert!(holds(&back, &[row(KEY, 0)]) && !holds(&back, &[]));
    assert!(check(&back, &[], 29, ALL).is_empty(), "it was not back yet");
    assert!(!check(&back, &[row(KEY, 0)], 19, ALL).is_empty(), "nobody had begun");
    let unknown = restored(4, 20, None);
    assert!(holds(&unknown, &[]) && holds(&unknown, &[row(KEY, 0)]));
    let of_before = restored(0, 20, Some(30));
    assert!(holds(&of_before, &[]) && !holds(&of_before, &[row(KEY, 0)]), "the snapshot had nothing of it");
    let mut again = restored(4, 20, Some(30));
    again.truncates.push(Truncate { start: 40, acknowledged: Some(50) });
    assert!(holds(&again, &[]) && !holds(&again, &[row(KEY, 0)]), "it was truncated again");
}

#[test]
fn a_refresh_is_whole() {
    let other = Key { partition: 2, clustering: 6 };
    let restore = Restore { of: 4, start: 20, acknowledged: None, by_refresh: true };
    let writes = [write(KEY, 1, Some(2)), write(other, 1, Some(3)), write(other, 25, Some(26))];
    let history = history(&writes, &[(5, Some(9))]);
    let holds = |rows: &[Row]| check_refresh(&history, rows, &restore).is_none();
    assert!(holds(&[]) && holds(&[row(KEY, 0), row(other, 1)]));
    assert!(!holds(&[row(KEY, 0)]) && !holds(&[row(other, 1)]));
    assert!(holds(&[row(KEY, 0), row(other, 2)]) && holds(&[row(other, 2)]), "what was written since says nothing");
}

#[test]
fn batches_are_whole() {
    let other = Key { partition: 2, clustering: 6 };
    let batch = |is_one_partition| Some(Batched { number: 1, is_one_partition });
    let rows = |is_one_partition| {
        [KEY, other].map(|key| Write { batch: batch(is_one_partition), ..write(key, 1, None) }).to_vec()
    };
    let whole = [row(KEY, 0), row(other, 1)];
    for is_one_partition in [true, false] {
        let history = history(&rows(is_one_partition), &[]);
        assert!(holds(&history, &[]) && holds(&history, &whole));
        assert!(!holds(&history, &whole[..1]));
    }
    let truncated = history(&rows(false), &[(0, Some(5))]);
    assert!(holds(&truncated, &whole[..1]), "a TRUNCATE may have come between its partitions");
    assert!(!holds(&history(&rows(true), &[(0, Some(5))]), &whole[..1]));
}
