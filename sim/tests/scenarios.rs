//! Each scenario holds, comes out the same twice, and gives back the memory that it took: a soak runs ten thousand seeds in one process.
//! `HELENUS_SAMPLE`, which a change's run sets by its commit's hash, chooses a third of the scenarios; some seeds of each run in that run's phase `simulation`.
//!
//! Alone in its test binary, since the whole process's memory is measured.

use sim::run::{Outcome, run};
use sim::scenario::{BUILT_IN, Scenario};

/// Growth by the second run of a scenario; after the first runs, allocators and tables have their size. A node that was not given back holds
/// some 3 MiB.
const GROWTH_MIB_MAX: u64 = 2;
/// The samples that make up all scenarios.
const SAMPLES: usize = 3;

#[test]
fn each_scenario_holds_is_the_same_twice_and_gives_back_what_it_took() {
    let sample: Option<usize> =
        std::env::var("HELENUS_SAMPLE").ok().map(|number| number.parse().expect("HELENUS_SAMPLE is a number"));
    let is_chosen = |index: usize| sample.is_none_or(|sample| index % SAMPLES == sample % SAMPLES);
    let chosen = BUILT_IN.iter().enumerate().filter(|(index, _)| is_chosen(*index));
    let scenarios: Vec<Scenario> =
        chosen.map(|(_, (name, _))| Scenario::built_in(name).expect("it is built in")).collect();
    let hashes: Vec<u64> = scenarios.iter().map(|scenario| hash_of(scenario, 1)).collect();
    let run_again = || {
        scenarios.iter().zip(&hashes).map(|(scenario, hash)| {
            assert_eq!(hash_of(scenario, 1), *hash, "{}: another trace of the same seed", scenario.name);
        })
    };
    let (before, count) = (resident_mib(), run_again().count() as u64);
    let after = resident_mib();
    if after > before + count * GROWTH_MIB_MAX {
        // An allocator keeps what a large scenario has freed, once. A node that is not given back is held again each time.
        let twice = run_again().count() as u64;
        let later = resident_mib();
        let bound = after + twice * GROWTH_MIB_MAX;
        assert!(
            later <= bound,
            "{before} MiB after a run of each scenario, {after} after {count} others, then {later}"
        );
    }
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
