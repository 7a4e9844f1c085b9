//! Many seeds, of which each scenario has its turn.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use planted::Planted;

use super::{Expected, Outcome, Scenario, run};

/// Seeds that fail before a run is ended.
const FAILURES_MAX: usize = 3;

/// The outcome of many seeds.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// Seeds that were run.
    pub seeds: u64,
    /// Those of them that were run twice.
    pub twice: u64,
    /// Changes, additions and truncations of all that were acknowledged.
    pub acknowledged: usize,
    /// Those whose outcome no client knows.
    pub unknown: usize,
    /// All that were sent.
    pub sent: usize,
    /// The greatest share of unknown outcomes of one seed, percent.
    pub unknown_at_most: f64,
    /// The fewest that were acknowledged of one seed.
    pub acknowledged_at_least: usize,
    /// Reads of all that were judged.
    pub reads: u64,
    /// Truncations of all that were acknowledged.
    pub truncated: usize,
    /// Troubles of all.
    pub troubles: usize,
    /// The fewest of one seed.
    pub troubles_at_least: usize,
    /// Seeds of each scenario.
    pub scenarios: BTreeMap<&'static str, u64>,
    /// Errors of all, by code.
    pub refused: BTreeMap<String, u64>,
    /// Marks of all.
    pub marks: BTreeMap<&'static str, u64>,
    /// Seeds that failed, with their scenario and sentences.
    pub failures: Vec<(&'static str, u64, Vec<String>)>,
    /// Seeds that show nothing, with their scenario and the reason.
    pub shows_nothing: Vec<(&'static str, u64, String)>,
    /// The traces of all, by seed.
    pub traces: Vec<(&'static str, u64, u64)>,
}

impl Totals {
    fn add(&mut self, scenario: &'static str, seed: u64, outcome: Outcome) {
        self.seeds += 1;
        self.traces.push((scenario, seed, outcome.trace_hash));
        self.acknowledged += outcome.acknowledged;
        self.unknown += outcome.unknown;
        self.sent += outcome.sent;
        let share = 100.0 * outcome.unknown as f64 / outcome.sent.max(1) as f64;
        self.unknown_at_most = self.unknown_at_most.max(share);
        let least = |so_far: usize, of_seed: usize| if self.seeds == 1 { of_seed } else { so_far.min(of_seed) };
        self.acknowledged_at_least = least(self.acknowledged_at_least, outcome.acknowledged);
        self.troubles_at_least = least(self.troubles_at_least, outcome.troubles);
        self.reads += outcome.reads;
        self.truncated += outcome.truncated;
        self.troubles += outcome.troubles;
        *self.scenarios.entry(scenario).or_default() += 1;
        outcome.refused.into_iter().for_each(|(name, count)| *self.refused.entry(name).or_default() += count);
        outcome.marks.into_iter().for_each(|(name, count)| *self.marks.entry(name).or_default() += count);
        if !outcome.violations.is_empty() {
            self.failures.push((scenario, seed, outcome.violations));
        } else if let Some(why) = outcome.shows_nothing {
            self.shows_nothing.push((scenario, seed, why));
        }
    }

    /// Seeds that failed, or show nothing.
    pub fn failed(&self) -> usize {
        self.failures.len() + self.shows_nothing.len()
    }
}

/// Seeds to run.
#[derive(Debug, Clone)]
pub struct Seeds {
    /// The first.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// No further one is begun after so long.
    pub at_most: Duration,
    /// One of so many is run twice.
    pub twice_every: u64,
}

/// Runs seeds until all are done or the time is over. Scenarios take turns, by seed.
pub fn random(scenarios: &[Scenario], seeds: &Seeds, expected: &Expected, planted: Planted) -> Totals {
    let began = Instant::now();
    let mut totals = Totals::default();
    for seed in seeds.first..seeds.first.saturating_add(seeds.count) {
        if began.elapsed() >= seeds.at_most || totals.failed() >= FAILURES_MAX {
            break;
        }
        let Some(scenario) = scenarios.get((seed % scenarios.len().max(1) as u64) as usize) else { break };
        let mut outcome = run(scenario, seed, expected, planted);
        if seed.is_multiple_of(seeds.twice_every) {
            totals.twice += 1;
            let again = run(scenario, seed, expected, planted).trace_hash;
            if again != outcome.trace_hash {
                outcome.violations.push(format!("two runs differ: {:x} and {again:x}", outcome.trace_hash));
            }
        }
        totals.add(scenario.name, seed, outcome);
    }
    totals
}
