//! What operators use: REST and metrics, nodetool, the load generator, the console; and what a server costs that nobody uses.

mod console;
mod footprint;
mod nodetool;
mod operators;
mod stress;
