//! The jobs of a shard: begun and asked about by the node that leads a repair, one at a time at work.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use runtime::sync::Semaphore;
use runtime::{Group, Instant};
use topology::operations::OperationId;

use super::ending::Ending;
use super::error::CopyFailed;
use super::figures::{CopyFigures, Progress};
use super::job::CopyJob;
use super::order::{JobName, JobOrder, JobReport, JobState};
use super::receiver::Receiver;
use crate::replica::ReplicaError;

/// Jobs of a shard, ended ones too that were not asked about since.
const JOBS_MAX: usize = 64;
/// A job about which no node asks for so long ends, or is forgotten.
const PATIENCE: Duration = Duration::from_secs(60);
/// The rest between two looks for such jobs.
const LOOK: Duration = Duration::from_secs(5);

/// A shard's jobs.
pub(crate) struct Jobs {
    receiver: Receiver,
    by_name: RefCell<BTreeMap<JobName, Rc<Job>>>,
    /// One job is at work.
    turn: Semaphore,
    is_watched: Cell<bool>,
}

struct Job {
    state: RefCell<JobState>,
    progress: Progress,
    ending: Ending,
    asked: Cell<Instant>,
}

impl Job {
    /// It waits, runs, and ends once.
    fn pass_to(&self, next: JobState) {
        let mut state = self.state.borrow_mut();
        let may = matches!(
            (&*state, &next),
            (JobState::Waiting, JobState::Running | JobState::Failed(_))
                | (JobState::Running, JobState::Done | JobState::Failed(_))
        );
        assert!(may, "a job does not pass from {state:?} to {next:?}");
        *state = next;
    }

    fn has_ended(&self) -> bool {
        matches!(*self.state.borrow(), JobState::Done | JobState::Failed(_))
    }

    fn report(&self) -> JobReport {
        JobReport { state: self.state.borrow().clone(), figures: self.progress.figures() }
    }
}

impl Jobs {
    /// None yet.
    pub(crate) fn new(receiver: Receiver) -> Rc<Jobs> {
        Rc::new(Jobs { receiver, by_name: RefCell::default(), turn: Semaphore::new(1), is_watched: Cell::default() })
    }

    /// Obeys an order. An order to begin may be given twice.
    pub(crate) fn obey(self: &Rc<Self>, order: JobOrder) -> Result<JobReport, ReplicaError> {
        match order {
            JobOrder::Begin(name, job) => self.begin(name, *job),
            JobOrder::Ask(name) => Ok(self.report(name)),
            JobOrder::End(name) => {
                let mut by_name = self.by_name.borrow_mut();
                let Some(job) = by_name.get(&name).cloned() else { return Ok(JobReport::of(JobState::Unknown)) };
                // It ends at its next step, and is known until it has.
                job.ending.end(CopyFailed::Ended);
                if job.has_ended() {
                    by_name.remove(&name);
                }
                Ok(job.report())
            }
        }
    }

    fn report(&self, name: JobName) -> JobReport {
        let by_name = self.by_name.borrow();
        let Some(job) = by_name.get(&name) else { return JobReport::of(JobState::Unknown) };
        job.asked.set(self.receiver.shards.runtime.now());
        job.report()
    }

    fn begin(self: &Rc<Self>, name: JobName, job: CopyJob) -> Result<JobReport, ReplicaError> {
        if self.by_name.borrow().contains_key(&name) {
            return Ok(self.report(name));
        }
        let runtime = &self.receiver.shards.runtime;
        if self.by_name.borrow().len() >= JOBS_MAX {
            let problem = format!("{JOBS_MAX} jobs of copying are known");
            return Err(ReplicaError::Overloaded { shard: runtime.shard().into(), problem });
        }
        let asked = Cell::new(runtime.now());
        let state = RefCell::new(JobState::Waiting);
        let known = Rc::new(Job { state, progress: Progress::default(), ending: Ending::default(), asked });
        let (jobs, working) = (Rc::clone(self), Rc::clone(&known));
        drop(runtime.spawn(Group::Streaming, async move {
            let copied = jobs.work(&job, &working).await;
            if let Err(error) = &copied {
                tracing::warn!(table = %job.table, %error, "copying failed");
            }
            working.pass_to(match copied {
                Ok(()) => JobState::Done,
                Err(error) => JobState::Failed(error.to_string()),
            });
        }));
        let report = known.report();
        self.by_name.borrow_mut().insert(name, known);
        self.watch();
        Ok(report)
    }

    /// Waits for the job's turn and carries it out, until it is ordered to end.
    async fn work(&self, job: &CopyJob, working: &Job) -> Result<(), CopyFailed> {
        let _turn = working.ending.or(self.turn.acquire()).await?;
        working.pass_to(JobState::Running);
        self.receiver.copy(job, &working.progress, &working.ending).await
    }

    /// Forgets the units that are confirmed for operations that are not there any more: no number of one is given twice.
    pub(crate) fn forget_all_but(&self, operations: &BTreeSet<OperationId>) {
        let storage = &self.receiver.shards.storage;
        let confirmed = storage::operations_confirmed(storage).into_iter();
        let over: Vec<OperationId> = confirmed.filter(|operation| !operations.contains(operation)).collect();
        if over.is_empty() {
            return;
        }
        let storage = storage.clone();
        drop(self.receiver.shards.runtime.spawn(Group::Maintenance, async move {
            for operation in over {
                if let Err(error) = storage::forget_confirmed(&storage, operation).await {
                    tracing::warn!(operation = operation.0, %error, "cannot note in the manifest that an operation is over; the next one does");
                }
            }
        }));
    }

    /// Figures of the jobs that are known.
    pub(crate) fn figures(&self) -> Vec<CopyFigures> {
        self.by_name.borrow().values().map(|job| job.progress.figures()).collect()
    }

    /// Ends and forgets jobs about which no node asks.
    fn watch(self: &Rc<Self>) {
        if self.is_watched.replace(true) {
            return;
        }
        let jobs = Rc::clone(self);
        let runtime = self.receiver.shards.runtime.clone();
        drop(runtime.clone().spawn(Group::Maintenance, async move {
            while !jobs.by_name.borrow().is_empty() {
                runtime.sleep(LOOK).await;
                jobs.end_forgotten(runtime.now());
            }
            jobs.is_watched.set(false);
        }));
    }

    fn end_forgotten(&self, now: Instant) {
        self.by_name.borrow_mut().retain(|_, job| {
            let is_forgotten = now - job.asked.get() >= PATIENCE;
            if is_forgotten && !job.has_ended() {
                stdx::sometimes!("a job's leader says nothing");
                job.ending.end(CopyFailed::Forgotten { seconds: PATIENCE.as_secs() });
            }
            !is_forgotten
        });
    }
}
