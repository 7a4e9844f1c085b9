//! `-rate`: how many operations at a time, and how many a second.

use super::command::{CommandSettings, Length, LoadSettings};
use super::words::{Group, refusal};
use crate::StressError;

/// The most operations at a time: each is a task with buffers of its own.
const THREADS_MAX: usize = 1_000_000;
/// The most operations a second that can be asked for.
const RATE_MAX: u64 = 100_000_000;

/// How fast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RateSettings {
    /// So many at a time.
    Threads { threads: usize, limit: Limit },
    /// Runs with more and more at a time, from `least` to `most`; `auto` stops when it does not pay any more.
    Search { least: usize, most: usize, auto: bool },
}

/// How many operations begin in a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// A new one for each that ends.
    None,
    /// The same, but no more than so many a second.
    Throttle(u64),
    /// So many, at times that do not depend on what the server does.
    Fixed(u64),
}

impl Limit {
    /// Operations a second.
    pub(crate) fn per_second(self) -> Option<u64> {
        match self {
            Limit::None => None,
            Limit::Throttle(rate) | Limit::Fixed(rate) => Some(rate),
        }
    }
}

impl RateSettings {
    pub(super) fn of(mut group: Group, is_said: bool, command: &CommandSettings) -> Result<RateSettings, StressError> {
        if !is_said {
            let counts = matches!(command.length, Length::Operations(1..));
            if matches!(command.load, LoadSettings::Ycsb(_)) {
                // As YCSB has it.
                return Ok(RateSettings::Threads { threads: 1, limit: Limit::None });
            }
            return Ok(match command.is_write() && counts && command.load == LoadSettings::Standard {
                true => RateSettings::Threads { threads: 200, limit: Limit::None },
                false => RateSettings::Search { least: 4, most: 1000, auto: true },
            });
        }
        let threads = group.parsed("threads=", "a number from 1", parse_threads)?;
        let throttle = group.parsed("throttle=", "a rate such as 5000/s", parse_rate)?.filter(|rate| *rate > 0);
        let fixed = group.parsed("fixed=", "a rate such as 5000/s", parse_rate)?.filter(|rate| *rate > 0);
        let least = group.parsed("threads>=", "a number from 1", parse_threads)?;
        let most = group.parsed("threads<=", "a number from 1", parse_threads)?;
        let auto = group.flag("auto")?;
        group.refuse(&[("limit=", "use throttle= or fixed=, its names since Cassandra 3.8")])?;
        group.finish()?;
        let searches = least.is_some() || most.is_some() || auto;
        match (threads, searches) {
            (Some(_), true) => Err(refusal("-rate: threads= excludes threads>=, threads<= and auto")),
            (Some(threads), false) => Ok(RateSettings::Threads { threads, limit: limit(throttle, fixed)? }),
            (None, _) if throttle.is_some() || fixed.is_some() => {
                Err(refusal("-rate: throttle= and fixed= need threads=, the maximum of concurrent operations"))
            }
            (None, _) => {
                let (least, most) = (least.unwrap_or(4), most.unwrap_or(1000));
                match least <= most {
                    true => Ok(RateSettings::Search { least, most, auto }),
                    false => Err(refusal(format!("-rate: threads>={least} is above threads<={most}"))),
                }
            }
        }
    }
}

fn limit(throttle: Option<u64>, fixed: Option<u64>) -> Result<Limit, StressError> {
    match (throttle, fixed) {
        (Some(_), Some(_)) => Err(refusal("-rate: throttle= and fixed= exclude each other")),
        (Some(rate), None) => Ok(Limit::Throttle(rate)),
        (None, Some(rate)) => Ok(Limit::Fixed(rate)),
        (None, None) => Ok(Limit::None),
    }
}

fn parse_threads(text: &str) -> Option<usize> {
    text.parse().ok().filter(|threads| (1..=THREADS_MAX).contains(threads))
}

/// `5000/s`.
fn parse_rate(text: &str) -> Option<u64> {
    let digits = text.strip_suffix("/s").or_else(|| text.strip_suffix("/S"))?;
    digits.parse().ok().filter(|rate| *rate <= RATE_MAX)
}
