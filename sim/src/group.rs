//! A harness for the schema of a cluster: clients change it through all nodes while a [nemesis](crate::nemesis) does its work, then all heals, and
//! the nodes' schemas and every answer are judged.
//!
//! ```text
//! all nodes ready ─▶ clients change the schema, a plan goes on beside them and heals ─▶ all nodes ready again ─▶ a change works
//!   ─▶ all nodes show the same ─▶ power cut of all, start ─▶ all nodes show the same ─▶ the history is judged
//! ```
//!
//! A node that ends by itself is a violation, but for two reasons that a plan can give it:
//!
//! | its disk | it may end with | then |
//! |---|---|---|
//! | was exchanged | the sentence about such a disk | it is out: it is not started again, asked, or judged. An empty disk must be refused |
//! | was full | the error of the file system | it is started again when the plan has healed |

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use runtime::Instant;
use runtime::sim::{Ended, Keep, World};

use crate::checker::schema::{differences, judge, note_look};
use crate::client::{Client, ClientError};
use crate::fault::any_keep;
use crate::nemesis::{Exchange, Nemesis, Plan, Step};
use crate::site::Site;
use crate::workload::{SchemaOptions, SchemaView, SharedSchema, look_at_schema, work_schema};

/// The longest until all nodes of a cluster in which nothing is wrong are ready.
const READY_AT_MOST: Duration = Duration::from_secs(120);
/// The longest until a change works in such a cluster, and until all nodes show the same: connections that a cut held up are given up, and
/// nodes that were away catch up.
const HEALED_AT_MOST: Duration = Duration::from_secs(120);
/// By then the clients have sent all their statements.
const WORKLOAD_AT_MOST: Duration = Duration::from_secs(3600);
/// The longest that one question may take.
const ANSWER_AT_MOST: Duration = Duration::from_secs(60);
/// From one try to the next.
const AGAIN: Duration = Duration::from_millis(500);

/// A change that works in a cluster with a leader, whatever was done before. Not one of the workload's names.
const PROBE: &str = "CREATE KEYSPACE IF NOT EXISTS probe WITH replication = \
    {'class': 'SimpleStrategy', 'replication_factor': 1}";

/// Time in which a new cluster gets all its voters: no disk is exchanged before, since the only vote might be on it.
const VOTERS_CHANGE: Duration = Duration::from_secs(5);

/// The course of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupOptions {
    /// The clients' work.
    pub schema: SchemaOptions,
    /// Faults and operators' steps meanwhile.
    pub plan: Plan,
    /// Nodes that the plan starts for the first time.
    pub absent: BTreeSet<usize>,
}

/// The outcome of a run.
#[derive(Debug, Clone, Default)]
pub struct GroupOutcome {
    /// Sentences about what does not hold, with the plan's steps so far after them.
    pub violations: Vec<String>,
    /// Statements that were sent.
    pub sent: usize,
    /// Statements that changed the schema, as their clients know.
    pub changed: usize,
    /// Refusals, each sentence with its count.
    pub refused: BTreeMap<String, u64>,
    /// World's time from the end of the plan until a change worked.
    pub healed_after: Duration,
    /// Nodes that were refused since their disk had been exchanged.
    pub out: BTreeSet<usize>,
}

/// The sentence with which a node with such a disk may end by itself, and whether it must.
fn refusal(exchange: Exchange) -> (&'static str, bool) {
    match exchange {
        Exchange::Empty => ("--replace", true),
        Exchange::Earlier(_) => ("its disk was restored from a copy", false),
    }
}

/// In the error of a file system without room.
const NO_ROOM: &str = "No space left on device";

/// Reasons that a plan gives nodes to end by themselves.
#[derive(Debug, Default)]
struct Reasons {
    exchanged: BTreeMap<usize, Exchange>,
    filled: BTreeSet<usize>,
    /// Nodes that may not have joined before their disk was exchanged: they are new ones then.
    absent: BTreeSet<usize>,
}

impl Reasons {
    fn of(plan: &Plan, absent: &BTreeSet<usize>) -> Reasons {
        let mut reasons = Reasons { absent: absent.clone(), ..Reasons::default() };
        for timed in &plan.steps {
            match timed.step {
                Step::ExchangeDisk(node, with) => _ = reasons.exchanged.insert(node, with),
                Step::FillDisk(node, _) => _ = reasons.filled.insert(node),
                _ => {}
            }
        }
        reasons
    }

    /// True if the node must be refused.
    fn must_refuse(&self, node: usize) -> bool {
        !self.absent.contains(&node) && self.exchanged.get(&node).is_some_and(|with| refusal(*with).1)
    }
}

/// Runs it.
pub fn run_group(site: &mut impl Site, options: &GroupOptions) -> GroupOutcome {
    let reasons = Reasons::of(&options.plan, &options.absent);
    let mut run = GroupRun {
        site,
        reasons,
        is_plan_over: false,
        absent: BTreeSet::new(),
        history: SharedSchema::default(),
        outcome: GroupOutcome::default(),
    };
    if let Err(what) = run.stages(options) {
        run.outcome.violations.push(what);
    }
    let GroupRun { history, mut outcome, .. } = run;
    let history = history.borrow();
    (outcome.sent, outcome.changed, outcome.refused) =
        (history.count(), history.changed_count(), history.refused.clone());
    if !outcome.violations.is_empty() {
        outcome.violations.push(format!("the plan was\n{}", options.plan));
    }
    outcome
}

struct GroupRun<'a, S> {
    site: &'a mut S,
    reasons: Reasons,
    is_plan_over: bool,
    /// Nodes that have not started yet.
    absent: BTreeSet<usize>,
    history: SharedSchema,
    outcome: GroupOutcome,
}

impl<S: Site> GroupRun<'_, S> {
    fn stages(&mut self, options: &GroupOptions) -> Result<(), String> {
        self.absent.clone_from(&options.absent);
        self.make_ready("at the beginning")?;
        self.site.world().run_for(VOTERS_CHANGE);
        self.load(options)?;
        self.absent.clear();
        self.make_ready("after the plan")?;
        self.change_works()?;
        let mut views = self.agree("after healing")?;
        let judged = judge(&self.history.borrow(), &views);
        self.outcome.violations.extend(judged.into_iter().map(|what| format!("after healing: {what}")));

        for node in self.nodes() {
            let keep: Keep = any_keep(self.site.world().random());
            let host = self.site.nodes()[node];
            self.site.world().crash(host, keep);
        }
        self.make_ready("after a power cut of all")?;
        views = self.agree("after a power cut of all")?;
        let judged = judge(&self.history.borrow(), &views);
        self.outcome.violations.extend(judged.into_iter().map(|what| format!("after a power cut of all: {what}")));
        self.nodes().into_iter().for_each(|node| self.note_refusal(node, "in the end"));
        Ok(())
    }

    /// The nodes that are of the cluster, and not out.
    fn nodes(&self) -> Vec<usize> {
        let is_there = |node: &usize| !self.outcome.out.contains(node) && !self.absent.contains(node);
        (0..self.site.nodes().len()).filter(is_there).collect()
    }

    fn is_running(&mut self, node: usize) -> bool {
        let host = self.site.nodes()[node];
        self.site.world().is_running(host)
    }

    /// Starts the nodes that do not run, and waits until all are ready, or out. A node that ended by itself meanwhile is a violation, and is started again
    /// once.
    fn make_ready(&mut self, when: &str) -> Result<(), String> {
        let deadline = self.site.world().now() + READY_AT_MOST;
        for node in self.nodes() {
            self.note_refusal(node, when);
            if !self.outcome.out.contains(&node) && !self.is_running(node) {
                self.site.begin_start(node);
            }
        }
        loop {
            // The one that is to be refused by the others may need them all.
            let waits_for = |run: &Self, node: &usize| !run.site.is_ready(*node) || run.has_wrong_disk(*node);
            let late: Vec<usize> = self.nodes().into_iter().filter(|node| waits_for(self, node)).collect();
            for node in &late {
                self.look_at_late(*node, when)?;
            }
            if self.nodes().iter().all(|node| !waits_for(self, node)) {
                return Ok(());
            }
            if self.site.world().now() >= deadline {
                return Err(format!("{when} nodes {late:?} are not ready within {READY_AT_MOST:?}"));
            }
            self.site.world().run_for(AGAIN);
        }
    }

    /// True if the node has a disk with which it must be refused, and runs.
    fn has_wrong_disk(&self, node: usize) -> bool {
        self.is_plan_over && self.reasons.must_refuse(node)
    }

    fn look_at_late(&mut self, node: usize, when: &str) -> Result<(), String> {
        if self.has_wrong_disk(node) && self.site.is_ready(node) {
            return Err(format!("{when} node {node}, whose disk was exchanged, is ready"));
        }
        if !self.is_running(node) {
            self.note_refusal(node, when);
            if !self.outcome.out.contains(&node) {
                return Err(format!("{when} node {node} does not start"));
            }
        }
        Ok(())
    }

    /// Judges the sentence of a node that has ended by itself.
    fn note_refusal(&mut self, node: usize, when: &str) {
        let Some(sentence) = self.site.take_refusal(node) else { return };
        let exchanged = self.reasons.exchanged.get(&node).map(|with| refusal(*with).0);
        if exchanged.is_some_and(|words| sentence.contains(words)) {
            self.outcome.out.insert(node);
        } else if !(self.reasons.filled.contains(&node) && sentence.contains(NO_ROOM)) {
            self.outcome.violations.push(format!("{when} node {node} has ended by itself: {sentence}"));
        }
    }

    /// Clients work and the plan goes on, until both are done.
    fn load(&mut self, options: &GroupOptions) -> Result<(), String> {
        let addresses = self.nodes().into_iter().map(|node| self.site.native_address(node)).collect();
        let (schema, history, clients) = (options.schema, self.history.clone(), self.site.clients());
        let main = move |runtime| work_schema(runtime, schema, addresses, history);
        let working = self.site.world().start(clients, false, vec![main]);
        let mut nemesis = Nemesis::new(options.plan.clone(), self.site.world());
        nemesis.run(self.site)?;
        self.is_plan_over = true;
        match self.site.world().run_until(|_| working.is_over(), WORKLOAD_AT_MOST) {
            Ended::Condition => Ok(()),
            ended => Err(format!("clients still wait for answers: {ended:?} after {WORKLOAD_AT_MOST:?}")),
        }
    }

    /// A change works soon.
    fn change_works(&mut self) -> Result<(), String> {
        let began = self.site.world().now();
        let mut last = String::new();
        while self.site.world().now() < began + HEALED_AT_MOST {
            for node in self.nodes() {
                let address = self.site.native_address(node);
                let changed = self.ask(async move |runtime: runtime::Runtime| -> Result<bool, ClientError> {
                    Client::connect(&runtime, address).await?.change(PROBE).await
                });
                match changed {
                    Some(Ok(_)) => {
                        self.outcome.healed_after = self.site.world().now() - began;
                        return Ok(());
                    }
                    Some(Err(error)) => last = format!("node {node}: {error}"),
                    None => last = format!("node {node} does not answer"),
                }
            }
            self.site.world().run_for(AGAIN);
        }
        Err(format!("no change works within {HEALED_AT_MOST:?} of healing; {last}"))
    }

    /// Looks at all nodes until they show the same, and notes the last look in the history. Views that still differ at the end are a violation, which
    /// the checker names.
    fn agree(&mut self, when: &str) -> Result<Vec<(usize, SchemaView)>, String> {
        let deadline = self.site.world().now() + HEALED_AT_MOST;
        loop {
            let start = self.site.world().now();
            let looked = self.look_at_all();
            let is_late = self.site.world().now() >= deadline;
            match looked {
                Ok(views) if is_late || differences(&views).is_empty() => {
                    self.note(&views, start);
                    return Ok(views);
                }
                Err(what) if is_late => return Err(format!("{when} {what}")),
                _ => self.site.world().run_for(AGAIN),
            }
        }
    }

    fn look_at_all(&mut self) -> Result<Vec<(usize, SchemaView)>, String> {
        let mut views = Vec::new();
        for node in self.nodes() {
            let address = self.site.native_address(node);
            match self.ask(move |runtime| look_at_schema(runtime, address)) {
                Some(Ok(view)) => views.push((node, view)),
                Some(Err(what)) => return Err(format!("the schema of node {node} cannot be read: {what}")),
                None => return Err(format!("the schema of node {node} cannot be read: no answer")),
            }
        }
        Ok(views)
    }

    fn note(&mut self, views: &[(usize, SchemaView)], start: Instant) {
        let end = self.site.world().now();
        for (node, view) in views {
            note_look(&mut self.history.borrow_mut(), *node, view, start.as_nanos(), end.as_nanos());
        }
    }

    /// Runs one client to its end; `None` if that takes too long.
    fn ask<T: 'static, Fut: Future<Output = T> + 'static>(
        &mut self,
        main: impl FnOnce(runtime::Runtime) -> Fut,
    ) -> Option<T> {
        let clients = self.site.clients();
        let world: &mut World<'static> = self.site.world();
        let asking = world.start(clients, false, vec![main]);
        world.run_until(|_| asking.is_over(), ANSWER_AT_MOST);
        asking.take_outputs().and_then(|mut outputs| outputs.pop())
    }
}
