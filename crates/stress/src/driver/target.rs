//! What operations are done on: the servers, and a load of one of the kinds that there are.
//!
//! A task asks the target how many partitions its next operation takes, draws them, and has the operation done, again and again if the server
//! refuses it: what was drawn stays. Each kind of load has a module of its own; here is only what they share.

use scylla::client::session::Session;
use scylla::errors::{DbError, ExecutionError, RequestAttemptError};
use scylla::response::query_result::QueryResult;
use scylla::serialize::row::SerializeRow;
use scylla::statement::prepared::PreparedStatement;

use super::population::Population;
use super::profile::Profile;
use super::settings::{Kind, LoadSettings, Settings};
use super::standard::{self, Standard};
use super::ycsb::{self, Ycsb};
use crate::StressError;
use crate::random::next_random;

pub(crate) use super::connect::connect;

/// Servers that operations can be done on.
#[derive(Debug)]
pub(crate) struct Target {
    session: Session,
    load: Load,
}

/// What the operations are.
#[derive(Debug)]
enum Load {
    Standard(Standard),
    Profile(Box<Profile>),
    Ycsb(Box<Ycsb>),
}

/// One operation. It stays the same however often it is tried.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) kind: Kind,
    /// The partitions that it is about.
    pub(crate) visits: Vec<Visit>,
    /// What all else follows from that is drawn for it.
    pub(crate) random: u64,
}

impl Work {
    /// What it is about, for a message.
    pub(crate) fn subject(&self) -> String {
        let what = if matches!(self.kind, Kind::Insert | Kind::Query(_)) { "partition" } else { "row" };
        let more = if self.visits.len() > 1 { format!(" and {} more", self.visits.len() - 1) } else { String::new() };
        format!("{what} {}{more}", self.visits[0].seed)
    }
}

/// A partition, or one of several parts of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Visit {
    /// What the partition follows from.
    pub(crate) seed: u64,
    /// Which part, from 0.
    pub(crate) part: u64,
    /// How many parts there are.
    pub(crate) parts: u64,
}

impl Visit {
    /// A visit to all of a partition.
    pub(crate) fn whole(seed: u64) -> Visit {
        Visit { seed, part: 0, parts: 1 }
    }
}

/// What an operation has written or found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) partitions: u64,
    pub(crate) rows: u64,
}

impl Done {
    /// One row.
    pub(crate) const ROW: Done = Done { partitions: 1, rows: 1 };
}

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The server or the driver said so. It may do better the next time.
    #[error("{0}")]
    Refused(Box<ExecutionError>),
    /// A row is not there.
    #[error("the row is missing")]
    Missing,
    /// A row is not as it was written.
    #[error("the row has other values than were written")]
    Wrong,
    /// A reply is none to what was asked.
    #[error("the reply is not a row: {0}")]
    Malformed(String),
}

/// What a task uses over and over.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    values: Vec<Vec<u8>>,
}

/// Makes the keyspace and the tables, if they are not there.
pub(crate) async fn create_schema(session: &Session, settings: &Settings) -> Result<(), StressError> {
    match &settings.command.load {
        LoadSettings::Standard => standard::create_schema(session, settings).await,
        LoadSettings::Profile(profile) => super::profile::create_schema(session, profile).await,
        LoadSettings::Ycsb(ycsb) => ycsb::create_schema(session, settings, ycsb).await,
    }
}

/// Empties the tables.
pub(crate) async fn truncate(session: &Session, settings: &Settings) -> Result<(), StressError> {
    let tables = match &settings.command.load {
        LoadSettings::Standard => standard::tables(settings),
        LoadSettings::Profile(profile) => vec![profile.full_table()],
        LoadSettings::Ycsb(ycsb) => vec![settings.schema.table(&ycsb.table)],
    };
    for table in tables {
        run(session, "empty the table", &format!("TRUNCATE {table}")).await?;
    }
    Ok(())
}

/// Runs a statement that is not measured.
pub(crate) async fn run(session: &Session, action: &str, text: &str) -> Result<(), StressError> {
    let done = session.query_unpaged(text, ()).await;
    done.map(drop).map_err(|error| StressError::Driver { action: action.to_owned(), reason: error.to_string() })
}

/// The same, of a statement that makes what may be there already.
pub(crate) async fn run_definition(session: &Session, action: &str, text: &str) -> Result<(), StressError> {
    match session.query_unpaged(text, ()).await {
        Ok(_) => Ok(()),
        Err(ExecutionError::LastAttemptError(RequestAttemptError::DbError(DbError::AlreadyExists { .. }, _))) => Ok(()),
        Err(error) => Err(StressError::Driver { action: action.to_owned(), reason: error.to_string() }),
    }
}

/// Prepares a statement; `of` says which in an error.
pub(crate) async fn prepare(session: &Session, of: &str, text: String) -> Result<PreparedStatement, StressError> {
    let prepared = session.prepare(text).await;
    let mut prepared =
        prepared.map_err(|error| StressError::Driver { action: format!("prepare {of}"), reason: error.to_string() })?;
    // Replies need not say each time what the columns are.
    prepared.set_use_cached_result_metadata(true);
    Ok(prepared)
}

/// Executes a prepared statement.
pub(crate) async fn execute(
    session: &Session,
    statement: &PreparedStatement,
    values: impl SerializeRow,
) -> Result<QueryResult, Failure> {
    session.execute_unpaged(statement, values).await.map_err(refused)
}

/// What the driver said, as a failure.
pub(crate) fn refused(error: ExecutionError) -> Failure {
    Failure::Refused(Box::new(error))
}

impl Target {
    /// Prepares the statements. Fails if the tables are not there.
    pub(crate) async fn prepare(session: Session, settings: &Settings) -> Result<Target, StressError> {
        let load = match &settings.command.load {
            LoadSettings::Standard => Load::Standard(Standard::prepare(&session, settings).await?),
            LoadSettings::Profile(profile) => {
                let kinds: Vec<Kind> = settings.command.kinds.iter().map(|(kind, _)| *kind).collect();
                Load::Profile(Box::new(Profile::prepare(&session, profile, &kinds).await?))
            }
            LoadSettings::Ycsb(ycsb) => Load::Ycsb(Box::new(Ycsb::prepare(&session, settings, ycsb).await?)),
        };
        Ok(Target { session, load })
    }

    /// The session.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// How many partitions the next operation of a kind wants to be about.
    pub(crate) fn partition_count(&self, kind: Kind, random: u64) -> u64 {
        match &self.load {
            Load::Profile(profile) => profile.partition_count(kind, random),
            Load::Standard(_) | Load::Ycsb(_) => 1,
        }
    }

    /// Draws what an operation is about: at most `count` partitions. None if there are no more.
    pub(crate) fn draw(&self, kind: Kind, count: u64, population: &Population, random: &mut u64) -> Option<Work> {
        let mut visits = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let visit = match &self.load {
                Load::Profile(profile) if kind == Kind::Insert => profile.visit(population, random),
                Load::Ycsb(ycsb) => ycsb.visit(kind, population, random),
                _ => population.next().map(Visit::whole),
            };
            visits.extend(visit);
        }
        (!visits.is_empty()).then(|| Work { kind, visits, random: next_random(random) })
    }

    /// Does one operation.
    pub(crate) async fn perform(&self, work: &Work, buffers: &mut Buffers) -> Result<Done, Failure> {
        match &self.load {
            Load::Standard(standard) => {
                standard.perform(&self.session, work.kind, work.visits[0].seed, &mut buffers.values).await
            }
            Load::Profile(profile) => profile.perform(&self.session, work).await,
            Load::Ycsb(ycsb) => ycsb.perform(&self.session, work, &mut buffers.values).await,
        }
    }

    /// Takes note that an operation is over, whether it was done or has failed for good.
    pub(crate) fn settle(&self, work: Work) {
        match &self.load {
            Load::Standard(_) => {}
            Load::Profile(profile) => profile.settle(work),
            Load::Ycsb(ycsb) => ycsb.settle(&work),
        }
    }
}
