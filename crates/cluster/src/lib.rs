//! The coordinator, the replica that other nodes ask, and Paxos: what makes shards and nodes one database.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod batches;
mod counts;

pub mod coordinator;

pub mod fence;

pub mod paxos;

pub mod replica;

mod hints;
mod operations;
mod outcome;
mod plan;
mod read;
mod repair;
mod serial;
mod streaming;
mod timeouts;
mod write;

/// The bug that `HELENUS_PLANT` names, where bugs are compiled in.
#[cfg(test)]
fn planted_by_test() -> planted::Planted {
    #[cfg(feature = "planted")]
    if let Ok(name) = std::env::var("HELENUS_PLANT") {
        return planted::Planted::named(&name).expect("a bug of the list");
    }
    planted::Planted::NONE
}
