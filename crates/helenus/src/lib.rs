//! The node as a library: its configuration and its start-up, for the binary and for the simulator.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod allocator;
pub mod cli;
pub mod config;
mod logging;
pub mod node;
pub mod serve;
