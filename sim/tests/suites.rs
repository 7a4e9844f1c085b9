//! A small part of each suite, in every `cargo test`; and that the checks can fail.

use std::time::Duration;

use sim::checker::{self, Promises};
use sim::cluster::{Cluster, NodeOptions};
use sim::each_call::each_call;
use sim::enumerate::{EnumerateOptions, enumerate};
use sim::run::{ask, read_all, run};
use sim::scenario::{BUILT_IN, Scenario};
use sim::workload::{RowsOptions, Shared, prepare, work};

use planted::Planted;
use runtime::sim::Keep;

#[test]
fn each_scenario_holds_and_is_the_same_twice() {
    for (name, _) in BUILT_IN {
        let scenario = Scenario::built_in(name).expect("it is built in");
        for seed in 1..=2 {
            let outcome = run(&scenario, seed);
            assert_eq!(outcome.violations, Vec::<String>::new(), "{name}, seed {seed}");
            assert!(outcome.acknowledged > 50, "{name}, seed {seed}: {outcome:?}");
            if seed == 1 {
                assert_eq!(run(&scenario, seed).trace_hash, outcome.trace_hash, "{name}, seed {seed}");
            }
        }
    }
}

#[test]
fn images_hold() {
    let options = EnumerateOptions {
        images: 60,
        first_seed: 1,
        threads: 2,
        at_most: Duration::from_secs(600),
        only: None,
        failures_max: 1,
        planted: Planted::NONE,
    };
    let all = enumerate(&options);
    assert!(all.failures.is_empty(), "{:?}", all.failures);
    assert_eq!(all.images, 60);
    for mark in ["replay", "reshard"] {
        assert!(all.marks.contains_key(mark), "{mark} is in {:?}", all.marks);
    }
}

#[test]
fn disk_calls_may_fail() {
    for call in [3, 60, 130] {
        let all = each_call(1, 1, Some(call));
        assert!(all.failures.is_empty() && all.runs == 2, "{all:?}");
    }
}

/// Rows acknowledged, and violations found, after a power cut of a disk that may lie.
fn on_a_disk(lies: bool) -> (usize, Vec<String>) {
    let mut cluster = Cluster::new(5, NodeOptions::default(), None);
    cluster.start(2).expect("it starts");
    ask(&mut cluster, prepare).expect("there is an answer").expect("the table is made");
    if lies {
        cluster.world.with_disk(cluster.node, runtime::sim::Disk::lie);
    }
    let history = Shared::default();
    let (rows, shared) = (RowsOptions { truncate_per_mille: 0, ..RowsOptions::default() }, history.clone());
    let working = cluster.world.start(cluster.clients, false, vec![move |runtime| work(runtime, rows, shared)]);
    cluster.run_until(|_| working.is_over(), Duration::from_secs(60));
    cluster.world.crash(cluster.node, Keep::Nothing);
    cluster.start(2).expect("it starts");
    let as_of = cluster.world.now().as_nanos();
    let rows = read_all(&mut cluster).expect("they can be read");
    let history = history.borrow();
    (history.acknowledged_count(), checker::check(&history, &rows, as_of, Promises::TODAY))
}

#[test]
fn a_disk_that_lies_is_found_out() {
    let (acknowledged, violations) = on_a_disk(false);
    assert!(acknowledged > 100 && violations.is_empty(), "{violations:?}");
    let (acknowledged, violations) = on_a_disk(true);
    assert!(acknowledged > 100 && !violations.is_empty(), "it loses what was acknowledged");
}
