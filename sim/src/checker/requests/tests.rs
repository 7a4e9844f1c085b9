//! Each checker is given histories with answers that hold, and such as do not, which it must find.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use super::*;
use crate::workload::requests::{Change, Extent, OPEN_MAX, PIECE_ROWS, PIECES_FROM, Sums, TruncateEnd, Truncation};

const KEY: Key = Key { partition: 1, clustering: 5 };
const OTHER: Key = Key { partition: 2, clustering: 6 };
const ONE: Reach = Reach::Some(1);
const QUORUM: Reach = Reach::Some(2);
const ALL: Reach = Reach::Some(3);

fn three() -> Requests {
    Requests { factors: vec![3], ..Requests::default() }
}

/// Sends a change at `start`, and has it answered.
fn change(history: &mut Requests, keys: &[Key], effect: Effect, reach: &Reach, start: u64, acknowledged: Option<u64>) {
    let change = Change::of(Extent::Rows(Rc::from(keys)), effect, reach.clone(), 0, start);
    history.begin(Change { is_logged: keys.len() > 1, acknowledged, ended: acknowledged, ..change });
}

fn seen(start: u64, reach: &Reach, rows: &[(Key, u64)]) -> Seen {
    let level = format!("{reach:?}");
    Seen { start, end: start + 10, reach: reach.clone(), level, rows: rows.iter().copied().collect() }
}

/// True if a read of KEY holds.
fn holds(history: &mut Requests, start: u64, reach: &Reach, given: Option<u64>) -> bool {
    let rows: Vec<(Key, u64)> = given.map(|value| (KEY, value)).into_iter().collect();
    judge(history, &seen(start, reach, &rows), |key| key == KEY, None);
    std::mem::take(&mut history.violations).is_empty()
}

#[test]
fn acked_what_a_quorum_has_every_quorum_gives() {
    let mut history = three();
    change(&mut history, &[KEY], Effect::Write, &QUORUM, 10, Some(20));
    assert!(holds(&mut history, 100, &QUORUM, Some(0)) && holds(&mut history, 100, &ALL, Some(0)));
    assert!(!holds(&mut history, 100, &QUORUM, None) && !holds(&mut history, 100, &ALL, None));
    assert!(holds(&mut history, 100, &ONE, None), "the third replica may not have it");
    assert!(holds(&mut history, 15, &QUORUM, None), "it was acknowledged while the read was under way");
    change(&mut history, &[KEY], Effect::Write, &ONE, 30, Some(40));
    assert!(holds(&mut history, 100, &QUORUM, Some(0)) && holds(&mut history, 100, &QUORUM, Some(1)));
    assert!(!holds(&mut history, 100, &ALL, Some(0)), "all replicas together have what one has");
}

#[test]
fn acked_a_row_that_is_not_there_was_deleted() {
    let mut history = three();
    change(&mut history, &[KEY], Effect::Write, &QUORUM, 10, Some(20));
    change(&mut history, &[KEY], Effect::Delete, &QUORUM, 30, None);
    assert!(holds(&mut history, 100, &QUORUM, None) && holds(&mut history, 100, &QUORUM, Some(0)));
    history.changes[1].acknowledged = Some(40);
    assert!(!holds(&mut history, 100, &QUORUM, Some(0)), "the deletion was acknowledged");
    history.changes[1].is_void = true;
    history.changes[1].acknowledged = None;
    assert!(!holds(&mut history, 100, &QUORUM, None), "nothing was deleted");
}

#[test]
fn acked_nothing_is_invented() {
    let mut history = three();
    change(&mut history, &[KEY], Effect::Write, &QUORUM, 10, None);
    change(&mut history, &[OTHER], Effect::Write, &QUORUM, 10, None);
    change(&mut history, &[KEY], Effect::Write, &QUORUM, 200, None);
    assert!(holds(&mut history, 100, &ALL, Some(0)));
    assert!(!holds(&mut history, 100, &ALL, Some(1)), "another row was written");
    assert!(!holds(&mut history, 100, &ALL, Some(2)), "it was not sent yet");
    assert!(!holds(&mut history, 100, &ALL, Some(3)), "no change has this number");
    history.changes[0].is_void = true;
    assert!(!holds(&mut history, 100, &ALL, Some(0)), "it was refused before anything was done");
}

#[test]
fn acked_a_hint_that_was_delivered_is_a_write() {
    let mut history = three();
    let any = Reach::of(cql_protocol::Consistency::Any, 0, &[3]);
    change(&mut history, &[KEY], Effect::Write, &any, 10, Some(20));
    assert!(holds(&mut history, 100, &ALL, None), "it may be a hint");
    history.hints_delivered(|_| true);
    assert!(holds(&mut history, 100, &ALL, None), "its hint may be lost");
    history.hints_delivered(|_| false);
    assert!(!holds(&mut history, 100, &ALL, None) && holds(&mut history, 100, &QUORUM, None));
    assert!(holds(&mut history, 100, &ALL, Some(0)));
}

#[test]
fn acked_each_replica_has_what_was_hinted_for_it() {
    let mut history = three();
    change(&mut history, &[KEY], Effect::Write, &ONE, 10, Some(20));
    let lacks = |history: &Requests, lost: bool| acked::lacking(history, &seen(100, &ONE, &[]), KEY, |_| lost).is_err();
    assert!(lacks(&history, false), "a replica that missed it was not sent its hint");
    assert!(!lacks(&history, true), "the hint was lost with the node that kept it");
    assert!(acked::lacking(&history, &seen(100, &ONE, &[(KEY, 0)]), KEY, |_| false).is_ok());
    history.changes[0].acknowledged = None;
    assert!(!lacks(&history, false), "it was promised to no client");
}

#[test]
fn acked_datacenters_meet_as_their_levels_do() {
    let mut history = Requests { factors: vec![3, 2], ..Requests::default() };
    let (here, each) = (Reach::Each(vec![2, 0]), Reach::Each(vec![2, 2]));
    change(&mut history, &[KEY], Effect::Write, &here, 10, Some(20));
    assert!(!holds(&mut history, 100, &here, None) && !holds(&mut history, 100, &each, None));
    assert!(holds(&mut history, 100, &Reach::Each(vec![0, 2]), None), "another datacenter may not have it");
    assert!(holds(&mut history, 100, &Reach::Some(3), None), "a quorum of all may miss it");
}

#[test]
fn monotonic_what_was_shown_is_not_taken_back() {
    let mut history = three();
    change(&mut history, &[KEY], Effect::Write, &QUORUM, 1, Some(5));
    change(&mut history, &[KEY], Effect::Write, &QUORUM, 10, None);
    judge(&mut history, &seen(20, &QUORUM, &[(KEY, 1)]), |key| key == KEY, Some(QUORUM));
    assert!(history.violations.is_empty());
    assert!(holds(&mut history, 100, &QUORUM, Some(1)));
    assert!(!holds(&mut history, 100, &QUORUM, Some(0)) && !holds(&mut history, 100, &QUORUM, None));
    assert!(holds(&mut history, 100, &ONE, Some(0)), "the third replica need not have it");
    assert!(holds(&mut history, 25, &QUORUM, Some(0)), "both reads were under way at once");
    history.node_ended(200, Duration::from_nanos(100));
    assert!(!holds(&mut history, 300, &QUORUM, Some(0)), "it was shown long before the end, and synced");
    history.node_ended(100, Duration::from_nanos(100));
    assert!(holds(&mut history, 300, &QUORUM, Some(0)), "the node may not have synced it");
}

#[test]
fn monotonic_a_truncate_takes_along_what_a_read_beside_it_has_shown() {
    let mut history = three();
    change(&mut history, &[KEY], Effect::Write, &QUORUM, 1, None);
    let shown = |history: &mut Requests, start| {
        judge(history, &seen(start, &QUORUM, &[(KEY, 0)]), |key| key == KEY, Some(QUORUM));
        assert!(history.violations.is_empty());
    };
    // The read lasts from 20 to 30.
    shown(&mut history, 20);
    history.truncations.push(Truncation { start: 22, end: TruncateEnd::Done(28) });
    assert!(holds(&mut history, 100, &QUORUM, None), "its first page was read before");
    shown(&mut history, 40);
    assert!(!holds(&mut history, 100, &QUORUM, None), "it was shown again after the answer");
}

#[test]
fn monotonic_a_read_during_which_a_node_ended_promises_nothing() {
    let mut history = three();
    change(&mut history, &[KEY], Effect::Write, &QUORUM, 1, None);
    history.node_ended(25, Duration::from_nanos(100));
    judge(&mut history, &seen(20, &QUORUM, &[(KEY, 0)]), |key| key == KEY, Some(QUORUM));
    assert!(holds(&mut history, 100, &QUORUM, None), "the node had it in memory alone");
    judge(&mut history, &seen(30, &QUORUM, &[(KEY, 0)]), |key| key == KEY, Some(QUORUM));
    assert!(!holds(&mut history, 100, &QUORUM, None), "no node has ended since");
}

#[test]
fn truncated_what_came_before_is_gone_and_what_came_after_stays() {
    let mut history = three();
    change(&mut history, &[KEY], Effect::Write, &QUORUM, 10, Some(20));
    history.truncations.push(Truncation { start: 30, end: TruncateEnd::Done(40) });
    assert!(holds(&mut history, 100, &QUORUM, None) && !holds(&mut history, 100, &QUORUM, Some(0)));
    assert!(holds(&mut history, 35, &QUORUM, Some(0)), "the read was under way with it");
    change(&mut history, &[KEY], Effect::Write, &QUORUM, 35, Some(45));
    assert!(holds(&mut history, 100, &QUORUM, None) && holds(&mut history, 100, &QUORUM, Some(1)));
    change(&mut history, &[KEY], Effect::Write, &QUORUM, 50, Some(60));
    assert!(!holds(&mut history, 100, &QUORUM, None), "it was written after the answer");
    history.changes[0].ended = None;
    assert!(!holds(&mut history, 100, &QUORUM, Some(0)), "the last one is due all the same");
}

#[test]
fn truncated_a_truncate_without_an_answer_may_come_until_it_has_settled() {
    let mut history = three();
    change(&mut history, &[KEY], Effect::Write, &QUORUM, 10, Some(20));
    history.truncations.push(Truncation { start: 30, end: TruncateEnd::Unknown(40) });
    change(&mut history, &[KEY], Effect::Write, &QUORUM, 50, Some(60));
    assert!(holds(&mut history, 100, &QUORUM, None) && holds(&mut history, 100, &QUORUM, Some(1)));
    history.healed = Some(90);
    let settled = 60_000_000_000;
    change(&mut history, &[KEY], Effect::Write, &QUORUM, settled, Some(settled + 5));
    assert!(!holds(&mut history, settled + 10, &QUORUM, None), "it cannot come any more");
    history.truncations[0].end = TruncateEnd::Void;
    assert!(!holds(&mut history, 100, &QUORUM, None), "it was refused");
}

#[test]
fn whole_a_piece_is_not_seen_in_half() {
    let piece = |values: &[u64]| -> Vec<(Key, u64)> {
        let key = |clustering: usize| Key { partition: PIECES_FROM, clustering: clustering as i64 };
        values.iter().enumerate().map(|(clustering, value)| (key(clustering), *value)).collect()
    };
    let is_whole = |values: &[u64]| whole::judge_piece(&seen(10, &ONE, &piece(values)), PIECES_FROM).is_ok();
    assert_eq!(PIECE_ROWS, 4);
    assert!(is_whole(&[]) && is_whole(&[7; 4]));
    assert!(!is_whole(&[7, 7, 7]) && !is_whole(&[7, 7, 8, 8]));
}

#[test]
fn whole_logged_batches_are_all_or_nothing() {
    let mut history = three();
    change(&mut history, &[KEY, OTHER], Effect::Write, &QUORUM, 10, None);
    let is_whole = |history: &Requests, rows: &[(Key, u64)]| {
        whole::judge_batches(history, &rows.iter().copied().collect(), |_| true).is_empty()
    };
    assert!(is_whole(&history, &[]) && is_whole(&history, &[(KEY, 0), (OTHER, 0)]));
    assert!(!is_whole(&history, &[(KEY, 0)]) && !is_whole(&history, &[(OTHER, 0)]));
    change(&mut history, &[OTHER], Effect::Write, &QUORUM, 20, None);
    assert!(is_whole(&history, &[(KEY, 0), (OTHER, 1)]), "it was written over");
    assert!(!is_whole(&history, &[(OTHER, 0)]));
    change(&mut history, &[OTHER], Effect::Delete, &QUORUM, 30, None);
    assert!(is_whole(&history, &[(KEY, 0)]), "it may have been deleted");
}

#[test]
fn converge_each_node_gives_what_all_give() {
    let all: BTreeMap<Key, u64> = [(KEY, 1), (OTHER, 2)].into();
    assert!(converge::differences(&all, 0, &all).is_empty());
    for own in [&[(KEY, 1)][..], &[(KEY, 1), (OTHER, 1)], &[]] {
        let own: BTreeMap<Key, u64> = own.iter().copied().collect();
        assert!(!converge::differences(&all, 0, &own).is_empty(), "{own:?}");
    }
    let more: BTreeMap<Key, u64> = [(KEY, 1), (OTHER, 2), (Key { partition: 3, clustering: 1 }, 3)].into();
    assert_eq!(converge::differences(&all, 0, &more).len(), 1, "a row that all others do not have");
}

const PLACE: (i32, i32) = (1, 0);

/// Sums that were sent at 10, 20, …, each with its amount, level and acknowledgement.
fn sums(all: &[(i64, &Reach, Option<u64>)]) -> Sums {
    let mut sums = Sums::default();
    for (number, (amount, reach, acknowledged)) in all.iter().enumerate() {
        let start = 10 * (number as u64 + 1);
        let begun = sums.begin(PLACE, *amount, (*reach).clone(), start, OPEN_MAX).expect("few are open");
        sums.all[begun].acknowledged = *acknowledged;
    }
    sums
}

fn counts(sums: &mut Sums, start: u64, reach: &Reach, count: i64) -> bool {
    let seen = CountSeen { place: PLACE, start, end: start + 10, reach: reach.clone(), count };
    super::sums::judge(sums, &seen, &[3]).is_ok()
}

#[test]
fn sums_have_each_acknowledged_amount_once() {
    let mut all = sums(&[(5, &QUORUM, Some(15)), (70, &QUORUM, Some(25)), (1000, &QUORUM, None)]);
    for right in [75, 1075] {
        assert!(counts(&mut all.clone(), 100, &QUORUM, right), "{right}");
    }
    for wrong in [0, 5, 70, 80, 145, 1005, 2075] {
        assert!(!counts(&mut all.clone(), 100, &QUORUM, wrong), "{wrong}");
    }
    assert!(counts(&mut all.clone(), 22, &QUORUM, 5), "the second was not acknowledged when the question was sent");
    assert!(!counts(&mut all.clone(), 12, &QUORUM, 1005), "the third was not sent when the answer was");
    assert!(counts(&mut all.clone(), 100, &ONE, 0), "the third replica may not have them");
    all.all[2].is_void = true;
    assert!(!counts(&mut all, 100, &QUORUM, 1075), "it was refused before anything was done");
}

#[test]
fn sums_are_told_apart_among_many() {
    // As random as those of the workload: of others two choices may have one sum.
    let amount = |number: i64| {
        let mixed = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 27)) >> 12) as i64 - (1 << 51)
    };
    let written: Vec<(i64, &Reach, Option<u64>)> = (0..12).map(|number| (amount(number), &ONE, Some(5))).collect();
    let open: Vec<_> = (12..20).map(|number| (amount(number), &QUORUM, None)).collect();
    let mut all = sums(&[written, open].concat());
    let sum: i64 = (0..20).filter(|number| number % 3 == 0).map(amount).sum();
    assert!(counts(&mut all.clone(), 1000, &QUORUM, sum) && !counts(&mut all.clone(), 1000, &QUORUM, sum + 1));
    assert!(counts(&mut all, 1000, &QUORUM, sum));
    let shown: Vec<usize> = (0..20).filter(|number| !all.all[*number].known.is_empty()).collect();
    assert_eq!(shown, [0, 3, 6, 9, 12, 15, 18]);
}

#[test]
fn sums_do_not_go_back() {
    let mut all = sums(&[(5, &QUORUM, Some(15)), (70, &QUORUM, None)]);
    assert!(counts(&mut all, 100, &QUORUM, 75));
    assert!(!counts(&mut all, 200, &QUORUM, 5) && counts(&mut all, 200, &QUORUM, 75));
    assert!(counts(&mut all, 200, &ONE, 5), "the third replica need not have it");
    all.node_ended(50);
    assert!(counts(&mut all, 200, &QUORUM, 5), "the node may not have synced it");
}

#[test]
fn sums_that_were_read_while_a_node_ended_may_go_back() {
    let mut history = Requests { factors: vec![3], sums: sums(&[(70, &QUORUM, None)]), ..Requests::default() };
    let read = |history: &mut Requests, start: u64, count: i64| {
        judge_count(history, &CountSeen { place: PLACE, start, end: start + 10, reach: QUORUM, count });
        std::mem::take(&mut history.violations).is_empty()
    };
    history.node_ended(105, Duration::ZERO);
    assert!(read(&mut history, 100, 70) && read(&mut history, 200, 0), "the node had it in memory alone");
    assert!(read(&mut history, 300, 70) && !read(&mut history, 400, 0), "no node has ended since");
}
