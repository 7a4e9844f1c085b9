//! Each scenario holds, comes out the same twice, and gives back the memory that it took: a soak runs ten thousand seeds in one process.
//!
//! Alone in its test binary, since the whole process's memory is measured.

use sim::run::{Outcome, run};
use sim::scenario::{BUILT_IN, Scenario};

/// Growth by the second run of each scenario; after the first, allocators and tables have their size. A node that was not given back holds
/// some 3 MiB, so that the second runs would take 70 at least.
const GROWTH_MIB_MAX: u64 = 45;

#[test]
fn each_scenario_holds_is_the_same_twice_and_gives_back_what_it_took() {
    let scenarios: Vec<Scenario> =
        BUILT_IN.iter().map(|(name, _)| Scenario::built_in(name).expect("it is built in")).collect();
    let hashes: Vec<u64> = scenarios.iter().map(|scenario| hash_of(scenario, 1)).collect();
    let before = resident_mib();
    for (scenario, hash) in scenarios.iter().zip(hashes) {
        assert_eq!(hash_of(scenario, 1), hash, "{}: another trace of the same seed", scenario.name);
    }
    let after = resident_mib();
    assert!(after <= before + GROWTH_MIB_MAX, "{before} MiB after a run of each scenario, {after} after another");
}

/// Hash of the run's trace, after its checks.
fn hash_of(scenario: &Scenario, seed: u64) -> u64 {
    let Outcome { violations, acknowledged, trace_hash, .. } = run(scenario, seed);
    assert_eq!(violations, Vec::<String>::new(), "{}, seed {seed}", scenario.name);
    assert!(acknowledged > 50, "{}, seed {seed}: {acknowledged} acknowledged", scenario.name);
    trace_hash
}

fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells of each process");
    stdx::procfs::resident_bytes(&status).expect("it has a resident size") >> 20
}
