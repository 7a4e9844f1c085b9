//! Operators' orders beside load: nodes join, are decommissioned, or are killed and removed or replaced, the keyspace gets another number of replicas, and some operations are
//! aborted; the harness kills their leader, a receiver or a source when an operation is in a phase that the seed chooses.
//!
//! ```text
//! spare ─join─▶ joining ─ready─▶ member ─decommission─▶ leaving ─▶ gone
//!                  └─aborted─▶ gone  ├─killed, to be removed─▶ dead ─▶ gone
//!                                    └─killed, another joins in its place─▶ replaced ─▶ gone
//! ```
//!
//! | standing | runs | clients ask it | the plan may end and start it |
//! |---|---|---|---|
//! | spare | no | no | no |
//! | joining | yes | no | yes |
//! | member, leaving | yes | yes | yes |
//! | dead, replaced, gone | no | no | no |

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use admin::{Answer, NodeFacts, OperationFacts, OperationsFacts, Question, Refusal};
use runtime::Runtime;
use runtime::sim::Started;

use super::course::{AGAIN, Course};
use super::operating::{Order, Standing, Victim};
use super::ownership::Ownership;
use super::rest::{Shown, has_no_operations, registry_at_rest};
use super::scenario::FACTOR_MAX;
use crate::client::{Client, ClientError};
use crate::nemesis::{Nemesis, Plan, Step};
use crate::site::Site;

/// The longest until all operations have ended in a cluster in which nothing is wrong.
const ENDED_AT_MOST: Duration = Duration::from_secs(120);
/// The longest until an order has begun that was not answered: a leader may have it in its log and commit it later.
const ORDERS_LIVE: Duration = Duration::from_secs(20);
/// Between two looks at operations.
const LOOK: Duration = Duration::from_millis(20);
/// For a node's answer to a look.
const LOOK_AT_MOST: Duration = Duration::from_millis(200);
/// The longest that an operator waits for the answer to an ALTER.
const ALTERED_AT_MOST: Duration = Duration::from_secs(40);
/// The longest time before the first order, and between two orders, milliseconds.
const GAP_MILLIS: u64 = 9_000;
/// The longest that a node stays down that was killed in a phase, milliseconds.
const DOWN_MILLIS: u64 = 6_000;
/// In the sentence of a node that has left.
pub(super) const NEVER_AGAIN: &str = "never accepted again";
/// In the sentence of a cluster whose nodes are too few for a departure.
const TOO_FEW: &str = "Not enough live nodes";
/// The phases in which a node may be killed.
const PHASES: [&str; 5] = ["queued", "planned", "write both", "copy", "read new"];

/// Operators of the cluster of a course.
pub(super) struct Operators<'o, 'c> {
    pub(super) course: &'o mut Course<'c>,
}

impl Course<'_> {
    /// Does the steps of the plan and the orders of the operators at their times.
    pub(super) fn operate(&mut self, plan: &Plan) -> Result<(), String> {
        Operators { course: self }.operate(plan)
    }

    /// Waits until all operations have ended and all nodes know it. If none has
    /// ended then, one more is begun and waited for.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        let mut operators = Operators { course: self };
        operators.settle("after the plan")?;
        operators.end_one()?;
        operators.note_factor()
    }

    /// Judges ownership in a cluster at rest, in which all replicas were read together.
    pub(super) fn judge_ownership(&mut self) -> Result<(), String> {
        Ownership { course: self }.judge()
    }
}

impl Operators<'_, '_> {
    /// Does the steps of the plan and the orders of the operators at their times.
    fn operate(&mut self, plan: &Plan) -> Result<(), String> {
        self.choose_orders();
        self.note_hosts();
        let mut nemesis = Nemesis::new(plan.clone(), self.course.site.world());
        loop {
            let now = self.course.site.world().now();
            let due =
                [nemesis.due(), self.course.operating.orders.first().map(|(at, _)| *at)].into_iter().flatten().min();
            let Some(due) = due else { return Ok(()) };
            let until = due.min(now + LOOK);
            self.course.site.world().run_for(until.saturating_since(now));
            self.look_after()?;
            if nemesis.due().is_some_and(|due| due <= until) {
                self.step(&mut nemesis)?;
            }
        }
    }

    /// A step of the plan, unless it is of a node that the plan must leave alone.
    fn step(&mut self, nemesis: &mut Nemesis) -> Result<(), String> {
        let Some(step) = nemesis.next().cloned() else { return Ok(()) };
        let node = match step {
            Step::Kill(node) | Step::PowerCut(node, _) | Step::Terminate(node) | Step::Start(node) => Some(node),
            Step::Pause(node) => Some(node),
            _ => None,
        };
        let is_start = matches!(step, Step::Start(_));
        let is_void = |node: usize| !self.course.operating.is_present(node);
        if node.is_some_and(is_void) || node.is_some_and(|node| self.course.is_running(node) == is_start) {
            nemesis.skip(self.course.site.world());
            return Ok(());
        }
        match (&step, node) {
            (Step::Start(node), _) => _ = self.course.operating.down.remove(node),
            (Step::Pause(_), _) | (_, None) => {}
            (_, Some(node)) => _ = self.course.operating.down.insert(node),
        }
        self.course.do_step(nemesis)
    }

    /// Orders and kills of this seed.
    fn choose_orders(&mut self) {
        let mut at = self.course.site.world().now();
        let mut can_remove = true;
        for _ in 0..1 + self.course.below(3) {
            // Two of three come after a while, the third at once: it is queued.
            if self.course.below(3) > 0 {
                at += Duration::from_millis(self.course.below(GAP_MILLIS));
            }
            let kinds = if self.course.operating.may_alter { 9 } else { 6 };
            let order = match self.course.below(kinds) {
                6.. => Order::Alter,
                0 | 1 => Order::Join,
                2 | 3 => Order::Decommission,
                4 if std::mem::take(&mut can_remove) => Order::Remove,
                5 if std::mem::take(&mut can_remove) => Order::Replace,
                _ => Order::Decommission,
            };
            self.course.operating.orders.push((at, order));
        }
        for _ in 0..self.course.below(3) {
            let victim = match self.course.below(4) {
                0 | 1 => Victim::Leader,
                2 => Victim::Receiver,
                _ => Victim::Source,
            };
            let phase = match victim {
                Victim::Leader => PHASES[self.course.below(PHASES.len() as u64) as usize],
                Victim::Receiver | Victim::Source => "copy",
            };
            self.course.operating.strikes.push((victim, phase));
        }
        if self.course.below(5) == 0 {
            self.course.operating.abort_in = Some(PHASES[self.course.below(4) as usize]);
        }
    }

    /// Looks at nodes and operations, and does what is due.
    fn look_after(&mut self) -> Result<(), String> {
        self.note_standings("within the plan");
        let now = self.course.site.world().now();
        let due: Vec<usize> =
            self.course.operating.starts.iter().filter(|(at, _)| *at <= now).map(|(_, node)| *node).collect();
        self.course.operating.starts.retain(|(at, _)| *at > now);
        for node in due {
            self.start_again(node);
        }
        while self.course.operating.orders.first().is_some_and(|(at, _)| *at <= now) {
            let (_, order) = self.course.operating.orders.remove(0);
            self.carry_out_order(order);
        }
        self.pursue();
        if self.course.operating.strikes.is_empty() && self.course.operating.abort_in.is_none() {
            return Ok(());
        }
        let Some((leader, facts)) = self.look_at_leader() else { return Ok(()) };
        self.strike(leader, &facts);
        if let Some(wanted) = self.course.operating.abort_in
            && let Some(operation) = facts.operations.iter().find(|operation| operation.phase == wanted)
        {
            self.course.operating.log.push(format!("operation {} is aborted in phase {wanted}", operation.number));
            self.course.operating.abort_in = None;
            self.course.operating.has_aborted = true;
            self.course.operating.aborting =
                self.course.site.begin_asking(leader, Question::AbortOperation(operation.number));
        }
        Ok(())
    }

    pub(super) fn start_again(&mut self, node: usize) {
        self.course.operating.down.remove(&node);
        if self.course.operating.is_present(node) && !self.course.is_running(node) {
            self.course.site.begin_start(node);
        }
    }

    /// Kills a node if an operation is in the phase for it.
    fn strike(&mut self, leader: usize, facts: &OperationsFacts) {
        let is_due = |(_, phase): &(Victim, &str)| facts.operations.iter().any(|operation| operation.phase == *phase);
        let Some(place) = self.course.operating.strikes.iter().position(is_due) else { return };
        let (victim, phase) = self.course.operating.strikes[place];
        let Some(operation) = facts.operations.iter().find(|operation| operation.phase == phase) else { return };
        let Some(node) = self.victim(victim, leader, operation) else { return };
        self.course.operating.strikes.remove(place);
        match (victim, phase) {
            (Victim::Receiver, _) => stdx::sometimes!("receiver killed while it copies"),
            (Victim::Source, _) => stdx::sometimes!("source killed while it is copied from"),
            (Victim::Leader, "queued") => stdx::sometimes!("leader killed: queued"),
            (Victim::Leader, "planned") => stdx::sometimes!("leader killed: planned"),
            (Victim::Leader, "write both") => stdx::sometimes!("leader killed: write both"),
            (Victim::Leader, "copy") => stdx::sometimes!("leader killed: copy"),
            (Victim::Leader, _) => stdx::sometimes!("leader killed: read new"),
        }
        let number = operation.number;
        self.course.operating.log.push(format!("{victim:?} {node} of operation {number} is killed in phase {phase}"));
        self.end(node);
        let rest = Duration::from_millis(100 + self.course.below(DOWN_MILLIS));
        let at = self.course.site.world().now() + rest;
        self.course.operating.starts.push((at, node));
    }

    /// Kills a node, or cuts its power.
    pub(super) fn end(&mut self, node: usize) {
        self.course.operating.down.insert(node);
        match self.course.below(2) {
            0 => self.course.cut_power(node),
            _ => {
                let host = self.course.site.nodes()[node];
                self.course.site.world().kill(host);
                let now = self.course.now();
                let within = self.course.ends.ended(node, now, false);
                self.course.history.borrow_mut().node_ended(now, within);
            }
        }
    }

    fn victim(&mut self, victim: Victim, leader: usize, operation: &OperationFacts) -> Option<usize> {
        let running: Vec<usize> = self.all_running();
        let changes = |node: &usize| self.host_id(*node).is_some_and(|id| operation.nodes.contains(id));
        // The registry shows no address of a node that it does not know yet: of one that joins no other is started beside it.
        let joins = running.iter().copied().find(|node| self.is_joining(*node));
        let among: Vec<usize> = match (victim, joins) {
            (Victim::Leader, _) => vec![leader],
            (Victim::Receiver, Some(joining)) => vec![joining],
            // Of a departure any other node may gain ranges.
            (Victim::Receiver | Victim::Source, _) => {
                running.into_iter().filter(|node| *node != leader && !changes(node)).collect()
            }
        };
        let count = among.len() as u64;
        (count > 0).then(|| among[self.course.below(count) as usize])
    }

    fn is_joining(&self, node: usize) -> bool {
        self.course.operating.standing(node) == Standing::Joining
    }

    /// Nodes that are to run, run, and are not stopped.
    fn all_running(&mut self) -> Vec<usize> {
        let hosts = self.course.site.nodes();
        let nodes = self.course.nodes();
        let world = self.course.site.world();
        nodes.into_iter().filter(|node| world.is_running(hosts[*node]) && !world.is_paused(hosts[*node])).collect()
    }

    /// Members that run and are ready.
    pub(super) fn all_ready(&mut self) -> Vec<usize> {
        let running = self.all_running();
        let is_member = |node: &usize| {
            self.course.operating.standing(*node) == Standing::Member && self.course.site.is_ready(*node)
        };
        running.into_iter().filter(is_member).collect()
    }

    /// The leader of the metadata group as it calls itself, and the operations as it knows them.
    fn look_at_leader(&mut self) -> Option<(usize, OperationsFacts)> {
        let mut ready = self.all_ready();
        let known = self.course.operating.leader;
        ready.sort_by_key(|node| Some(*node) != known);
        for node in ready {
            let Some(Answer::Operations(facts)) = self.course.site.ask(node, Question::Operations, LOOK_AT_MOST) else {
                continue;
            };
            if facts.leads {
                self.course.operating.leader = Some(node);
                return Some((node, facts));
            }
        }
        None
    }

    fn note_host(&mut self, node: usize, facts: &NodeFacts) {
        self.course.operating.host_ids.insert(node, facts.local().host_id.clone());
        for other in 0..self.course.site.nodes().len() {
            let address: IpAddr = self.course.site.internode_address(other).ip();
            // One that is replaced at its address has it too.
            let mut at = facts.ring.iter().filter(|known| known.endpoint == address && !known.is_leaving);
            let known = at.next().or_else(|| facts.ring.iter().find(|known| known.endpoint == address));
            if let Some(known) = known {
                self.course.operating.host_ids.insert(other, known.host_id.clone());
            }
        }
    }

    fn note_hosts(&mut self) {
        for node in self.all_ready() {
            if let Some(facts) = self.course.site.facts(node, LOOK_AT_MOST) {
                self.note_host(node, &facts);
            }
        }
    }

    /// The host id of a node, once one that knows it was asked.
    pub(super) fn host_id(&self, node: usize) -> Option<&String> {
        self.course.operating.host_ids.get(&node)
    }

    /// Nodes of a datacenter that own tokens and are not to leave.
    fn staying(&self, datacenter: usize) -> usize {
        let stays = |node: &usize| self.course.operating.standing(*node) == Standing::Member;
        (0..self.course.site.nodes().len())
            .filter(stays)
            .filter(|node| self.course.site.datacenter(*node) == datacenter)
            .count()
    }

    /// Carries out an order, or another one where it is not possible now.
    fn carry_out_order(&mut self, order: Order) {
        let done = match order {
            Order::Join => self.join() || self.decommission(),
            Order::Decommission => self.decommission() || self.join(),
            Order::Remove => self.kill_to_remove() || self.join(),
            Order::Replace => self.replace() || self.join(),
            Order::Alter => self.alter() || self.join(),
        };
        if !done {
            self.course.operating.log.push(format!("{order:?} is not possible"));
        }
    }

    fn join(&mut self) -> bool {
        let spare =
            (0..self.course.site.nodes().len()).find(|node| self.course.operating.standing(*node) == Standing::Spare);
        let seeds: Vec<usize> = self.all_ready().into_iter().take(2).collect();
        let Some(node) = spare.filter(|_| !seeds.is_empty()) else { return false };
        self.course.operating.log.push(format!("node {node} joins by {seeds:?}"));
        self.course.site.set_seeds(node, &seeds);
        self.course.site.begin_start(node);
        self.course.operating.standing[node] = Standing::Joining;
        true
    }

    /// Starts a node that has left, or whose join was aborted, as a new one on an empty disk.
    fn come_back(&mut self) -> bool {
        let count = self.course.site.nodes().len();
        let gone = (0..count)
            .find(|node| self.course.operating.standing(*node) == Standing::Gone && !self.course.is_running(*node));
        let seeds: Vec<usize> = self.all_ready().into_iter().take(2).collect();
        let Some(node) = gone.filter(|_| !seeds.is_empty()) else { return false };
        self.course.operating.log.push(format!("node {node} comes back as a new one by {seeds:?}"));
        let (host, empty) = (self.course.site.nodes()[node], self.course.site.empty_disk());
        self.course.site.world().exchange_disk(host, empty);
        self.course.ends.disk_lost(node);
        self.course.operating.host_ids.remove(&node);
        self.course.operating.down.remove(&node);
        self.course.site.set_seeds(node, &seeds);
        self.course.site.begin_start(node);
        self.course.operating.standing[node] = Standing::Joining;
        true
    }

    /// A member without which its datacenter has enough for all replicas.
    fn dispensable(&mut self, replicas_min: u32) -> Option<usize> {
        let ready = self.all_ready();
        let is_dispensable = |node: &usize| {
            let datacenter = self.course.site.datacenter(*node);
            let (fewest, most) = self.course.operating.factor_bounds(datacenter);
            fewest >= replicas_min && self.staying(datacenter) > most as usize
        };
        let among: Vec<usize> = ready.into_iter().filter(is_dispensable).collect();
        let count = among.len() as u64;
        (count > 0).then(|| among[self.course.below(count) as usize])
    }

    fn decommission(&mut self) -> bool {
        let Some(node) = self.dispensable(1) else { return false };
        let Some(asking) = self.course.site.begin_asking(node, Question::Decommission { is_forced: false }) else {
            return false;
        };
        self.course.operating.log.push(format!("node {node} is decommissioned"));
        self.course.operating.standing[node] = Standing::Leaving;
        self.course.operating.asked.push((node, asking));
        true
    }

    /// With one replica of each range the dead node's data would be gone.
    fn kill_to_remove(&mut self) -> bool {
        let Some(node) = self.dispensable(2).filter(|node| self.host_id(*node).is_some()) else { return false };
        self.course.operating.log.push(format!("node {node} is killed, to be removed"));
        self.end(node);
        self.course.operating.standing[node] = Standing::Dead;
        true
    }

    /// Asks for another number of replicas, for which there are nodes. What a dead node has is not given up for it.
    fn alter(&mut self) -> bool {
        let operating = &self.course.operating;
        let is_busy = operating.altering.is_some()
            || operating.standing.contains(&Standing::Dead)
            || !operating.replacements.is_empty();
        let ready = self.all_ready();
        if is_busy || ready.is_empty() || !self.course.operating.may_alter {
            return false;
        }
        let most = FACTOR_MAX.min(u32::try_from(self.staying(0)).unwrap_or(FACTOR_MAX));
        let now = self.course.operating.factors.iter().next_back().map_or(0, |factors| factors[0]);
        let others: Vec<u32> = (1..=most).filter(|factor| *factor != now).collect();
        if others.is_empty() {
            return false;
        }
        let factor = others[self.course.below(others.len() as u64) as usize];
        let node = ready[self.course.below(ready.len() as u64) as usize];
        self.course.operating.log.push(format!("node {node} is asked for {factor} replicas"));
        let (address, clients) = (self.course.target(node).address, self.course.site.clients());
        let main = move |runtime: Runtime| async move {
            let answer = runtime.timeout(ALTERED_AT_MOST, alter_keyspace(&runtime, address, factor)).await;
            answer.unwrap_or_else(|_| Err(ClientError::Malformed("no answer".into())))
        };
        self.course.operating.altering = Some(self.course.site.world().start(clients, false, vec![main]));
        self.course.operating.factors.insert(vec![factor]);
        true
    }

    /// The number of replicas that the schema has, in a cluster at rest.
    fn note_factor(&mut self) -> Result<(), String> {
        if !self.course.operating.may_alter {
            return Ok(());
        }
        let node = self.course.nodes().into_iter().next().ok_or("no node is left")?;
        let address = self.course.target(node).address;
        let factor = self.course.ask(move |runtime| async move { factor_of_schema(&runtime, address).await })?;
        if !self.course.operating.factors.contains(&vec![factor]) {
            let asked = &self.course.operating.factors;
            self.course
                .outcome
                .violations
                .push(format!("the schema has {factor} replicas, of {asked:?} that were asked for"));
        }
        self.course.operating.factors = [vec![factor]].into();
        Ok(())
    }

    /// Hears what operators are answered, and asks again for removals.
    fn pursue(&mut self) {
        if let Some(answers) = self.course.operating.altering.as_ref().and_then(Started::take_outputs) {
            self.course.operating.altering = None;
            self.course.operating.log.push(format!("who altered the keyspace hears {answers:?}"));
        }
        if self.course.operating.aborting.as_mut().is_some_and(|asking| asking.take().is_some()) {
            self.course.operating.aborting = None;
        }
        let mut asked = std::mem::take(&mut self.course.operating.asked);
        let mut answers = Vec::new();
        asked.retain_mut(|(node, asking)| match asking.take() {
            Some(answer) => {
                answers.push((*node, answer));
                false
            }
            None => true,
        });
        self.course.operating.asked = asked;
        for (node, answer) in answers {
            self.course.operating.log.push(format!("of node {node} its operator hears {answer:?}"));
            let is_dead = self.course.operating.standing(node) == Standing::Dead;
            match answer {
                Some(Answer::Done) if is_dead => {
                    self.course.operating.standing[node] = Standing::Gone;
                    self.course.ends.disk_lost(node);
                }
                // The cluster has changed since: it comes back.
                Some(Answer::Refusal(Refusal::Refused(why))) if is_dead && why.contains(TOO_FEW) => {
                    self.course.operating.standing[node] = Standing::Member;
                    self.start_again(node);
                }
                _ => {}
            }
        }
        let is_pending = |node: &usize| self.course.operating.asked.iter().any(|(of, _)| of == node);
        let mut dead =
            (0..self.course.site.nodes().len()).filter(|node| self.course.operating.standing(*node) == Standing::Dead);
        let Some(node) = dead.rfind(|node| !is_pending(node)) else { return };
        let Some(host_id) = self.host_id(node).cloned() else { return };
        let ready = self.all_ready();
        let Some(asked) = ready.get(self.course.site.nodes().len() % ready.len().max(1)).copied() else { return };
        let question = Question::RemoveNode { host_id, is_forced: false };
        if let Some(asking) = self.course.site.begin_asking(asked, question) {
            self.course.operating.asked.push((node, asking));
        }
    }

    /// Takes note of nodes that have become ready, have left, or have ended by themselves.
    fn note_standings(&mut self, when: &str) {
        for node in 0..self.course.operating.standing.len() {
            let standing = self.course.operating.standing(node);
            if self.course.operating.is_present(node)
                && !self.course.is_running(node)
                && !self.course.operating.down.contains(&node)
            {
                self.note_end(node, standing, when);
            } else if standing == Standing::Joining && self.course.site.is_ready(node) {
                self.course.operating.standing[node] = Standing::Member;
                self.has_replaced(node);
            }
        }
        let standing = self.course.operating.standing.iter().enumerate();
        let is_asked = |standing: &Standing| matches!(standing, Standing::Member | Standing::Leaving);
        let without = standing.filter(|(_, standing)| !is_asked(standing)).map(|(node, _)| node).collect();
        self.course.history.borrow_mut().without = without;
    }

    /// A node that was to run has ended.
    fn note_end(&mut self, node: usize, standing: Standing, when: &str) {
        let sentence = self.course.site.take_refusal(node);
        if self.has_not_replaced(node, sentence.as_deref()) {
            return;
        }
        let may_leave =
            standing == Standing::Leaving || (standing == Standing::Joining && self.course.operating.has_aborted);
        let has_left = match &sentence {
            None => standing == Standing::Leaving,
            Some(sentence) => may_leave && sentence.contains(NEVER_AGAIN),
        };
        if has_left {
            self.course.operating.log.push(format!("node {node} has left"));
            self.course.operating.standing[node] = Standing::Gone;
            return;
        }
        self.course.operating.down.insert(node);
        self.course.note_sentence(node, when, &sentence.unwrap_or_else(|| "it ended without a word".to_owned()));
    }

    /// Waits until all operations have ended, and all nodes know it.
    fn settle(&mut self, when: &str) -> Result<(), String> {
        let deadline = self.course.site.world().now() + ENDED_AT_MOST;
        self.course.operating.starts.clear();
        self.course.operating.resting_since = None;
        loop {
            self.note_standings(when);
            self.course.nodes().into_iter().for_each(|node| self.start_again(node));
            self.pursue();
            self.abort_what_waits_for_the_dead();
            let Err(why) = self.is_at_rest() else { return Ok(()) };
            if self.course.site.world().now() >= deadline {
                return Err(format!("{when} operations have not ended within {ENDED_AT_MOST:?}: {why}"));
            }
            self.course.site.world().run_for(AGAIN);
        }
    }

    /// An operation waits for the copy of a node that is never started again, and its removal is queued after that: the operator aborts the former.
    fn abort_what_waits_for_the_dead(&mut self) {
        let standing = |node: &usize| self.course.operating.standing(*node) == Standing::Dead;
        let dead = (0..self.course.site.nodes().len()).filter(standing).find_map(|node| self.host_id(node).cloned());
        let mut replaced = self.course.operating.replacements.values().map(|replacement| &replacement.host_id);
        let dead = dead.or_else(|| replaced.next().cloned());
        let Some(dead) = dead.filter(|_| self.course.operating.aborting.is_none()) else { return };
        let Some((leader, facts)) = self.look_at_leader() else { return };
        let waits = |operation: &&OperationFacts| {
            let waits_for = operation.waits_for.as_ref();
            // One of replication may need the dead node in each phase.
            let is_of_keyspace =
                operation.keyspace.is_some() && !["queued", "read new"].contains(&operation.phase.as_str());
            let is_copying = operation.phase == "copy";
            waits_for.is_some_and(|reason| {
                is_of_keyspace || is_copying && reason.starts_with(&format!("node {dead} has not copied"))
            })
        };
        let Some(operation) = facts.operations.iter().find(waits) else { return };
        let number = operation.number;
        self.course.operating.log.push(format!("operation {number} waits for a dead node, and is aborted"));
        self.course.operating.has_aborted = true;
        self.course.operating.aborting = self.course.site.begin_asking(leader, Question::AbortOperation(number));
    }

    /// If no operation has ended, one more is begun and waited for. An error says what does not hold.
    fn end_one(&mut self) -> Result<(), String> {
        self.course.operating.strikes.clear();
        self.course.operating.abort_in = None;
        if stdx::marks::count("an operation is done") == 0 {
            if !(self.join() || self.decommission() || self.replace() || self.come_back()) {
                self.course.operating.log.push("no order is possible at the end".to_owned());
            }
            self.settle("after one more order")?;
        }
        Ok(())
    }

    /// Asks all nodes whether the cluster is at rest, and shows the same everywhere. An error is the reason for which it is not.
    fn is_at_rest(&mut self) -> Result<(), String> {
        let known = self.registry_of_all();
        if known.is_err() {
            self.course.operating.resting_since = None;
        }
        self.judge_rest(&known?)
    }

    /// The host ids that all nodes show, none of which knows of an operation.
    fn registry_of_all(&mut self) -> Result<BTreeSet<String>, String> {
        if self.course.operating.altering.is_some() {
            return Err("who alters the keyspace is not answered".to_owned());
        }
        let mut seen: Option<(usize, Vec<Shown>)> = None;
        for node in self.course.nodes() {
            if !self.course.site.is_ready(node) {
                return Err(format!("node {node} is not ready ({:?})", self.course.operating.standing(node)));
            }
            has_no_operations(node, self.course.site.ask(node, Question::Operations, LOOK_AT_MOST))?;
            let facts = self.course.site.facts(node, LOOK_AT_MOST);
            facts.iter().for_each(|facts| self.note_host(node, facts));
            let shown = registry_at_rest(node, facts.as_ref())?;
            match &seen {
                Some((first, known)) if *known != shown => {
                    return Err(format!("node {node} has {shown:?}, node {first} has {known:?}"));
                }
                Some(_) => {}
                None => seen = Some((node, shown)),
            }
        }
        let (_, shown) = seen.ok_or("no node is left")?;
        Ok(shown.into_iter().map(|node| node.host_id).collect())
    }

    /// Compares the host ids that all nodes show with the nodes that are to be there.
    fn judge_rest(&mut self, known: &BTreeSet<String>) -> Result<(), String> {
        let now = self.course.site.world().now();
        let since = *self.course.operating.resting_since.get_or_insert(now);
        // An operation may have been aborted, or its order refused: its node stays, if all nodes have it still. An order without an answer may stand in a log
        // that is not committed yet.
        let is_pending = |node: &usize| self.course.operating.asked.iter().any(|(of, _)| of == node);
        for node in self.course.nodes() {
            if self.course.operating.standing(node) == Standing::Leaving {
                if is_pending(&node) {
                    return Err(format!("node {node} is leaving, and its operator is not answered"));
                }
                if !self.host_id(node).is_some_and(|host_id| known.contains(host_id)) {
                    return Err(format!("node {node} has left, and runs"));
                }
                if now < since + ORDERS_LIVE {
                    return Err(format!("node {node} was to leave, and its order may be taken yet"));
                }
                self.course.operating.standing[node] = Standing::Member;
            }
        }
        let is_dead = |node: &usize| {
            matches!(self.course.operating.standing(*node), Standing::Dead | Standing::Replaced)
                || self.course.operating.replacements.contains_key(node)
        };
        if let Some(node) = (0..self.course.operating.standing.len()).find(is_dead) {
            return Err(format!("node {node} is dead, and neither removed nor replaced"));
        }
        let members: BTreeSet<String> =
            self.course.nodes().into_iter().filter_map(|node| self.host_id(node).cloned()).collect();
        match *known == members {
            true => Ok(()),
            false => Err(format!("the registry has {known:?}, and {members:?} run")),
        }
    }
}

/// Asks a node for another number of replicas.
async fn alter_keyspace(runtime: &Runtime, address: SocketAddr, factor: u32) -> Result<bool, ClientError> {
    let mut client = Client::connect(runtime, address).await?;
    let replication = format!("{{'class': 'NetworkTopologyStrategy', 'datacenter0': {factor}}}");
    client.change(&format!("ALTER KEYSPACE ring WITH replication = {replication}")).await
}

/// The number of replicas that the schema of a node has.
async fn factor_of_schema(runtime: &Runtime, address: SocketAddr) -> Result<u32, ClientError> {
    const NAME: &[u8] = b"datacenter0";
    let mut client = Client::connect(runtime, address).await?;
    let rows = client.execute("SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = 'ring'").await?;
    let map = rows.first().and_then(|row| row.first().cloned().flatten()).unwrap_or_default();
    let at = map.windows(NAME.len()).position(|part| part == NAME);
    // Four bytes of length, and one digit.
    let digit = at.and_then(|at| map.get(at + NAME.len() + 4));
    digit.and_then(|digit| char::from(*digit).to_digit(10)).ok_or_else(|| ClientError::Malformed(format!("{map:?}")))
}
