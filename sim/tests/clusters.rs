//! The scenario `group`, a seed of each shape; the first one twice.

use std::time::Duration;

use planted::Planted;
use sim::clusters::{SHAPE_COUNT, random};

#[test]
fn the_schema_of_a_cluster_survives_all_troubles() {
    let totals = random(SHAPE_COUNT, SHAPE_COUNT, Duration::MAX, SHAPE_COUNT, Planted::default());
    println!("{} changes, {} troubles, marks {:?}", totals.changed, totals.troubles, totals.marks);
    assert!(totals.failures.is_empty(), "{:#?}", totals.failures);
    assert_eq!((totals.seeds, totals.twice), (SHAPE_COUNT, 1));
}
