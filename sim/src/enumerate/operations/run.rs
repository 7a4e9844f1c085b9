//! One run: the members are started, one operation is asked for and carried out, and a node may end at a boundary of its disk.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use admin::{Answer, OperationsFacts, Question};
use cql_protocol::Consistency;
use membership::Replaced;
use planted::Planted;
use runtime::sim::{Started, World};
use runtime::{Instant, Runtime};

use super::ground::{Ground, MACHINES, ROWS, add, insert, insert_if};
use super::judge;
use super::kind::Kind;
use super::point::{Point, Role, Stage};
use crate::client::{Client, ClientError};
use crate::group_site::{Asking, GroupSite};
use crate::site::Site;

/// Between two looks at the cluster.
const LOOK: Duration = Duration::from_millis(20);
/// Looks of which one asks the nodes.
const ASK_EVERY: u64 = 4;
/// The longest from the crash until the operation has ended, in a cluster in which nothing else is wrong.
const ENDED_AT_MOST: Duration = Duration::from_secs(180);
/// The longest that a node is down that has ended at a crash point, milliseconds.
const DOWN_MILLIS: u64 = 3_000;
/// For a node's answer before the operation.
const ANSWER_AT_MOST: Duration = Duration::from_secs(5);
/// Between two writes of the client.
const PAUSE: Duration = Duration::from_millis(25);
/// Between two tries of a node that was refused.
const AGAIN: Duration = Duration::from_millis(300);
/// The longest from the end of a decommission to the end of its node in order.
const LEAVES_WITHIN: Duration = Duration::from_secs(5);
/// In the sentence of a node that is to replace one that is not known to be down.
const ALIVE: &str = "cannot replace a live node";
/// Tokens of a node that gets another number.
const TOKENS: u16 = 6;
/// In the sentence of a node that has left.
const NEVER_AGAIN: &str = "never accepted again";

/// The outcome of a run.
pub(super) struct Ran {
    /// The stages at the boundaries of the disks of the nodes in each role, in a run to the end.
    pub(super) boundaries: [Vec<Stage>; 3],
    pub(super) violations: Vec<String>,
}

/// The client's record.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) acknowledged: BTreeSet<i32>,
    /// Of the counter: what was acknowledged, and what may have been added beside.
    pub(super) added: i64,
    pub(super) in_doubt: i64,
    is_over: bool,
}

/// A run under way.
pub(super) struct Run {
    pub(super) site: GroupSite,
    kind: Kind,
    /// The node in each role.
    roles: [usize; 3],
    /// The node that joins, leaves, is replaced or gets other tokens.
    changed: Option<usize>,
    changed_id: Option<String>,
    /// It has left, or never came.
    pub(super) is_gone: bool,
    /// Of each node, since the operation was asked for.
    boundaries: [Vec<Stage>; MACHINES],
    /// Nodes that have ended, and when they start again.
    down: Vec<(usize, Instant)>,
    order: Option<Asking>,
    /// The statement of a client that asks for it.
    altering: Option<Started<Result<bool, ClientError>>>,
    abort: Option<Asking>,
    /// An operation was seen.
    has_begun: bool,
    has_aborted: bool,
    /// The operator of a removal was answered that it is done.
    is_removed: bool,
    stage: Stage,
    looks: [Option<Asking>; MACHINES],
    /// The latest answers; none of a node that has ended since.
    views: [Option<OperationsFacts>; MACHINES],
    pub(super) written: Rc<RefCell<Written>>,
}

/// Carries an operation out, with a crash or without one.
pub(super) fn run(ground: &Ground, kind: Kind, point: Option<Point>, planted: Planted) -> Result<Ran, String> {
    let mut run = Run::begin(ground, kind, planted)?;
    let writing = run.begin_writing();
    run.carry_out(point, ground.seed())?;
    let violations = judge::judge(&mut run, writing)?;
    Ok(Ran { boundaries: run.roles.map(|node| run.boundaries[node].clone()), violations })
}

impl Run {
    fn begin(ground: &Ground, kind: Kind, planted: Planted) -> Result<Run, String> {
        let mut site = ground.start(planted)?;
        let leader = leader(&mut site, ground.members())?;
        let (roles, changed) = kind.nodes(leader);
        let facts = site.facts(leader, ANSWER_AT_MOST).ok_or("the leader does not answer")?;
        let address = changed.map(|changed| site.internode_address(changed).ip());
        let changed_id = facts.ring.iter().find(|node| Some(node.endpoint) == address).map(|node| node.host_id.clone());
        let hosts = site.nodes();
        hosts.iter().for_each(|host| site.world().keep_boundaries(*host));
        Ok(Run {
            site,
            kind,
            roles,
            changed,
            changed_id,
            is_gone: false,
            boundaries: Default::default(),
            down: Vec::new(),
            order: None,
            altering: None,
            abort: None,
            has_begun: false,
            has_aborted: false,
            is_removed: false,
            stage: Stage::Before,
            looks: Default::default(),
            views: Default::default(),
            written: Rc::default(),
        })
    }

    /// The members that stay, and the node that joins or leaves as long as it is there.
    pub(super) fn present(&self) -> Vec<usize> {
        let is_present = |node: &usize| Some(*node) != self.changed || !self.is_gone && self.kind != Kind::Removal;
        (0..MACHINES).filter(is_present).collect()
    }

    fn is_running(&mut self, node: usize) -> bool {
        let host = self.site.nodes()[node];
        self.site.world().is_running(host)
    }

    /// Has a client write through the members that stay, by turns.
    fn begin_writing(&mut self) -> Started<()> {
        let staying = (0..MACHINES).filter(|node| Some(*node) != self.changed);
        let addresses: Vec<SocketAddr> = staying.map(|node| self.site.native_address(node)).collect();
        let (written, clients) = (Rc::clone(&self.written), self.site.clients());
        self.site.world().start(clients, false, vec![move |runtime| write(runtime, addresses, written)])
    }

    /// Ends the client's work.
    pub(super) fn end_writing(&mut self, writing: &Started<()>) -> Result<(), String> {
        self.written.borrow_mut().is_over = true;
        self.site.world().run_until(|_| writing.is_over(), ENDED_AT_MOST);
        if writing.is_over() { Ok(()) } else { Err("the client's last write has no answer".to_owned()) }
    }

    /// Until the operation has ended, and all nodes know it.
    fn carry_out(&mut self, point: Option<Point>, seed: u64) -> Result<(), String> {
        if let Some(changed) = self.changed {
            self.change(changed);
        }
        let mut to_come = point;
        let deadline = self.site.world().now() + ENDED_AT_MOST;
        for turn in 0u64.. {
            let victim = to_come.map(|point| (self.roles[point.role as usize], point.boundary));
            if self.run_on(victim) {
                let point = to_come.take().expect("a node ends once");
                self.end(point, seed);
            }
            self.start_again();
            self.note_ends()?;
            self.hear();
            if turn.is_multiple_of(ASK_EVERY) {
                self.look();
            }
            self.pursue();
            let why = self.unsettled();
            match why {
                None if to_come.is_none() => return self.see_off(),
                None => return Err("the crash point never came".to_owned()),
                Some(why) if self.site.world().now() >= deadline => {
                    return Err(format!("the operation has not ended within {ENDED_AT_MOST:?}: {why}"));
                }
                Some(_) => {}
            }
        }
        unreachable!("it ends or gives up")
    }

    /// A node whose decommission was not aborted in time ends a moment after all nodes know that it has left.
    fn see_off(&mut self) -> Result<(), String> {
        let Some(node) = self.changed.filter(|_| self.kind == Kind::AbortedDecommission && !self.has_aborted) else {
            return Ok(());
        };
        let deadline = self.site.world().now() + LEAVES_WITHIN;
        while !self.is_gone && self.is_running(node) && self.site.world().now() < deadline {
            self.site.world().run_for(AGAIN);
        }
        self.note_ends()
    }

    /// The node is started to join, or killed, to be removed, replaced, or started again with other tokens.
    fn change(&mut self, node: usize) {
        let host = self.site.nodes()[node];
        if matches!(self.kind, Kind::Removal | Kind::Replacement | Kind::Tokens) {
            self.site.world().kill(host);
        }
        if self.kind == Kind::Replacement {
            let (empty, address) = (self.site.empty_disk(), self.site.internode_address(node).into());
            self.site.world().exchange_disk(host, empty);
            self.site.set_replaces(node, Some(Replaced::At(address)));
            let members: Vec<usize> = (0..MACHINES).filter(|other| *other != node).collect();
            self.site.set_seeds(node, &members);
        }
        if self.kind == Kind::Tokens {
            self.site.set_token_count(node, TOKENS);
        }
        if self.kind != Kind::Removal && !matches!(self.kind, Kind::Decommission | Kind::AbortedDecommission) {
            self.site.begin_start(node);
        }
    }

    /// Lets the world go on for a while. True if the node is at its boundary.
    fn run_on(&mut self, victim: Option<(usize, usize)>) -> bool {
        let (hosts, boundaries, stage) = (self.site.nodes(), &mut self.boundaries, self.stage);
        let mut is_due = false;
        let count = |world: &mut World<'static>| {
            for (host, stages) in hosts.iter().zip(boundaries.iter_mut()) {
                stages.extend(world.take_boundaries(*host).iter().map(|_| stage));
            }
            is_due = victim.is_some_and(|(node, boundary)| boundaries[node].len() > boundary);
            is_due
        };
        self.site.world().run_until(count, LOOK);
        is_due
    }

    fn end(&mut self, point: Point, seed: u64) {
        let node = self.roles[point.role as usize];
        let host = self.site.nodes()[node];
        match self.stage {
            Stage::Before => stdx::sometimes!("crash point: before"),
            Stage::Queued => stdx::sometimes!("crash point: queued"),
            Stage::Planned => stdx::sometimes!("crash point: planned"),
            Stage::WriteBoth => stdx::sometimes!("crash point: write both"),
            Stage::Copy => stdx::sometimes!("crash point: copy"),
            Stage::ReadNew => stdx::sometimes!("crash point: read new"),
            Stage::After => stdx::sometimes!("crash point: after"),
        }
        let drawn = seed.wrapping_add(point.boundary as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        match point.end.keep(drawn) {
            None => self.site.world().kill(host),
            Some(keep) => self.site.world().crash(host, keep),
        }
        (self.looks[node], self.views[node]) = (None, None);
        let rest = Duration::from_millis(50 + (drawn >> 32) % DOWN_MILLIS);
        self.down.push((node, self.site.world().now() + rest));
    }

    fn start_again(&mut self) {
        let now = self.site.world().now();
        let is_due = |(_, at): &mut (usize, Instant)| *at <= now;
        self.down.extract_if(.., is_due).for_each(|(node, _)| self.site.begin_start(node));
    }

    /// Takes note of nodes that have ended by themselves: only one that has left may.
    fn note_ends(&mut self) -> Result<(), String> {
        for node in self.present() {
            let is_down = self.down.iter().any(|(down, _)| *down == node);
            if is_down || self.is_running(node) {
                continue;
            }
            let sentence = self.site.take_refusal(node);
            let is_changed = Some(node) == self.changed;
            if self.kind == Kind::Replacement
                && is_changed
                && sentence.as_ref().is_some_and(|words| words.contains(ALIVE))
            {
                self.down.push((node, self.site.world().now() + AGAIN));
                continue;
            }
            let stays = matches!(self.kind, Kind::Replacement | Kind::Tokens);
            let may_go = is_changed && !stays && (self.has_begun || self.has_aborted);
            let has_gone = match &sentence {
                None => !self.kind.is_join(),
                Some(sentence) => sentence.contains(NEVER_AGAIN),
            };
            if !(may_go && has_gone) {
                return Err(format!("node {node} has ended by itself: {sentence:?}"));
            }
            self.is_gone = true;
            (self.looks[node], self.views[node]) = (None, None);
        }
        Ok(())
    }

    /// Hears what nodes and operators are answered.
    fn hear(&mut self) {
        for (look, view) in self.looks.iter_mut().zip(&mut self.views) {
            let Some(answer) = look.as_mut().and_then(Asking::take) else { continue };
            *look = None;
            *view = match answer {
                Some(Answer::Operations(facts)) => Some(facts),
                _ => None,
            };
        }
        if let Some(answer) = self.order.as_mut().and_then(Asking::take) {
            self.order = None;
            self.is_removed |= self.kind == Kind::Removal && matches!(answer, Some(Answer::Done));
        }
        if let Some(altering) = self.altering.take_if(|altering| altering.is_over()) {
            let answers = altering.take_outputs().unwrap_or_default();
            self.has_begun |= answers.iter().any(Result::is_ok);
        }
        if let Some(answer) = self.abort.as_mut().and_then(Asking::take) {
            self.abort = None;
            self.has_aborted |= matches!(answer, Some(Answer::Done));
        }
        self.has_begun |= self.views.iter().flatten().any(|view| !view.operations.is_empty());
        let leading = self.views.iter().flatten().find(|view| view.leads);
        self.stage = match leading.and_then(|view| view.operations.first()).map(|operation| &*operation.phase) {
            Some("queued") => Stage::Queued,
            Some("planned") => Stage::Planned,
            Some("write both") => Stage::WriteBoth,
            Some("copy") => Stage::Copy,
            Some("read new") => Stage::ReadNew,
            _ if self.has_begun && self.stage > Stage::Before => Stage::After,
            _ => Stage::Before,
        };
    }

    /// Asks all nodes that are ready for the operations that they know.
    fn look(&mut self) {
        for node in self.present() {
            if self.looks[node].is_none() && self.site.is_ready(node) {
                self.looks[node] = self.site.begin_asking(node, Question::Operations);
            }
        }
    }

    /// Operators ask for the operation until it has begun, for a removal until it is done, and for an abort until that is answered.
    fn pursue(&mut self) {
        let is_asked_for = if self.kind == Kind::Removal { self.is_removed } else { self.has_begun };
        if self.order.is_none() && self.altering.is_none() && !is_asked_for {
            self.ask_for_it();
        }
        if !self.kind.is_aborted() || self.has_aborted || self.abort.is_some() {
            return;
        }
        let leading = (0..MACHINES).find(|node| self.views[*node].as_ref().is_some_and(|view| view.leads));
        let Some((node, view)) = leading.and_then(|node| Some((node, self.views[node].as_ref()?))) else { return };
        if let Some(operation) = view.operations.first().filter(|operation| operation.phase == "copy") {
            self.abort = self.site.begin_asking(node, Question::AbortOperation(operation.number));
        }
    }

    /// Asks for the operation, where a node is ready to be asked.
    fn ask_for_it(&mut self) {
        let Some(ready) = self.present().into_iter().find(|node| self.site.is_ready(*node)) else { return };
        if let Some(text) = self.kind.statement() {
            let (address, clients) = (self.site.native_address(ready), self.site.clients());
            let main = async move |runtime: Runtime| Client::connect(&runtime, address).await?.change(text).await;
            self.altering = Some(self.site.world().start(clients, false, vec![main]));
            return;
        }
        let own = self.changed.unwrap_or(self.roles[Role::Receiver as usize]);
        let question = match (self.kind, self.kind.question()) {
            (Kind::Removal, _) => {
                let host_id = self.changed_id.clone().expect("it was a member");
                Some((ready, Question::RemoveNode { host_id, is_forced: false }))
            }
            (_, question) => question.filter(|_| self.site.is_ready(own)).map(|question| (own, question)),
        };
        self.order = question.and_then(|(node, question)| self.site.begin_asking(node, question));
    }

    /// The reason for which the operation is not over.
    fn unsettled(&mut self) -> Option<String> {
        if !self.down.is_empty() || self.abort.is_some() {
            return Some("a node is down, or an operator waits".to_owned());
        }
        let is_there = match self.kind {
            Kind::Decommission => !self.is_gone,
            Kind::Removal => !self.is_removed,
            _ => false,
        };
        if !self.has_begun || is_there {
            return Some(format!("it has not begun, or its node is there still ({:?})", self.stage));
        }
        for node in self.present() {
            if !self.site.is_ready(node) {
                return Some(format!("node {node} is not ready ({:?})", self.views));
            }
            match &self.views[node] {
                None => return Some(format!("node {node} does not answer")),
                Some(view) if !view.operations.is_empty() || !view.unclean.is_empty() => {
                    return Some(format!("node {node} has {view:?}"));
                }
                Some(_) => {}
            }
        }
        None
    }
}

/// The leader, when all members see all others up.
fn leader(site: &mut GroupSite, members: usize) -> Result<usize, String> {
    let deadline = site.world().now() + ENDED_AT_MOST;
    while site.world().now() < deadline {
        let mut leading = None;
        let mut are_up = true;
        for node in 0..members {
            if let Some(Answer::Operations(facts)) = site.ask(node, Question::Operations, ANSWER_AT_MOST) {
                leading = leading.or(facts.leads.then_some(node));
            }
            let facts = site.facts(node, ANSWER_AT_MOST);
            are_up &= facts.is_some_and(|facts| facts.ring.iter().all(|other| other.is_up));
        }
        if let (Some(leader), true) = (leading, are_up) {
            return Ok(leader);
        }
        site.world().run_for(LOOK);
    }
    Err("no member leads, or some are down for others".to_owned())
}

/// Writes rows, some by conditional statements, and adds to the counter, until it is over.
async fn write(runtime: Runtime, addresses: Vec<SocketAddr>, written: Rc<RefCell<Written>>) {
    let mut client: Option<Client> = None;
    let mut turn = 0;
    for key in ROWS.. {
        if written.borrow().is_over {
            return;
        }
        let mut connected = match client.take() {
            Some(client) => client,
            None => match Client::connect(&runtime, addresses[turn % addresses.len()]).await {
                Ok(client) => client,
                Err(_) => {
                    turn += 1;
                    runtime.sleep(PAUSE).await;
                    continue;
                }
            },
        };
        connected.consistency = Consistency::Quorum;
        match write_one(&mut connected, key, &written).await {
            Ok(()) => client = Some(connected),
            Err(_) => turn += 1,
        }
        runtime.sleep(PAUSE).await;
    }
}

async fn write_one(client: &mut Client, key: i32, written: &Rc<RefCell<Written>>) -> Result<(), ClientError> {
    match key % 8 {
        3 => {
            let amount = i64::from(key);
            written.borrow_mut().in_doubt += amount;
            client.run(&add(amount), None).await?;
            let mut written = written.borrow_mut();
            written.in_doubt -= amount;
            written.added += amount;
        }
        of => {
            let statement = if of == 7 { insert_if(key) } else { insert(key) };
            client.run(&statement, None).await?;
            written.borrow_mut().acknowledged.insert(key);
        }
    }
    Ok(())
}
