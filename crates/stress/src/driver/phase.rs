//! A run of operations: the warm-up, or what is measured.
//!
//! `threads` tasks each do one operation after another; the tasks are the driver's executor's, not the operating system's. They share the
//! population, the work that is left and, with a rate, the schedule. Who waits for the run looks at what was recorded once in an interval.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::population::Population;
use super::progress::Progress;
use super::recorder::{Recorder, Sample};
use super::schedule::Schedule;
use super::settings::{ErrorSettings, Kind, Length, Limit, Settings};
use super::target::{Buffers, Done, Failure, Target, Work};
use crate::backlog::Backlog;
use crate::distribution::Distribution;
use crate::random::{fraction, mix, next_random};

/// Operations of a warm-up at most, for each node.
const WARMUP_MAX: u64 = 50_000;
/// Operations of a warm-up at a time at most.
const WARMUP_THREADS_MAX: usize = 100;

/// What a run is made of.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) kinds: Vec<(Kind, f64)>,
    pub(crate) clustering: Distribution,
    pub(crate) length: Length,
    pub(crate) threads: usize,
    pub(crate) limit: Limit,
    pub(crate) errors: ErrorSettings,
    pub(crate) tells_errors: bool,
    pub(crate) seed: u64,
}

impl Plan {
    /// The measured run of a command line.
    pub(crate) fn measured(settings: &Settings, threads: usize, limit: Limit, seed: u64) -> Plan {
        Plan {
            kinds: settings.command.kinds.clone(),
            clustering: settings.command.clustering.clone(),
            length: settings.command.length,
            threads,
            limit,
            errors: settings.errors,
            tells_errors: settings.log.tells_errors,
            seed,
        }
    }

    /// Its warm-ups: each kind for itself, a quarter of the operations but at most 50,000 for each node that is named, with at most 100 tasks.
    pub(crate) fn warmups(settings: &Settings, threads: usize, seed: u64) -> Vec<Plan> {
        let quarter = match settings.command.length {
            Length::Operations(count) => (count / 4).min(WARMUP_MAX),
            _ => WARMUP_MAX,
        };
        let count = quarter * settings.connection.nodes.len().max(1) as u64;
        let of = |kind: &(Kind, f64)| Plan {
            kinds: vec![*kind],
            length: Length::Operations(count),
            ..Plan::measured(settings, threads.min(WARMUP_THREADS_MAX), Limit::None, seed)
        };
        if count == 0 { Vec::new() } else { settings.command.kinds.iter().map(of).collect() }
    }
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ending {
    /// Why it was ended before its end, if it was.
    pub(crate) failure: Option<String>,
    /// What waited, if times were fixed.
    pub(crate) backlog: Option<Backlog>,
}

/// What the tasks of a run share.
struct Phase {
    plan: Plan,
    target: Arc<Target>,
    population: Population,
    /// Partitions that no operation has taken, as far as their number is known: cassandra-stress counts these, of which most operations take one.
    left: Option<AtomicU64>,
    is_over: AtomicBool,
    schedule: Option<Arc<Schedule>>,
    recorder: Recorder,
    failure: Mutex<Option<String>>,
}

/// Runs a plan, and lets `progress` look at it.
pub(crate) async fn run(
    plan: Plan,
    target: Arc<Target>,
    population: Population,
    progress: &mut Progress<'_>,
) -> Ending {
    let operations = match plan.length {
        Length::Operations(count) => Some(count),
        _ => None,
    };
    let expected = match (plan.length, plan.limit.per_second()) {
        (Length::Time(time), Some(rate)) => Some((time.as_secs_f64() * rate as f64) as u64),
        _ => operations,
    };
    let is_fixed = matches!(plan.limit, Limit::Fixed(_));
    let schedule = plan.limit.per_second().map(|rate| Arc::new(Schedule::begin(rate, is_fixed, expected)));
    let shelves = std::thread::available_parallelism().map_or(4, |count| count.get() * 2);
    let phase = Arc::new(Phase {
        target,
        population,
        left: operations.map(AtomicU64::new),
        is_over: AtomicBool::new(false),
        schedule: schedule.clone(),
        recorder: Recorder::new(shelves.min(plan.threads)),
        failure: Mutex::default(),
        plan,
    });
    let clock = schedule.clone().map(|schedule| tokio::task::spawn_blocking(move || schedule.run()));
    let mut tasks = JoinSet::new();
    for task in 0..phase.plan.threads {
        tasks.spawn(phase.clone().work(task));
    }
    phase.watch(tasks, progress).await;
    phase.end();
    if let Some(clock) = clock {
        clock.await.expect("the schedule's thread does not panic");
    }
    phase.record_not_begun(Instant::now());
    progress.finish(phase.recorder.take(), Instant::now());
    let failure = phase.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    Ending { failure, backlog: schedule.filter(|_| is_fixed).map(|schedule| schedule.backlog()) }
}

impl Phase {
    /// Waits for all tasks, tells of them in between, and ends them when it is time.
    async fn watch(&self, mut tasks: JoinSet<()>, progress: &mut Progress<'_>) {
        let until = match self.plan.length {
            Length::Time(time) => Instant::now() + time,
            _ => Instant::now() + Duration::from_secs(10 * 365 * 86_400),
        };
        let mut next = Instant::now() + progress.interval();
        loop {
            tokio::select! {
                ended = tasks.join_next() => match ended {
                    None => return,
                    Some(ended) => ended.expect("a task does not panic"),
                },
                () = tokio::time::sleep_until(next.into()) => {
                    progress.tell(self.recorder.take(), Instant::now());
                    next = (next + progress.interval()).max(Instant::now());
                    if let Length::Error { target, least, most } = self.plan.length && progress.is_certain(target, least, most) {
                        self.end();
                    }
                }
                () = tokio::time::sleep_until(until.into()), if !self.is_over.load(Ordering::Relaxed) => self.end(),
            }
        }
    }

    /// Lets no operation begin any more.
    fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(schedule) = &self.schedule {
            schedule.end();
        }
    }

    /// Records what was due at fixed times and has not begun, since no task was free: left out, a server's last stall would be in no figure.
    fn record_not_begun(&self, end: Instant) {
        let Some(schedule) = &self.schedule else { return };
        let mut chooser = Chooser::new(&self.plan, self.plan.threads);
        for due in schedule.not_begun() {
            self.recorder.record_not_begun(chooser.next(), end.saturating_duration_since(due));
        }
    }

    /// Takes so many of the partitions that are left to do, or as many as there are; none is the end.
    fn take(&self, count: u64) -> Option<u64> {
        if self.is_over.load(Ordering::Relaxed) {
            return None;
        }
        let Some(left) = &self.left else { return Some(count) };
        let less = |left: u64| (left > 0).then(|| left.saturating_sub(count));
        let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).ok()?;
        Some(before.min(count))
    }

    /// One task: an operation after another until there are none.
    async fn work(self: Arc<Self>, task: usize) {
        let mut buffers = Buffers::default();
        let mut chooser = Chooser::new(&self.plan, task);
        loop {
            let kind = chooser.next();
            let wanted = self.target.partition_count(kind, next_random(&mut chooser.state));
            let Some(count) = self.take(wanted) else { return };
            let due = match &self.schedule {
                None => None,
                Some(schedule) => match schedule.next(count).await {
                    None => return,
                    Some(due) => due,
                },
            };
            let drawn = self.target.draw(kind, count, &self.population, &mut chooser.state);
            let Some(work) = drawn else { return };
            let began = Instant::now();
            let outcome = self.perform(&work, &mut buffers).await;
            let ended = Instant::now();
            self.target.settle(work);
            let done = outcome.as_ref().copied().unwrap_or_default();
            self.recorder.record(task, &Sample { kind, due, began, ended, done, has_failed: outcome.is_err() });
            if let Err(text) = outcome {
                self.note(text);
            }
        }
    }

    /// Does an operation, several times if the server refuses it.
    async fn perform(&self, work: &Work, buffers: &mut Buffers) -> Result<Done, String> {
        let mut tried = 1;
        loop {
            match self.target.perform(work, buffers).await {
                Ok(done) => return Ok(done),
                Err(failure @ Failure::Refused(_)) if self.tries_again(tried) => {
                    if self.plan.tells_errors {
                        eprintln!("{failure}");
                    }
                    tried += 1;
                }
                Err(failure) => return Err(format!("{} x{tried} on {}: {failure}", work.kind.name(), work.subject())),
            }
        }
    }

    fn tries_again(&self, tried: u32) -> bool {
        tried < self.plan.errors.tries && !self.is_over.load(Ordering::Relaxed)
    }

    /// An operation has failed for good: that ends the run, unless errors are ignored.
    fn note(&self, text: String) {
        if self.plan.errors.ignored {
            if self.plan.tells_errors {
                eprintln!("{text}");
            }
            return;
        }
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text);
        self.end();
    }
}

/// Chooses what each operation of a task is.
struct Chooser<'a> {
    plan: &'a Plan,
    state: u64,
    kind: Kind,
    /// Operations before it chooses anew.
    left: u64,
}

impl Chooser<'_> {
    fn new(plan: &Plan, task: usize) -> Chooser<'_> {
        Chooser { plan, state: mix(plan.seed) ^ mix(task as u64 + 1), kind: plan.kinds[0].0, left: 0 }
    }

    fn next(&mut self) -> Kind {
        if self.plan.kinds.len() > 1 {
            if self.left == 0 {
                self.kind = self.choose();
                self.left = self.plan.clustering.draw(next_random(&mut self.state)).max(1);
            }
            self.left -= 1;
        }
        self.kind
    }

    fn choose(&mut self) -> Kind {
        let kinds = &self.plan.kinds;
        let mut point = fraction(next_random(&mut self.state)) * kinds.iter().map(|(_, weight)| weight).sum::<f64>();
        for (kind, weight) in kinds {
            if point < *weight {
                return *kind;
            }
            point -= weight;
        }
        kinds[kinds.len() - 1].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warmup_is_a_quarter_of_each_kind_and_bounded() {
        let plans = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let plans = Plan::warmups(&Settings::parse(&words).unwrap(), 400, 1);
            plans.iter().map(|plan| (plan.kinds[0].0, plan.length, plan.threads)).collect::<Vec<_>>()
        };
        let many = Length::Operations(100_000);
        assert_eq!(plans("mixed n=9M -node a,b"), [(Kind::Read, many, 100), (Kind::Write, many, 100)]);
        assert_eq!(plans("write n=100"), [(Kind::Write, Length::Operations(25), 100)]);
        assert_eq!(plans("write n=3"), []);
        assert_eq!(plans("read duration=5s"), [(Kind::Read, Length::Operations(50_000), 100)]);
    }

    #[test]
    fn kinds_are_chosen_by_weight_and_in_clusters() {
        let plan = Plan {
            kinds: vec![(Kind::Write, 2.0), (Kind::Read, 8.0)],
            clustering: "FIXED(5)".parse().unwrap(),
            length: Length::Operations(1),
            threads: 1,
            limit: Limit::None,
            errors: ErrorSettings { ignored: false, tries: 1, validated: true },
            tells_errors: false,
            seed: 7,
        };
        let mut chooser = Chooser::new(&plan, 0);
        let kinds: Vec<Kind> = (0..100_000).map(|_| chooser.next()).collect();
        let writes = kinds.iter().filter(|kind| **kind == Kind::Write).count();
        assert!((19_000..21_000).contains(&writes), "{writes}");
        assert!(kinds.chunks(5).all(|cluster| cluster.iter().all(|kind| *kind == cluster[0])));
        let mut other = Chooser::new(&plan, 1);
        assert!(kinds.iter().any(|kind| *kind != other.next()), "tasks choose for themselves");
    }
}
