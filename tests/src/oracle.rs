//! The oracle: scripts of statements whose answers a real Cassandra gave, replayed against Helenus.
//!
//! What scripts look like and what is compared is told in `docs/internals/oracle.md`. `tests/oracle/main.rs` is the command.

mod client;
mod commands;
mod compat;
mod request;
mod script;
mod session;
mod show;
mod value;
mod verdict;

use std::path::{Path, PathBuf};

pub use commands::{check, mark, record, replay, settle};

/// A real server, and what it was started with.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The configuration's name.
    pub configuration: String,
    /// A hash of the configuration.
    pub hash: String,
    /// Where it listens.
    pub address: String,
}

impl Peer {
    /// Reads `configuration=hash@address`.
    pub fn parse(argument: &str) -> Option<Peer> {
        let (configuration, rest) = argument.split_once('=')?;
        let (hash, address) = rest.split_once('@')?;
        Some(Peer { configuration: configuration.into(), hash: hash.into(), address: address.into() })
    }
}

/// The repository's root folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the workspace").to_path_buf()
}
