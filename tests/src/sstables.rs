//! SSTables between Helenus and a real Cassandra: what the one writes the other must read, with the same answers.
//!
//! The scripts of `tests/sstables/scripts/` write tables and ask them, and are run on both; `docs/internals/oracle.md` says how. What is here
//! besides: fixtures, which are folders that a real Cassandra wrote.

mod corpus;
mod dump;
mod fixtures;
mod folders;
mod judge;
mod snapshots;
mod subject;
mod tools;

use std::path::PathBuf;

pub use fixtures::{Kept, fixtures, statements};
pub use judge::{ours, peers, theirs, verify};

/// A real server that runs, and what it writes.
#[derive(Clone, Debug)]
pub struct Writer {
    /// The version of its SSTables.
    pub version: String,
    /// Where its configuration and its data lie.
    pub folder: PathBuf,
    /// Where it listens; for its operators, one port further. 0: it has ended.
    pub port: u16,
}

impl Writer {
    /// Reads `version@folder@port`.
    pub fn parse(argument: &str) -> Option<Writer> {
        let (version, rest) = argument.split_once('@')?;
        let (folder, port) = rest.rsplit_once('@')?;
        Some(Writer { version: version.into(), folder: folder.into(), port: port.parse().ok()? })
    }

    /// Whether it runs; otherwise its folder holds what it wrote before.
    fn is_serving(&self) -> bool {
        self.port != 0
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Where all that it keeps lies.
    fn storage(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Where its tables' folders lie: `keyspace/table-id`.
    fn data(&self) -> PathBuf {
        self.storage().join("data")
    }
}
