//! The command line of cassandra-stress, read: what it says, with its defaults.
//!
//! The words and their defaults are those of Cassandra 5.0's `tools/stress` (`settings/Settings*.java`). What this generator cannot do
//! is refused by name. `docs/guide/stress.md` lists both.

mod access;
mod command;
mod connection;
mod insert;
mod output;
mod profile;
mod rate;
mod rows;
mod schema;
mod words;
mod ycsb;

pub(crate) use access::{LoginSettings, property};
pub(crate) use command::{CommandSettings, Kind, Length, LoadSettings, Truncate, is_command};
pub(crate) use connection::{ConnectionSettings, with_port};
pub(crate) use insert::InsertSettings;
pub(crate) use output::{ErrorSettings, LogSettings, OwnSettings};
pub(crate) use profile::{ArgumentRows, ColumnSpec, ProfileSettings};
pub(crate) use rate::{Limit, RateSettings};
pub(crate) use rows::{ColumnSettings, PopulationSettings};
pub(crate) use schema::{SchemaSettings, quoted};
pub(crate) use ycsb::{Requests, ScanLength, Transaction, YcsbSettings};

use crate::StressError;
use words::{Groups, refusal};

/// Options of cassandra-stress that nothing here stands for, and why.
const UNSUPPORTED: [(&str, &str); 6] = [
    ("-graph", "use --json or -log hdrfile= as the source of graphs"),
    ("-tokenrange", "token range queries are not supported"),
    ("-sample", "all latencies are recorded"),
    ("-sendto", "there is no stress daemon"),
    ("-jmx", "JMX is not supported"),
    ("-reporting", "use -log interval="),
];

/// A whole command line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    pub(crate) command: CommandSettings,
    pub(crate) rate: RateSettings,
    pub(crate) population: PopulationSettings,
    pub(crate) columns: ColumnSettings,
    pub(crate) schema: SchemaSettings,
    pub(crate) connection: ConnectionSettings,
    pub(crate) log: LogSettings,
    pub(crate) errors: ErrorSettings,
    pub(crate) own: OwnSettings,
}

impl Settings {
    /// Reads the words behind `stress`, of which the first is a command.
    pub(crate) fn parse(words: &[String]) -> Result<Settings, StressError> {
        let (own, words) = OwnSettings::of(words)?;
        let mut groups = Groups::of(&words)?;
        for (name, reason) in UNSUPPORTED {
            if groups.has(name) {
                return Err(refusal(format!("{name} is not supported: {reason}")));
            }
        }
        let mut command = CommandSettings::of(groups.command()?)?;
        command.load.take_options(&mut groups)?;
        let is_rate_said = groups.has("-rate");
        let settings = Settings {
            rate: RateSettings::of(groups.take("-rate"), is_rate_said, &command)?,
            population: PopulationSettings::of(groups.take("-pop"), &command)?,
            columns: ColumnSettings::of(groups.take("-col"))?,
            schema: SchemaSettings::of(groups.take("-schema"), &command)?,
            connection: ConnectionSettings::of(&mut groups)?,
            log: LogSettings::of(groups.take("-log"))?,
            errors: ErrorSettings::of(groups.take("-errors"))?,
            command,
            own,
        };
        groups.finish()?;
        settings.check()
    }

    /// The keyspace that the operations are about.
    pub(crate) fn keyspace(&self) -> &str {
        match &self.command.load {
            LoadSettings::Standard | LoadSettings::Ycsb(_) => &self.schema.keyspace,
            LoadSettings::Profile(profile) => &profile.keyspace,
        }
    }

    fn check(self) -> Result<Settings, StressError> {
        if self.own.sweep.is_some() && !matches!(self.rate, RateSettings::Threads { limit: Limit::None, .. }) {
            return Err(refusal("--sweep: needs -rate threads=, the maximum of concurrent operations, and no rate"));
        }
        if self.own.sweep.is_some() && !matches!(self.command.length, Length::Time(_)) {
            return Err(refusal("--sweep: needs duration=, the time per rate"));
        }
        if self.own.start_at.is_some() && (self.own.sweep.is_some() || matches!(self.rate, RateSettings::Search { .. }))
        {
            return Err(refusal("--start-at: needs -rate threads= and excludes --sweep"));
        }
        let most = match self.rate {
            RateSettings::Threads { threads, .. } => threads,
            RateSettings::Search { most, .. } => most,
        };
        match self.connection.pending_max {
            Some(pending) if pending < most => Err(refusal(format!(
                "-mode: maxPending= and connectionsPerHost= allow {pending} concurrent operations, -rate asks for \
                 {most}; the driver has no such bound, so use fewer threads"
            ))),
            _ => Ok(self),
        }
    }
}

#[cfg(test)]
mod tests;
