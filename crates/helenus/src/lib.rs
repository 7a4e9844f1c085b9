//! The node as a library: its configuration and its start-up, for the binary and for the simulator.

mod allocator;
pub mod cli;
pub mod config;
mod logging;
pub mod node;
pub mod serve;
