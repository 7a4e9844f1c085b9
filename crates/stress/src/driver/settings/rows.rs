//! `-pop` and `-col`: which rows, and what they consist of.

use super::command::{CommandSettings, Length, LoadSettings};
use super::words::{Group, refusal};
use super::ycsb::{Requests, YcsbSettings};
use crate::StressError;
use crate::distribution::{Distribution, parse_range};

/// Columns of a row at most.
const COLUMNS_MAX: u64 = 1_000;
/// Bytes of a value at most.
pub(crate) const VALUE_BYTES_MAX: u64 = 16 << 20;
/// Rows that there are when neither `-pop` nor the number of operations says it.
const ROWS_DEFAULT: u64 = 1_000_000;

/// Which rows, in which order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PopulationSettings {
    /// One after another; after the last the first again, or the end.
    Sequence { first: u64, last: u64, wraps: bool },
    /// Drawn.
    Drawn(Distribution),
    /// As a workload of YCSB asks for its records.
    Requested(Requests),
}

impl std::fmt::Display for PopulationSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PopulationSettings::Sequence { first, last, wraps } => {
                write!(f, "one after another from {first} to {last}{}", if *wraps { "" } else { ", once" })
            }
            PopulationSettings::Drawn(distribution) => write!(f, "drawn from {distribution}"),
            PopulationSettings::Requested(requests) => write!(f, "asked for in YCSB's order, {requests:?}"),
        }
    }
}

impl PopulationSettings {
    pub(super) fn of(mut group: Group, command: &CommandSettings) -> Result<PopulationSettings, StressError> {
        if let LoadSettings::Ycsb(ycsb) = &command.load {
            return Ok(PopulationSettings::of_workload(ycsb));
        }
        let count = match command.length {
            Length::Operations(count @ 1..) => count,
            _ => ROWS_DEFAULT,
        };
        group.refuse(&[("read-lookback=", "reads do not know which rows were written last")])?;
        if command.load != LoadSettings::Standard {
            group.refuse(&[("contents=", "rows are inserted in the order in which they are made")])?;
        }
        // The order within a partition, of which the other tables have one row.
        let _ = group.parsed("contents=", "sorted or shuffled", |text| {
            ["sorted", "shuffled"].contains(&text.to_ascii_lowercase().as_str()).then_some(())
        })?;
        let sequence = group.value("seq=")?;
        let drawn = group.value("dist=")?;
        let wraps = !group.flag("no-wrap")?;
        group.finish()?;
        match (sequence, drawn) {
            (Some(_), Some(_)) => Err(refusal("-pop: seq= and dist= exclude each other")),
            (None, _) if !wraps => Err(refusal("-pop: no-wrap is for seq=")),
            (Some(range), None) => {
                let (first, last) = parse_range(&range).map_err(|error| refusal(format!("-pop seq=: {error}")))?;
                Ok(PopulationSettings::Sequence { first, last, wraps })
            }
            (None, Some(text)) => {
                let distribution = text.parse().map_err(|error| refusal(format!("-pop dist=: {error}")))?;
                Ok(PopulationSettings::Drawn(distribution))
            }
            (None, None) if command.is_write() => {
                Ok(PopulationSettings::Sequence { first: 1, last: count, wraps: true })
            }
            (None, None) => {
                Ok(PopulationSettings::Drawn(format!("GAUSSIAN(1..{count})").parse().expect("is a distribution")))
            }
        }
    }
}

impl PopulationSettings {
    /// A load writes one record after another.
    fn of_workload(ycsb: &YcsbSettings) -> PopulationSettings {
        match ycsb.is_load {
            true => {
                let (first, count) = (ycsb.insert_start, ycsb.insert_count);
                PopulationSettings::Sequence { first, last: first + count - 1, wraps: false }
            }
            false => PopulationSettings::Requested(ycsb.requests),
        }
    }
}

/// What a row consists of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnSettings {
    /// The names of the columns beside the key.
    pub(crate) names: Vec<String>,
    /// Bytes of a value.
    pub(crate) size: Distribution,
    /// Microseconds since 1970 at which all is said to be written.
    pub(crate) timestamp: Option<i64>,
    /// Whether a read asks for all columns by `*`.
    pub(crate) slice: bool,
}

impl ColumnSettings {
    pub(super) fn of(mut group: Group) -> Result<ColumnSettings, StressError> {
        group.refuse(&[
            ("super=", "super columns are not supported"),
            ("comparator=TimeUUIDType", "columns are named by text"),
        ])?;
        let _ = group.parsed("comparator=", "AsciiType or UTF8Type", |text| {
            ["asciitype", "utf8type"].contains(&text.to_ascii_lowercase().as_str()).then_some(())
        })?;
        let names = group.value("names=")?;
        let count = group.parsed("n=", "a distribution such as FIXED(5)", |text| text.parse::<Distribution>().ok())?;
        let size =
            group.parsed("size=", "a distribution such as FIXED(34)", |text| text.parse::<Distribution>().ok())?;
        let settings = ColumnSettings {
            names: match (names, count) {
                (Some(_), Some(_)) => return Err(refusal("-col: names= and n= exclude each other")),
                (Some(names), None) => named(&names)?,
                (None, count) => numbered(count)?,
            },
            size: size.unwrap_or_else(|| "FIXED(34)".parse().expect("is a distribution")),
            timestamp: group.parsed("timestamp=", "microseconds since 1970", |text| text.parse().ok())?,
            slice: group.flag("slice")?,
        };
        group.finish()?;
        match settings.size.range().1 {
            0..=VALUE_BYTES_MAX => Ok(settings),
            _ => Err(refusal(format!("-col size=: a value has at most {VALUE_BYTES_MAX} bytes"))),
        }
    }
}

fn named(names: &str) -> Result<Vec<String>, StressError> {
    let mut names: Vec<String> = names.split(',').map(str::to_owned).collect();
    names.sort();
    let is_name = |name: &String| !name.is_empty() && !name.contains('"') && name != "key";
    match names.iter().all(is_name) && names.windows(2).all(|pair| pair[0] != pair[1]) {
        true => Ok(names),
        false => Err(refusal("-col names=: must be different names, none of them `key`, with commas between them")),
    }
}

/// `C0`, `C1` and so on, in the order of their names.
fn numbered(count: Option<Distribution>) -> Result<Vec<String>, StressError> {
    let (least, most) = count.map_or((5, 5), |count| count.range());
    if least != most {
        return Err(refusal(
            "-col n=: rows with different numbers of columns are not supported, as in CQL mode of cassandra-stress; use FIXED(5)",
        ));
    }
    if !(1..=COLUMNS_MAX).contains(&most) {
        return Err(refusal(format!("-col n=: must be from 1 to {COLUMNS_MAX}")));
    }
    let mut names: Vec<String> = (0..most).map(|number| format!("C{number}")).collect();
    names.sort();
    Ok(names)
}
