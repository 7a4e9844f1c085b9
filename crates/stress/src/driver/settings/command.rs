//! The command: what the operations are, and how many.

use std::time::Duration;

use scylla::statement::Consistency;

use super::words::{Group, refusal};
use crate::StressError;
use crate::distribution::{Distribution, parse_count};

/// What one operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Read the counters of a row.
    CounterRead,
    /// Add to them.
    CounterWrite,
    /// Read a row and compare it.
    Read,
    /// Write a row.
    Write,
}

impl Kind {
    /// As reports say it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::CounterWrite => "COUNTER_WRITE",
            Kind::CounterRead => "COUNTER_READ",
            Kind::Read => "READ",
            Kind::Write => "WRITE",
        }
    }

    /// The kind of a command's name.
    fn of(name: &str) -> Option<Kind> {
        match name {
            "write" | "insert" => Some(Kind::Write),
            "read" => Some(Kind::Read),
            "counter_write" | "counterwrite" | "counter_add" | "counteradd" => Some(Kind::CounterWrite),
            "counter_read" | "counterread" | "counter_get" | "counterget" => Some(Kind::CounterRead),
            _ => None,
        }
    }

    /// Whether it changes rows.
    pub(crate) fn is_write(self) -> bool {
        matches!(self, Kind::Write | Kind::CounterWrite)
    }

    /// The table that it is about.
    pub(crate) fn table(self) -> &'static str {
        match self {
            Kind::Read | Kind::Write => "standard1",
            Kind::CounterRead | Kind::CounterWrite => "counter1",
        }
    }
}

/// When a run is over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Length {
    /// After so many operations.
    Operations(u64),
    /// After so long.
    Time(Duration),
    /// When the standard error of the mean rate is below this share of it, after so many measurements at least and at most.
    Error { target: f64, least: u64, most: u64 },
}

/// Whether the table is emptied first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Truncate {
    Never,
    /// Before all.
    Once,
    /// Before each run: there are several when the number of threads is searched for.
    Always,
}

/// The command and what follows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CommandSettings {
    /// What the operations are, with their weights. One, unless the command is `mixed`.
    pub(crate) kinds: Vec<(Kind, f64)>,
    /// How many operations of one kind a mixed load does before it chooses anew.
    pub(crate) clustering: Distribution,
    pub(crate) length: Length,
    pub(crate) warmup: bool,
    pub(crate) truncate: Truncate,
    pub(crate) consistency: Consistency,
    /// What is added to counters.
    pub(crate) add: Distribution,
}

/// Whether a first word is a command of cassandra-stress, supported or not.
pub(crate) fn is_command(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    Kind::of(&word).is_some() || ["mixed", "user", "print", "version", "legacy"].contains(&word.as_str())
}

impl CommandSettings {
    pub(super) fn of(mut group: Group) -> Result<CommandSettings, StressError> {
        let kinds = kinds(&mut group)?;
        let is_mixed = kinds.len() > 1 || group.name() == "mixed";
        let clustering = group.parsed("clustering=", "a distribution", |text| text.parse().ok())?;
        if clustering.is_some() && !is_mixed {
            return Err(refusal("clustering= is for mixed loads"));
        }
        let settings = CommandSettings {
            kinds,
            clustering: clustering.unwrap_or_else(|| "GAUSSIAN(1..10)".parse().expect("is one")),
            length: length(&mut group)?,
            warmup: !group.flag("no-warmup")?,
            truncate: group.parsed("truncate=", "never, once or always", truncate)?.unwrap_or(Truncate::Never),
            consistency: group.parsed("cl=", LEVELS, consistency)?.unwrap_or(Consistency::LocalOne),
            add: group
                .parsed("add=", "a distribution", |text| text.parse().ok())?
                .unwrap_or_else(|| "FIXED(1)".parse().expect("is one")),
        };
        group.finish()?;
        Ok(settings)
    }

    /// Whether all that is done is to change rows.
    pub(crate) fn is_write(&self) -> bool {
        self.kinds.len() == 1 && self.kinds[0].0.is_write()
    }
}

fn kinds(group: &mut Group) -> Result<Vec<(Kind, f64)>, StressError> {
    let name = group.name().to_owned();
    if let Some(kind) = Kind::of(&name) {
        return Ok(vec![(kind, 1.0)]);
    }
    match name.as_str() {
        "mixed" => {}
        "user" => {
            return Err(refusal(
                "user profiles are not supported: write, read, mixed, counter_write and counter_read are",
            ));
        }
        _ => {
            return Err(refusal(format!(
                "{name} is not supported: write, read, mixed, counter_write and counter_read are"
            )));
        }
    }
    let Some(ratios) = group.call("ratio")? else { return Ok(vec![(Kind::Read, 1.0), (Kind::Write, 1.0)]) };
    let mut kinds: Vec<(Kind, f64)> = Vec::new();
    for ratio in &ratios {
        let wrong = || refusal(format!("ratio({ratio}): must be such as ratio(read=8,write=2)"));
        let (name, weight) = ratio.split_once('=').ok_or_else(wrong)?;
        let kind = Kind::of(&name.to_ascii_lowercase()).ok_or_else(wrong)?;
        let weight =
            weight.parse::<f64>().ok().filter(|weight| *weight >= 0.0 && weight.is_finite()).ok_or_else(wrong)?;
        if kinds.iter().any(|(other, _)| *other == kind) {
            return Err(refusal(format!("ratio: {name} is said more than once")));
        }
        kinds.push((kind, weight));
    }
    kinds.retain(|(_, weight)| *weight > 0.0);
    match kinds.is_empty() {
        true => Err(refusal("ratio: at least one must be above 0")),
        false => Ok(kinds),
    }
}

fn length(group: &mut Group) -> Result<Length, StressError> {
    let operations = group.parsed("n=", "a number of operations, such as 9000000 or 9M", parse_count)?;
    let time = group.parsed("duration=", "a time such as 30s, 10m or 2h", parse_time)?;
    let target = group.parsed("err<", "a share such as 0.02", |text| {
        text.parse().ok().filter(|share| *share > 0.0 && *share < 1.0)
    })?;
    let least = group.parsed("n>", "a number of measurements", |text| text.parse().ok())?;
    let most = group.parsed("n<", "a number of measurements", |text| text.parse().ok())?;
    let by_error = target.is_some() || least.is_some() || most.is_some();
    match (operations, time) {
        (Some(_), Some(_)) => Err(refusal("n= and duration= exclude each other")),
        (Some(_), _) | (_, Some(_)) if by_error => Err(refusal("err<, n> and n< exclude n= and duration=")),
        (Some(count), _) => Ok(Length::Operations(count)),
        (_, Some(time)) => Ok(Length::Time(time)),
        _ => {
            Ok(Length::Error { target: target.unwrap_or(0.02), least: least.unwrap_or(30), most: most.unwrap_or(200) })
        }
    }
}

/// `30s`, `10m`, `2h`.
fn parse_time(text: &str) -> Option<Duration> {
    let seconds = match text.as_bytes().last()?.to_ascii_lowercase() {
        b's' => 1,
        b'm' => 60,
        b'h' => 3600,
        _ => return None,
    };
    let count: u64 = text[..text.len() - 1].parse().ok().filter(|count| (1..=1_000_000).contains(count))?;
    Some(Duration::from_secs(count * seconds))
}

fn truncate(text: &str) -> Option<Truncate> {
    match text.to_ascii_lowercase().as_str() {
        "never" => Some(Truncate::Never),
        "once" => Some(Truncate::Once),
        "always" => Some(Truncate::Always),
        _ => None,
    }
}

const LEVELS: &str = "ONE, QUORUM, LOCAL_QUORUM, EACH_QUORUM, ALL, ANY, TWO, THREE or LOCAL_ONE";

fn consistency(text: &str) -> Option<Consistency> {
    Some(match text.to_ascii_uppercase().as_str() {
        "ONE" => Consistency::One,
        "TWO" => Consistency::Two,
        "THREE" => Consistency::Three,
        "QUORUM" => Consistency::Quorum,
        "LOCAL_QUORUM" => Consistency::LocalQuorum,
        "EACH_QUORUM" => Consistency::EachQuorum,
        "ALL" => Consistency::All,
        "ANY" => Consistency::Any,
        "LOCAL_ONE" => Consistency::LocalOne,
        _ => return None,
    })
}
