//! The engine on a real runtime, without sockets.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test makes its folders and reads its scripts outside of the shards, and takes results from them"
)]

mod access;
mod conditional;
mod constants;
mod cost;
mod files;
mod guarded_values;
mod guardrails;
mod hand_over;
mod harness;
mod limits;
mod masks;
mod paging;
mod permissions;
mod requests;
mod rings;
mod roles;
mod scripts;
mod tombstones;
mod tracing;
mod truncations;
