//! A node that takes part in a repair: an order about a job goes to each of its shards.

use std::rc::Rc;

use runtime::ShardId;

use crate::replica::{ReplicaError, Shards};
use crate::streaming::{CopyFigures, JobName, JobOrder, JobReport, JobState};

/// This node, as a participant.
#[derive(Clone)]
pub(crate) struct Participant {
    pub(crate) shards: Rc<Shards>,
}

impl Participant {
    /// Gives all shards an order, and sums up what they say. The first refusal ends it: what some shards have begun ends when no node asks.
    pub(crate) async fn obey(&self, order: JobOrder) -> Result<JobReport, ReplicaError> {
        let mut reports = Vec::new();
        for shard in 0..self.shards.sharder.shards {
            reports.push(self.shards.order(ShardId(shard), order.clone()).await?);
        }
        Ok(summed(reports))
    }
}

impl Participant {
    /// Orders all shards to end a job. True if it has ended on each: nothing of it is listed any more.
    pub(crate) async fn end(&self, name: JobName) -> Result<bool, ReplicaError> {
        let mut has_ended = true;
        for shard in 0..self.shards.sharder.shards {
            let report = self.shards.order(ShardId(shard), JobOrder::End(name)).await?;
            has_ended &= !matches!(report.state, JobState::Waiting | JobState::Running);
        }
        Ok(has_ended)
    }
}

/// A node's job, of those of its shards: failed or unknown if any is, done if all are.
pub(super) fn summed(reports: Vec<JobReport>) -> JobReport {
    let mut figures = CopyFigures::default();
    reports.iter().for_each(|report| figures.add(report.figures));
    let has = |state: &JobState| reports.iter().any(|report| report.state == *state);
    let failed = reports.iter().enumerate().find_map(|(shard, report)| match &report.state {
        JobState::Failed(words) => Some(JobState::Failed(format!("shard {shard}: {words}"))),
        _ => None,
    });
    let state = match failed {
        Some(failed) => failed,
        None if has(&JobState::Unknown) => JobState::Unknown,
        None if reports.iter().all(|report| report.state == JobState::Done) => JobState::Done,
        None if has(&JobState::Running) || has(&JobState::Done) => JobState::Running,
        None => JobState::Waiting,
    };
    JobReport { state, figures }
}
