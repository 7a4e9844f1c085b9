//! Errors of `helenus cluster`, each a sentence for the terminal.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Reason why a command was not carried out.
#[derive(Debug, Error)]
pub enum LocalClusterError {
    /// A file or folder of the cluster cannot be used.
    #[error("cannot {verb} {}: {source}", path.display())]
    File {
        /// The operation, as a verb.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The folder has files, and none of them describes a cluster.
    #[error("{} has other files and no cluster; choose another directory with --dir", dir.display())]
    OtherFiles {
        /// The folder.
        dir: PathBuf,
    },
    /// Another user may have prepared or changed what is there.
    #[error("cannot use {}: {reason}; {hint}", path.display())]
    Unsafe {
        /// The folder or file.
        path: PathBuf,
        /// Reason.
        reason: &'static str,
        /// A way out.
        hint: &'static str,
    },
    /// The folder has no cluster.
    #[error("there is no cluster in {}; `helenus cluster start` makes one", dir.display())]
    NoCluster {
        /// The folder.
        dir: PathBuf,
    },
    /// The description of the cluster, or a pid file, is not one that this version writes.
    #[error("{} is damaged or of another version: {reason}", path.display())]
    Description {
        /// The file.
        path: PathBuf,
        /// The part that is wrong.
        reason: String,
    },
    /// Another command holds the folder's lock.
    #[error("another helenus cluster command is at work in {}; wait for its end", dir.display())]
    Busy {
        /// The folder.
        dir: PathBuf,
    },
    /// A flag contradicts the cluster that exists.
    #[error("the cluster in {} has {flag} {existing}, which cannot change to {given}{hint}", dir.display())]
    Fixed {
        /// The folder.
        dir: PathBuf,
        /// The flag.
        flag: &'static str,
        /// The value in use.
        existing: String,
        /// The value that was asked for.
        given: String,
        /// A way to get something like it, or nothing.
        hint: &'static str,
    },
    /// A flag's value cannot be used.
    #[error("{flag}: {reason}")]
    Flag {
        /// The flag.
        flag: &'static str,
        /// Reason.
        reason: String,
    },
    /// There is no node of this number.
    #[error("there is no node {number}: the cluster in {} has nodes 1 to {count}", dir.display())]
    NoNode {
        /// The number that was given.
        number: u8,
        /// The nodes that there are.
        count: u8,
        /// The folder.
        dir: PathBuf,
    },
    /// The node was removed.
    #[error("node {number} has left the ring")]
    Left {
        /// The node.
        number: u8,
    },
    /// The ring does not let the node go.
    #[error("node {number} cannot leave the ring: {reason}")]
    Stays {
        /// The node.
        number: u8,
        /// The sentence of the node that was asked.
        reason: String,
    },
    /// The cluster has as many nodes as it may have.
    #[error("the cluster has {count} nodes already, the most there may be")]
    Full {
        /// The nodes that there are.
        count: u8,
    },
    /// A node is not in the state that the command needs.
    #[error("node {number} is {state}{hint}")]
    State {
        /// The node.
        number: u8,
        /// Its state.
        state: &'static str,
        /// The command that helps, or nothing.
        hint: String,
    },
    /// Another process listens where a node is to listen.
    #[error(
        "cannot start node {number}: {address} is not free: {source}; a new cluster takes other ports with {flag}, or other addresses with --prefix"
    )]
    PortInUse {
        /// The node.
        number: u8,
        /// The address.
        address: std::net::SocketAddr,
        /// The flag of the port.
        flag: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The binary cannot be started.
    #[error("cannot start node {number}: cannot run {}: {source}", binary.display())]
    Spawn {
        /// The node.
        number: u8,
        /// The program.
        binary: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A node ended while it was waited for.
    #[error("node {number} ended before it was ready: {reason}; its log is {}", log.display())]
    Ended {
        /// The node.
        number: u8,
        /// The last line of its log.
        reason: String,
        /// Its log.
        log: PathBuf,
    },
    /// A node is not ready in time.
    #[error("node {number} is not ready after {seconds} s: {reason}; its log is {}", log.display())]
    NotReady {
        /// The node.
        number: u8,
        /// The time that it had.
        seconds: u64,
        /// The condition that is not met.
        reason: String,
        /// Its log.
        log: PathBuf,
    },
    /// A process does not end, or does not stand still, in time.
    #[error("node {number} (pid {pid}) did not {verb} within {seconds} s{hint}")]
    Slow {
        /// The node.
        number: u8,
        /// Its process.
        pid: u32,
        /// The reaction that it owes.
        verb: &'static str,
        /// The time that it had.
        seconds: u64,
        /// The command that helps, or nothing.
        hint: String,
    },
    /// Some nodes could not be stopped; all others were.
    #[error("{stopped}; {} not stopped: {}", count(errors), sentences(errors))]
    NotStopped {
        /// The others, as a sentence.
        stopped: String,
        /// Reasons, one for each node.
        errors: Vec<LocalClusterError>,
    },
    /// A signal cannot be sent.
    #[error("cannot send {signal} to node {number} (pid {pid}): {source}")]
    Signal {
        /// The signal's name.
        signal: &'static str,
        /// The node.
        number: u8,
        /// Its process.
        pid: u32,
        /// The error of the system.
        source: io::Error,
    },
    /// The admin API of a node does not answer.
    #[error("node {number} does not answer on its admin API: {reason}")]
    Api {
        /// The node.
        number: u8,
        /// Reason.
        reason: String,
    },
}

fn count(errors: &[LocalClusterError]) -> String {
    match errors.len() {
        1 => "1 was".to_owned(),
        count => format!("{count} were"),
    }
}

fn sentences(errors: &[LocalClusterError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
