//! One run of a scenario: start, load, faults, and the rows read back after a power cut and after an orderly restart.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use helenus::config::CommitLogSync;
use runtime::sim::{Ended, Keep, World};

use crate::checker::{self, Promises};
use crate::client::{Client, ClientError, Row};
use crate::cluster::{Cluster, NODE, NodeOptions};
use crate::fault::{self, Fault, Moment};
use crate::scenario::Scenario;
use crate::workload::{
    SELECT_ALL, SELECT_COUNTS, Shared, SharedConditionals, SharedReplicated, prepare, prepare_counts, work,
};

mod conditional;
mod ring;

/// By then the workload has ended, whatever happens to it.
const WORKLOAD_AT_MOST: Duration = Duration::from_secs(3600);
/// How long all rows may take to be read from a healthy node.
const READ_AT_MOST: Duration = Duration::from_secs(120);
/// How long a fault lasts.
const FAULT_MICROS_MAX: u64 = 300_000;
/// The longest rest between a node's end and its start, where nobody watches.
const REST_MICROS_MAX: u64 = 20_000;
/// How much longer than a period it may take until what was acknowledged is on a disk that is well: its write waits for others,
/// and it and its sync take their time.
const PERIODIC_SLACK: Duration = Duration::from_millis(15);
/// By then another node has noticed that one does not answer.
const NOTICED_MICROS: u64 = 9_000_000;
/// Rows of a page.
const PAGE_ROWS: i32 = 100;

/// What came of a run.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// What does not hold.
    pub violations: Vec<String>,
    /// Equal for equal seeds.
    pub trace_hash: u64,
    /// The world's time that the run took.
    pub simulated: Duration,
    /// Rows written, and those of them that were acknowledged.
    pub written: usize,
    /// Acknowledged rows.
    pub acknowledged: usize,
    /// Starts of the node.
    pub starts: u64,
    /// Starts that failed while the disk was broken.
    pub starts_refused: u64,
    /// Faults, by name.
    pub faults: BTreeMap<&'static str, u64>,
    /// Requests that were refused, by code.
    pub refused: BTreeMap<String, u64>,
    /// The marks that were reached.
    pub marks: BTreeMap<&'static str, u64>,
    /// Moments of the scenario's faults that never came.
    pub missed: Vec<String>,
}

/// Runs the scenario with the seed. A panic of the node's is a violation.
pub fn run(scenario: &Scenario, seed: u64) -> Outcome {
    stdx::marks::take();
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| Run::new(scenario, seed).go()));
    let mut outcome = result.unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().cloned();
        let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let what = format!("a panic: {}", message.unwrap_or_default());
        Outcome { violations: vec![what], ..Outcome::default() }
    });
    outcome.marks = stdx::marks::take();
    outcome
}

struct Run<'s> {
    scenario: &'s Scenario,
    cluster: Cluster,
    history: Shared,
    /// What clients of a ring did.
    replicated: SharedReplicated,
    /// What clients asked conditionally.
    conditionals: SharedConditionals,
    /// Faults that come once and have come.
    once_done: usize,
    outcome: Outcome,
}

impl<'s> Run<'s> {
    fn new(scenario: &'s Scenario, seed: u64) -> Run<'s> {
        // A hint mends what a read would repair: one half of the seeds judges what reads do alone.
        let node = NodeOptions { hints: scenario.node.hints && seed.is_multiple_of(2), ..scenario.node };
        let cluster = Cluster::new(seed, node, None);
        let (history, replicated) = (Shared::default(), SharedReplicated::default());
        if scenario.node.sync == CommitLogSync::Periodic {
            history.borrow_mut().loss_nanos = nanos(scenario.node.sync_period + PERIODIC_SLACK);
        }
        let conditionals = SharedConditionals::default();
        Run { scenario, cluster, history, replicated, conditionals, once_done: 0, outcome: Outcome::default() }
    }

    fn go(mut self) -> Outcome {
        let began = self.cluster.world.now();
        let stages = match self.cluster.nodes.len() {
            1 if self.scenario.is_conditional => self.stages_of_conditionals(),
            1 => self.stages(),
            _ => self.stages_of_ring(),
        };
        if let Err(what) = stages {
            self.outcome.violations.push(what);
        }
        let missed = self.scenario.once[self.once_done..].iter().map(|once| once.moment.to_string());
        self.outcome.missed = missed.collect();
        let history = self.history.borrow();
        self.outcome.simulated = self.cluster.world.now() - began;
        self.outcome.trace_hash = self.cluster.world.trace_hash();
        self.outcome.written = history.writes.len();
        self.outcome.acknowledged = history.acknowledged_count();
        self.outcome.refused = history.refused.clone();
        drop(history);
        if self.cluster.nodes.len() > 1 {
            self.count_replicated();
        } else if self.scenario.is_conditional {
            self.count_conditionals();
        }
        self.outcome
    }

    fn stages(&mut self) -> Result<(), String> {
        self.start_healthy(0)?;
        let made = ask(&mut self.cluster, prepare);
        made.ok_or("the table was not made in time")?.map_err(|error| format!("the table was not made: {error}"))?;
        if self.has_counts() {
            let made = ask(&mut self.cluster, prepare_counts);
            made.ok_or("the table of counters was not made in time")?.map_err(|error| error.to_string())?;
        }
        let (options, history) = (self.scenario.rows, self.history.clone());
        self.load(move |runtime| work(runtime, options, history))?;

        fault::heal(&mut self.cluster);
        let random = self.cluster.world.random();
        let keep = self.keep(random);
        self.note_end(false);
        self.cluster.world.crash(self.cluster.node, keep);
        self.start_healthy(0)?;
        self.check("after a power cut")?;
        self.note_end(true);
        self.cluster.terminate().map_err(|error| format!("the orderly end failed: {error}"))?;
        self.start_healthy(0)?;
        self.check("after an orderly restart")
    }

    /// Whether clients count too.
    fn has_counts(&self) -> bool {
        self.scenario.rows.count_per_mille > 0
    }

    fn note_end(&mut self, is_orderly: bool) {
        let now = self.cluster.world.now().as_nanos();
        let mut history = self.history.borrow_mut();
        history.ends.push(now);
        if !is_orderly {
            history.cuts.push(now);
        }
        drop(history);
        self.replicated.borrow_mut().node_ended();
    }

    fn next_shards(&mut self, index: usize) -> u16 {
        // A wall clock that goes back at a start, by up to a second, as clocks that are set do.
        let skew = (self.cluster.world.random() % 2_000_000) as i64 - 1_000_000;
        self.cluster.world.set_wall_clock_skew(self.cluster.nodes[index], skew);
        let shards = self.scenario.shards[self.outcome.starts as usize % self.scenario.shards.len()];
        self.outcome.starts += 1;
        shards
    }

    fn start_healthy(&mut self, index: usize) -> Result<(), String> {
        let shards = self.next_shards(index);
        let start = self.cluster.start_at(index, shards);
        start.map(drop).map_err(|error| format!("start {} failed: {error}", self.outcome.starts))
    }

    /// The policy of a power cut: as the scenario says, or by a random number.
    fn keep(&self, random: u64) -> Keep {
        self.scenario.keep.unwrap_or_else(|| fault::any_keep(random))
    }

    /// The number that the next fault that comes once waits for. The conditions of a world's run hold no part of this.
    fn reached(&self) -> impl Fn() -> Option<u64> + use<> {
        let moment = self.scenario.once.get(self.once_done).map(|once| once.moment.clone());
        let (history, replicated, conditionals) =
            (self.history.clone(), self.replicated.clone(), self.conditionals.clone());
        move || match moment.as_ref()? {
            Moment::Mark { name, .. } => Some(stdx::marks::count(name)),
            Moment::Acknowledged(_) => {
                let rows = history.borrow().acknowledged_count() + replicated.borrow().acknowledged_count();
                Some((rows + conditionals.borrow().answered_count()) as u64)
            }
        }
    }

    /// The number at which the next fault that comes once is due.
    fn due(&self) -> Option<u64> {
        match &self.scenario.once.get(self.once_done)?.moment {
            Moment::Mark { name, nth } => Some(stdx::marks::count(name) + nth),
            Moment::Acknowledged(count) => Some(*count as u64),
        }
    }

    /// Clients work while faults come and go.
    fn load<Fut: Future<Output = ()> + 'static>(
        &mut self,
        main: impl FnOnce(runtime::Runtime) -> Fut,
    ) -> Result<(), String> {
        let working = self.cluster.world.start(self.cluster.clients, false, vec![main]);
        for &node in &self.cluster.nodes {
            self.cluster.world.set_disk_speed(node, self.scenario.speed);
        }
        let deadline = self.cluster.world.now() + WORKLOAD_AT_MOST;
        let (mut reached, mut once_due) = (self.reached(), self.due());
        let mut due: Vec<_> = (0..self.scenario.faults.len()).map(|index| self.next_time(index)).collect();
        let mut turn = 0;
        while !working.is_over() {
            let now = self.cluster.world.now();
            if now >= deadline {
                return Err(format!("clients still wait for answers after {WORKLOAD_AT_MOST:?}"));
            }
            let next = match self.scenario.is_in_turn {
                true => Some(turn % due.len()),
                false => (0..due.len()).min_by_key(|index| due[*index]),
            };
            let until = next.map_or(deadline, |index| due[index]);
            let is_once_due = || once_due.is_some_and(|due| reached().is_some_and(|reached| reached >= due));
            let is_reached = |_: &mut World<'static>| working.is_over() || is_once_due();
            if self.cluster.world.run_until(is_reached, until - now) == Ended::Condition {
                if !is_once_due() {
                    break;
                }
                self.happen(self.scenario.once[self.once_done].fault, true)?;
                self.once_done += 1;
                (reached, once_due) = (self.reached(), self.due());
                continue;
            }
            if let Some(index) = next {
                self.happen(self.scenario.faults[index].fault, false)?;
                turn += 1;
                let index = if self.scenario.is_in_turn { turn % due.len() } else { index };
                due[index] = self.next_time(index);
            }
        }
        Ok(())
    }

    fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let span = u64::try_from((most - least).as_micros()).unwrap_or(u64::MAX);
        least + Duration::from_micros(self.cluster.world.random() % (span + 1))
    }

    fn next_time(&mut self, index: usize) -> runtime::Instant {
        let recurring = self.scenario.faults[index];
        let pause = self.between(recurring.every_min, recurring.every_max);
        self.cluster.world.now() + pause
    }

    /// `is_at_once`: the moment is chosen, and no better one is waited for.
    fn happen(&mut self, fault: Fault, is_at_once: bool) -> Result<(), String> {
        let name = Fault::ALL.iter().find(|(_, known)| *known == fault).map_or("", |(name, _)| name);
        *self.outcome.faults.entry(name).or_default() += 1;
        let index = match self.cluster.nodes.len() {
            1 => 0,
            count => self.cluster.world.random() as usize % count,
        };
        let node = self.cluster.nodes[index];
        if !fault.ends_node() {
            fault::begin(&mut self.cluster, index, fault);
            let most = self.at_most(FAULT_MICROS_MAX);
            let lasts = self.between(Duration::ZERO, most);
            if fault != Fault::Reset {
                self.cluster.world.run_for(lasts);
            }
            let is_still_broken = fault.breaks_disk() && self.cluster.world.random().is_multiple_of(2);
            if is_still_broken {
                // An end and a start while the disk is broken: it may say no.
                self.end_by_seed(index);
                let shards = self.next_shards(index);
                if self.cluster.start_at(index, shards).is_err() {
                    self.outcome.starts_refused += 1;
                    self.cluster.world.kill(node);
                }
            }
            fault::heal(&mut self.cluster);
            if fault == Fault::FailingDisk && self.cluster.is_running(index) {
                // A shard that is poisoned stays so until the next start.
                self.end_by_seed(index);
            }
            return if self.cluster.is_running(index) { Ok(()) } else { self.start_healthy(index) };
        }
        match fault {
            Fault::Terminate => {
                self.note_end(true);
                let ended = self.cluster.terminate_at(index);
                let breaks_disk = self.scenario.faults.iter().any(|recurring| recurring.fault.breaks_disk());
                match ended {
                    // A shard looks again for room only after a while: until then nobody knows what is kept of its last group.
                    Err(sentence) if breaks_disk && sentence.contains("sync") => self.outcome.starts_refused += 1,
                    ended => ended.map_err(|error| format!("an orderly end failed: {error}"))?,
                }
                self.note_end(true);
            }
            Fault::Kill => {
                self.note_end(false);
                self.cluster.world.kill(node);
            }
            _ => {
                let random = self.cluster.world.random();
                if random.is_multiple_of(2) && !is_at_once {
                    // Power goes at the worst of times: while something is being written.
                    let is_writing =
                        |world: &mut World<'static>| world.with_disk(node, |disk| disk.pending_count() > 0);
                    self.cluster.world.run_until(is_writing, Duration::from_millis(20));
                }
                self.note_end(false);
                let keep = self.keep(random >> 1);
                self.cluster.world.crash(node, keep);
            }
        }
        let most = self.at_most(REST_MICROS_MAX);
        let rest = self.between(Duration::ZERO, most);
        self.cluster.world.run_for(rest);
        self.start_healthy(index)
    }

    /// How long something may last that lasts `micros` where nobody watches. Where nodes watch each other it lasts long enough to
    /// be noticed, now and then.
    fn at_most(&mut self, micros: u64) -> Duration {
        let is_noticed = self.cluster.nodes.len() > 1 && self.cluster.world.random().is_multiple_of(4);
        Duration::from_micros(if is_noticed { NOTICED_MICROS } else { micros })
    }

    fn end_by_seed(&mut self, index: usize) {
        let random = self.cluster.world.random();
        self.note_end(false);
        let node = self.cluster.nodes[index];
        if random.is_multiple_of(2) {
            self.cluster.world.kill(node);
        } else {
            let keep = self.keep(random);
            self.cluster.world.crash(node, keep);
        }
    }

    fn check(&mut self, when: &str) -> Result<(), String> {
        let as_of = self.cluster.world.now().as_nanos();
        let rows = read_all(&mut self.cluster).map_err(|error| format!("{when} the rows cannot be read: {error}"))?;
        let mut violations = checker::check(&self.history.borrow(), &rows, as_of, Promises::TODAY);
        if self.has_counts() {
            let counts = read_counts(&mut self.cluster);
            let counts = counts.map_err(|error| format!("{when} the counters cannot be read: {error}"))?;
            violations.extend(checker::counts::check(&self.history.borrow(), &counts, as_of));
        }
        self.outcome.violations.extend(violations.into_iter().map(|what| format!("{when}: {what}")));
        Ok(())
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Runs a client to its end; `None` if it takes too long.
pub fn ask<T: 'static, Fut: Future<Output = T> + 'static>(
    cluster: &mut Cluster,
    main: impl FnOnce(runtime::Runtime) -> Fut,
) -> Option<T> {
    let asking = cluster.world.start(cluster.clients, false, vec![main]);
    cluster.run_until(|_| asking.is_over(), READ_AT_MOST);
    asking.take_outputs().and_then(|mut outputs| outputs.pop())
}

/// All rows of a running node.
pub fn read_all(cluster: &mut Cluster) -> Result<Vec<Row>, String> {
    read_pages(cluster, SELECT_ALL)
}

/// All counters of a running node.
pub fn read_counts(cluster: &mut Cluster) -> Result<Vec<Row>, String> {
    read_pages(cluster, SELECT_COUNTS)
}

fn read_pages(cluster: &mut Cluster, text: &'static str) -> Result<Vec<Row>, String> {
    let read = ask(cluster, async move |runtime| -> Result<Vec<Row>, ClientError> {
        let mut client = Client::connect(&runtime, NODE).await?;
        client.rows(text, PAGE_ROWS).await
    });
    match read {
        Some(Ok(rows)) => Ok(rows),
        Some(Err(error)) => Err(error.to_string()),
        None => Err(format!("no answer within {READ_AT_MOST:?}")),
    }
}
