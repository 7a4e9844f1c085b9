//! Copying: a node that lacks data of token ranges pulls it from nodes that have it, straight into SSTables.
//!
//! A [`Receiver`] of one shard asks [`Sources`] of other nodes' shards, by verbs of this module. See `docs/internals/copying.md`.

mod ask;
mod codec;
mod ending;
mod error;
mod figures;
mod job;
mod jobs;
mod message;
mod order;
mod pull;
mod receiver;
mod source;
mod sum;
mod verbs;

#[cfg(test)]
mod tests;

pub(crate) use codec::{finish, push_ranges, read_count, read_ranges, read_version};
pub(crate) use error::Shown;
pub use figures::CopyFigures;
pub(crate) use job::CopyJob;
pub(crate) use jobs::Jobs;
pub(crate) use message::{CopyAnswer, CopyRequest, RANGES_MAX};
pub(crate) use order::{JobName, JobOrder, JobReport, JobState};
pub(crate) use receiver::Receiver;
pub(crate) use source::Sources;
pub(crate) use verbs::register;
