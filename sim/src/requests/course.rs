//! The course of a run: nodes are started and ended, the plan goes on beside the clients, and what ends by itself is judged.

use std::collections::BTreeSet;
use std::time::Duration;

use runtime::sim::{Link, World};

use super::ends::Ends;
use super::judgement::Everything;
use super::operating::Operating;
use super::scenario::{Expected, Part, Scenario, Shape};
use super::{ACKNOWLEDGED_MIN, Outcome, TROUBLES_MIN};
use crate::client::ClientError;
use crate::fault::any_keep;
use crate::group_site::GroupSite;
use crate::nemesis::{Nemesis, Plan, PlanOptions, Step, generate};
use crate::site::Site;
use crate::workload::requests::{Act, Requests, SharedRequests, Target, Work, prepare_tables, work_requests};

/// The longest until all nodes of a cluster in which nothing is wrong are ready.
const READY_AT_MOST: Duration = Duration::from_secs(120);
/// Time in which a new cluster gets all its voters.
const VOTERS_CHANGE: Duration = Duration::from_secs(5);
/// The longest until tables are made in such a cluster, and until a read of all replicas works.
pub(super) const HEALED_AT_MOST: Duration = Duration::from_secs(120);
/// The longest that one question may take.
const ANSWER_AT_MOST: Duration = Duration::from_secs(60);
/// By then all that was acknowledged is synced, batches that were not finished have been tried again, and no frame is under way.
pub(super) const QUIET: Duration = Duration::from_secs(16);
/// Time after which a TRUNCATE without an answer has been carried out, or never will be.
const TRUNCATE_SETTLES: Duration = Duration::from_secs(30);
/// The longest until clients have had enough acknowledged in a cluster in which nothing is wrong.
const ENOUGH_AT_MOST: Duration = Duration::from_secs(600);
/// Changes that are acknowledged beside each that is unknown.
const ACKNOWLEDGED_PER_UNKNOWN: usize = 3;
/// Changes that must be acknowledged after all has healed: the history of a TRUNCATE without an answer says nothing of those before.
const SINCE_HEALED_MIN: usize = 20;
/// The least time for which a node that is about to go away reaches few others: they do not take it for down yet.
const AWAY_AFTER_MILLIS: u64 = 600;
/// From one try to the next.
pub(super) const AGAIN: Duration = Duration::from_millis(500);
/// In the sentences of nodes whose disk a plan broke: without room, of a medium, and at an orderly end, which cannot sync the last group.
const BROKEN_DISK: [&str; 4] =
    ["No space left on device", "no storage space", "Input/output error", "final commit log sync failed"];

/// A run under way.
pub(super) struct Course<'a> {
    pub(super) site: &'a mut GroupSite,
    pub(super) scenario: &'a Scenario,
    pub(super) expected: &'a Expected,
    pub(super) work: Work,
    pub(super) history: SharedRequests,
    pub(super) outcome: Outcome,
    pub(super) ends: Ends,
    /// Orders of operators.
    pub(super) operating: Operating,
    /// Nodes whose disk was full or failed.
    broken: BTreeSet<usize>,
    /// Nodes that are not started again for now.
    away: BTreeSet<usize>,
    /// All that the replicas gave together when all was quiet.
    pub(super) all: Everything,
    random: u64,
}

/// Runs a scenario to its end.
pub(super) fn run(site: &mut GroupSite, scenario: &Scenario, shape: Shape, seed: u64, expected: &Expected) -> Outcome {
    let plan = plan((0..site.nodes().len()).map(|node| site.datacenter(node)).collect(), scenario, seed);
    let may_be_lowered = scenario.has_operations && shape.may_alter();
    let history = Requests { factors: scenario.judged_factors(shape), may_be_lowered, ..Requests::default() };
    let operating = match scenario.has_operations {
        true => Operating::new(site.nodes().len(), shape),
        false => Operating::default(),
    };
    let mut course = Course {
        site,
        scenario,
        expected,
        work: scenario.work(expected),
        history: SharedRequests::new(history.into()),
        outcome: Outcome::default(),
        ends: Ends::default(),
        operating,
        broken: BTreeSet::new(),
        away: BTreeSet::new(),
        all: Everything::default(),
        random: seed,
    };
    course.outcome.troubles = troubles(&plan);
    if let Err(what) = course.stages(&plan, shape) {
        course.outcome.violations.push(what);
    }
    let Course { history, mut outcome, operating, .. } = course;
    let history = history.borrow();
    outcome.violations.extend(history.violations.iter().take(VIOLATIONS_MAX).cloned());
    (outcome.acknowledged, outcome.unknown) = (history.acknowledged_count(), history.unknown_count());
    (outcome.sent, outcome.reads) = (history.sent_count(), history.reads);
    (outcome.truncated, outcome.refused) = (history.truncated_count(), history.refused.clone());
    if !outcome.violations.is_empty() {
        outcome.violations.push(format!("the plan was\n{plan}"));
        outcome.violations.extend((!operating.log.is_empty()).then(|| format!("operators: {:#?}", operating.log)));
    }
    outcome
}

/// Sentences of one run, at most.
const VIOLATIONS_MAX: usize = 20;

/// Plans of which a seed takes the first with enough troubles.
const PLANS_MAX: u64 = 100;

/// The plan of a seed, for nodes in these datacenters.
fn plan(datacenters: Vec<usize>, scenario: &Scenario, seed: u64) -> Plan {
    // By bits that choose neither the scenario nor the shape.
    let gap = scenario.gaps_max_seconds[(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62) as usize];
    let options = PlanOptions {
        datacenters,
        steps: 14,
        kinds: scenario.kinds(),
        gap_min: Duration::from_millis(50),
        gap_max: Duration::from_secs(gap),
        absent: BTreeSet::new(),
        down_max: 1 + (seed % 2) as usize,
        exchanged_max: 0,
    };
    let plans = (0..PLANS_MAX).map(|number| generate(&options, seed.wrapping_add(number << 48)));
    plans.into_iter().find(|plan| troubles(plan) >= TROUBLES_MIN).expect("few plans have fewer")
}

/// Troubles of a plan. Steps that follow another one at once are of one trouble: power of all is cut once.
fn troubles(plan: &Plan) -> usize {
    plan.steps.iter().filter(|timed| timed.step.is_trouble() && !timed.after.is_zero()).count()
}

impl Course<'_> {
    fn stages(&mut self, plan: &Plan, shape: Shape) -> Result<(), String> {
        self.make_ready("at the beginning")?;
        self.site.world().run_for(VOTERS_CHANGE);
        self.prepare(shape.factors)?;
        let (work, history, targets) = (self.work, self.history.clone(), self.targets());
        let clients = self.site.clients();
        let main = move |runtime| work_requests(runtime, work, targets, history);
        let working = self.site.world().start(clients, false, vec![main]);
        match self.scenario.has_operations {
            true => {
                self.operate(plan)?;
                self.settle()?;
            }
            false => {
                self.carry_out(plan)?;
                self.make_ready("after the plan")?;
            }
        }
        let now = self.now();
        self.history.borrow_mut().healed = Some(now);
        self.have_enough()?;
        if self.expected.contains(&Part::BatchCopies) && self.scenario.name == "batches" {
            self.go_away()?;
        }
        self.history.borrow_mut().is_over = true;
        self.site.world().run_until(|_| working.is_over(), ANSWER_AT_MOST);
        if !working.is_over() {
            return Err(format!("clients still wait for answers after {ANSWER_AT_MOST:?}"));
        }
        self.site.world().run_for(QUIET);
        self.judge_away()?;
        self.judge_all()?;
        if self.scenario.has_operations {
            self.judge_ownership()?;
        }
        for node in self.nodes() {
            self.cut_power(node);
        }
        self.make_ready("after a power cut of all")?;
        self.judge_again("after a power cut of all")?;
        self.judge_serial()?;
        self.nodes().into_iter().for_each(|node| self.note_refusal(node, "in the end"));
        Ok(())
    }

    /// The nodes, but for those that are away.
    pub(super) fn nodes(&self) -> Vec<usize> {
        let is_there = |node: &usize| !self.away.contains(node) && self.operating.is_present(*node);
        (0..self.site.nodes().len()).filter(is_there).collect()
    }

    /// True while a node is away.
    pub(super) fn is_one_away(&self) -> bool {
        !self.away.is_empty()
    }

    pub(super) fn now(&mut self) -> u64 {
        self.site.world().now().as_nanos()
    }

    /// A number of the seed below `bound`: SplitMix64.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// A node as clients reach it.
    pub(super) fn target(&self, node: usize) -> Target {
        Target { address: self.site.native_address(node), datacenter: self.site.datacenter(node) }
    }

    pub(super) fn targets(&self) -> Vec<Target> {
        (0..self.site.nodes().len()).map(|node| self.target(node)).collect()
    }

    pub(super) fn is_running(&mut self, node: usize) -> bool {
        let host = self.site.nodes()[node];
        self.site.world().is_running(host)
    }

    pub(super) fn cut_power(&mut self, node: usize) {
        let keep = any_keep(self.below(u64::MAX));
        let host = self.site.nodes()[node];
        self.site.world().crash(host, keep);
        let now = self.now();
        let within = self.ends.ended(node, now, true);
        self.history.borrow_mut().node_ended(now, within);
    }

    /// Starts the nodes that do not run, and waits until all are ready.
    pub(super) fn make_ready(&mut self, when: &str) -> Result<(), String> {
        let deadline = self.site.world().now() + READY_AT_MOST;
        for node in self.nodes() {
            self.note_refusal(node, when);
            if !self.is_running(node) {
                self.site.begin_start(node);
            }
        }
        loop {
            let late: Vec<usize> = self.nodes().into_iter().filter(|node| !self.site.is_ready(*node)).collect();
            let Some(first) = late.first() else { return Ok(()) };
            if let Some(ended) = late.iter().copied().find(|node| !self.is_running(*node)) {
                self.note_refusal(ended, when);
                return Err(format!("{when} node {ended} does not start"));
            }
            if self.site.world().now() >= deadline {
                return Err(format!("{when} node {first} is not ready within {READY_AT_MOST:?}"));
            }
            self.site.world().run_for(AGAIN);
        }
    }

    /// Judges the sentence of a node that has ended by itself: only a broken disk is a reason.
    fn note_refusal(&mut self, node: usize, when: &str) {
        if let Some(sentence) = self.site.take_refusal(node) {
            self.note_sentence(node, when, &sentence);
        }
    }

    /// The same of a sentence that was taken.
    pub(super) fn note_sentence(&mut self, node: usize, when: &str, sentence: &str) {
        let now = self.now();
        let within = self.ends.ended(node, now, false);
        self.history.borrow_mut().node_ended(now, within);
        let is_of_disk = BROKEN_DISK.iter().any(|words| sentence.contains(words));
        if !(self.broken.contains(&node) && is_of_disk) {
            self.outcome.violations.push(format!("{when} node {node} has ended by itself: {sentence}"));
        }
    }

    /// Makes the tables, in some tries: a leader may have to be elected first.
    fn prepare(&mut self, factors: &[u32]) -> Result<(), String> {
        let deadline = self.site.world().now() + HEALED_AT_MOST;
        loop {
            let (address, factors) = (self.target(0).address, factors.to_vec());
            match self.ask(move |runtime| prepare_tables(runtime, address, factors)) {
                Ok(()) => return Ok(()),
                Err(what) if self.site.world().now() >= deadline => return Err(format!("no tables: {what}")),
                Err(_) => self.site.world().run_for(AGAIN),
            }
        }
    }

    /// Does the steps of the plan at their times.
    fn carry_out(&mut self, plan: &Plan) -> Result<(), String> {
        let mut nemesis = Nemesis::new(plan.clone(), self.site.world());
        while let Some(due) = nemesis.due() {
            let now = self.site.world().now();
            self.site.world().run_for(due.saturating_since(now));
            for node in self.nodes() {
                self.note_refusal(node, "within the plan");
            }
            self.do_step(&mut nemesis)?;
        }
        Ok(())
    }

    /// Does the next step of the plan.
    pub(super) fn do_step(&mut self, nemesis: &mut Nemesis) -> Result<(), String> {
        nemesis.step(self.site)?;
        let Some(step) = nemesis.done.last() else { return Ok(()) };
        if let Step::FillDisk(node, _) | Step::FailDisk(node, _) = step {
            self.broken.insert(*node);
        }
        let now = self.site.world().now().as_nanos();
        if let Some(within) = self.ends.note(step, now) {
            self.history.borrow_mut().node_ended(now, within);
        }
        Ok(())
    }

    /// Waits until clients have had enough acknowledged, also beside what is unknown, and a TRUNCATE without an answer cannot come any more.
    fn have_enough(&mut self) -> Result<(), String> {
        if self.scenario.truncations_min > 0 {
            self.site.world().run_for(TRUNCATE_SETTLES);
        }
        let deadline = self.site.world().now() + ENOUGH_AT_MOST;
        loop {
            let (acknowledged, late, truncated, unknown) = {
                let history = self.history.borrow();
                let (acknowledged, late) = (history.acknowledged_count(), history.acknowledged_since_healed());
                (acknowledged, late, history.truncated_count(), history.unknown_count())
            };
            // Less than a third of all may be unknown at the end, when somewhat more is.
            let acknowledged_min = ACKNOWLEDGED_MIN.max(ACKNOWLEDGED_PER_UNKNOWN * unknown);
            let is_enough = acknowledged >= acknowledged_min && late >= SINCE_HEALED_MIN;
            if is_enough && truncated >= self.scenario.truncations_min {
                return Ok(());
            }
            // More of them show nothing more.
            if self.history.borrow().violations.len() >= VIOLATIONS_MAX {
                return Ok(());
            }
            if self.site.world().now() >= deadline {
                let so_far = format!("{acknowledged} changes, {late} since then, {truncated} truncations");
                return Err(format!("{ENOUGH_AT_MOST:?} after healing too little is acknowledged: {so_far}"));
            }
            self.site.world().run_for(AGAIN);
        }
    }

    /// Has clients send logged batches through a node that reaches few of the others, and cuts its power. It stays away until the batches that it
    /// coordinated are judged.
    fn go_away(&mut self) -> Result<(), String> {
        let hosts = self.site.nodes();
        let node = self.below(hosts.len() as u64) as usize;
        let reached = (node + 1 + self.below(hosts.len() as u64 - 1) as usize) % hosts.len();
        let cut = Link { is_cut: true, ..Link::default() };
        let others: Vec<usize> = (0..hosts.len()).filter(|other| ![node, reached].contains(other)).collect();
        others.iter().for_each(|other| self.site.world().set_link(hosts[node], hosts[*other], cut));
        let work = Work { clients: 12, pause_micros: 100_000, acts: &[(Act::LoggedBatch, 1)], ..self.work };
        let (history, targets, clients) = (self.history.clone(), vec![self.target(node)], self.site.clients());
        let main = move |runtime| work_requests(runtime, work, targets, history);
        drop(self.site.world().start(clients, false, vec![main]));
        let millis = AWAY_AFTER_MILLIS + self.below(1_000);
        self.site.world().run_for(Duration::from_millis(millis));
        self.cut_power(node);
        self.away.insert(node);
        // Frames that the links still hold are late by then.
        self.site.world().run_for(QUIET);
        others.iter().for_each(|other| self.site.world().set_link(hosts[node], hosts[*other], Link::default()));
        Ok(())
    }

    /// Starts the nodes that were away.
    pub(super) fn come_back(&mut self) -> Result<(), String> {
        self.away.clear();
        self.make_ready("after one was away")
    }

    /// Runs one client to its end.
    pub(super) fn ask<T: 'static, Fut: Future<Output = Result<T, ClientError>> + 'static>(
        &mut self,
        main: impl FnOnce(runtime::Runtime) -> Fut,
    ) -> Result<T, String> {
        let clients = self.site.clients();
        let world: &mut World<'static> = self.site.world();
        let asking = world.start(clients, false, vec![main]);
        world.run_until(|_| asking.is_over(), ANSWER_AT_MOST);
        match asking.take_outputs().and_then(|mut outputs| outputs.pop()) {
            Some(answer) => answer.map_err(|error| error.to_string()),
            None => Err(format!("no answer within {ANSWER_AT_MOST:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::nemesis::Timed;
    use crate::requests::scenario::SCENARIOS;

    #[test]
    fn plans_have_three_troubles_and_stop_nodes_for_a_tenth_of_a_second_and_for_half_a_minute() {
        let (mut shortest, mut longest) = (Duration::MAX, Duration::ZERO);
        for seed in 0..2_000 {
            let plan = plan(vec![0, 0, 0, 1, 1], &SCENARIOS[seed as usize % SCENARIOS.len()], seed);
            assert!(troubles(&plan) >= TROUBLES_MIN, "seed {seed}:\n{plan}");
            let (mut now, mut paused) = (Duration::ZERO, BTreeMap::new());
            for Timed { after, step } in plan.steps {
                now += after;
                match step {
                    Step::Pause(node) => _ = paused.insert(node, now),
                    Step::Resume(node) => {
                        let lasted = now - paused.remove(&node).expect("it was stopped");
                        (shortest, longest) = (shortest.min(lasted), longest.max(lasted));
                    }
                    _ => {}
                }
            }
        }
        assert!(shortest < Duration::from_millis(150) && longest > Duration::from_secs(30), "{shortest:?} {longest:?}");
    }
}
