//! `helenus stress write …`: loads through the `scylla` driver, said in cassandra-stress's words.
//!
//! Command line → [`settings`] → a plan for each run ([`phase`]) → tasks that take rows from a [`population`], at times from a
//! [`schedule`] if there is a rate, and do an operation on each ([`target`]: the [`standard`] tables, a [`profile`]'s or [`ycsb`]'s) →
//! [`recorder`] → [`progress`] and [`report`]. Several runs follow from one command line where a [`search`] for threads or a [`sweep`] of
//! rates is asked for; what several processes measured is put together by [`merge`]. It runs on tokio, on threads of its own, as a user of that driver would run it:
//! nothing here is a node or is simulated.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a client on tokio, whose threads are no shards: it has clocks, files, threads and locks of its own"
)]

mod access;
mod connect;
mod filler;
mod hdr_log;
mod merge;
mod output;
mod phase;
mod population;
mod profile;
mod progress;
mod recorder;
mod report;
mod rows;
mod schedule;
mod search;
mod session;
mod settings;
mod standard;
mod statistics;
mod sweep;
mod target;
mod ycsb;

pub(crate) use merge::run as merge;
pub(crate) use session::run;
pub(crate) use settings::is_command;

#[cfg(test)]
mod tests;
