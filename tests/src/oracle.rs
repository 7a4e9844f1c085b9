//! The oracle: scripts of statements whose answers a real Cassandra gave, replayed against Helenus.
//!
//! What scripts look like and what is compared is told in `docs/internals/oracle.md`. `tests/oracle/main.rs` is the command.

mod client;
mod commands;
mod compat;
mod random;
mod request;
mod ring;
mod script;
mod session;
mod show;
mod suite;
mod traced;
mod value;
mod verdict;

use std::path::{Path, PathBuf};

pub use commands::{check, deviate, mark, record, replay, settle};
pub use random::random;
pub use ring::{Ring, check_ring, deviate_ring, mark_ring, record_ring, replay_ring, settle_ring};
pub use suite::Suite;

pub(crate) use client::{Client, Reply};
pub(crate) use commands::recorded_by;
pub(crate) use request::run as run_block;
pub(crate) use script::{Block, Script};
pub(crate) use session::{SUPERUSER, Session, must};

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
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the workspace").to_path_buf()
}

/// Whether two runs of a script were answered alike; prints where not.
pub(crate) fn is_answered_alike(expected: &Script, given: &Script, what: &str) -> bool {
    let mut is_right = true;
    for (expected, given) in expected.blocks.iter().zip(&given.blocks) {
        if let verdict::Verdict::Wrong(message) = verdict::of_peer(expected, &given.answer, true) {
            println!("{what}: {message}\n    {}\n", expected.head.join("\n    "));
            is_right = false;
        }
    }
    is_right
}
