//! The command line of `helenus stress`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use cql_protocol::{Consistency, Version};

use crate::StressError;
use crate::raw::rows::{KEY_DIGITS, POOL_BYTES};
use crate::raw::silence::SILENCE_MAX;

/// The most requests outstanding on one connection: streams are numbered from 0 to 32,767.
const DEPTH_MAX: u16 = 32_768;

/// The most operations a second that can be asked for: one each nanosecond.
const RATE_MAX: u64 = 1_000_000_000;

/// Rows of a scan's page.
pub(crate) const PAGE_ROWS: u32 = 5000;

/// The most rows that updates fall on.
const ROWS_UPDATED_MAX: u64 = 1 << 28;

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Workload {
    /// INSERT whole rows.
    Write,
    /// SELECT whole rows by key.
    Read,
    /// Both, see `--ratio`.
    Mixed,
    /// Write rows over and over at random, delete some, let some expire; in a table of its own.
    Update,
    /// SELECT all rows of the table, page by page, which are the operations
    Scan,
    /// SELECT each row once, and compare it with what so many `--updates` must have left.
    Check,
    /// A `--statement` of one's own, for each row.
    Statement,
}

impl Workload {
    /// The name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Write => "write",
            Workload::Read => "read",
            Workload::Mixed => "mixed",
            Workload::Update => "update",
            Workload::Check => "check",
            Workload::Scan => "scan",
            Workload::Statement => "statement",
        }
    }
}

/// What each reply to a statement of one's own must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// A conditional statement whose condition held.
    Applied,
    /// So many rows.
    Rows(u64),
}

/// Which rows, in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Distribution {
    /// One after another, from the first again after the last.
    Seq,
    /// Any row, each as likely.
    Uniform,
}

/// Which interface of the kernel carries the generator's I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Reactor {
    /// io_uring.
    Uring,
    /// epoll.
    Epoll,
}

impl Reactor {
    pub(crate) fn kind(self) -> runtime::ReactorKind {
        match self {
            Reactor::Uring => runtime::ReactorKind::Uring,
            Reactor::Epoll => runtime::ReactorKind::Epoll,
        }
    }
}

/// Generate load on a server and measure it.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// Use the generator's own client with prebuilt requests (the only one so far)
    #[arg(long, required = true)]
    pub raw: bool,

    /// What to do
    #[arg(value_enum)]
    pub workload: Workload,

    /// The server's address and port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9042")]
    pub node: SocketAddr,

    /// Rows of the table
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000)]
    pub rows: u64,

    /// The number of the first row
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub first: u64,

    /// The rows were never written: a read that finds one is wrong, and one that finds none is right
    #[arg(long)]
    pub absent: bool,

    /// Operations to measure [default: as many as --rows; of a scan, those of one]
    #[arg(long, value_name = "COUNT")]
    pub operations: Option<u64>,

    /// Operations to do before, unmeasured
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub warmup: u64,

    /// Operations a second, begun at even times; the latency of each counts from the time at which it was due, so that what a slow
    /// server keeps waiting is seen [default: a new one for each reply]
    #[arg(long, value_name = "PER_SECOND")]
    pub rate: Option<u64>,

    /// Never sleep: what a server spends on waking its generator is not the server's, and a timer comes when it is due
    #[arg(long)]
    pub spin: bool,

    /// Which rows, in which order
    #[arg(long, value_enum, default_value = "seq")]
    pub distribution: Distribution,

    /// Reads and writes of a mixed load
    #[arg(long, value_name = "READS:WRITES", default_value = "8:2", value_parser = parse_ratio)]
    pub ratio: (u32, u32),

    /// How many of 1000 updates delete the row
    #[arg(long, value_name = "PER_MILLE", default_value_t = 50)]
    pub deletes: u32,

    /// How many of 1000 updates write a row that expires; a check must come later than that
    #[arg(long, value_name = "PER_MILLE", default_value_t = 100)]
    pub expiring: u32,

    /// How long such a row lives
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub ttl: u32,

    /// Updates that were made before a check [default: as many as --rows]
    #[arg(long, value_name = "COUNT")]
    pub updates: Option<u64>,

    /// The options after WITH of the table that updates make, if it is not there
    #[arg(long, value_name = "CQL", default_value = "gc_grace_seconds = 0")]
    pub with: String,

    /// The statement of the load `statement`
    #[arg(long, value_name = "CQL")]
    pub statement: Option<String>,

    /// What a marker of that statement is bound to, one for each: a number or a text, in which {row}, {row/7}, {row%7} and {row/7%7} stand
    /// for what follows from the row's number, and {text:60} for so many letters
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub bind: Vec<String>,

    /// A statement to run before that one is prepared, such as CREATE TABLE; may be given several times
    #[arg(long, value_name = "CQL")]
    pub setup: Vec<String>,

    /// What each of its replies must be: so many rows, or `applied`, that of a conditional statement whose condition held [default: no error]
    #[arg(long, value_name = "ROWS|applied", value_parser = parse_expect)]
    pub expect: Option<Expect>,

    /// Connections
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub connections: u16,

    /// Requests outstanding on each connection
    #[arg(long, value_name = "COUNT", default_value_t = 128)]
    pub depth: u16,

    /// Consistency level
    #[arg(long, value_name = "LEVEL", default_value = "LOCAL_ONE", value_parser = parse_consistency)]
    pub consistency: Consistency,

    /// Version of the native protocol: 4 or 5
    #[arg(long, value_name = "VERSION", default_value = "4", value_parser = parse_version)]
    pub protocol: Version,

    /// Keyspace, made if it is not there
    #[arg(long, value_name = "NAME", default_value = "ks1")]
    pub keyspace: String,

    /// Table, made if it is not there
    #[arg(long, value_name = "NAME", default_value = "standard1")]
    pub table: String,

    /// Bytes of each of a row's five values
    #[arg(long, value_name = "BYTES", default_value_t = 60)]
    pub value_bytes: usize,

    /// Decides the values of all rows and the order of uniform ones; reads must name that of the writes
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,

    /// Decides the order of uniform rows in place of `--seed`, so that a run reads other rows than the one before it
    #[arg(long, value_name = "NUMBER")]
    pub order_seed: Option<u64>,

    /// Do not compare the rows that are read with those that were written
    #[arg(long)]
    pub no_verify: bool,

    /// The server is the bare echo server: make no table, prepare nothing, look at no reply's content
    #[arg(long)]
    pub echo: bool,

    /// Process of the server, to measure the CPU time that it uses
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,

    /// Run on this CPU only
    #[arg(long, value_name = "NUMBER")]
    pub cpu: Option<usize>,

    /// How to do I/O [default: uring if it can be had, else epoll]
    #[arg(long, value_enum)]
    pub reactor: Option<Reactor>,

    /// Also write the report to this file, as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// How long the server may answer nothing while requests wait. No option: tests wait less long.
    #[arg(skip = SILENCE_MAX)]
    pub(crate) silence_max: Duration,
}

impl Arguments {
    /// What the order of uniform rows follows from.
    pub fn order_seed(&self) -> u64 {
        self.order_seed.unwrap_or(self.seed)
    }

    /// Operations to measure.
    pub fn operation_count(&self) -> u64 {
        match self.workload {
            // Each row once.
            Workload::Check => self.rows,
            Workload::Scan => self.operations.unwrap_or(self.rows.div_ceil(u64::from(PAGE_ROWS))),
            _ => self.operations.unwrap_or(self.rows),
        }
    }

    /// Updates that a check goes by.
    pub(crate) fn update_count(&self) -> u64 {
        self.updates.unwrap_or(self.rows)
    }

    /// Whether the table is that of updates.
    pub(crate) fn is_of_updates(&self) -> bool {
        matches!(self.workload, Workload::Update | Workload::Check)
    }

    /// Refuses what cannot be run.
    pub(crate) fn check(&self) -> Result<(), StressError> {
        let refuse = |reason: String| Err(StressError::Arguments { reason });
        if self.rows == 0 || self.first.saturating_add(self.rows) > 10u64.pow(KEY_DIGITS as u32) {
            return refuse(format!("--rows must be from 1 to 10 to the power of {KEY_DIGITS}, --first included"));
        }
        if self.absent && self.workload != Workload::Read {
            return refuse("--absent is for reads".to_owned());
        }
        if self.is_of_updates() && self.rows > ROWS_UPDATED_MAX {
            return refuse(format!(
                "--rows must be at most {ROWS_UPDATED_MAX}: what is left of each is kept in memory"
            ));
        }
        if self.workload == Workload::Scan
            && (self.warmup > 0 || self.echo || self.rate.is_some() || self.connections > 1)
        {
            return refuse("--warmup, --echo, --rate and more than one connection are not for a scan".to_owned());
        }
        if self.is_of_updates() && (self.warmup > 0 || self.echo) {
            return refuse("--warmup and --echo are not for updates".to_owned());
        }
        let is_own = self.workload == Workload::Statement;
        let has_own = self.statement.is_some() || self.expect.is_some();
        if is_own != self.statement.is_some()
            || (!is_own && (has_own || !self.bind.is_empty() || !self.setup.is_empty()))
        {
            return refuse(
                "the load `statement`, and no other, takes --statement, --bind, --setup and --expect".to_owned(),
            );
        }
        if is_own && self.echo {
            return refuse("--echo is not for a statement of one's own".to_owned());
        }
        if u64::from(self.deletes) + u64::from(self.expiring) > 1000 {
            return refuse("--deletes and --expiring must be at most 1000 together".to_owned());
        }
        if self.ttl == 0 {
            return refuse("--ttl must be at least 1".to_owned());
        }
        if self.operation_count() == 0 {
            return refuse("--operations must be at least 1".to_owned());
        }
        if self.rate.is_some_and(|rate| rate == 0 || rate > RATE_MAX) {
            return refuse(format!("--rate must be from 1 to {RATE_MAX}"));
        }
        if self.depth == 0 || self.depth > DEPTH_MAX {
            return refuse(format!("--depth must be from 1 to {DEPTH_MAX}"));
        }
        if self.connections == 0 {
            return refuse("--connections must be at least 1".to_owned());
        }
        if self.value_bytes > POOL_BYTES / 2 {
            return refuse(format!("--value-bytes must be at most {}", POOL_BYTES / 2));
        }
        Ok(())
    }
}

fn parse_ratio(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once(':').and_then(|(reads, writes)| Some((reads.parse().ok()?, writes.parse().ok()?)));
    match parts {
        Some((reads, writes)) if reads <= 1_000_000 && writes <= 1_000_000 && reads + writes > 0 => Ok((reads, writes)),
        _ => Err("must be two numbers up to 1000000, such as 8:2, not both 0".to_owned()),
    }
}

fn parse_expect(text: &str) -> Result<Expect, String> {
    match text {
        "applied" => Ok(Expect::Applied),
        _ => text.parse().map(Expect::Rows).map_err(|_| "must be a number of rows, or applied".to_owned()),
    }
}

fn parse_consistency(text: &str) -> Result<Consistency, String> {
    Consistency::of_name(text).ok_or_else(|| {
        let names: Vec<&str> = Consistency::ALL.iter().map(|level| level.name()).collect();
        format!("must be one of {}", names.join(", "))
    })
}

fn parse_version(text: &str) -> Result<Version, String> {
    match text {
        "4" => Ok(Version::V4),
        "5" => Ok(Version::V5),
        _ => Err("must be 4 or 5".to_owned()),
    }
}
