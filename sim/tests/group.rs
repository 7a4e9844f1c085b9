//! The harness for a cluster's schema, on the smallest cluster there is: one node, which ends, stops, has wrong clocks, and is cut off from its clients.

use std::time::Duration;

use runtime::sim::Keep;
use sim::cluster::{Cluster, NodeOptions};
use sim::group::{GroupOptions, GroupOutcome, run_group};
use sim::nemesis::{Kind, Plan, PlanOptions, Step, Timed, generate};
use sim::workload::SchemaOptions;

fn of_one_node(seed: u64) -> (GroupOutcome, u64) {
    let mut cluster = Cluster::new(seed, NodeOptions::default(), None);
    let plan = PlanOptions {
        datacenters: vec![0],
        steps: 24,
        kinds: vec![
            Kind::Kill,
            Kind::PowerCut,
            Kind::Terminate,
            Kind::Pause,
            Kind::Skew,
            Kind::Rate,
            Kind::Lossy,
            Kind::Reset,
        ],
        gap_min: Duration::from_millis(20),
        gap_max: Duration::from_secs(1),
        absent: Default::default(),
        down_max: 1,
        exchanged_max: 0,
    };
    let schema = SchemaOptions { statements: 60, ..SchemaOptions::default() };
    let outcome =
        run_group(&mut cluster, &GroupOptions { schema, plan: generate(&plan, seed), ..GroupOptions::default() });
    (outcome, cluster.world.trace_hash())
}

#[test]
fn the_schema_of_one_node_survives_what_is_done_to_it() {
    for seed in 1..=12 {
        let (outcome, _) = of_one_node(seed);
        assert_eq!(outcome.violations, Vec::<String>::new(), "seed {seed}, refused {:?}", outcome.refused);
        assert!(outcome.changed > 30 && outcome.sent > 150, "seed {seed}: {outcome:?}");
        assert!(outcome.healed_after < Duration::from_secs(5), "seed {seed}: {outcome:?}");
    }
}

#[test]
fn equal_seeds_are_equal_runs() {
    let (outcome, hash) = of_one_node(5);
    let (again, again_hash) = of_one_node(5);
    assert_eq!((outcome.changed, hash), (again.changed, again_hash));
}

#[test]
fn a_disk_that_lies_is_found_out() {
    let mut disk = runtime::sim::Disk::default();
    disk.prepare_directory("/data");
    disk.lie();
    let mut cluster = Cluster::new(3, NodeOptions::default(), Some(disk));
    let steps = [Step::PowerCut(0, Keep::Nothing), Step::Start(0)];
    let plan = Plan { steps: steps.map(|step| Timed { after: Duration::from_secs(20), step }).into() };
    let outcome = run_group(&mut cluster, &GroupOptions { plan, ..GroupOptions::default() });
    assert!(outcome.violations.iter().any(|what| what.contains("was acknowledged and is gone")), "{outcome:?}");
}
