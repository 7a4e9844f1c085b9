//! The configurations that a run gives each driver: a third of its lines of `tests/drivers/configurations.txt`, by the commit's hash.
//!
//! A driver's lines are dealt out in turn to three samples, and each driver begins with another one. So the drivers that speak all versions run
//! every line between them in each run, and over three samples each driver runs all of its own. A random choice would promise neither; a
//! choice by date or count would differ when a commit is run again.

use std::ops::Range;
use std::path::PathBuf;

use crate::effort::Effort;
use crate::workspace;

/// Names the table of the chosen lines to the suites.
pub const CONFIGURATIONS_FILE: &str = "HELENUS_CONFIGURATIONS_FILE";
/// Chooses the sample in place of the commit's hash.
pub const SAMPLE: &str = "HELENUS_SAMPLE";
/// How many samples make up the whole table.
const SAMPLES: u64 = 3;

/// The lines of the table that are a driver's.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// The first word of its lines.
    pub kind: &'static str,
    /// How many samples it is ahead of the run's.
    pub ahead: u64,
}

/// The part of every share that a run takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// All lines.
    All,
    /// Those of the sample with this number, below [`SAMPLES`].
    Third(u64),
}

impl Sample {
    /// All for a soak or where git says nothing; else as `HELENUS_SAMPLE` or the commit's hash say.
    pub fn chosen(effort: Effort) -> Result<Sample, String> {
        if effort == Effort::Soak {
            return Ok(Sample::All);
        }
        if let Ok(number) = std::env::var(SAMPLE) {
            let number: u64 = number.parse().map_err(|_| format!("{SAMPLE}={number} is no number"))?;
            return Ok(Sample::of(number));
        }
        Ok(workspace::commit_hash().map_or_else(
            |message| {
                println!("everything runs, not a third: {message}");
                Sample::All
            },
            Sample::of,
        ))
    }

    /// The sample of a hash.
    fn of(hash: u64) -> Sample {
        Sample::Third(hash % SAMPLES)
    }

    /// A few words for people: how to have the same again.
    pub fn note(self, of: &str) -> String {
        match self {
            Sample::All => format!("all {of}"),
            Sample::Third(number) => format!("a third of the {of}, {SAMPLE}={number}"),
        }
    }

    /// The samples that it stands for, by number.
    pub fn numbers(self) -> Range<u64> {
        match self {
            Sample::All => 0..SAMPLES,
            Sample::Third(number) => number..number + 1,
        }
    }

    /// True if it has what stands at this place of a list.
    pub fn has(self, place: u64) -> bool {
        self.numbers().contains(&(place % SAMPLES))
    }

    /// The lines of the table that this sample has of a share.
    fn lines(self, table: &str, share: Share) -> Vec<&str> {
        let own = table.lines().filter(|line| line.split_whitespace().next() == Some(share.kind));
        // A share that is ahead has its lines dealt out from an earlier place on.
        own.zip(SAMPLES - share.ahead % SAMPLES..).filter(|(_, place)| self.has(*place)).map(|(line, _)| line).collect()
    }

    /// Writes them into a file for the suite, and prints them.
    pub fn write(self, suite: &str, share: Share) -> Result<PathBuf, String> {
        let lines = self.lines(&table()?, share).join("\n");
        println!("{suite}: {}", lines.replace('\n', "; "));
        let name: String = suite.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '-' }).collect();
        let file = workspace::scratch(&format!("configurations-{name}"))?.join("configurations.txt");
        workspace::write(&file, &(lines + "\n"))?;
        Ok(file)
    }
}

fn table() -> Result<String, String> {
    let path = workspace::root().join("tests/drivers/configurations.txt");
    std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::LANES;
    use super::*;

    /// Two columns and a value of each, in a line.
    type Pair<'a> = (usize, &'a str, usize, &'a str);

    /// Of every residue, small and large.
    const HASHES: [u64; 8] = [0, 1, 2, 3, 1000, 0x04d3_d2b8_328a_d767, 0xf48c_2bc5_54e3_af7f, u64::MAX - 3];

    /// Reactor, shards, version and compression.
    fn columns(line: &str) -> Vec<&str> {
        line.split_whitespace().skip(1).collect()
    }

    fn pairs<'a>(lines: &[&'a str]) -> BTreeSet<Pair<'a>> {
        let of_line = |line: &&'a str| {
            let words = columns(line);
            let pair = |(one, two): (usize, usize)| (one, words[one], two, words[two]);
            (0..4).flat_map(|one| (one + 1..4).map(move |two| (one, two))).map(pair).collect::<Vec<_>>()
        };
        lines.iter().flat_map(of_line).collect()
    }

    /// Each value of a column with each of every other, but for what cannot be.
    fn possible<'a>(lines: &[&'a str]) -> BTreeSet<Pair<'a>> {
        let values = |column| lines.iter().map(|line| columns(line)[column]).collect::<BTreeSet<_>>();
        let columns = (0..4).flat_map(|one| (one + 1..4).map(move |two| (one, two)));
        columns
            .flat_map(|(one, two)| {
                let (ones, twos) = (values(one), values(two));
                let pair = move |first| twos.clone().into_iter().map(move |second| (one, first, two, second));
                ones.into_iter().flat_map(pair)
            })
            // Version 5 has no Snappy.
            .filter(|pair| *pair != (2, "5", 3, "snappy"))
            .collect()
    }

    /// A kind's lines that force a reactor.
    fn forcing<'a>(table: &'a str, kind: &'static str) -> Vec<&'a str> {
        let lines = Sample::All.lines(table, Share { kind, ahead: 0 });
        lines.into_iter().filter(|line| columns(line)[0] != "refused").collect()
    }

    fn shares() -> impl Iterator<Item = Share> {
        LANES.iter().flat_map(|suites| suites.iter()).map(|suite| suite.share)
    }

    #[test]
    fn the_configurations_hold_every_pair() {
        let table = table().expect("is there");
        let lines: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(lines.iter().all(|line| columns(line).len() == 4), "five columns");
        for kind in ["full", "four", "plain"] {
            let lines = forcing(&table, kind);
            let (there, wanted) = (pairs(&lines), possible(&lines));
            assert!(there.is_superset(&wanted), "{kind}: {:?} meet in no line", &wanted - &there);
        }
    }

    #[test]
    fn the_drivers_of_one_run_meet_every_pair_between_them() {
        let table = table().expect("is there");
        // The test above holds that these are all there can be.
        let wanted = pairs(&Sample::All.lines(&table, share("full")));
        for hash in HASHES {
            let lines: Vec<&str> = shares().flat_map(|share| Sample::of(hash).lines(&table, share)).collect();
            let there = pairs(&lines);
            assert!(there.is_superset(&wanted), "hash {hash}: {:?} meet in no driver", &wanted - &there);
        }
    }

    #[test]
    fn a_driver_runs_a_third_and_all_of_its_lines_over_three_samples() {
        let table = table().expect("is there");
        for (share, hash) in shares().flat_map(|share| HASHES.map(|hash| (share, hash))) {
            let all = Sample::All.lines(&table, share);
            let mut seen = BTreeSet::new();
            for hash in hash..hash + SAMPLES {
                let lines = Sample::of(hash).lines(&table, share);
                assert!((1..=all.len().div_ceil(3)).contains(&lines.len()), "{share:?}, hash {hash}: {lines:?}");
                assert!(lines.iter().all(|line| seen.insert(*line)), "{share:?}: a line is in two samples");
            }
            assert_eq!(seen.len(), all.len());
        }
    }

    #[test]
    fn a_sample_of_the_full_lines_has_every_version_reactor_and_shard_count() {
        let table = table().expect("is there");
        for hash in HASHES {
            let lines = Sample::of(hash).lines(&table, share("full"));
            let values = |column: usize| lines.iter().map(|line| columns(line)[column]).collect::<BTreeSet<_>>();
            assert_eq!((values(1).len(), values(2).len()), (2, 3), "hash {hash}");
            // Where io_uring is refused epoll serves.
            assert!(values(0).contains("uring") && values(0).len() >= 2, "hash {hash}");
        }
    }

    fn share(kind: &'static str) -> Share {
        Share { kind, ahead: 0 }
    }
}
