//! Histories with answers that hold, and such as do not.

use super::*;
use crate::workload::Extent;

const KEY: Key = Key { partition: 1, clustering: 5 };

fn holds(history: &Replicated, at_all: bool, given: Option<u64>) -> bool {
    let rows = given.map(|value| (KEY, value)).into_iter().collect();
    let seen = Seen { start: 100, end: 110, at_all, ends: 0, rows };
    let mut history = history.clone();
    judge(&mut history, &seen, |_| true, false);
    history.violations.is_empty()
}

/// Changes of the row: what, at ALL, and when they were acknowledged.
fn history(changes: &[(Effect, bool, Option<u64>)]) -> Replicated {
    let mut history = Replicated::default();
    for &(effect, at_all, acknowledged) in changes {
        let number = history.begin(Extent::Row(KEY), effect, at_all, 1, None);
        history.changes[number as usize].acknowledged = acknowledged;
    }
    history
}

#[test]
fn what_all_have_every_replica_gives() {
    let all = history(&[(Effect::Write, true, Some(50))]);
    assert!(holds(&all, false, Some(0)) && holds(&all, true, Some(0)));
    assert!(!holds(&all, false, None) && !holds(&all, true, None));
    let meanwhile = history(&[(Effect::Write, true, Some(105))]);
    assert!(holds(&meanwhile, true, None), "it was acknowledged while the read was under way");
}

#[test]
fn what_one_has_all_together_give() {
    let one = history(&[(Effect::Write, false, Some(50))]);
    assert!(holds(&one, false, None), "the other replica may not have it");
    assert!(holds(&one, true, Some(0)) && !holds(&one, true, None));
}

#[test]
fn a_deleted_row_stays_away() {
    let deleted = history(&[(Effect::Write, true, Some(50)), (Effect::Delete, false, Some(60))]);
    assert!(holds(&deleted, true, None) && !holds(&deleted, true, Some(0)));
    assert!(holds(&deleted, false, Some(0)), "one replica may not have heard of it");
    let everywhere = history(&[(Effect::Write, true, Some(50)), (Effect::Delete, true, Some(60))]);
    assert!(!holds(&everywhere, false, Some(0)));
}

#[test]
fn nothing_is_invented() {
    let mut one = history(&[(Effect::Write, false, None)]);
    assert!(holds(&one, true, Some(0)) && !holds(&one, true, Some(1)));
    one.void(&[0]);
    assert!(!holds(&one, true, Some(0)), "it was refused before anything was done");
}

#[test]
fn what_was_repaired_is_not_taken_back() {
    let mut history = history(&[(Effect::Write, false, None)]);
    let rows: BTreeMap<Key, u64> = [(KEY, 0)].into();
    let seen = Seen { start: 10, end: 20, at_all: true, ends: 0, rows };
    judge(&mut history, &seen, |_| true, true);
    assert!(!holds(&history, false, None), "the read wrote it to all");
    history.node_ended();
    assert!(holds(&history, false, None), "it may not have been synced");
}

#[test]
fn logged_batches_are_whole() {
    let other = Key { partition: 2, clustering: 6 };
    let mut history = Replicated::default();
    for key in [KEY, other] {
        history.begin(Extent::Row(key), Effect::Write, false, 1, Some(1));
    }
    let mut judged = |rows: &[(Key, u64)]| {
        whole(&mut history, &rows.iter().copied().collect());
        std::mem::take(&mut history.violations).is_empty()
    };
    assert!(judged(&[]) && judged(&[(KEY, 0), (other, 1)]));
    assert!(!judged(&[(KEY, 0)]));
    assert!(judged(&[(KEY, 0), (other, 2)]), "it was written over");
}
