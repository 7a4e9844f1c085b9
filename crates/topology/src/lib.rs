//! Tokens, the ring, replication strategies, which shard owns a token, the registry of a cluster's nodes, which of them vote, and operations that move ranges.
//!
//! Pure functions and values: nothing here reads a clock, a file or a socket. See `docs/internals/topology.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod allocate;
pub mod consistency;
pub mod murmur3;
pub mod nodes;
pub mod operations;
pub mod replicas;
pub mod ring;
pub mod sharder;
pub mod strategy;
pub mod token;
pub mod token_ranges;
pub mod voters;

pub use consistency::{ConsistencyLevel, HalfRequired, Required, required};
pub use nodes::{NodeChange, RegisteredNode, Registry};
pub use replicas::{ReplicaMap, replicas};
pub use ring::{Epoch, HostId, Node, NodeIndex, Ring};
pub use sharder::Sharder;
pub use strategy::{
    Factor, OptionsError, ReplicationStrategy, STRATEGY_PACKAGE, Strategies, Strategy, StrategyOptions,
};
pub use token::{Token, TokenRange, token_of};
pub use token_ranges::TokenRanges;
