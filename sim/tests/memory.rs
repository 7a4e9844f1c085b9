//! What a run takes it gives back: ten thousand seeds run in one process.
//!
//! Alone in its test binary, since what is asked is the whole process's memory.

use sim::run::run;
use sim::scenario::{BUILT_IN, Scenario};

/// Runs after which allocators and tables have their size: one of each scenario.
const FIRST_SEEDS: u64 = BUILT_IN.len() as u64;
/// Runs that must not add to it.
const MORE_SEEDS: u64 = 45;
/// A node that was not given back holds some 3 MiB, so that these runs would take 130.
const GROWTH_MIB_MAX: u64 = 60;

#[test]
fn runs_give_back_what_they_took() {
    let scenarios: Vec<Scenario> =
        BUILT_IN.iter().map(|(name, _)| Scenario::built_in(name).expect("it is built in")).collect();
    let run_seeds = |seeds: std::ops::Range<u64>| {
        for seed in seeds {
            let scenario = &scenarios[seed as usize % scenarios.len()];
            assert_eq!(run(scenario, seed).violations, Vec::<String>::new(), "{}, seed {seed}", scenario.name);
        }
    };
    run_seeds(0..FIRST_SEEDS);
    let before = resident_mib();
    run_seeds(FIRST_SEEDS..FIRST_SEEDS + MORE_SEEDS);
    let after = resident_mib();
    assert!(after <= before + GROWTH_MIB_MAX, "{before} MiB after {FIRST_SEEDS} runs, {after} after {MORE_SEEDS} more");
}

fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells of each process");
    stdx::procfs::resident_bytes(&status).expect("its memory is told") >> 20
}
