//! The scenarios of requests: a seed of each and one twice; and what a planted or a missing part makes of them. Where `HELENUS_SAMPLE` chooses one,
//! as a change's run does by its commit's hash, that one alone runs, twice: each has a seed in that run's phase `simulation`.

use std::time::Duration;

use planted::Planted;
use sim::requests::{LANDED, Part, SCENARIOS, SHAPES, Scenario, Seeds, random};

/// The seeds of the samples, of the scenarios `operations`, `serial` and `batches`.
const SAMPLED: [u64; 3] = [15, 14, 10];

/// The seeds, and how many of them run twice.
fn seeds() -> (Seeds, u64) {
    if let Ok(sample) = std::env::var("HELENUS_SAMPLE") {
        let sample: usize = sample.parse().expect("HELENUS_SAMPLE is a number");
        let first = SAMPLED[sample % SAMPLED.len()];
        return (Seeds { first, count: 1, at_most: Duration::MAX, twice_every: 1 }, 1);
    }
    let count = SCENARIOS.len() as u64;
    let soak = if std::env::var_os("HELENUS_SOAK").is_some() { 5 * SHAPES.len() as u64 } else { 1 };
    (Seeds { first: 10, count: count * soak, at_most: Duration::MAX, twice_every: count }, soak)
}

#[test]
fn requests_keep_their_promises_through_all_troubles() {
    let (seeds, twice) = seeds();
    let totals = random(&SCENARIOS, &seeds, &LANDED.iter().copied().collect(), Planted::default());
    println!("figure: {:.1} % unknown of {} changes", totals.unknown_at_most, totals.sent);
    assert!(totals.failures.is_empty(), "{:#?}", totals.failures);
    assert!(totals.shows_nothing.is_empty(), "{:#?}", totals.shows_nothing);
    assert_eq!((totals.seeds, totals.twice), (seeds.count, twice));
    assert_eq!(totals.scenarios.len() as u64, seeds.count.min(SCENARIOS.len() as u64));
}

/// Until a part is there, a run that expects it must fail: it cannot be forgotten in `LANDED` when it is.
#[test]
fn what_has_not_landed_is_missed_by_who_expects_it() {
    let serial = [Scenario::named("serial").expect("it is one of them")];
    for part in [Part::Paxos, Part::BallotLists].into_iter().filter(|part| !LANDED.contains(part)) {
        let seeds = Seeds { first: 1, count: 30, at_most: Duration::MAX, twice_every: u64::MAX };
        let expected = LANDED.iter().copied().chain([part]).collect();
        let totals = random(&serial, &seeds, &expected, Planted::default());
        assert!(totals.failed() > 0, "{part:?} is there: add it to LANDED");
    }
}
