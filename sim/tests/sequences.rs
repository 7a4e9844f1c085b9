//! The sequences that break careless versions of the metadata group and of requests, some seeds of each.

use std::collections::BTreeMap;

use planted::Planted;
use sim::requests::LANDED;
use sim::sequences::{SEQUENCES, Sequence};

/// Runs so many seeds of a sequence, in a soak fifty times as many, and gives the marks that they reached.
fn run(name: &str, seeds: u64) -> BTreeMap<&'static str, u64> {
    let sequence = Sequence::named(name).expect("it is of the list");
    let seeds = 1..1 + seeds * if std::env::var_os("HELENUS_SOAK").is_some() { 50 } else { 1 };
    stdx::marks::take();
    let outcomes = seeds.map(|seed| (seed, sequence.run(seed, Planted::default())));
    let failures: Vec<_> = outcomes.filter(|(_, outcome)| *outcome != Ok(Vec::new())).collect();
    assert!(failures.is_empty(), "{name}: {failures:#?}");
    stdx::marks::take()
}

fn reached(marks: &BTreeMap<&'static str, u64>, names: &[&str]) {
    let missing: Vec<&&str> = names.iter().filter(|name| !marks.contains_key(**name)).collect();
    assert!(missing.is_empty(), "no seed came by {missing:?}");
}

#[test]
fn all_peers_restart() {
    reached(&run("all-peers-restart", 8), &["image lacks changes", "image lacks rows", "regressed node noted"]);
}

#[test]
fn commit_index() {
    reached(&run("commit-index", 8), &["uncommitted truncate committed later", "uncommitted truncate replaced"]);
}

#[test]
fn truncate_crash() {
    reached(&run("truncate-crash", 8), &["written after the table was seen empty, before the cut"]);
}

#[test]
fn truncate_with_one_down() {
    run("truncate-with-one-down", 4);
}

#[test]
fn truncate_revoked() {
    run("truncate-revoked", 4);
}

#[test]
fn two_founders() {
    let cases = ["wiped before it was a member", "wiped when it was a member"];
    reached(&run("two-founders", 48), &[&["A has the lower id", "B has the lower id"][..], &cases].concat());
}

#[test]
fn rf2_join() {
    run("rf2-join", 3);
}

#[test]
fn created_between() {
    reached(&run("created-between", 6), &["written to a table that was created while a node joins"]);
}

#[test]
fn two_recoveries() {
    run("two-recoveries", 4);
}

#[test]
fn recovery_cut_short() {
    reached(&run("recovery-cut-short", 8), &["power cut within a recovery"]);
}

#[test]
fn recovery_from_the_shorter() {
    run("recovery-from-the-shorter", 4);
}

#[test]
fn held_frame() {
    reached(&run("held-frame", 6), &["a request that is late is dropped"]);
}

#[test]
fn counter_clock_back() {
    run_if_due("counter-clock-back");
}

#[test]
fn truncate_late_write() {
    run_if_due("truncate-late-write");
}

/// Runs a sequence that needs a part of the product.
fn run_if_due(name: &str) {
    let sequence = Sequence::named(name).expect("it is of the list");
    match sequence.is_due() {
        true => _ = run(name, 4),
        false => must_not_hold_yet(sequence),
    }
}

/// A sequence that needs a part which the product lacks does not hold, on any seed: when it does, the part is there.
fn must_not_hold_yet(sequence: Sequence) {
    for seed in 1..4 {
        let violations = sequence.run(seed, Planted::default()).expect("it comes about");
        let Sequence { name, needs, .. } = sequence;
        assert!(!violations.is_empty(), "{name}, seed {seed}, holds: add {needs:?} to the landed parts {LANDED:?}");
    }
}

#[test]
fn each_has_its_own_name() {
    let names: std::collections::BTreeSet<&str> = SEQUENCES.iter().map(|sequence| sequence.name).collect();
    assert_eq!(names.len(), SEQUENCES.len());
}
