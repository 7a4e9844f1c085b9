//! `-log`, `-errors` and our own options: what is told, where, and what is done about errors.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::super::sweep::Bound;
use super::words::{Group, refusal};
use crate::StressError;

/// What is told, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogSettings {
    /// Where the text goes too, beside standard output.
    pub(crate) file: Option<PathBuf>,
    /// Where the histograms of each interval go.
    pub(crate) hdr_file: Option<PathBuf>,
    /// How often there is a line of progress.
    pub(crate) interval: Duration,
    /// Whether each error is told when it happens.
    pub(crate) tells_errors: bool,
    pub(crate) summary: bool,
    pub(crate) settings: bool,
}

impl LogSettings {
    pub(super) fn of(mut group: Group) -> Result<LogSettings, StressError> {
        let level = group.parsed("level=", "minimal, normal or verbose", |text| {
            let level = text.to_ascii_lowercase();
            ["minimal", "normal", "verbose"].contains(&level.as_str()).then_some(level)
        })?;
        let settings = LogSettings {
            file: group.value("file=")?.map(PathBuf::from),
            hdr_file: group.value("hdrfile=")?.map(PathBuf::from),
            interval: group
                .parsed("interval=", "a time such as 1s or 500ms", parse_interval)?
                .unwrap_or(Duration::from_secs(1)),
            tells_errors: level.is_none_or(|level| level != "minimal"),
            summary: !group.flag("no-summary")?,
            settings: !group.flag("no-settings")?,
        };
        group.finish()?;
        Ok(settings)
    }
}

/// `1s`, `500ms`; a number alone is seconds.
fn parse_interval(text: &str) -> Option<Duration> {
    let text = text.to_ascii_lowercase();
    let (digits, unit) = match text.strip_suffix("ms") {
        Some(digits) => (digits, 1),
        None => (text.strip_suffix('s').unwrap_or(&text), 1000),
    };
    let count: u64 = digits.parse().ok().filter(|count| (1..=1_000_000).contains(count))?;
    Some(Duration::from_millis(count * unit))
}

/// What is done about errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ErrorSettings {
    /// Whether an operation that failed for good leaves the others to go on.
    pub(crate) ignored: bool,
    /// How often an operation is tried at most.
    pub(crate) tries: u32,
    /// Whether what is read is compared with what was written.
    pub(crate) validated: bool,
}

impl ErrorSettings {
    pub(super) fn of(mut group: Group) -> Result<ErrorSettings, StressError> {
        let retries =
            group.parsed("retries=", "a number", |text| text.parse().ok().filter(|retries| *retries < 1_000_000))?;
        let settings = ErrorSettings {
            ignored: group.flag("ignore")?,
            tries: retries.unwrap_or(9) + 1,
            validated: !group.flag("skip-read-validation")?,
        };
        group.finish()?;
        Ok(settings)
    }
}

/// Options that cassandra-stress has not.
const OWN: [&str; 6] = ["--json", "--pid", "--cpus", "--seed", "--start-at", "--sweep"];

/// What [`OWN`] options say.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OwnSettings {
    /// Where the report goes as JSON.
    pub(crate) json: Option<PathBuf>,
    /// The server's processes on this machine, one of each node: their CPU time is reported too.
    pub(crate) pids: Vec<u32>,
    /// Threads of the operating system that the driver runs on; none is one for each CPU.
    pub(crate) cpus: Option<usize>,
    /// What drawn rows follow from; none is the time.
    pub(crate) seed: Option<u64>,
    /// When the measured run begins: several processes begin at one instant.
    pub(crate) start_at: Option<SystemTime>,
    /// Whether rates are tried, and what their latency must stay below.
    pub(crate) sweep: Option<Bound>,
}

impl OwnSettings {
    /// Takes them out of the words, since a file's name need not obey the others' grammar.
    pub(super) fn of(words: &[String]) -> Result<(OwnSettings, Vec<String>), StressError> {
        let mut settings = OwnSettings::default();
        let mut rest = Vec::new();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            if !OWN.contains(&name) {
                rest.push(word.clone());
                continue;
            }
            let Some(value) = value.or_else(|| words.next().cloned()) else {
                return Err(refusal(format!("{name}: its value is missing")));
            };
            let number = || value.parse::<u64>().map_err(|_| refusal(format!("{name} {value}: must be a number")));
            match name {
                "--json" => settings.json = Some(PathBuf::from(&value)),
                "--seed" => settings.seed = Some(number()?),
                "--start-at" => {
                    let start = parse_instant(&value).ok_or_else(|| {
                        refusal(format!("{name} {value}: must be in seconds since 1970, as `date +%s` prints"))
                    })?;
                    settings.start_at = Some(start);
                }
                "--sweep" => {
                    let bound = value.parse().map_err(|()| {
                        let names = "mean, p50, p95, p99, p99.9 or max";
                        refusal(format!("{name} {value}: must be {names} below a time, such as p99<10ms"))
                    })?;
                    settings.sweep = Some(bound);
                }
                "--pid" => {
                    let pids = value.split(',').map(str::parse).collect::<Result<_, _>>();
                    settings.pids = pids.map_err(|_| refusal(format!("{name} {value}: not a process id")))?;
                }
                _ => match number()? {
                    cpus @ 1..=1024 => settings.cpus = Some(cpus as usize),
                    _ => return Err(refusal(format!("--cpus {value}: must be from 1 to 1024"))),
                },
            }
        }
        Ok((settings, rest))
    }
}

/// Seconds since 1970, with a fraction or without.
fn parse_instant(text: &str) -> Option<SystemTime> {
    let since = Duration::try_from_secs_f64(text.parse().ok()?).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(since)
}
