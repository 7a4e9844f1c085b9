//! How a profile's rows are inserted: what its file says of it, and `-insert`, which goes before.

use std::str::FromStr;

use scylla::statement::batch::BatchType;

use super::words::{Group, refusal};
use crate::StressError;
use crate::distribution::{Distribution, DistributionError, parse_count};

/// Partitions that an insert is about at most.
const PARTITIONS_MAX: u64 = 1_000_000;
/// Partitions that can wait to be visited again at most.
const REVISITED_MAX: u64 = 100_000_000;

/// How inserts are made up.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InsertSettings {
    /// How many partitions an insert is about.
    pub(crate) partitions: Distribution,
    /// How its rows go together.
    pub(crate) batch: BatchType,
    /// How many of the rows of a partition are inserted.
    pub(crate) select: Ratio,
    /// How many of the columns of a row have a value.
    pub(crate) population: Ratio,
    /// How many inserts a partition is split into.
    pub(crate) visits: Distribution,
    /// Which of the partitions that were not written whole yet comes next.
    pub(crate) revisit: Distribution,
}

/// A share, drawn: `UNIFORM(1..5)/10`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ratio {
    distribution: Distribution,
    divisor: u64,
}

impl Ratio {
    /// The share that this seed draws, from 0 to 1.
    pub(crate) fn draw(&self, seed: u64) -> f64 {
        (self.distribution.draw(seed) as f64 / self.divisor as f64).min(1.0)
    }

    /// The greatest share that can be drawn.
    pub(crate) fn most(&self) -> f64 {
        (self.distribution.range().1 as f64 / self.divisor as f64).min(1.0)
    }
}

impl FromStr for Ratio {
    type Err = DistributionError;

    fn from_str(text: &str) -> Result<Ratio, DistributionError> {
        let wrong = || DistributionError::Ratio { text: text.to_owned() };
        let (distribution, divisor) = text.rsplit_once('/').ok_or_else(wrong)?;
        let divisor = parse_count(divisor).filter(|divisor| *divisor > 0).ok_or_else(wrong)?;
        Ok(Ratio { distribution: distribution.trim().parse()?, divisor })
    }
}

impl Default for InsertSettings {
    fn default() -> InsertSettings {
        let distribution = |text: &str| text.parse().expect("is a distribution");
        let all = Ratio { distribution: distribution("FIXED(1)"), divisor: 1 };
        InsertSettings {
            partitions: distribution("FIXED(1)"),
            batch: BatchType::Logged,
            select: all.clone(),
            population: all,
            visits: distribution("FIXED(1)"),
            revisit: distribution("UNIFORM(1..1M)"),
        }
    }
}

/// A batch's type of its name.
pub(super) fn batch(text: &str) -> Option<BatchType> {
    match text.to_ascii_lowercase().as_str() {
        "logged" => Some(BatchType::Logged),
        "unlogged" => Some(BatchType::Unlogged),
        "counter" => Some(BatchType::Counter),
        _ => None,
    }
}

impl InsertSettings {
    /// Takes what `-insert` says over what the profile has said.
    pub(super) fn take_options(&mut self, mut group: Group) -> Result<(), StressError> {
        const DISTRIBUTION: &str = "a distribution such as UNIFORM(1..10)";
        const RATIO: &str = "a distribution with a divisor, such as UNIFORM(1..5)/10";
        for (prefix, distribution) in
            [("visits=", &mut self.visits), ("revisit=", &mut self.revisit), ("partitions=", &mut self.partitions)]
        {
            if let Some(said) = group.parsed(prefix, DISTRIBUTION, |text| text.parse().ok())? {
                *distribution = said;
            }
        }
        for (prefix, ratio) in [("select-ratio=", &mut self.select), ("row-population-ratio=", &mut self.population)] {
            if let Some(said) = group.parsed(prefix, RATIO, |text| text.parse().ok())? {
                *ratio = said;
            }
        }
        if let Some(said) = group.parsed("batchtype=", "LOGGED, UNLOGGED or COUNTER", batch)? {
            self.batch = said;
        }
        group.finish()?;
        self.check()
    }

    fn check(&self) -> Result<(), StressError> {
        let bounded = [
            ("partitions", &self.partitions, PARTITIONS_MAX),
            ("visits", &self.visits, u64::from(u32::MAX)),
            ("revisit", &self.revisit, REVISITED_MAX),
        ];
        for (name, distribution, most) in bounded {
            let (least, greatest) = distribution.range();
            if least == 0 || greatest > most {
                return Err(refusal(format!("insert: {name} {distribution}: must be from 1 to {most}")));
            }
        }
        Ok(())
    }
}
