//! The driver of a member: gives it what happens, carries out its work on the metadata log, and has the node around it apply what is committed.
//!
//! Two tasks run on shard 0. One carries out [`Work`] in the order that the member's contract asks for: records are made durable, messages leave, the
//! commit index is made durable, effects are handed on. The other has all shards apply the effects, one after the other, while the group goes on.
//! A node that is alone in its group needs no time: it leads, and its change is committed by one synced write.
//!
//! A write that fails: a node that is alone takes its changes back, and their askers hear of the error. All other nodes try again, since others count
//! on what was sent before; a log that takes no record any more ends the driver, and the node changes nothing until its next start.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use planted::{Bug, Planted};
use raft::{Index, NodeId};
use runtime::sync::{Notify, Sender, oneshot};
use runtime::{Group, Runtime};

use super::ids::ProposalId;
use super::member::{Member, Planner, Work};
use super::message::{Answer, GroupMessage};
use super::record::GroupRecord;
use super::state::Effect;
use crate::cluster::{ClusterState, Entry};
use crate::error::MetadataError;
use crate::file::{MetadataLog, Record};

/// Between two tries of a write that failed.
const WRITE_AGAIN: Duration = Duration::from_secs(1);
/// Entries that are kept in memory for nodes that lag, besides those that are not applied.
const ENTRIES_KEPT: usize = 1024;

/// A step of the shards under way.
pub type Applying<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// The node around a driver.
pub trait Applier: Planner {
    /// Has all shards apply the changes of an entry. Called in the order of epochs, one after the other, and for each entry that changes something.
    fn apply(&self, epoch: Index, id: ProposalId, entry: Entry) -> Applying<'_>;

    /// Has all shards replace their states by this one, which another node had.
    fn replace(&self, epoch: Index, state: ClusterState) -> Applying<'_>;

    /// Sends a message to another node; it is lost where that node cannot be reached.
    fn send(&self, to: NodeId, message: GroupMessage);
}

/// A step for the shards.
enum Step {
    Replace(Index, ClusterState),
    Apply(Index, Effect),
}

impl Step {
    fn epoch(&self) -> Index {
        match self {
            Step::Replace(epoch, _) | Step::Apply(epoch, _) => *epoch,
        }
    }
}

/// A running member. Clones are the same one.
#[derive(Clone)]
pub struct Driver {
    inner: Rc<Inner>,
}

struct Inner {
    runtime: Runtime,
    log: MetadataLog,
    applier: Box<dyn Applier>,
    planted: Planted,
    member: RefCell<Member>,
    /// Something happened that may make work.
    has_news: Notify,
    steps: RefCell<VecDeque<Step>>,
    has_steps: Notify,
    has_applied: Notify,
    /// A snapshot that waits for the work under way.
    snapshot: RefCell<Option<(NodeId, GroupMessage)>>,
    askers: RefCell<BTreeMap<ProposalId, Sender<Answer>>>,
    /// The error that ended the driver.
    ended_by: RefCell<Option<String>>,
}

impl Driver {
    /// Runs the member on the log that restored it.
    pub fn start(runtime: &Runtime, log: MetadataLog, member: Member, applier: Box<dyn Applier>) -> Driver {
        let inner = Inner {
            runtime: runtime.clone(),
            log,
            applier,
            planted: member.planted(),
            member: RefCell::new(member),
            has_news: Notify::new(),
            steps: RefCell::default(),
            has_steps: Notify::new(),
            has_applied: Notify::new(),
            snapshot: RefCell::default(),
            askers: RefCell::default(),
            ended_by: RefCell::new(None),
        };
        let driver = Driver { inner: Rc::new(inner) };
        let (working, applying) = (driver.clone(), driver.clone());
        drop(runtime.spawn(Group::Query, async move { working.work().await }));
        drop(runtime.spawn(Group::Query, async move { applying.apply().await }));
        driver
    }

    /// A name for a proposal, which no other has.
    pub fn new_id(&self) -> ProposalId {
        let draw = || u128::from(self.inner.runtime.random_u64());
        ProposalId(draw() << 64 | draw())
    }

    /// Asks for a change under a name of its own, and waits for the outcome.
    pub async fn propose(&self, id: ProposalId, intention: Vec<u8>) -> Answer {
        let inner = &*self.inner;
        if let Some(reason) = inner.ended_by.borrow().clone() {
            return Answer::Failed { reason };
        }
        let (asker, answer) = oneshot();
        inner.askers.borrow_mut().insert(id, asker);
        self.with_member(|member, planner| member.propose(id, intention, planner));
        match answer.await {
            Ok(answer) => answer,
            Err(_) => Answer::Failed { reason: inner.ended_by.borrow().clone().unwrap_or_default() },
        }
    }

    /// Waits until all shards of this node have applied up to an epoch. An answer names one, which this node may not have reached.
    pub async fn applied(&self, epoch: Index) {
        while self.inner.member.borrow().applied() < epoch {
            self.inner.has_applied.notified().await;
        }
    }

    /// A message of another node has arrived.
    pub fn receive(&self, from: NodeId, message: GroupMessage) {
        if let GroupMessage::Snapshot(_) = message {
            // The member has no use for one while its work is under way.
            *self.inner.snapshot.borrow_mut() = Some((from, message));
            return self.inner.has_news.notify();
        }
        self.with_member(|member, planner| member.receive(from, message, planner));
    }

    /// A unit of time has passed.
    pub fn elapse(&self) {
        self.with_member(|member, planner| member.elapse(planner));
    }

    /// Looks at the member, or changes what only it knows; its work is then carried out.
    pub fn with_member<T>(&self, act: impl FnOnce(&mut Member, &dyn Planner) -> T) -> T {
        let outcome = act(&mut self.inner.member.borrow_mut(), &*self.inner.applier);
        self.inner.has_news.notify();
        outcome
    }

    /// Ends the driver: the node cannot do what was agreed on before its next start. For an [`Applier`] that cannot apply an entry, which then counts as not
    /// applied.
    pub fn end(&self, reason: String) {
        tracing::error!(%reason, "metadata changes stopped; restart the node");
        *self.inner.ended_by.borrow_mut() = Some(reason);
        // Their receivers hear that no answer comes.
        self.inner.askers.borrow_mut().clear();
        self.inner.has_news.notify();
    }

    /// Carries out work, until the log takes no more.
    async fn work(&self) {
        loop {
            let snapshot = self.inner.snapshot.borrow_mut().take();
            if let Some((from, message)) = snapshot {
                self.inner.member.borrow_mut().receive(from, message, &*self.inner.applier);
            }
            if self.inner.ended_by.borrow().is_some() {
                return;
            }
            let taken = self.inner.member.borrow_mut().take();
            let done = match taken {
                Ok(None) => {
                    self.inner.has_news.notified().await;
                    Ok(())
                }
                Ok(Some(work)) => self.carry_out(work).await.map_err(|error| error.to_string()),
                Err(error) => {
                    Err(format!("the cluster's metadata log has an entry that this version cannot read: {error}"))
                }
            };
            if let Err(reason) = done {
                self.end(reason);
            }
        }
    }

    async fn carry_out(&self, mut work: Work) -> Result<(), MetadataError> {
        let inner = &*self.inner;
        if inner.planted.is(Bug::EntryAckedBeforeSync) {
            self.send(&mut work);
        }
        self.write(&mut work).await?;
        self.send(&mut work);
        if let Some(commit) = work.commit.take() {
            self.write_until_it_is_there(vec![commit]).await?;
        }
        for trouble in &work.troubles {
            tracing::warn!(?trouble, "metadata group");
        }
        self.hand_on(&mut work);
        for (id, answer) in std::mem::take(&mut work.answers) {
            if let Some(asker) = inner.askers.borrow_mut().remove(&id) {
                // One who does not wait any more needs no answer.
                let _ = asker.send(answer);
            }
        }
        inner.member.borrow_mut().advance(&work);
        Ok(())
    }

    fn send(&self, work: &mut Work) {
        let messages = std::mem::take(&mut work.messages);
        messages.into_iter().for_each(|(to, message)| self.inner.applier.send(to, message));
    }

    /// Makes the work's records durable, as one write, or has them taken back.
    async fn write(&self, work: &mut Work) -> Result<(), MetadataError> {
        let Some(record) = one_record(work.records.clone()) else { return Ok(()) };
        let Err(error) = self.inner.log.append(&record).await else { return Ok(()) };
        tracing::warn!(%error, "metadata change not durable");
        let is_withdrawn = self.inner.member.borrow_mut().withdraw(work, &error.to_string());
        match is_withdrawn {
            true => Ok(()),
            false => self.write_until_it_is_there(std::mem::take(&mut work.records)).await,
        }
    }

    async fn write_until_it_is_there(&self, records: Vec<GroupRecord>) -> Result<(), MetadataError> {
        let Some(record) = one_record(records) else { return Ok(()) };
        while let Err(error) = self.inner.log.append(&record).await {
            self.inner.log.check()?;
            tracing::warn!(%error, "metadata log not written; retrying");
            self.inner.runtime.sleep(WRITE_AGAIN).await;
        }
        Ok(())
    }

    /// Hands effects to the task that has them applied.
    fn hand_on(&self, work: &mut Work) {
        let mut steps = self.inner.steps.borrow_mut();
        if work.is_replaced {
            let member = self.inner.member.borrow();
            let state = member.state();
            steps.clear();
            steps.push_back(Step::Replace(state.epoch(), state.cluster().clone()));
        }
        let effects = std::mem::take(&mut work.effects);
        steps.extend(effects.into_iter().map(|(epoch, effect)| Step::Apply(epoch, effect)));
        if !steps.is_empty() {
            self.inner.has_steps.notify();
        }
    }

    /// Has the shards apply what is committed, step after step.
    async fn apply(&self) {
        let inner = &*self.inner;
        loop {
            let next = inner.steps.borrow_mut().pop_front();
            let Some(step) = next else {
                inner.has_steps.notified().await;
                continue;
            };
            let epoch = step.epoch();
            match step {
                Step::Replace(_, state) => inner.applier.replace(epoch, state).await,
                Step::Apply(_, Effect::Applied(id, entry)) => inner.applier.apply(epoch, id, entry).await,
                Step::Apply(_, Effect::None | Effect::Repeated(..) | Effect::Cancelled(_) | Effect::TooLate(_)) => {}
            }
            if inner.ended_by.borrow().is_some() {
                return;
            }
            self.with_member(|member, _| {
                member.applied_on_all(epoch);
                let is_lone = member.raft().configuration().is_only(member.raft().id());
                if is_lone || member.raft().log().entries().len() > ENTRIES_KEPT {
                    member.compact();
                }
            });
            inner.has_applied.notify_all();
        }
    }
}

/// Records that count whole or not at all.
fn one_record(records: Vec<GroupRecord>) -> Option<Record> {
    let mut records: Vec<Record> = records.into_iter().map(Record::Group).collect();
    match records.len() {
        0 => None,
        1 => records.pop(),
        _ => Some(Record::Several(records)),
    }
}
