//! The low bound of attempts, as this node has a part in it: it finishes what the cluster refuses, deletes what it ignores, and asks for the next bound when it has
//! registers that are old. See `docs/internals/paxos.md`.

use std::time::Duration;

use metadata::group::{Answer, Driver};
use query::{Engine, LowBoundDomain, delete_left, finish_left, finished_left, has_left, low_bound, refuse_left};
use runtime::{Instant, Runtime};
use topology::HostId;

/// Looks within the age of a bound, and the shortest time between two.
const LOOKS: u32 = 60;
const LOOK_MIN: Duration = Duration::from_secs(1);
/// The part of the age after which a failure is tried again.
const RESTS: u32 = 12;

/// The cluster as this node sees it.
pub(super) struct View<'v> {
    pub(super) runtime: &'v Runtime,
    pub(super) driver: &'v Driver,
    pub(super) own: HostId,
    /// True if there are other nodes.
    pub(super) has_others: bool,
    /// The earliest wall clock of those that were heard of late, microseconds since 1970.
    pub(super) clock: Option<u64>,
}

/// This node's progress.
#[derive(Debug)]
pub(super) struct Progress {
    age: Duration,
    /// Registers up to this time are deleted here, microseconds since 1970.
    deleted: i64,
    /// The end of the rest after a failure.
    rest_until: Option<Instant>,
    /// Old registers are looked for from then on.
    look_at: Option<Instant>,
}

impl Progress {
    /// None yet, of bounds that are so old.
    pub(super) fn new(age: Duration) -> Progress {
        Progress { age, deleted: 0, rest_until: None, look_at: None }
    }

    /// The time between two looks.
    pub(super) fn interval(&self) -> Duration {
        (self.age / LOOKS).max(LOOK_MIN)
    }

    /// Does the next step.
    pub(super) async fn go_on(&mut self, view: &View<'_>, engine: &Engine) -> Result<(), String> {
        let View { driver, own, runtime, .. } = view;
        let (times, is_awaited) = driver.with_member(|member, _| {
            let bound = member.state().cluster().of::<LowBoundDomain>();
            (bound.times(), bound.is_awaited(*own))
        });
        // The shards may be at work on the last entries still.
        let applied = low_bound(engine);
        let rests = self.rest_until.is_some_and(|until| runtime.now() < until);
        if is_awaited && applied.refused == times.refused && !rests {
            if let Err(reason) = finish_left(engine, times.refused).await {
                self.rest_until = Some(runtime.now() + self.age / RESTS);
                return Err(reason);
            }
            let answer = driver.propose(driver.new_id(), finished_left(*own, times.refused)).await;
            if matches!(answer, Answer::Refused { .. }) {
                // Replicas are others than when the bound was made: there will be another one.
                self.rest_until = Some(runtime.now() + self.age / RESTS);
            }
            return answered(answer);
        }
        if applied.closed > self.deleted {
            let count = delete_left(engine, applied.closed).await?;
            tracing::debug!(count, "old registers of conditional statements deleted");
            self.deleted = applied.closed;
        }
        self.ask_for_bound(view, engine, times.refused).await
    }

    /// Asks for the next bound, if this node has registers that are not later.
    async fn ask_for_bound(&mut self, view: &View<'_>, engine: &Engine, refused: i64) -> Result<(), String> {
        let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        let Some(clock) = view.clock.and_then(|clock| i64::try_from(clock).ok()) else { return Ok(()) };
        let (below, apart, now) = (clock.saturating_sub(micros(self.age)), micros(self.age / 2), view.runtime.now());
        let is_due = self.look_at.is_none_or(|at| now >= at) && below >= refused.saturating_add(apart);
        if !is_due || !view.has_others {
            return Ok(());
        }
        self.look_at = Some(now + self.age / 2);
        match has_left(engine, below).await? {
            true => answered(view.driver.propose(view.driver.new_id(), refuse_left(below, apart)).await),
            false => Ok(()),
        }
    }
}

/// The outcome of a proposal. A refusal says that nothing is to be changed, or not any more.
fn answered(answer: Answer) -> Result<(), String> {
    match answer {
        Answer::Applied { .. } | Answer::Refused { .. } => Ok(()),
        answer => Err(format!("{answer:?}")),
    }
}
