//! Whole nodes on simulated machines: faults, workloads, checkers and scenarios, apart from each other.
//!
//! See `docs/internals/simulation.md`.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the simulator is outside of the worlds it makes"
)]

pub mod access;
pub mod checker;
pub mod client;
pub mod cluster;
pub mod clusters;
pub mod each_call;
pub mod enumerate;
pub mod fault;
pub mod flips;
pub mod group;
pub mod group_site;
pub mod hunt;
pub mod members;
pub mod nemesis;
pub mod random;
pub mod requests;
pub mod run;
pub mod scenario;
pub mod sequences;
pub mod site;
pub mod witness;
pub mod workload;
