//! A short hunt for anything that does not hold, which ends at its first find: what a [planted bug](planted::Bug) goes
//! through whose [witness](crate::witness) does not catch it. Always the same images and seeds, so that a build either catches a bug or does not.

use std::time::Duration;

use planted::Planted;

use crate::enumerate::{Course, EnumerateOptions, Enumerated, enumerate};
use crate::random::{RandomOptions, Totals, random};
use crate::scenario::Scenario;

/// Images of the fixed workload, of the fixed upkeep, and of a refresh, with the seed of each. That of the refresh has images between its listing
/// the files and the first shard's naming them.
const IMAGES: [(Course, u64, u64); 3] = [(Course::Writes, 300, 1), (Course::Upkeep, 150, 1), (Course::Refresh, 150, 2)];
/// Seeds, over these scenarios.
const SEEDS: u64 = 160;
const SCENARIOS: [&str; 9] =
    ["ring", "ring-network", "ring-crash", "crash", "ring-storm", "flush", "reshard", "batches", "conditional"];
/// It takes a few seconds.
const AT_MOST: Duration = Duration::from_secs(100);

/// Images first, and if all hold, seeds.
pub fn hunt(planted: Planted) -> (Enumerated, Option<Totals>) {
    let mut enumerated = Enumerated::default();
    for (course, images, first_seed) in IMAGES {
        enumerated = enumerate(&EnumerateOptions {
            course,
            images,
            first_seed,
            threads: 1,
            at_most: AT_MOST,
            workloads_max: u64::MAX,
            only: None,
            failures_max: 1,
            planted,
        });
        if !enumerated.failures.is_empty() {
            return (enumerated, None);
        }
    }
    let scenarios = SCENARIOS.into_iter().filter_map(Scenario::built_in).map(|mut scenario| {
        scenario.node.planted = planted;
        scenario
    });
    let options = RandomOptions {
        scenarios: scenarios.collect(),
        first_seed: 1,
        seeds: SEEDS,
        seeds_min: 0,
        at_most: AT_MOST,
        until_marks: false,
        threads: 1,
        twice_every: u64::MAX,
        failures_max: 1,
    };
    (enumerated, Some(random(&options)))
}
