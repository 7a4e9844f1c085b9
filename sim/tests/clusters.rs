//! The scenario `group`: clusters of three to seven nodes in one to three datacenters under all troubles.

use std::time::Duration;

use sim::cluster::NodeOptions;
use sim::group::{GroupOptions, GroupOutcome, run_group};
use sim::group_site::GroupSite;
use sim::nemesis::{Kind, PlanOptions, generate};
use sim::site::Site;
use sim::workload::SchemaOptions;

const SHAPES: [&[usize]; 6] = [&[3], &[5], &[2, 2], &[3, 2], &[1, 1, 1], &[3, 2, 2]];

fn run(seed: u64) -> (GroupOutcome, u64) {
    let shape = SHAPES[seed as usize % SHAPES.len()];
    let mut site = GroupSite::new(seed, shape, 1, NodeOptions::default());
    let datacenters: Vec<usize> = (0..site.nodes().len()).map(|node| site.datacenter(node)).collect();
    let plan = PlanOptions {
        datacenters,
        steps: 20,
        kinds: Kind::ALL.into_iter().filter(|kind| !matches!(kind, Kind::EmptyDisk | Kind::OlderDisk)).collect(),
        gap_min: Duration::from_millis(50),
        gap_max: Duration::from_secs(4),
        down_max: 2,
        exchanged_max: 0,
    };
    let schema = SchemaOptions::default();
    let outcome = run_group(&mut site, &GroupOptions { schema, plan: generate(&plan, seed) });
    (outcome, site.world().trace_hash())
}

#[test]
fn the_schema_of_a_cluster_survives_all_troubles() {
    let first: u64 = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let count: u64 = std::env::var("SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(3);
    for seed in first..first + count {
        let (outcome, _) = run(seed);
        println!(
            "seed {seed}: sent {} changed {} healed {:?} refused {:?}",
            outcome.sent, outcome.changed, outcome.healed_after, outcome.refused
        );
        assert!(outcome.violations.is_empty(), "seed {seed}: {}", outcome.violations.join("\n"));
    }
}
