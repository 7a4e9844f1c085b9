//! A load for MariaDB: so many clients, each with a connection of its own, that do one request after another and all begin at once.
//!
//! It is the counterpart of `helenus stress --raw --connections N --depth 1`, with the table of the published comparison of Cassandra with
//! MySQL. A client is a thread with the blocking driver: of each request that is two system calls and a wake-up. Values follow from the
//! key, so that a read knows what it must find.

#![allow(
    clippy::disallowed_methods,
    reason = "the driver is blocking: its clients are threads with the system's clock, and no shards"
)]

mod client;
mod load;
mod report;
mod rows;
mod tally;

pub use client::Workload;
pub use load::{Load, Outcome, run};
pub use report::Report;
pub use rows::VALUE_BYTES_MAX;
pub use tally::Tally;
