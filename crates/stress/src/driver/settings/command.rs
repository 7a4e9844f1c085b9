//! The command: what the operations are, and how many.

use std::time::Duration;

use scylla::statement::Consistency;

use super::profile::{self, ProfileSettings};
use super::words::{Group, Groups, refusal};
use super::ycsb::{self, Transaction, YcsbSettings};
use crate::StressError;
use crate::distribution::{Distribution, parse_count};

/// The commands that there are, for errors.
const COMMANDS: &str = "write, read, mixed, counter_write, counter_read, user and ycsb";

/// What one operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Read the counters of a row.
    CounterRead,
    /// Add to them.
    CounterWrite,
    /// Insert rows of a profile's table.
    Insert,
    /// A query of a profile, by its name. Such names live as long as the process, as the one command line does that says them, so that a
    /// kind is a plain value that goes with each sample.
    Query(&'static str),
    /// Read a row and compare it.
    Read,
    /// Write a row.
    Write,
    /// An operation of a workload of YCSB.
    Ycsb(Transaction),
}

impl Kind {
    /// As reports say it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::CounterWrite => "COUNTER_WRITE",
            Kind::CounterRead => "COUNTER_READ",
            Kind::Insert => "insert",
            Kind::Query(name) => name,
            Kind::Read => "READ",
            Kind::Write => "WRITE",
            Kind::Ycsb(transaction) => transaction.name(),
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
        match self {
            Kind::Write | Kind::CounterWrite | Kind::Insert => true,
            Kind::Read | Kind::CounterRead | Kind::Query(_) => false,
            Kind::Ycsb(transaction) => !matches!(transaction, Transaction::Read | Transaction::Scan),
        }
    }
}

/// What operations are, with their weights.
pub(crate) type Shares = Vec<(Kind, f64)>;

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

/// What the operations are done on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LoadSettings {
    /// cassandra-stress' own tables.
    Standard,
    /// The table of a profile.
    Profile(Box<ProfileSettings>),
    /// YCSB's table.
    Ycsb(Box<YcsbSettings>),
}

impl LoadSettings {
    /// Takes the options that are for this load alone, and refuses those that are for others.
    pub(super) fn take_options(&mut self, groups: &mut Groups) -> Result<(), StressError> {
        match self {
            LoadSettings::Standard if groups.has("-insert") => Err(refusal("-insert is for user profiles")),
            LoadSettings::Standard => Ok(()),
            LoadSettings::Ycsb(_) => {
                for option in ["-pop", "-col", "-insert"] {
                    if groups.has(option) {
                        return Err(refusal(format!(
                            "{option}: not for ycsb, whose workload properties define the records"
                        )));
                    }
                }
                Ok(())
            }
            LoadSettings::Profile(profile) => {
                for option in ["-schema", "-col"] {
                    if groups.has(option) {
                        return Err(refusal(format!("{option}: not for user profiles, which define the table")));
                    }
                }
                profile.insert.take_options(groups.take("-insert"))
            }
        }
    }
}

/// The command and what follows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CommandSettings {
    pub(crate) load: LoadSettings,
    /// What the operations are, with their weights. One, unless the command is `mixed` or `user`.
    pub(crate) kinds: Shares,
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
    Kind::of(&word).is_some() || ["mixed", "user", "ycsb", "print", "version", "legacy"].contains(&word.as_str())
}

impl CommandSettings {
    pub(super) fn of(mut group: Group) -> Result<CommandSettings, StressError> {
        let Asked { load, kinds, length } = Asked::of(&mut group)?;
        let is_mixed = kinds.len() > 1 || ["mixed", "user"].contains(&group.name());
        let clustering = group.parsed("clustering=", "a distribution", |text| text.parse().ok())?;
        if clustering.is_some() && !is_mixed {
            return Err(refusal("clustering= is for mixed loads"));
        }
        let clustering_default = if matches!(load, LoadSettings::Ycsb(_)) { "FIXED(1)" } else { "GAUSSIAN(1..10)" };
        // YCSB warms nothing up: that would insert records.
        let warmup = !group.flag("no-warmup")? && !matches!(load, LoadSettings::Ycsb(_));
        let settings = CommandSettings {
            load,
            kinds,
            clustering: clustering.unwrap_or_else(|| clustering_default.parse().expect("is one")),
            length,
            warmup,
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

    /// Whether it makes the tables that it needs.
    pub(crate) fn makes_schema(&self) -> bool {
        match &self.load {
            LoadSettings::Standard => self.is_write(),
            LoadSettings::Profile(_) => true,
            LoadSettings::Ycsb(ycsb) => ycsb.is_load,
        }
    }
}

/// What the first words say.
struct Asked {
    load: LoadSettings,
    kinds: Shares,
    length: Length,
}

impl Asked {
    fn of(group: &mut Group) -> Result<Asked, StressError> {
        if ["user", "ycsb"].contains(&group.name()) {
            group.refuse(&[("add=", "only for counter_write")])?;
        }
        if group.name() == "ycsb" {
            let (ycsb, kinds, length) = ycsb::of(group)?;
            return Ok(Asked { load: LoadSettings::Ycsb(Box::new(ycsb)), kinds, length });
        }
        let (load, kinds) = match group.name() {
            "user" => {
                let (profile, kinds) = profile::of(group)?;
                (LoadSettings::Profile(Box::new(profile)), kinds)
            }
            _ => (LoadSettings::Standard, kinds(group)?),
        };
        Ok(Asked { load, kinds, length: length(group)? })
    }
}

fn kinds(group: &mut Group) -> Result<Shares, StressError> {
    let name = group.name().to_owned();
    if let Some(kind) = Kind::of(&name) {
        return Ok(vec![(kind, 1.0)]);
    }
    if name != "mixed" {
        return Err(refusal(format!("unknown command {name}: use {COMMANDS}")));
    }
    let Some(ratios) = group.call("ratio")? else { return Ok(vec![(Kind::Read, 1.0), (Kind::Write, 1.0)]) };
    weighted("ratio", &ratios, |name| Kind::of(&name.to_ascii_lowercase()))
}

/// What stands between the parentheses of `ratio(read=8,write=2)`: names with their weights, those above 0.
pub(super) fn weighted(
    called: &str,
    ratios: &[String],
    kind: impl Fn(&str) -> Option<Kind>,
) -> Result<Shares, StressError> {
    let mut kinds = Shares::new();
    for ratio in ratios {
        let (name, weight) = ratio.split_once('=').unwrap_or((ratio, ""));
        let weight = weight.parse::<f64>().ok().filter(|weight| *weight >= 0.0 && weight.is_finite());
        let weight = weight.ok_or_else(|| {
            refusal(format!("{called}({ratio}): invalid ratio, for example {called}(read=8,write=2)"))
        })?;
        let kind = kind(name).ok_or_else(|| refusal(format!("{called}({ratio}): unknown operation {name}")))?;
        if kinds.iter().any(|(other, _)| *other == kind) {
            return Err(refusal(format!("{called}: duplicate {name}")));
        }
        kinds.push((kind, weight));
    }
    kinds.retain(|(_, weight)| *weight > 0.0);
    match kinds.is_empty() {
        true => Err(refusal(format!("{called}: at least one must be above 0"))),
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

/// `30s`, `10m`, `2h`; `500ms` too, which cassandra-stress does not know.
pub(super) fn parse_time(text: &str) -> Option<Duration> {
    let text = text.to_ascii_lowercase();
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
    let (digits, millis) = units.iter().find_map(|(unit, millis)| Some((text.strip_suffix(unit)?, millis)))?;
    let count: u64 = digits.parse().ok().filter(|count| (1..=1_000_000).contains(count))?;
    Some(Duration::from_millis(count * millis))
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
