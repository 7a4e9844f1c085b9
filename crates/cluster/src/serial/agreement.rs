//! An attempt whose electorate has other nodes: it has a majority promise, finishes what others have left, has its own proposal accepted, and commits it.
//!
//! The caller decides by the rows that it reads: [`Agreement::prepare`], then [`Agreement::feed`], then [`Agreement::propose`] and [`Agreement::commit`], or
//! [`Agreement::settle`] where nothing is written. What was overtaken is prepared again. See the page's table of the attempt.

use std::rc::Rc;
use std::time::Duration;

use mutation::ReadCommand;
use planted::Bug;
use runtime::Instant;
use runtime::sync::Semaphore;
use schema::Table;
use storage::RowSink;
use storage::reader::{Page, ReadDone};
use topology::{ConsistencyLevel, Epoch, NodeIndex, Token};

use super::asked::{Answers, Electorate, is_refused_before};
use super::findings::{Doubts, Fate, Finding, Next, has_left, judge, settled_up_to};
use crate::fence::Plan;
use crate::outcome::Failure;
use crate::paxos::{Ballot, Claim, Kept, Promise, Proposal, Purpose, Queue, Register, encode_registers};
use crate::plan::{Placement, ReplicaPlan};
use crate::read::{Reads, judge_read, limits_of_each, planned_at};
use crate::replica::{Accept, PageLimits, Prepare, Shards};
use crate::timeouts::TimeoutKind;
use crate::write::{Electors, PlannedMutation, Writes};

/// The rest after a first try that was overtaken is less than this; it doubles with each.
const REST: Duration = Duration::from_millis(4);
const REST_MAX: Duration = Duration::from_millis(128);

/// Makes a ballot later than one.
type NewBallot<'p> = &'p dyn Fn(Option<Ballot>) -> Ballot;

/// The attempts that a shard coordinates.
pub struct Agreements {
    pub(super) shards: Rc<Shards>,
    placement: Rc<Placement>,
    reads: Rc<Reads>,
    writes: Rc<Writes>,
    /// Statements of this shard at one partition wait for each other.
    queue: Queue,
    /// The turn to delete old registers of this shard, or to drop those of tokens that are not kept.
    pub(super) deleting: Semaphore,
}

/// An attempt under way.
pub struct Agreement<'p> {
    agreements: Rc<Agreements>,
    plan: ReplicaPlan<'p>,
    electorate: Electorate,
    table: &'p Table,
    token: Token,
    key: &'p [u8],
    new_ballot: NewBallot<'p>,
    purpose: Purpose,
    /// The epoch that the plan rests on, and up to which it knows ring and tables.
    planned: Epoch,
    moment: Epoch,
    until: Instant,
    /// No further try is begun after it.
    tries_until: Instant,
    tries: u32,
    /// The latest ballot seen or made.
    latest: Option<Ballot>,
    /// All that was chosen up to this was written at a majority before the present pages were read.
    settled: Option<Ballot>,
    /// A majority has promised this.
    prepared: Option<ReadyToPropose>,
    /// The statement's own proposals, from when they were sent until their ends are known.
    doubts: Doubts,
    /// Its own proposal, which is chosen.
    chosen: Option<Proposal>,
    _claim: Claim,
}

/// A majority's promise, and what it has shown.
struct ReadyToPropose {
    ballot: Ballot,
    is_pending: bool,
    pages: Vec<(NodeIndex, Page)>,
    may_propose: bool,
}

/// The end of an attempt without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgreementError {
    /// Too few answered, or the statement is to be planned again: none of it was or will be written.
    Failed(Failure),
    /// Others were ahead for too long: none of it was or will be written.
    Contended,
    /// Its proposal may be written or not.
    Unknown {
        /// How many have accepted it, as far as it is known.
        received: u32,
    },
}

/// The state of the partition once a majority has promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Its rows can be read.
    Rows,
    /// The statement's own proposal, which was in doubt, is chosen.
    Chosen,
}

/// The outcome of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proposed {
    /// A majority has accepted it.
    Chosen,
    /// Another attempt came first: it is to be prepared again.
    Overtaken,
}

/// The end of a proposal that was sent.
enum AcceptEnd {
    /// A majority has accepted it.
    Chosen,
    /// Others are ahead, and no replica has accepted it.
    Refused,
    /// Others are ahead, and some have accepted it, or may have.
    InDoubt,
}

impl Agreements {
    pub(crate) fn new(
        shards: &Rc<Shards>,
        placement: &Rc<Placement>,
        reads: &Rc<Reads>,
        writes: &Rc<Writes>,
    ) -> Rc<Agreements> {
        let (shards, placement) = (Rc::clone(shards), Rc::clone(placement));
        let (reads, writes) = (Rc::clone(reads), Rc::clone(writes));
        Rc::new(Agreements { shards, placement, reads, writes, queue: Queue::default(), deleting: Semaphore::new(1) })
    }

    /// Begins an attempt by a plan at a serial level, when those of this shard before it have done.
    pub(crate) async fn begin<'p>(
        self: &Rc<Self>,
        plan: ReplicaPlan<'p>,
        (table, token, key): (&'p Table, Token, &'p [u8]),
        purpose: Purpose,
        new_ballot: NewBallot<'p>,
    ) -> Result<Agreement<'p>, AgreementError> {
        let Shards { runtime, timeouts, fence, .. } = &*self.shards;
        let kind = match purpose {
            Purpose::Read => TimeoutKind::Read,
            Purpose::Write | Purpose::Look => TimeoutKind::Write,
        };
        let contention = timeouts.get(TimeoutKind::CasContention);
        let tries_until = runtime.now() + contention;
        let Some(claim) = self.queue.claim((runtime, contention), table.id, key).await else {
            return Err(AgreementError::Contended);
        };
        let until = runtime.now() + timeouts.get(kind);
        let moment = fence.moment();
        let planned = planned_at(&self.shards, kind, table.id, plan.replication).await;
        let planned = planned.map_err(AgreementError::Failed)?;
        // All acceptors ignore the same registers then.
        let bound = fence.low_bound_at();
        if !fence.has_applied(bound)
            && !matches!(runtime.timeout(contention, fence.catch_up(None, bound)).await, Ok(true))
        {
            return Err(AgreementError::Failed(Failure::Timeout { received: 0 }));
        }
        let planned = planned.max(bound);
        let electorate = Electorate::of(&self.shards, &plan, planned);
        Ok(Agreement {
            agreements: Rc::clone(self),
            plan,
            electorate,
            table,
            token,
            key,
            new_ballot,
            purpose,
            planned,
            moment,
            until,
            tries_until,
            tries: 0,
            latest: None,
            settled: None,
            prepared: None,
            doubts: Doubts::default(),
            chosen: None,
            _claim: claim,
        })
    }
}

impl Agreement<'_> {
    /// The ballot that a majority has promised: what is proposed has its time.
    ///
    /// # Panics
    /// If it is not prepared.
    pub fn ballot(&self) -> Ballot {
        self.prepared.as_ref().expect("a majority has promised").ballot
    }

    /// Has a majority promise, with what others have left finished, and the latest commit at all of it. `command` reads the partition, or a part of it.
    pub async fn prepare(&mut self, command: ReadCommand<'_>, limits: PageLimits) -> Result<Found, AgreementError> {
        let mut bytes = Vec::with_capacity(128);
        command.encode(&mut bytes);
        let limits = limits_of_each(limits);
        let mut wants_committed = false;
        loop {
            let Some((ballot, findings, pages, may_propose)) = self.promises(&bytes, limits, wants_committed).await?
            else {
                self.rest().await?;
                continue;
            };
            let fate = self.doubts.fate(&findings, ballot);
            match fate {
                Fate::Open => {}
                Fate::Chosen(original) => {
                    stdx::sometimes!("a proposal in doubt turns out to be chosen");
                    self.chosen = self.doubts.take(original);
                    return Ok(Found::Chosen);
                }
                Fate::NotChosen => {
                    if !self.doubts.is_empty() {
                        stdx::sometimes!("a proposal in doubt turns out not to be chosen");
                    }
                }
                Fate::Unknown => return Err(self.error(Failure::Timeout { received: 0 })),
            }
            let planted = self.agreements.shards.storage.planted();
            let (settled, all_have_it) = settled_up_to(&findings);
            let holds_all = all_have_it || settled <= self.settled || planted.is(Bug::PagesBeforeCommit);
            self.settled = self.settled.max(settled);
            let ready = |is_pending| ReadyToPropose { ballot, is_pending, pages, may_propose };
            match judge(&findings, planted) {
                // Its own proposal is from before a truncation.
                Next::Go { .. } if fate == Fate::Open => return Err(self.error(Failure::Timeout { received: 0 })),
                Next::Go { .. } if !holds_all => {
                    stdx::sometimes!("a page is older than what is settled");
                    self.may_try()?;
                }
                Next::Go { is_pending } => {
                    self.prepared = Some(ready(is_pending));
                    return Ok(Found::Rows);
                }
                Next::Finish(_) if !may_propose => self.purpose = Purpose::Write,
                Next::Finish(proposal) => {
                    if self.finish(Proposal { ballot, ..proposal }).await? {
                        return Ok(Found::Chosen);
                    }
                }
                Next::Commit(None, _) => wants_committed = true,
                Next::Commit(Some(proposal), lacking) => {
                    stdx::sometimes!("a commit is sent to who lacks it");
                    let mutations = self.committed(&proposal);
                    let mutations: Vec<&[u8]> = mutations.iter().map(Vec::as_slice).collect();
                    let mut have: Vec<NodeIndex> = findings.iter().map(|finding| finding.node).collect();
                    have.retain(|node| !lacking.contains(node));
                    have.extend(self.electorate.commit_at(&lacking, &mutations, self.until).await);
                    if self.electorate.is_majority(&have) && !holds_all {
                        self.may_try()?;
                        continue;
                    }
                    if self.electorate.is_majority(&have) {
                        let promised = findings.iter().filter_map(|finding| finding.earlier).max();
                        self.prepared = Some(ready(promised > Some(proposal.ballot)));
                        return Ok(Found::Rows);
                    }
                    self.rest().await?;
                }
            }
        }
    }

    /// Sees to it that what this partition's replicas have left is finished, and its last commit at all that are asked. False: there is nothing to do, and nothing was
    /// promised. `is_certain`: there is, whatever others show.
    pub(super) async fn finish_left(
        &mut self,
        command: ReadCommand<'_>,
        is_certain: bool,
    ) -> Result<bool, AgreementError> {
        assert!(self.purpose == Purpose::Look, "it begins by looking");
        let mut bytes = Vec::with_capacity(128);
        command.encode(&mut bytes);
        let limits =
            PageLimits { rows: 1, rows_per_partition: 1, bytes: 1, counts_statics: true, planned: self.planned };
        let planted = self.agreements.shards.storage.planted();
        while self.purpose == Purpose::Look {
            match self.promises(&bytes, limits, false).await? {
                Some((_, findings, ..)) if !is_certain && !has_left(&findings, planted) => return Ok(false),
                Some(_) => self.purpose = Purpose::Write,
                None => self.rest().await?,
            }
        }
        stdx::sometimes!("what was left below the low bound is finished");
        loop {
            let found = self.prepare(command, limits).await?;
            assert_eq!(found, Found::Rows, "it has no proposal of its own");
            // Whatever was accepted by few comes before the empty proposal.
            self.prepared.as_mut().expect("a majority has promised").is_pending = true;
            if self.settle().await? == Proposed::Chosen {
                return Ok(true);
            }
        }
    }

    /// Gives what the majority holds to `sink`, as `command` reads it, which is that of [`Agreement::prepare`] with the same limits.
    pub async fn feed(
        &mut self,
        command: ReadCommand<'_>,
        limits: PageLimits,
        sink: &mut impl RowSink,
    ) -> Result<ReadDone, AgreementError> {
        let ready = self.prepared.as_mut().expect("a majority has promised");
        let pages = std::mem::take(&mut ready.pages);
        // Later pages may show what is chosen meanwhile: an empty proposal shows that nothing was.
        ready.is_pending |= pages.iter().any(|(_, page)| page.more_after.is_some());
        let limits = PageLimits { planned: self.planned, ..limits };
        let reads = &self.agreements.reads;
        let read = reads.read_given(&self.plan, (self.table, command, limits), pages, self.until, sink).await;
        let kind = (TimeoutKind::Read, self.planned);
        let read = judge_read(&self.agreements.shards, kind, self.plan.nodes, read).await;
        read.map_err(|failure| self.error(failure))
    }

    /// Has a majority accept the statement's mutations, which have the time of [`Agreement::ballot`].
    pub async fn propose(&mut self, mutations: Vec<Vec<u8>>) -> Result<Proposed, AgreementError> {
        let ready = self.prepared.take().expect("a majority has promised");
        if !ready.may_propose {
            self.purpose = Purpose::Write;
            return Ok(Proposed::Overtaken);
        }
        let proposal = Proposal { ballot: ready.ballot, original: ready.ballot, mutations };
        self.doubts.push(proposal.clone());
        match self.accept(proposal).await? {
            AcceptEnd::Chosen => return Ok(Proposed::Chosen),
            AcceptEnd::Refused => {}
            AcceptEnd::InDoubt => stdx::sometimes!("a proposal is in doubt"),
        }
        self.rest().await?;
        Ok(Proposed::Overtaken)
    }

    /// Sees to it that an answer without a proposal stays true: nothing that it did not show is chosen under an earlier ballot.
    pub async fn settle(&mut self) -> Result<Proposed, AgreementError> {
        let ready = self.prepared.as_mut().expect("a majority has promised");
        let planted = self.agreements.shards.storage.planted();
        if !ready.is_pending || planted.is(Bug::FastReadOverAccepted) {
            return Ok(Proposed::Chosen);
        }
        if !ready.may_propose {
            self.purpose = Purpose::Write;
            return Ok(Proposed::Overtaken);
        }
        stdx::sometimes!("an empty proposal is put");
        ready.is_pending = false;
        let (ballot, mutations) = (ready.ballot, Vec::new());
        match self.accept(Proposal { ballot, original: ballot, mutations }).await? {
            AcceptEnd::Chosen => Ok(Proposed::Chosen),
            AcceptEnd::Refused | AcceptEnd::InDoubt => {
                self.rest().await?;
                Ok(Proposed::Overtaken)
            }
        }
    }

    /// Writes the chosen proposal at a level. An error says nothing of whether it is applied: it will be.
    ///
    /// # Panics
    /// If nothing was proposed.
    pub async fn commit(&mut self, level: ConsistencyLevel) -> Result<(), Failure> {
        let chosen = self.chosen.as_ref().expect("it is chosen");
        let committed = self.agreements.writes.commit(self.planned_mutations(chosen), level).await;
        committed.map_err(|failure| match failure {
            // The statement must not run again, nor be taken for refused.
            Failure::Outdated | Failure::Refused(_) => Failure::Timeout { received: 0 },
            failure => failure,
        })
    }

    /// True if a proposal of the statement may be chosen yet: an error does not say that nothing is written.
    pub fn is_in_doubt(&self) -> bool {
        !self.doubts.is_empty()
    }

    /// True if [`Agreement::settle`] has something to do.
    pub fn is_pending(&self) -> bool {
        self.prepared.as_ref().is_some_and(|ready| ready.is_pending)
    }

    /// The promises of a majority for a new ballot: what each has shown, and whether the attempt may propose. `None`: others are ahead.
    async fn promises(
        &mut self,
        command: &[u8],
        limits: PageLimits,
        wants_committed: bool,
    ) -> Result<Option<(Ballot, Vec<Finding>, Vec<(NodeIndex, Page)>, bool)>, AgreementError> {
        self.prepared = None;
        let ballot = (self.new_ballot)(self.latest);
        assert!(self.latest < Some(ballot), "an attempt's ballots ascend");
        self.latest = Some(ballot);
        let (purpose, rows, bytes) = (self.purpose, limits.rows, limits.bytes);
        let prepare = Prepare { ballot, purpose, wants_committed, rows, bytes, command: command.to_vec() };
        let mut answers = self.electorate.prepare(&prepare, self.until).await;
        self.check(&answers).await?;
        let nodes: Vec<NodeIndex> = answers.done.iter().map(|(node, _)| *node).collect();
        if !self.electorate.is_majority(&nodes) {
            if answers.outrun.is_some() && !answers.is_late {
                return Ok(None);
            }
            return Err(self.error(self.electorate.failure(&answers)));
        }
        let findings = answers.done.iter_mut().map(|(node, promised)| Finding::of(*node, promised)).collect();
        let may_propose = answers.done.iter().all(|(_, promised)| promised.promise == Promise::Made);
        let pages = answers.done.into_iter().map(|(node, promised)| (node, promised.page)).collect();
        Ok(Some((ballot, findings, pages, may_propose)))
    }

    /// Has a proposal accepted that was found, and commits it. True: it is the statement's own.
    async fn finish(&mut self, proposal: Proposal) -> Result<bool, AgreementError> {
        stdx::sometimes!("a proposal of another is finished");
        match self.accept(proposal.clone()).await? {
            AcceptEnd::Chosen if self.chosen.is_some() => Ok(true),
            AcceptEnd::Chosen => {
                let mutations = self.planned_mutations(&proposal);
                let electors = Electors::of(&self.plan, self.token);
                let committed = self.agreements.writes.commit_for(mutations, electors).await;
                committed.map_err(|failure| self.error(failure))?;
                Ok(false)
            }
            AcceptEnd::Refused | AcceptEnd::InDoubt => {
                self.rest().await?;
                Ok(false)
            }
        }
    }

    /// Has a majority accept a proposal.
    async fn accept(&mut self, proposal: Proposal) -> Result<AcceptEnd, AgreementError> {
        let accept = Accept { table: self.table.id, key: self.key.to_vec(), proposal };
        let answers = self.electorate.accept(&accept, self.until).await;
        let nodes: Vec<NodeIndex> = answers.done.iter().map(|(node, ())| *node).collect();
        let are_refusals = answers.failed.iter().all(|(_, error)| is_refused_before(error));
        let has_effect = !nodes.is_empty() || !answers.open.is_empty() || !are_refusals;
        let proposal = accept.proposal;
        let is_own = self.doubts.has(&proposal);
        if is_own && !has_effect && proposal.ballot == proposal.original {
            self.doubts.pop();
        }
        self.check(&answers).await?;
        if self.electorate.is_majority(&nodes) {
            match is_own {
                true => self.chosen = Some(proposal),
                false => self.doubts.clear(),
            }
            return Ok(AcceptEnd::Chosen);
        }
        match has_effect {
            _ if answers.is_late => Err(self.error(self.electorate.failure(&answers))),
            true => Ok(AcceptEnd::InDoubt),
            false if answers.outrun.is_some() => Ok(AcceptEnd::Refused),
            false => Err(self.error(self.electorate.failure(&answers))),
        }
    }

    /// Takes note of ballots that are ahead. An error: the answers are to a plan that does not stand.
    async fn check<T>(&mut self, answers: &Answers<T>) -> Result<(), AgreementError> {
        if answers.outrun.is_some() {
            stdx::sometimes!("a ballot is outrun");
            self.latest = self.latest.max(answers.outrun);
        }
        let Shards { fence, .. } = &*self.agreements.shards;
        let nodes: Vec<NodeIndex> = answers.done.iter().map(|(node, _)| *node).collect();
        let judged = fence.judge(self.table.id, self.moment, self.plan.replication.placed(), true);
        let is_moved = !matches!(judged, Plan::Stands(_));
        match self.electorate.stale(answers) {
            Some((node, epoch)) if !self.electorate.is_majority(&nodes) => {
                let host = self.plan.nodes.ring().node(node).host_id;
                let time = self.until - self.agreements.shards.runtime.now();
                self.agreements.writes.catch_up(Some(host), epoch, time).await;
                Err(self.error(Failure::Outdated))
            }
            _ if is_moved => Err(self.error(Failure::Outdated)),
            _ => Ok(()),
        }
    }

    /// The end by a failure: the outcome of a proposal in doubt is unknown.
    fn error(&self, failure: Failure) -> AgreementError {
        match (self.doubts.is_empty(), failure) {
            (true, failure) => AgreementError::Failed(failure),
            (false, Failure::Timeout { received } | Failure::Failed { received, .. }) => {
                AgreementError::Unknown { received }
            }
            (false, _) => AgreementError::Unknown { received: 0 },
        }
    }

    /// An error: no further try is begun.
    fn may_try(&self) -> Result<(), AgreementError> {
        match self.agreements.shards.runtime.now() >= self.tries_until {
            false => Ok(()),
            true if self.doubts.is_empty() => Err(AgreementError::Contended),
            true => Err(AgreementError::Unknown { received: 0 }),
        }
    }

    /// Rests for a random time, so that another attempt gets through.
    async fn rest(&mut self) -> Result<(), AgreementError> {
        self.may_try()?;
        let runtime = &self.agreements.shards.runtime;
        let longest = REST.saturating_mul(1 << self.tries.min(8)).min(REST_MAX);
        self.tries += 1;
        let nanos = runtime.random_u64() % longest.as_nanos() as u64;
        runtime.sleep(Duration::from_nanos(nanos)).await;
        Ok(())
    }

    /// The mutations of a commit: the proposal's, and the register that says so.
    fn committed(&self, proposal: &Proposal) -> Vec<Vec<u8>> {
        let mut mark = Vec::with_capacity(128);
        let registers = [Register::Committed(proposal.commit())];
        encode_registers(&registers, self.table, (self.token, self.key), Kept::Always, &mut mark);
        // Last: where a long commit is applied in steps, a page that is read meanwhile has a part of it, and no mark says that it has all. Some of each majority then show
        // the proposal as unfinished, or lack what others have.
        let mut mutations = proposal.mutations.clone();
        mutations.push(mark);
        mutations
    }

    /// The same, planned by the present ring as a write that rests on what this attempt knows: a truncation since makes it void.
    fn planned_mutations(&self, proposal: &Proposal) -> Vec<PlannedMutation> {
        let replication =
            self.agreements.placement.replication_of(&self.table.keyspace, self.plan.replication.strategy());
        let planned = |mutation| PlannedMutation {
            replication: Rc::clone(&replication),
            token: self.token,
            shard: self.plan.shard,
            mutation,
            moment: self.moment,
        };
        self.committed(proposal).into_iter().map(planned).collect()
    }
}
