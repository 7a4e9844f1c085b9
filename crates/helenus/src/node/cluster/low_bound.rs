//! The low bound of attempts, as this node has a part in it: it finishes what the cluster refuses, deletes what it ignores, and asks for the next bound when it has
//! registers that are old. See `docs/internals/paxos.md`.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use metadata::group::Answer;
use query::{Engine, LowBoundDomain, delete_left, finish_left, finished_left, has_left, refuse_left};
use runtime::{Group, Instant};

use super::Inner;
use super::upkeep::every;

/// Looks at it so often within the age of a bound, and no oftener than [`LOOK_MIN`].
const LOOKS: u32 = 60;
/// What failed is tried again after this part of the age.
const RESTS: u32 = 12;
const LOOK_MIN: Duration = Duration::from_secs(1);

/// This node's progress.
#[derive(Debug, Default)]
pub(super) struct Progress {
    is_busy: Cell<bool>,
    /// Registers up to this time are deleted here, microseconds since 1970.
    deleted: Cell<i64>,
    /// What failed is tried again from then on.
    rest_until: Cell<Option<Instant>>,
    /// Old registers are looked for from then on.
    look_at: Cell<Option<Instant>>,
}

/// Looks at intervals at what is to be done.
pub(super) fn begin(inner: &Rc<Inner>, engine: Engine) {
    let age = inner.config.low_bound_age;
    every(inner, (age / LOOKS).max(LOOK_MIN), move |inner| {
        if inner.driver.get().is_none() || inner.low_bound.is_busy.replace(true) {
            return;
        }
        let (inner, engine) = (Rc::clone(inner), engine.clone());
        let runtime = inner.runtime.clone();
        drop(runtime.spawn(Group::Maintenance, async move {
            if let Err(reason) = inner.keep_low_bound(&engine).await {
                tracing::debug!(%reason, "low bound of conditional statements not kept now; retrying");
            }
            inner.low_bound.is_busy.set(false);
        }));
    });
}

impl Inner {
    /// Does what is to be done now.
    async fn keep_low_bound(&self, engine: &Engine) -> Result<(), String> {
        let driver = self.driver.get().expect("the engine runs");
        let own = self.local.host_id();
        let (times, is_awaited) = driver.with_member(|member, _| {
            let bound = member.state().cluster().of::<LowBoundDomain>();
            (bound.times(), bound.is_awaited(own))
        });
        // The shards may be at work on the last entries still.
        let applied = engine.low_bound();
        let rests = self.low_bound.rest_until.get().is_some_and(|until| self.runtime.now() < until);
        if is_awaited && applied.refused == times.refused && !rests {
            if let Err(reason) = finish_left(engine, times.refused).await {
                // What cannot be finished now hardly can be in a moment.
                self.low_bound.rest_until.set(Some(self.runtime.now() + self.config.low_bound_age / RESTS));
                return Err(reason);
            }
            return answered(driver.propose(driver.new_id(), finished_left(own, times.refused)).await);
        }
        if applied.closed > self.low_bound.deleted.get() {
            let count = delete_left(engine, applied.closed).await?;
            tracing::debug!(count, "old registers of conditional statements deleted");
            self.low_bound.deleted.set(applied.closed);
        }
        self.ask_for_bound(engine, times.refused).await
    }

    /// Asks for the next bound, if this node has registers that are not later.
    async fn ask_for_bound(&self, engine: &Engine, refused: i64) -> Result<(), String> {
        let (age, now) = (self.config.low_bound_age, self.runtime.now());
        let look_at = self.low_bound.look_at.get().unwrap_or(now);
        let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        let Some(clock) = self.vital.earliest_clock(&self.runtime) else { return Ok(()) };
        let clock = i64::try_from(clock).unwrap_or(0);
        let (below, apart) = (clock.saturating_sub(micros(age)), micros(age / 2));
        if now < look_at || self.registry.borrow().nodes().len() < 2 || below < refused.saturating_add(apart) {
            return Ok(());
        }
        self.low_bound.look_at.set(Some(now + age / 2));
        if !has_left(engine, below).await? {
            return Ok(());
        }
        let driver = self.driver.get().expect("the engine runs");
        answered(driver.propose(driver.new_id(), refuse_left(below, apart)).await)
    }
}

/// The outcome of a proposal. A refusal says that nothing is to be changed, or not any more.
fn answered(answer: Answer) -> Result<(), String> {
    match answer {
        Answer::Applied { .. } | Answer::Refused { .. } => Ok(()),
        answer => Err(format!("{answer:?}")),
    }
}
