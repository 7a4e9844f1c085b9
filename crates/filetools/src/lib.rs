//! The file tools behind `helenus sstable`: what is in an SSTable, whether it is sound, what can be saved of it, and its rows sent to a server.
//!
//! They read all versions that `sstable` reads, need no schema (the files tell theirs) and no server (but `import`, which is a client like
//! any other). One shard, one file after the other..

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod arguments;
mod data;
mod dump;
mod error;
mod files;
mod import;
mod pages;
mod scrub;
mod text;
mod verify;

pub use arguments::{Arguments, Command};
pub use error::ToolError;
pub use import::read_roles;

use runtime::Runtime;

/// Does what the arguments say, and prints what comes of it.
pub fn run(arguments: Arguments) -> Result<(), ToolError> {
    let main = move |runtime: Runtime| async move {
        match &arguments.command {
            Command::Dump(arguments) => dump::run(&runtime, arguments).await,
            Command::Import(arguments) => import::run(&runtime, arguments).await,
            Command::Scrub(arguments) => scrub::run(&runtime, arguments).await,
            Command::Verify(arguments) => verify::run(&runtime, arguments).await,
        }
    };
    runtime::run(runtime::Options::default(), vec![main])?.into_iter().collect()
}
