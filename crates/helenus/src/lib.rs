//! The node as a library: its configuration and its start-up, for the binary and for the simulator.

pub mod config;
