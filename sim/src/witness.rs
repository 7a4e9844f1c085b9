//! Witnesses: the quickest run that catches a [planted bug](planted::Bug), whatever the seed.
//!
//! A seed would not do: any commit moves what comes of one. A witness is a scenario whose faults come at a mark or at an acknowledgement, or
//! some steps with a name, or the images of every boundary of such steps.

mod directed;

use std::time::Duration;

use planted::Planted;

use crate::enumerate::{Course, EnumerateOptions, enumerate, refresh_cut_short, snapshot_cut_short};
use crate::run::run;
use crate::scenario::Scenario;

/// More images than [`Course::Batches`] has of one seed.
const IMAGES_MAX: u64 = 5_000;
/// The workloads of one witness.
const ENUMERATE_AT_MOST: Duration = Duration::from_secs(100);

/// A witness's name and what it does.
#[derive(Debug, Clone, Copy)]
pub struct Witness {
    /// Its name, which a planted bug's description gives.
    pub name: &'static str,
    does: Does,
}

#[derive(Debug, Clone, Copy)]
enum Does {
    /// A scenario with moments.
    Scenario(&'static str),
    /// Steps, and what of their end does not hold.
    Steps(fn(u64, Planted) -> Result<Vec<String>, String>),
    /// Images of a course.
    Images(Course),
}

/// All of them.
pub const WITNESSES: [Witness; 19] = [
    Witness { name: "flush-cut-short", does: Does::Scenario(include_str!("../scenarios/witness/flush-cut-short.txt")) },
    Witness { name: "flush-not-live", does: Does::Scenario(include_str!("../scenarios/witness/flush-not-live.txt")) },
    Witness { name: "long-groups", does: Does::Scenario(include_str!("../scenarios/witness/long-groups.txt")) },
    Witness { name: "fresh-log", does: Does::Scenario(include_str!("../scenarios/witness/fresh-log.txt")) },
    Witness { name: "slow-disk-cut", does: Does::Scenario(include_str!("../scenarios/witness/slow-disk-cut.txt")) },
    Witness {
        name: "slow-conditional-cut",
        does: Does::Scenario(include_str!("../scenarios/witness/slow-conditional-cut.txt")),
    },
    Witness { name: "conditions-from-files", does: Does::Steps(directed::conditions_from_files) },
    Witness { name: "batches-cut-short", does: Does::Images(Course::Batches) },
    Witness { name: "truncated-under-another-count", does: Does::Steps(directed::truncated_under_another_count) },
    Witness { name: "truncated-and-started-twice", does: Does::Steps(directed::truncated_and_started_twice) },
    Witness { name: "all-peers-restart", does: Does::Steps(crate::sequences::all_peers_restart::run) },
    Witness { name: "truncate-with-one-down", does: Does::Steps(crate::sequences::truncate_down::run) },
    Witness { name: "truncate-revoked", does: Does::Steps(crate::sequences::truncate_revoked::run) },
    Witness { name: "counter-clock-back", does: Does::Steps(crate::sequences::counter_clock::run) },
    Witness { name: "serial-read", does: Does::Steps(crate::sequences::serial_read::run) },
    Witness { name: "snapshot-cut-short", does: Does::Steps(snapshot_cut_short) },
    Witness { name: "refresh-cut-short", does: Does::Steps(refresh_cut_short) },
    Witness { name: "written-at-all-to-one", does: Does::Steps(directed::written_at_all_to_one) },
    Witness { name: "replica-away-meanwhile", does: Does::Steps(directed::replica_away_meanwhile) },
];

impl Witness {
    /// The one with that name.
    pub fn named(name: &str) -> Option<Witness> {
        WITNESSES.into_iter().find(|witness| witness.name == name)
    }

    /// Runs it. Gives the violations; an error is no verdict, neither yes nor no.
    pub fn check(&self, seed: u64, planted: Planted) -> Result<Vec<String>, String> {
        match self.does {
            Does::Scenario(text) => {
                let mut scenario = Scenario::parse(self.name, text).map_err(|error| error.to_string())?;
                scenario.node.planted = planted;
                let outcome = run(&scenario, seed);
                match outcome.missed.first().filter(|_| outcome.violations.is_empty()) {
                    Some(moment) => Err(format!("no run came by '{moment}'")),
                    None => Ok(outcome.violations),
                }
            }
            Does::Steps(steps) => {
                stdx::marks::take();
                let result = std::panic::catch_unwind(|| steps(seed, planted));
                result.unwrap_or_else(|_| Ok(vec!["a panic".to_owned()]))
            }
            Does::Images(course) => {
                let options = EnumerateOptions {
                    course,
                    images: IMAGES_MAX,
                    first_seed: seed,
                    threads: 1,
                    at_most: ENUMERATE_AT_MOST,
                    only: None,
                    workloads_max: 1,
                    failures_max: 1,
                    planted,
                };
                let all = enumerate(&options);
                let failed = all.failures.into_iter().flat_map(|(_, image, what, violations)| {
                    violations.into_iter().map(move |violation| format!("image {image}, {what}: {violation}"))
                });
                Ok(failed.collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use planted::{BUGS, Suite};

    use super::*;

    #[test]
    fn every_bug_of_the_simulator_has_a_witness_here_and_every_witness_a_bug() {
        let of_bugs: Vec<&str> =
            BUGS.iter().filter(|bug| bug.suite == Suite::Simulation).map(|bug| bug.witness).collect();
        for name in &of_bugs {
            assert!(Witness::named(name).is_some(), "there is no witness {name}");
        }
        for Witness { name, does } in WITNESSES {
            assert!(of_bugs.contains(&name), "{name} is no bug's");
            if let Does::Scenario(text) = does {
                Scenario::parse(name, text).expect("it can be read");
            }
        }
    }
}
