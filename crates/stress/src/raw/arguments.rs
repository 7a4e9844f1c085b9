//! The command line of `helenus stress`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use client::{Access, AccessOptions};
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

/// Load to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Workload {
    /// INSERT whole rows
    Write,
    /// SELECT whole rows by key
    Read,
    /// Both, see --ratio
    Mixed,
    /// Overwrite rows at random, delete some and let some expire, in a table of its own
    Update,
    /// SELECT all rows of the table page by page; each page is one operation
    Scan,
    /// SELECT each row once and compare it with its expected state after --updates updates
    Check,
    /// Run the given --statement for each row
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

/// Expected reply of a `--statement`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// A conditional statement whose condition held.
    Applied,
    /// So many rows.
    Rows(u64),
}

/// Order of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Distribution {
    /// In order, starting over after the last row
    Seq,
    /// Uniformly at random
    Uniform,
}

/// Kernel interface for the generator's I/O.
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

/// Generate load against a node and measure latency and throughput.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// Use the raw client with prebuilt requests
    #[arg(long, required = true)]
    pub raw: bool,

    /// Load to run
    #[arg(value_enum)]
    pub workload: Workload,

    /// Address and port of the server; of several nodes of a cluster with commas: the connections are spread over them
    #[arg(long, value_name = "ADDRESSES", default_value = "127.0.0.1:9042", value_delimiter = ',')]
    pub node: Vec<SocketAddr>,

    /// Number of rows in the table
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000)]
    pub rows: u64,

    /// Number of the first row
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub first: u64,

    /// Expect reads to find no row: the rows were never written
    #[arg(long)]
    pub absent: bool,

    /// Operations to measure [default: --rows; one scan for `scan`]
    #[arg(long, value_name = "COUNT")]
    pub operations: Option<u64>,

    /// Warm-up operations, not measured
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub warmup: u64,

    /// Target rate in operations a second; latencies count from the time an operation was due (no coordinated omission)
    /// [default: closed loop]
    #[arg(long, value_name = "PER_SECOND")]
    pub rate: Option<u64>,

    /// Never sleep, so that the server does not pay for waking the generator and timers fire on time
    #[arg(long)]
    pub spin: bool,

    /// Order of the rows
    #[arg(long, value_enum, default_value = "seq")]
    pub distribution: Distribution,

    /// Ratio of reads to writes of the load `mixed`
    #[arg(long, value_name = "READS:WRITES", default_value = "8:2", value_parser = parse_ratio)]
    pub ratio: (u32, u32),

    /// Deletes among 1000 updates
    #[arg(long, value_name = "PER_MILLE", default_value_t = 50)]
    pub deletes: u32,

    /// Writes with a TTL among 1000 updates; run `check` after they have expired
    #[arg(long, value_name = "PER_MILLE", default_value_t = 100)]
    pub expiring: u32,

    /// TTL of these rows
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub ttl: u32,

    /// Number of updates before a `check` [default: --rows]
    #[arg(long, value_name = "COUNT")]
    pub updates: Option<u64>,

    /// Table options (after WITH) with which `update` creates its table
    #[arg(long, value_name = "CQL", default_value = "gc_grace_seconds = 0")]
    pub with: String,

    /// Statement of the load `statement`
    #[arg(long, value_name = "CQL")]
    pub statement: Option<String>,

    /// Value of a bind marker, one option per marker: a number or a text, in which {row}, {row/7}, {row%7} and {row/7%7}
    /// are computed from the row's number, and {text:60} is 60 letters
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub bind: Vec<String>,

    /// Statement to run before --statement is prepared, for example CREATE TABLE; repeatable
    #[arg(long, value_name = "CQL")]
    pub setup: Vec<String>,

    /// Expected reply of --statement: a number of rows, or `applied` for a conditional statement [default: no error]
    #[arg(long, value_name = "ROWS|applied", value_parser = parse_expect)]
    pub expect: Option<Expect>,

    /// Number of connections
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub connections: u16,

    /// Outstanding requests per connection
    #[arg(long, value_name = "COUNT", default_value_t = 128)]
    pub depth: u16,

    /// Consistency level
    #[arg(long, value_name = "LEVEL", default_value = "LOCAL_ONE", value_parser = parse_consistency)]
    pub consistency: Consistency,

    /// Native protocol version: 4 or 5
    #[arg(long, value_name = "VERSION", default_value = "4", value_parser = parse_version)]
    pub protocol: Version,

    /// Keyspace, created if missing
    #[arg(long, value_name = "NAME", default_value = "ks1")]
    pub keyspace: String,

    /// Table, created if missing
    #[arg(long, value_name = "NAME", default_value = "standard1")]
    pub table: String,

    /// Size of each of the five values of a row
    #[arg(long, value_name = "BYTES", default_value_t = 60)]
    pub value_bytes: usize,

    /// Seed of row values and of the uniform order; reads need the seed of the writes
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,

    /// Seed of the uniform order [default: --seed]
    #[arg(long, value_name = "NUMBER")]
    pub order_seed: Option<u64>,

    /// Do not compare the rows read with the rows written
    #[arg(long)]
    pub no_verify: bool,

    /// The server is the bare echo server of the benchmarks: no table, no prepared statement, replies not checked
    #[arg(long)]
    pub echo: bool,

    /// Process id of the server: report its CPU time; of several, with commas, the sum
    #[arg(long, value_name = "PIDS", value_delimiter = ',')]
    pub pid: Vec<u32>,

    /// Pin the generator to this CPU
    #[arg(long, value_name = "NUMBER")]
    pub cpu: Option<usize>,

    /// Reactor backend [default: uring if available, else epoll]
    #[arg(long, value_enum)]
    pub reactor: Option<Reactor>,

    /// Write the report to FILE as JSON, too
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Login and certificates
    #[command(flatten)]
    pub access_options: AccessOptions,

    /// The same, read and checked.
    #[arg(skip)]
    pub(crate) access: Access,

    /// Limit of the server's silence while requests wait. No option: tests wait less long.
    #[arg(skip = SILENCE_MAX)]
    pub(crate) silence_max: Duration,
}

impl Arguments {
    /// The node that is spoken to first, and alone where there is one connection.
    pub(crate) fn first_node(&self) -> SocketAddr {
        self.node[0]
    }

    /// The node of a connection, counted from 0.
    pub(crate) fn node_of(&self, connection: usize) -> SocketAddr {
        self.node[connection % self.node.len()]
    }

    /// Seed of the order of uniform rows.
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

    /// True if the table is that of updates.
    pub(crate) fn is_of_updates(&self) -> bool {
        matches!(self.workload, Workload::Update | Workload::Check)
    }

    /// Refuses what cannot be run.
    pub(crate) fn check(&self) -> Result<(), StressError> {
        let refuse = |reason: String| Err(StressError::Arguments { reason });
        if self.rows == 0 || self.first.saturating_add(self.rows) > 10u64.pow(KEY_DIGITS as u32) {
            return refuse(format!("--rows plus --first must be from 1 to 10 to the power of {KEY_DIGITS}"));
        }
        if self.absent && self.workload != Workload::Read {
            return refuse("--absent needs the load `read`".to_owned());
        }
        if self.is_of_updates() && self.rows > ROWS_UPDATED_MAX {
            return refuse(format!(
                "--rows must be at most {ROWS_UPDATED_MAX}: the expected state of each is kept in memory"
            ));
        }
        if self.workload == Workload::Scan
            && (self.warmup > 0 || self.echo || self.rate.is_some() || self.connections > 1)
        {
            return refuse(
                "the load `scan` does not support --warmup, --echo, --rate or more than one connection".to_owned(),
            );
        }
        if usize::from(self.connections) < self.node.len() {
            return refuse("--connections must be at least the number of nodes".to_owned());
        }
        if self.is_of_updates() && (self.warmup > 0 || self.echo) {
            return refuse("the load `update` does not support --warmup and --echo".to_owned());
        }
        let is_own = self.workload == Workload::Statement;
        let has_own = self.statement.is_some() || self.expect.is_some();
        if is_own != self.statement.is_some()
            || (!is_own && (has_own || !self.bind.is_empty() || !self.setup.is_empty()))
        {
            return refuse(
                "--statement, --bind, --setup and --expect need the load `statement`, which needs --statement"
                    .to_owned(),
            );
        }
        if is_own && self.echo {
            return refuse("the load `statement` does not support --echo".to_owned());
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
