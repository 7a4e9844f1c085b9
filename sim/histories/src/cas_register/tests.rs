//! Histories that are linearizable, and such as are not: each is one mistake that a node might make.

use super::*;

const NOTHING: Registers = [None, None];

fn told(asked: Asked, start: u64, end: u64, told: Told) -> Operation {
    Operation { asked, start, answer: Answer::Told(end, told) }
}

fn untold(asked: Asked, start: u64) -> Operation {
    Operation { asked, start, answer: Answer::Unknown }
}

fn insert(value: u64) -> Asked {
    Asked::Insert { register: 0, value }
}

fn set(from: u64, to: u64) -> Asked {
    Asked::Set { register: 0, from, to }
}

fn has(value: u64) -> Told {
    Told::Have([Some(value), None])
}

fn saw(value: u64) -> Told {
    Told::NotApplied([Some(Some(value)), None])
}

fn holds(operations: &[Operation]) -> bool {
    CasRegister::check(operations).is_empty()
}

#[test]
fn one_after_the_other() {
    let history = [
        told(Asked::Read, 0, 1, Told::Have(NOTHING)),
        told(insert(1), 2, 3, Told::Applied),
        told(insert(2), 4, 5, saw(1)),
        told(set(1, 3), 6, 7, Told::Applied),
        told(set(1, 4), 8, 9, saw(3)),
        told(Asked::Delete { register: 0 }, 10, 11, Told::Applied),
        told(Asked::Read, 12, 13, Told::Have(NOTHING)),
    ];
    assert!(holds(&history));
    assert!(holds(&[]));
}

#[test]
fn two_that_both_insert_are_one_too_many() {
    let both = [told(insert(1), 0, 9, Told::Applied), told(insert(2), 1, 8, Told::Applied)];
    assert!(!holds(&both));
    let one = [told(insert(1), 0, 9, Told::Applied), told(insert(2), 1, 8, saw(1))];
    assert!(holds(&one), "they overlap: the one that was answered later came first");
    let late = [told(insert(1), 5, 9, Told::Applied), told(insert(2), 1, 4, saw(1))];
    assert!(!holds(&late), "what was answered before it began cannot have seen it");
}

#[test]
fn a_lost_update_is_found() {
    let history = [
        told(insert(1), 0, 1, Told::Applied),
        told(set(1, 2), 2, 6, Told::Applied),
        told(set(1, 3), 3, 7, Told::Applied),
    ];
    assert!(!holds(&history), "both took the same value for the present one");
}

#[test]
fn what_was_acknowledged_is_not_taken_back() {
    let history = [told(insert(1), 0, 1, Told::Applied), told(Asked::Read, 2, 3, Told::Have(NOTHING))];
    assert!(!holds(&history));
    let seen = [untold(insert(1), 0), told(Asked::Read, 1, 2, has(1)), told(Asked::Read, 3, 4, Told::Have(NOTHING))];
    assert!(!holds(&seen), "what was read stays, though its writer was told nothing");
    let refused = [untold(insert(1), 0), told(insert(2), 1, 2, saw(1)), told(Asked::Read, 3, 4, Told::Have(NOTHING))];
    assert!(!holds(&refused), "and so does what another was refused for");
}

#[test]
fn a_stale_read_is_found() {
    let history =
        [told(insert(1), 0, 1, Told::Applied), told(set(1, 2), 2, 3, Told::Applied), told(Asked::Read, 4, 5, has(1))];
    assert!(!holds(&history));
    let meanwhile = [
        told(insert(1), 0, 1, Told::Applied),
        told(set(1, 2), 2, 9, Told::Applied),
        told(Asked::Read, 4, 5, has(1)),
        told(Asked::Read, 6, 7, has(2)),
    ];
    assert!(holds(&meanwhile), "it may come between the two reads");
    let back = [meanwhile[0], meanwhile[1], told(Asked::Read, 4, 5, has(2)), told(Asked::Read, 6, 7, has(1))];
    assert!(!holds(&back), "but not go back");
}

#[test]
fn what_was_not_answered_may_happen_later_or_never() {
    let never = [untold(insert(1), 0), told(Asked::Read, 5, 6, Told::Have(NOTHING))];
    assert!(holds(&never));
    let later = [never[0], never[1], told(Asked::Read, 7, 8, has(1))];
    assert!(holds(&later));
    let before = [told(Asked::Read, 0, 1, has(1)), untold(insert(1), 5)];
    assert!(!holds(&before), "not before it was asked for");
}

#[test]
fn half_a_batch_is_found() {
    let both =
        [told(insert(1), 0, 1, Told::Applied), told(Asked::Insert { register: 1, value: 2 }, 2, 3, Told::Applied)];
    let batch = untold(Asked::SetBoth { from: [1, 2], to: [3, 4] }, 4);
    let read = |registers| told(Asked::Read, 5, 6, Told::Have(registers));
    assert!(holds(&[both[0], both[1], batch, read([Some(3), Some(4)])]));
    assert!(holds(&[both[0], both[1], batch, read([Some(1), Some(2)])]));
    assert!(!holds(&[both[0], both[1], batch, read([Some(3), Some(2)])]));
    assert!(!holds(&[both[0], both[1], batch, read([Some(1), Some(4)])]));
}

#[test]
fn a_value_that_nobody_wrote_is_found() {
    assert!(!holds(&[told(Asked::Read, 0, 1, has(7))]));
}
