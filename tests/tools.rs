//! Operators' tools: REST and metrics, nodetool, the shell, the load generator, the console; packages; starts that fail; and the cost of an idle server.

#[path = "../crates/tls/src/tests/authority.rs"]
mod authority;
mod console;
mod footprint;
mod nodetool;
mod operators;
mod packages;
mod shell;
mod starts;
mod stress;
