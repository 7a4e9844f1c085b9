//! The order of a change: planned, checked, prepared, durable, applied, finished; one change at a time.
//!
//! Goal: however a change is asked for, no shard applies what is not durable, no client hears of what some shard lacks, and nothing is deleted
//! before all shards know that it may be. The one who asks gives the steps ([`Steps`]); the order is here, so that the leader of a group of nodes
//! can drive the same steps later.
//!
//! Outline: a [`Proposer`] owns the log on shard 0. Its [`Turn`] excludes all other changes, from the plan on: a plan is made of the state that the
//! change is applied to. [`Turn::carry_out`] runs the steps and passes from [`Stage`] to [`Stage`], each of which asserts that it follows the one before.
//! A step that fails ends the change there: before `durable` nothing has changed but what `prepare` says of itself; from `durable` on
//! the change counts, and a start applies it.
//!
//! Rejected: one closure per step (they would borrow the same plan mutably), and types for the stages (a step's failure ends the sequence anyway, and the
//! table in `docs/internals/metadata-log.md` is easier to compare with one list).

mod stage;

use std::future::Future;

use runtime::sync::{Permit, Semaphore};

use crate::error::MetadataError;
use crate::file::{MetadataLog, Record};
use stage::{Sequence, Stage};

/// Owner of the log, and of the turn of changes. On shard 0.
pub struct Proposer {
    log: MetadataLog,
    /// One permit: changes are made one after the other.
    turn: Semaphore,
}

impl Proposer {
    /// The proposer of changes to `log`, which takes no other appends from now on.
    pub fn new(log: MetadataLog) -> Proposer {
        Proposer { log, turn: Semaphore::new(1) }
    }

    /// Waits until no other change is under way. Turns are given in the order in which they were asked for.
    pub async fn turn(&self) -> Turn<'_> {
        Turn { log: &self.log, _permit: self.turn.acquire().await }
    }
}

/// The right to make a change, until it is dropped.
pub struct Turn<'a> {
    log: &'a MetadataLog,
    _permit: Permit,
}

/// The steps of one change, in their order. An error of any ends the change.
pub trait Steps {
    /// Error of a step, for the one who asked.
    type Error;

    /// Plans the change of the state as it is; false if there is nothing to change.
    fn plan(&mut self) -> Result<bool, Self::Error>;

    /// Checks the plan against what this node allows. Called for a plan of nothing too.
    fn check(&mut self) -> Result<(), Self::Error>;

    /// Does what must precede the record, and gives it. Facts of this node may be made durable here, by changes of their own within this `turn`.
    fn prepare(&mut self, turn: &Turn<'_>) -> impl Future<Output = Result<Record, Self::Error>>;

    /// Error of a record that could not be made durable.
    fn not_durable(&self, error: MetadataError) -> Self::Error;

    /// Has all shards apply the record.
    fn apply_on_all(&mut self) -> impl Future<Output = Result<(), Self::Error>>;

    /// Does what may follow only when all shards have applied the record: announcements, deletions.
    fn finish(&mut self) -> impl Future<Output = Result<(), Self::Error>>;
}

impl Turn<'_> {
    /// Refuses if the log takes no records any more. For a preparation that cannot be undone.
    pub fn check_log(&self) -> Result<(), MetadataError> {
        self.log.check()
    }

    /// Carries out a change: all of its steps, or those up to the first that fails.
    pub async fn carry_out<S: Steps>(&self, steps: &mut S) -> Result<(), S::Error> {
        let before = self.log.acknowledged();
        let mut sequence = Sequence::asked();
        let is_change = steps.plan()?;
        sequence.pass(Stage::Planned);
        steps.check()?;
        sequence.pass(Stage::Checked);
        assert_eq!(self.log.acknowledged(), before, "nothing becomes durable while a change is planned and checked");
        if !is_change {
            sequence.pass(Stage::Finished);
            return Ok(());
        }
        let record = steps.prepare(self).await?;
        sequence.pass(Stage::Prepared);
        let before = self.log.acknowledged();
        self.log.append(&record).await.map_err(|error| steps.not_durable(error))?;
        assert!(self.log.acknowledged() > before, "a change is durable before it is applied");
        sequence.pass(Stage::Durable);
        steps.apply_on_all().await?;
        sequence.pass(Stage::Applied);
        steps.finish().await?;
        sequence.pass(Stage::Finished);
        Ok(())
    }
}
