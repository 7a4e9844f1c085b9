//! The scenarios of requests: a seed of each and one twice; and what a planted or a missing part makes of them.

use std::time::Duration;

use planted::Planted;
use sim::requests::{LANDED, SCENARIOS, SHAPES, Seeds, random};

#[test]
fn requests_keep_their_promises_through_all_troubles() {
    let count = SCENARIOS.len() as u64;
    let soak = if std::env::var_os("HELENUS_SOAK").is_some() { 5 * SHAPES.len() as u64 } else { 1 };
    let seeds = Seeds { first: 10, count: count * soak, at_most: Duration::MAX, twice_every: count };
    let totals = random(&SCENARIOS, &seeds, &LANDED.iter().copied().collect(), Planted::default());
    println!("figure: {:.1} % unknown of {} changes", totals.unknown_at_most, totals.sent);
    assert!(totals.failures.is_empty(), "{:#?}", totals.failures);
    assert!(totals.shows_nothing.is_empty(), "{:#?}", totals.shows_nothing);
    assert_eq!((totals.seeds, totals.twice), (count * soak, soak));
    assert_eq!(totals.scenarios.len(), SCENARIOS.len());
}
