//! The phase `simulation`: suites of whole nodes on simulated machines.
//!
//! A change runs one of three samples, by its commit's hash: each has seeds of its own, so that three changes between them look at three times as
//! much as one. Its amounts are counts: the clock decides nothing, and a slow machine proves as much. A soak runs for hours, of seeds that no
//! change has.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::drivers::sample::Sample;
use crate::report::Passed;
use crate::tests::{BUILD_TIME, Effort, counted};
use crate::{built, workspace};

/// Images, failing calls and damaged disks of a sample: a third of what a change had when each ran the same.
const IMAGES: &str = "200";
const IMAGES_OF_UPKEEP: &str = "50";
const IMAGES_OF_REFRESH: &str = "120";
const IMAGES_OF_OPERATIONS: &str = "14";
const CALLS: &str = "40";
const FLIPS: u64 = 40;
/// Power cuts beside statements about roles.
const ACCESS: &str = "40";
/// Clusters of a sample. Of the requests each scenario has one.
const GROUPS: u64 = 4;
const MEMBERS: u64 = 11;
const REQUESTS: u64 = 8;
/// Random seeds of a sample, three of each scenario, and as many more as it takes to reach all marks.
const RANDOM: u64 = 69;
/// The first of them. Torn tails are rare: each sample has one from here on.
const RANDOM_FIRST: u64 = 58;

/// The arguments of a run of the simulator.
type Suite = Vec<String>;

/// Images of the disk at every boundary, disk calls that fail one by one, clusters under troubles, and random seeds.
pub fn phase(budget: Duration, effort: Effort) -> Result<Passed, String> {
    let began = Instant::now();
    let binary = built::program("helenus-sim", BUILD_TIME)?;
    let sample = Sample::chosen(effort)?;
    let suites = match effort {
        Effort::Ci => sample.numbers().flat_map(of_sample).collect(),
        Effort::Soak => of_soak(),
    };
    let held = Passed { note: sample.note("images and seeds"), ..Passed::held() };
    suites.into_iter().try_fold(held, |all, suite| {
        let left = budget.saturating_sub(began.elapsed());
        Ok(all.and(counted(Command::new(&binary).args(suite).current_dir(workspace::root()), left)?))
    })
}

fn suite(words: &str) -> Suite {
    words.split_whitespace().map(str::to_owned).collect()
}

/// The suites of the sample with this number.
fn of_sample(number: u64) -> Vec<Suite> {
    let first = 1 + number;
    let images = |course: &str, images: &str| {
        format!("enumerate --course {course} --images {images} --first-seed {first} --threads 2")
    };
    let clusters = |scenario: &str, count: u64, twice_every: u64| {
        let first = 1 + number * count;
        format!("{scenario} --seeds {count} --seconds 3600 --first-seed {first} --twice-every {twice_every}")
    };
    let random = RANDOM_FIRST + number * RANDOM;
    [
        images("writes", IMAGES),
        images("upkeep", IMAGES_OF_UPKEEP),
        images("refresh", IMAGES_OF_REFRESH),
        images("operations", IMAGES_OF_OPERATIONS),
        format!("faults --each-call --calls {CALLS} --seed {first} --threads 2"),
        format!("flips --count {FLIPS} --seed {}", 1 + number * FLIPS),
        format!("access --cuts {ACCESS} --first-seed {first} --threads 2"),
        clusters("group", GROUPS, GROUPS),
        clusters("members", MEMBERS, MEMBERS),
        // The unit tests run some of them twice.
        clusters("requests", REQUESTS, u64::MAX),
        format!("random --all-marks --seconds 0 --seeds-min {RANDOM} --first-seed {random} --threads 2"),
    ]
    .map(|words| suite(&words))
    .to_vec()
}

fn of_soak() -> Vec<Suite> {
    [
        "enumerate --images 100000 --threads 2",
        "enumerate --course upkeep --images 40000 --threads 2",
        "enumerate --course refresh --images 20000 --threads 2",
        "enumerate --course operations --images 6000 --threads 2",
        "faults --each-call --calls 1000000 --threads 2",
        "flips --count 20000",
        "access --cuts 100000 --seeds 20 --threads 2 --all-marks",
        "group --seconds 3600 --all-marks",
        "members --seconds 3600 --all-marks",
        "requests --seconds 3600 --all-marks",
        "random --all-marks --seconds 3600 --seeds 10000 --threads 2",
    ]
    .map(suite)
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeds of a suite, or the first one where it counts images or calls.
    fn seeds(suite: &Suite) -> std::ops::Range<u64> {
        let number = |flag: &str| {
            let place = suite.iter().position(|word| word == flag)?;
            suite.get(place + 1)?.parse::<u64>().ok()
        };
        let first = number("--first-seed").or(number("--seed")).expect("a sample has seeds of its own");
        let count = ["--count", "--seeds", "--seeds-min"].into_iter().find_map(number);
        first..first + count.unwrap_or(1)
    }

    #[test]
    fn samples_run_the_suites_of_a_soak_with_seeds_of_their_own() {
        let samples = [0, 1, 2].map(of_sample);
        for (place, of_soak) in of_soak().iter().enumerate() {
            let suites = samples.each_ref().map(|suites| &suites[place]);
            assert!(suites.iter().all(|suite| suite[0] == of_soak[0]), "{suites:?}, {of_soak:?}");
            let [one, two, three] = suites.map(seeds);
            assert!(one.end <= two.start && two.end <= three.start, "{suites:?}");
        }
        assert!(samples.iter().all(|suites| suites.len() == of_soak().len()));
    }
}
