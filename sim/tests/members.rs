//! The scenario `members`: seeds of each shape, of which all troubles come by in turn.

use std::time::Duration;

use planted::Planted;
use sim::members::{SHAPE_COUNT, random};

#[test]
fn nodes_judge_who_is_up_by_the_truth() {
    let seeds = 2 * SHAPE_COUNT;
    let totals = random(SHAPE_COUNT, seeds, Duration::MAX, SHAPE_COUNT, Planted::default());
    let (troubles, departures) = (totals.troubles, totals.departures);
    println!("{troubles} troubles, {departures} departures, {} events, marks {:?}", totals.events, totals.marks);
    println!("figure: down within {:?}, up again within {:?}", totals.down_at_most, totals.up_at_most);
    assert!(totals.failures.is_empty(), "{:#?}", totals.failures);
    assert_eq!((totals.seeds, totals.twice), (seeds, 2));
    assert!(totals.events > 0, "clients got no event: it shows nothing");
    assert!(departures >= totals.seeds as usize, "a node leaves in each");
}
