//! As many seeds as the time allows, over all scenarios, on several threads.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::run::{Outcome, run};
use crate::scenario::Scenario;

/// What to run.
#[derive(Debug, Clone)]
pub struct RandomOptions {
    /// Scenarios, taken in turn.
    pub scenarios: Vec<Scenario>,
    /// The first seed.
    pub first_seed: u64,
    /// At most so many seeds.
    pub seeds: u64,
    /// At least so many seeds, however long they take.
    pub seeds_min: u64,
    /// At most so long, but for `seeds_min` and `until_marks`.
    pub at_most: Duration,
    /// When that time is over, and a mark of [`MARKS`] was not reached, go on for up to [`SEEDS_FOR_MARKS`] seeds in all: a slow machine must
    /// not fail for having run few.
    pub until_marks: bool,
    /// Threads.
    pub threads: usize,
    /// One seed of so many is run twice, and must give the same trace.
    pub twice_every: u64,
    /// After so many failures no further seed is begun.
    pub failures_max: usize,
}

/// Seeds that reach every mark of [`MARKS`] many times over.
const SEEDS_FOR_MARKS: u64 = 1000;

/// What came of them.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// Seeds that were run.
    pub seeds: u64,
    /// Seeds that were run twice.
    pub twice: u64,
    /// The worlds' time, of all.
    pub simulated: Duration,
    /// Real time.
    pub real: Duration,
    /// Rows written.
    pub written: u64,
    /// Rows acknowledged.
    pub acknowledged: u64,
    /// Starts of the node.
    pub starts: u64,
    /// Faults, by name.
    pub faults: BTreeMap<&'static str, u64>,
    /// Marks that were reached.
    pub marks: BTreeMap<&'static str, u64>,
    /// Requests that were refused.
    pub refused: BTreeMap<String, u64>,
    /// Of those that failed: scenario, seed and what does not hold.
    pub failures: Vec<(String, u64, Vec<String>)>,
}

impl Totals {
    /// The marks of [`MARKS`] that no run came by.
    pub fn unreached(&self) -> Vec<&'static str> {
        MARKS.into_iter().filter(|mark| !self.marks.contains_key(mark)).collect()
    }

    fn add(&mut self, scenario: &Scenario, seed: u64, outcome: Outcome, is_twice: bool) {
        self.seeds += 1;
        self.twice += u64::from(is_twice);
        self.simulated += outcome.simulated;
        self.written += outcome.written as u64;
        self.acknowledged += outcome.acknowledged as u64;
        self.starts += outcome.starts;
        outcome.faults.into_iter().for_each(|(name, count)| *self.faults.entry(name).or_default() += count);
        outcome.marks.into_iter().for_each(|(name, count)| *self.marks.entry(name).or_default() += count);
        outcome.refused.into_iter().for_each(|(name, count)| *self.refused.entry(name).or_default() += count);
        if !outcome.violations.is_empty() {
            self.failures.push((scenario.name.clone(), seed, outcome.violations));
        }
    }
}

/// Marks that many seeds of all scenarios must reach.
pub const MARKS: [&str; 26] = [
    "batch delivered later",
    "batch replay",
    "compacted",
    "counter read from files",
    "disk full",
    "file put aside",
    "files of another shard count",
    "flush failed",
    "flush for the log's sake",
    "group kept in its place",
    "handed over",
    "handed over and held",
    "log buffer full",
    "log poisoned",
    "mesh queue full",
    "node back",
    "read repair",
    "record in a file left out",
    "replay",
    "reshard",
    "room refused before the disk is full",
    "torn tail",
    "truncated record left out",
    "unfinished batch",
    "unfinished batch of another shard count",
    "write in steps",
];

/// Runs them.
pub fn random(options: &RandomOptions) -> Totals {
    let began = Instant::now();
    let shared = Mutex::new((options.first_seed, Totals::default()));
    let work = || {
        loop {
            let seed = {
                let mut shared = shared.lock().expect("runs catch their panics");
                let begun = shared.0 - options.first_seed;
                let lacks_marks = options.until_marks && begun < SEEDS_FOR_MARKS && !shared.1.unreached().is_empty();
                let is_late = began.elapsed() >= options.at_most && begun >= options.seeds_min;
                let is_over = begun >= options.seeds
                    || (is_late && !lacks_marks)
                    || shared.1.failures.len() >= options.failures_max;
                if is_over {
                    return;
                }
                shared.0 += 1;
                shared.0 - 1
            };
            let scenario = &options.scenarios[seed as usize % options.scenarios.len()];
            let mut outcome = run(scenario, seed);
            let is_twice = seed.is_multiple_of(options.twice_every);
            if is_twice && run(scenario, seed).trace_hash != outcome.trace_hash {
                outcome.violations.push("two runs of this seed were not the same".to_owned());
            }
            shared.lock().expect("runs catch their panics").1.add(scenario, seed, outcome, is_twice);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..options.threads {
            scope.spawn(work);
        }
    });
    let mut totals = shared.into_inner().expect("runs catch their panics").1;
    totals.real = began.elapsed();
    totals
}
