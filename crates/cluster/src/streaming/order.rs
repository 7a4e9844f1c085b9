//! Orders about jobs of copying, and what is answered to them.

use super::figures::CopyFigures;
use super::job::CopyJob;

/// A job's name: a random one, that the node which leads draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct JobName(pub(crate) [u8; 16]);

/// An order about a job, to one shard or to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JobOrder {
    /// Begin it, unless it has begun.
    Begin(JobName, Box<CopyJob>),
    /// Say how it is.
    Ask(JobName),
    /// End it at its next step; forget it, if it has ended.
    End(JobName),
}

/// The state of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JobState {
    /// There is none of the name.
    Unknown,
    /// Others are before it.
    Waiting,
    /// It is at work.
    Running,
    /// All of it is listed.
    Done,
    /// It has ended, for this reason.
    Failed(String),
}

/// A job as its shard, or its node, sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobReport {
    pub(crate) state: JobState,
    pub(crate) figures: CopyFigures,
}

impl JobReport {
    /// A job that has done nothing.
    pub(super) fn of(state: JobState) -> JobReport {
        JobReport { state, figures: CopyFigures::default() }
    }
}
