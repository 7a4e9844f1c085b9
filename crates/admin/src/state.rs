//! What all requests share: the way to the shards, and what the node is about to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::{Mutex, Semaphore};

use crate::ask::{self, Answer, Question, Questions};
use crate::facts::{NodeFacts, ProcessFacts, TableFacts, TableName};
use crate::logging::LogLevel;
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::sessions::Sessions;
use crate::shares::Logins;

/// Statements of consoles that may be under way.
const STATEMENTS_MAX: usize = 4;

/// What an operator has told the node to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Mode {
    Normal,
    Draining,
    Drained,
}

/// Shared by all requests. Clones are the same.
#[derive(Clone)]
pub(crate) struct App {
    inner: Arc<Inner>,
}

struct Inner {
    questions: Questions,
    log_level: LogLevel,
    version: &'static str,
    asks_login: bool,
    sessions: Sessions,
    logins: Logins,
    mode: AtomicU8,
    snapshots: Mutex<()>,
    drain: Mutex<()>,
    sampling: Arc<Mutex<()>>,
    statements: Semaphore,
}

impl App {
    pub(crate) fn new(questions: Questions, log_level: LogLevel, version: &'static str, asks_login: bool) -> Self {
        let (mode, snapshots, drain) = (AtomicU8::new(Mode::Normal as u8), Mutex::new(()), Mutex::new(()));
        let (sampling, statements) = (Arc::default(), Semaphore::new(STATEMENTS_MAX));
        let inner = Inner {
            questions,
            log_level,
            version,
            asks_login,
            sessions: Sessions::default(),
            logins: Logins::default(),
            mode,
            snapshots,
            drain,
            sampling,
            statements,
        };
        App { inner: Arc::new(inner) }
    }

    pub(crate) fn questions(&self) -> &Questions {
        &self.inner.questions
    }

    pub(crate) fn log_level(&self) -> &LogLevel {
        &self.inner.log_level
    }

    /// True if each request is to be a role's.
    pub(crate) fn asks_login(&self) -> bool {
        self.inner.asks_login
    }

    /// The logins of browsers.
    pub(crate) fn sessions(&self) -> &Sessions {
        &self.inner.sessions
    }

    /// The places of logins that are verified.
    pub(crate) fn logins(&self) -> &Logins {
        &self.inner.logins
    }

    /// The server's own version.
    pub(crate) fn version(&self) -> &'static str {
        self.inner.version
    }

    pub(crate) fn mode(&self) -> Mode {
        match self.inner.mode.load(Ordering::Relaxed) {
            0 => Mode::Normal,
            1 => Mode::Draining,
            _ => Mode::Drained,
        }
    }

    pub(crate) fn set_mode(&self, mode: Mode) {
        self.inner.mode.store(mode as u8, Ordering::Relaxed);
    }

    /// Held while snapshots are made or removed: one thing after the other.
    pub(crate) fn snapshots(&self) -> &Mutex<()> {
        &self.inner.snapshots
    }

    /// Held by the drain that is under way.
    pub(crate) fn drain(&self) -> &Mutex<()> {
        &self.inner.drain
    }

    /// Held while partitions are sampled.
    pub(crate) fn sampling(&self) -> &Arc<Mutex<()>> {
        &self.inner.sampling
    }

    /// The places of statements that consoles run.
    pub(crate) fn statements(&self) -> &Semaphore {
        &self.inner.statements
    }

    pub(crate) async fn ask(&self, shard: u16, question: Question) -> Result<Answer, Problem> {
        ask::ask(self.questions(), shard, question).await
    }

    pub(crate) async fn ask_all(&self, question: Question) -> Result<Vec<Answer>, Problem> {
        ask::ask_all(self.questions(), &question).await
    }

    /// Has all shards do something.
    pub(crate) async fn tell_all(&self, question: Question) -> Result<(), Problem> {
        self.ask_all(question).await.map(|_| ())
    }

    pub(crate) async fn node(&self) -> Result<NodeFacts, Problem> {
        match self.ask(0, Question::Node).await? {
            Answer::Node(facts) => Ok(*facts),
            _ => Err(Problem::mixed_up()),
        }
    }

    pub(crate) async fn process(&self) -> Result<ProcessFacts, Problem> {
        match self.ask(0, Question::Process).await? {
            Answer::Process(facts) => Ok(facts),
            _ => Err(Problem::mixed_up()),
        }
    }

    /// Tables summed over all shards; all tables for none.
    pub(crate) async fn tables(&self, names: Vec<TableName>, is_brief: bool) -> Result<Vec<TableFacts>, Problem> {
        let mut sums: Vec<TableFacts> = Vec::new();
        for answer in self.ask_all(Question::Tables { names, is_brief }).await? {
            let Answer::Tables(tables) = answer else { return Err(Problem::mixed_up()) };
            for table in tables {
                match sums.iter_mut().find(|sum| sum.id == table.id) {
                    Some(sum) => sum.merge(&table),
                    None => sums.push(table),
                }
            }
        }
        sums.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(sums)
    }

    /// The tables that a keyspace and the parameter `cf` mean. All must be there.
    pub(crate) async fn chosen(&self, keyspace: &str, parameters: &Parameters) -> Result<Vec<TableName>, Problem> {
        chosen(&self.node().await?, keyspace, &parameters.names("cf"))
    }

    /// The table of `keyspace:table`.
    pub(crate) async fn table_of_path(&self, path: &str) -> Result<TableName, Problem> {
        let (keyspace, table) = path
            .split_once(':')
            .ok_or_else(|| Problem::bad_request(format!("'{path}' does not name a table as keyspace:table")))?;
        let name = chosen(&self.node().await?, keyspace, &[table.to_owned()])?;
        Ok(name.into_iter().next().expect("one was asked for"))
    }
}

/// Tables of a keyspace: those that are named, or all.
pub(crate) fn chosen(node: &NodeFacts, keyspace: &str, tables: &[String]) -> Result<Vec<TableName>, Problem> {
    let found =
        node.keyspace(keyspace).ok_or_else(|| Problem::not_found(format!("keyspace '{keyspace}' does not exist")))?;
    if let Some(missing) = tables.iter().find(|table| !found.tables.contains(table)) {
        return Err(Problem::not_found(format!("table '{missing}' does not exist in keyspace '{keyspace}'")));
    }
    let tables = if tables.is_empty() { &found.tables } else { tables };
    Ok(tables.iter().map(|table| TableName { keyspace: keyspace.to_owned(), table: table.clone() }).collect())
}
