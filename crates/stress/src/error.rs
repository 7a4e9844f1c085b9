//! Why a run of the load generator failed.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use cql_protocol::{DecodeError, ErrorBody};

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum StressError {
    /// The arguments contradict each other or the generator's limits.
    #[error("{reason}")]
    Arguments {
        /// Which, and what would do.
        reason: String,
    },
    /// The runtime could not be started.
    #[error(transparent)]
    Start(#[from] runtime::StartError),
    /// The server cannot be reached.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// The server.
        address: SocketAddr,
        /// Error of the system call.
        source: io::Error,
    },
    /// A connection failed.
    #[error("connection to {address} failed: {source}")]
    Connection {
        /// The server.
        address: SocketAddr,
        /// Error of the system call.
        source: io::Error,
    },
    /// The server ended a connection.
    #[error("{address} closed the connection with {outstanding} requests outstanding")]
    Closed {
        /// The server.
        address: SocketAddr,
        /// Requests without an answer.
        outstanding: usize,
    },
    /// The server sent what is no reply.
    #[error("{address} sent an invalid response: {reason}")]
    Malformed {
        /// The server.
        address: SocketAddr,
        /// Why it is none.
        reason: String,
    },
    /// The server refused what comes before the load.
    #[error("the server refused {request}: {error}")]
    Refused {
        /// The request.
        request: String,
        /// Message.
        error: ErrorBody,
    },
    /// The login or the certificates cannot be had.
    #[error(transparent)]
    Access(#[from] client::AccessError),
    /// The server asks for a login, and none is given.
    #[error("the server requires a login ({authenticator}): set --username and --password-file")]
    Authentication {
        /// The authenticator.
        authenticator: String,
    },
    /// The CPU time of a process cannot be had.
    #[error("cannot read the CPU time of process {pid}: {source}")]
    CpuTime {
        /// The process.
        pid: u32,
        /// Error of the system call.
        source: io::Error,
    },
    /// The report cannot be written.
    #[error("cannot write the report to {}: {source}", path.display())]
    Report {
        /// Where to.
        path: PathBuf,
        /// Error of the system call.
        source: io::Error,
    },
    /// The threads that the driver runs on could not be started.
    #[error("cannot start the driver's threads: {source}")]
    Threads {
        /// Error of the system call.
        source: io::Error,
    },
    /// The file that names the nodes cannot be read.
    #[error("cannot read the list of nodes {}: {source}", path.display())]
    Nodes {
        /// Which file.
        path: PathBuf,
        /// Error of the system call.
        source: io::Error,
    },
    /// The file that describes a load cannot be read.
    #[error("cannot read the profile {}: {source}", path.display())]
    Profile {
        /// Which file.
        path: PathBuf,
        /// Error of the system call.
        source: io::Error,
    },
    /// The driver could not do what comes before the load.
    #[error("cannot {action}: {reason}")]
    Driver {
        /// The step that failed.
        action: String,
        /// Error of the driver.
        reason: String,
    },
    /// An operation failed for good, which ended the load.
    #[error("{failure}; load aborted (-errors ignore continues)")]
    Stopped {
        /// Which, and why.
        failure: String,
    },
    /// Operations did not begin when they should have.
    #[error("the rate was not kept: {done:.0} of {asked} operations a second; {reason}")]
    Late {
        /// Operations a second that were asked for.
        asked: u64,
        /// Operations a second that were done.
        done: f64,
        /// How that was noticed.
        reason: String,
    },
    /// When a run was to begin it was not ready.
    #[error(
        "--start-at was {:.3} s ago when this process was ready; use a later time, or no-warmup", late.as_secs_f64()
    )]
    TooLate {
        /// Time since then.
        late: Duration,
    },
    /// No rate that a sweep tried held its bound.
    #[error("no rate met the target {bound}")]
    NoRate {
        /// The bound.
        bound: String,
    },
    /// The logs of several processes cannot be merged.
    #[error("{}: {reason}", path.display())]
    Merge {
        /// The file of one of them.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// The server has answered nothing for too long.
    #[error("{address} timed out: no response for {} s with requests outstanding", time.as_secs_f64())]
    Silent {
        /// The server.
        address: SocketAddr,
        /// Duration.
        time: Duration,
    },
    /// Two nodes of a cluster have different schemas.
    #[error("{address} did not get the schema of the first node within {} s", time.as_secs_f64())]
    Schema {
        /// The node.
        address: SocketAddr,
        /// Duration.
        time: Duration,
    },
    /// Operations failed.
    #[error(
        "{errors} errors, {missing} missing rows and {wrong} wrong rows in {operations} operations; first: {first}"
    )]
    Failures {
        /// Operations done.
        operations: u64,
        /// Operations that the server answered with an error.
        errors: u64,
        /// Reads that found no row.
        missing: u64,
        /// Reads that found another row than was written.
        wrong: u64,
        /// The first of them.
        first: String,
    },
}

impl StressError {
    pub(crate) fn malformed(address: SocketAddr, error: &DecodeError) -> StressError {
        StressError::Malformed { address, reason: error.to_string() }
    }
}
