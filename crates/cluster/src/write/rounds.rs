//! A write in rounds: planned mutations go to their replicas, and what a change of the ring or of a table overtakes is planned again, within the write's time.
//!
//! | state | event | next |
//! |---|---|---|
//! | planned | ring and table are as planned | asked |
//! | planned | the table is gone | ended: unknown table |
//! | planned | derived, and the table was truncated since | dropped, which counts as done |
//! | planned | else | planned on the present ring, once this node has applied the change |
//! | asked | enough answers, by the ring of the plan and by the present one | ended: done |
//! | asked | enough answers, by the ring of the plan alone | planned, with the acknowledgements of nodes that are replicas still |
//! | asked | a replica is Stale, and the rest does not suffice | planned, with all acknowledgements |
//! | asked | the level cannot be reached | ended: the failure |
//! | any | the time is over | ended: a time-out |
//!
//! Only acknowledgements are carried over, and none over a truncation. A replica that was Stale when the write ended is sent its part once more, by a plan of then, without anybody waiting:
//! unless the table was truncated meanwhile, which takes along what others have acknowledged before. Where this node cannot follow the change in time, that
//! part is hinted, as of the round in which it was Stale.
//!
//! A write that is one record of one log at each place ends where its mutations are set apart when they are planned again: it was no batch of several places, and is one
//! now.
//!
//! Each round makes the hints of its own misses: what a truncation makes void of those before it is hinted again.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use runtime::{Elapsed, Group, Instant};
use topology::{ConsistencyLevel, Epoch, HostId, NodeIndex, Required};

use super::electors::Electors;
use super::missed::{Hinting, Missed, is_missed};
use super::parts::{Part, put};
use super::place::Place;
use super::planned::{PlannedMutation, by_shard, is_whole_everywhere};
use super::tally::{Answer, Stage, Tally, Verdict};
use super::writes::Writes;
use crate::counts::count;
use crate::fence::{Fence, NO_EPOCH, Plan};
use crate::hints::Ending;
use crate::outcome::Failure;
use crate::plan::{Nodes, Placement};
use crate::replica::{ReplicaError, ReplicaShard, WriteTerms};
use crate::timeouts::TimeoutKind;

/// Times that a part which was Stale after its write's end is planned again.
const LATE_TRIES: u8 = 4;
/// A write ends within so many times of its kind, the hints of a write at ANY included. A part that was Stale waits no longer to be hinted.
const ENDED_TIMES: u32 = 3;

/// How many replicas must have each mutation.
#[derive(Debug, Clone)]
pub(super) enum Needs {
    /// As many as the level asks for, by each mutation's own replication.
    Level(ConsistencyLevel),
    /// As many as the electorate of a plan.
    Electorate(Rc<Electors>),
    /// So many, whatever the replication.
    Fixed(Required),
}

impl Needs {
    pub(super) fn of(&self, planned: &PlannedMutation) -> Required {
        match self {
            Needs::Level(level) => planned.needs(*level).clone(),
            Needs::Electorate(electors) => electors.needs(&planned.replication, planned.token),
            Needs::Fixed(required) => required.clone(),
        }
    }
}

/// The kind of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    /// Synced on this node whatever the mode.
    pub(super) is_durable: bool,
    /// Made of what tables held before: dropped where such a table is truncated or gone.
    pub(super) is_derived: bool,
    /// Times that a part may still be planned again after the write's end.
    late_tries: u8,
    /// The hints of what is missed.
    hinting: Hinting,
    /// Synced on each replica whatever the mode.
    is_commit: bool,
    /// The kind whose time it has.
    timeout: TimeoutKind,
    /// Wall clock when the write began, microseconds since 1970; `None`: with its first round.
    created: Option<i64>,
    /// It ends where it is not one record of one log at each place any more, by a plan of later.
    is_one_record: bool,
}

impl Kind {
    /// A client's own.
    pub(super) const PLAIN: Kind = Kind {
        is_durable: false,
        is_derived: false,
        late_tries: LATE_TRIES,
        hinting: Hinting::Kept,
        is_commit: false,
        timeout: TimeoutKind::Write,
        created: None,
        is_one_record: false,
    };
    /// The states of counters.
    pub(super) const STATES: Kind = Kind { is_derived: true, timeout: TimeoutKind::CounterWrite, ..Kind::PLAIN };
    /// A logged batch.
    pub(super) const BATCH: Kind = Kind { is_durable: true, is_derived: true, ..Kind::PLAIN };
    /// The commit of what an electorate has chosen.
    pub(super) const COMMIT: Kind = Kind { is_commit: true, ..Kind::BATCH };
    /// A hint of a node that is no replica any more.
    pub(super) const HINT: Kind = Kind::BATCH;

    /// The same with other hints.
    pub(super) fn with_hints(self, hinting: Hinting) -> Kind {
        Kind { hinting, ..self }
    }

    /// The same of a write that began at a time, by the wall clock.
    pub(super) fn since(self, created: i64) -> Kind {
        Kind { created: Some(created), ..self }
    }

    /// A part of it that is planned again after the write's end. A truncation since takes it along with what was acknowledged before.
    fn late(self) -> Kind {
        let hinting = if self.hinting == Hinting::None { Hinting::None } else { Hinting::Kept };
        Kind { is_derived: true, late_tries: self.late_tries - 1, hinting, is_one_record: false, ..self }
    }
}

/// A write between two rounds.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) planned: Vec<PlannedMutation>,
    /// The nodes that have acknowledged each mutation; empty before the first round.
    acknowledged: Vec<Vec<HostId>>,
    /// The tally of the last round, which ends when the next one is sent, or none is.
    last: Option<Rc<Tally>>,
    /// It was planned again since that round.
    is_planned_again: bool,
}

/// The end of a write's rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// Each mutation has what it needs.
    Done,
    /// The write was to be one record at each place, and is none any more. What was sent may be done.
    Apart,
}

/// The plans of a write.
enum Judged {
    /// They are as they would be now, and rest on this epoch.
    Stand(Epoch),
    /// Some do not know a change of this epoch, which may be under way.
    Missing(Epoch),
}

/// A round under way.
struct Sent {
    nodes: Rc<Nodes>,
    planned: Rc<Vec<PlannedMutation>>,
    /// The nodes that had acknowledged each mutation before.
    acknowledged: Vec<Vec<HostId>>,
    tally: Rc<Tally>,
    missed: Rc<Missed>,
}

/// A part of a round, on its way to its place.
struct Sending {
    part: Part,
    nodes: Rc<Nodes>,
    write: Rc<Vec<PlannedMutation>>,
    tally: Rc<Tally>,
    missed: Rc<Missed>,
}

/// The end of a round.
enum Round {
    /// Each mutation has what it needs by the ring of its plan.
    Done(Pending),
    /// A replica is ahead of the plan.
    Stale(Pending, HostId, Epoch),
}

impl Writes {
    /// Writes mutations that one ring planned.
    pub(super) async fn write_planned(
        self: &Rc<Self>,
        planned: Vec<PlannedMutation>,
        needs: Needs,
        kind: Kind,
    ) -> Result<(), Failure> {
        let mut pending = Pending::new(planned);
        let ended = self.write_pending(&mut pending, &needs, kind).await?;
        assert_eq!(ended, Ended::Done, "a write of several records ends as it is");
        Ok(())
    }

    /// Writes mutations that are one record of one log at each place. Gives them back, perhaps done in part, if they are not any more: a change of the ring has set them
    /// apart before they were acknowledged.
    pub(super) async fn write_as_one(
        self: &Rc<Self>,
        planned: Vec<PlannedMutation>,
        level: ConsistencyLevel,
    ) -> Result<Option<Vec<PlannedMutation>>, Failure> {
        let kind = Kind { is_one_record: true, ..Kind::PLAIN.with_hints(Hinting::of(level)) };
        let mut pending = Pending::new(planned);
        let ended = self.write_pending(&mut pending, &Needs::Level(level), kind).await?;
        Ok((ended == Ended::Apart).then_some(pending.planned))
    }

    async fn write_pending(
        self: &Rc<Self>,
        pending: &mut Pending,
        needs: &Needs,
        kind: Kind,
    ) -> Result<Ended, Failure> {
        let until = self.shards.runtime.now() + self.shards.timeouts.get(kind.timeout);
        let written = self.write_rounds(pending, (needs, kind), until).await;
        // Nothing of it was sent since.
        pending.end_last(Stage::Over);
        written
    }

    async fn write_rounds(
        self: &Rc<Self>,
        pending: &mut Pending,
        (needs, mut kind): (&Needs, Kind),
        until: Instant,
    ) -> Result<Ended, Failure> {
        let runtime = &self.shards.runtime;
        let fence = &self.shards.fence;
        loop {
            let rests_on = self.settle(pending, kind, until - runtime.now()).await?;
            if pending.planned.is_empty() {
                return Ok(Ended::Done);
            }
            let is_planned_again = std::mem::take(&mut pending.is_planned_again);
            if kind.is_one_record && is_planned_again && !is_whole_everywhere(&pending.planned) {
                stdx::sometimes!("a batch of one record is set apart");
                return Ok(Ended::Apart);
            }
            if pending.acknowledged.is_empty() && is_local(&pending.planned, needs) {
                match self.write_locally(pending, kind, rests_on).await {
                    Err(ReplicaError::Stale { epoch, .. }) if !pending.planned.is_empty() => {
                        self.catch_up(None, epoch, until - runtime.now()).await;
                        if runtime.now() >= until {
                            return Err(Failure::Timeout { received: 0 });
                        }
                        continue;
                    }
                    // Its only part was not done, and its bytes are gone: its statement is planned again.
                    Err(ReplicaError::Stale { epoch, .. }) => {
                        self.catch_up(None, epoch, until - runtime.now()).await;
                        return Err(Failure::Outdated);
                    }
                    written => return Ok(written.map(|()| Ended::Done)?),
                }
            }
            // All rounds are of one write.
            kind.created.get_or_insert_with(|| runtime.wall_clock_micros());
            let before = std::mem::take(pending);
            match self.round(before, needs, (kind, rests_on), until - runtime.now()).await? {
                Round::Done(next) => {
                    *pending = next;
                    if !fence.is_placed_otherwise(rests_on) {
                        return Ok(Ended::Done);
                    }
                }
                Round::Stale(next, node, epoch) => {
                    *pending = next;
                    self.catch_up(Some(node), epoch, until - runtime.now()).await;
                }
            }
            stdx::sometimes!("a write is planned again");
            count(&self.shards.counts.planned_again);
        }
    }

    /// Follows a node up to an epoch that it answered with.
    pub(crate) async fn catch_up(&self, node: Option<HostId>, epoch: Epoch, time: Duration) {
        // Too late, or not yet: the next look at the plan and the clock says which.
        let _ = self.has_caught_up(node, epoch, time).await;
    }

    /// The same. False: not within the time.
    async fn has_caught_up(&self, node: Option<HostId>, epoch: Epoch, time: Duration) -> bool {
        self.shards.runtime.timeout(time, self.shards.fence.catch_up_after(node, epoch)).await == Ok(true)
    }

    /// Sees to it that all plans are as they would be now. Gives the epoch that they rest on, which this node has applied.
    pub(super) async fn settle(&self, pending: &mut Pending, kind: Kind, time: Duration) -> Result<Epoch, Failure> {
        if let Judged::Stand(epoch) = self.judge_all(pending, kind)?
            && self.shards.fence.has_applied(epoch)
        {
            return Ok(epoch);
        }
        let received = pending.received();
        match self.shards.runtime.timeout(time, self.settle_in_time(pending, kind)).await {
            Ok(Err(Failure::Timeout { .. })) | Err(Elapsed) => Err(Failure::Timeout { received }),
            Ok(settled) => settled,
        }
    }

    async fn settle_in_time(&self, pending: &mut Pending, kind: Kind) -> Result<Epoch, Failure> {
        let fence = &self.shards.fence;
        loop {
            match self.judge_all(pending, kind)? {
                // Nothing is sent before the node's other shards have applied it too.
                Judged::Stand(epoch) if fence.has_applied(epoch) => return Ok(epoch),
                Judged::Stand(epoch) if fence.catch_up(None, epoch).await => {}
                Judged::Missing(epoch) if fence.catch_up(None, epoch).await => {
                    pending.plan_again(&self.placement, fence);
                }
                Judged::Stand(_) | Judged::Missing(_) => return Err(Failure::Timeout { received: 0 }),
            }
        }
    }

    /// Judges all plans in one call. Derived mutations that count no more are dropped.
    fn judge_all(&self, pending: &mut Pending, kind: Kind) -> Result<Judged, Failure> {
        let fence = &self.shards.fence;
        let (mut rests_on, mut missing) = (NO_EPOCH, None);
        let mut counts_no_more = Vec::new();
        for (index, planned) in pending.planned.iter().enumerate() {
            let judge = |table| fence.judge(table, planned.moment, planned.replication.placed(), kind.is_derived);
            match planned.table().map_or(Plan::Stands(NO_EPOCH), judge) {
                Plan::Stands(epoch) => rests_on = rests_on.max(epoch),
                Plan::Outdated(epoch) => missing = missing.max(Some(epoch)),
                Plan::Truncated | Plan::Gone if kind.is_derived => counts_no_more.push(index),
                Plan::Truncated | Plan::Gone => {
                    return Err(Failure::Refused(ReplicaError::UnknownTable { shard: ReplicaShard::here() }));
                }
            }
        }
        if !counts_no_more.is_empty() {
            stdx::sometimes!("a derived write is dropped");
            pending.remove(&counts_no_more);
        }
        Ok(missing.map_or(Judged::Stand(rests_on), Judged::Missing))
    }

    /// Writes where this node is the only replica of all, and enough. A write to one shard is handed to it whole: then nothing is left of it.
    async fn write_locally(&self, pending: &mut Pending, kind: Kind, planned: Epoch) -> Result<(), ReplicaError> {
        let terms = WriteTerms { durable: kind.is_durable, planned };
        let is_of_one_shard = pending.planned.windows(2).all(|pair| pair[0].shard == pair[1].shard);
        // A logged batch has a copy of its own.
        let parts = match is_of_one_shard || kind.is_durable || !self.shards.fence.is_closed() {
            true => std::mem::take(&mut pending.planned),
            false => pending.planned.clone(),
        };
        self.shards.write_all(by_shard(parts), terms).await
    }

    /// Sends each mutation to its live replicas and counts their answers. Who answers late is not waited for, and has a hint if it does not answer at
    /// all, as have those that are down.
    async fn round(
        self: &Rc<Self>,
        pending: Pending,
        needs: &Needs,
        (kind, rests_on): (Kind, Epoch),
        time: Duration,
    ) -> Result<Round, Failure> {
        let sent = self.send(pending, needs, (kind, rests_on));
        let (tally, ring) = (&sent.tally, sent.nodes.ring());
        let verdict = self.verdict(&sent, time).await;
        // They go to the replicas of then, whatever the ring is by now.
        let is_short = matches!(verdict, Verdict::Failed(_) | Verdict::Open);
        let has_hints = is_short && sent.missed.suffice(&tally.unmet(ring));
        sent.missed.end();
        match verdict {
            _ if has_hints => {
                tally.end(Stage::Over);
                Ok(Round::Done(Pending::default()))
            }
            Verdict::Failed(failure) => {
                tally.end(Stage::Over);
                Err(failure)
            }
            Verdict::Stale(node, epoch) => Ok(Round::Stale(sent.pending(), ring.node(node).host_id, epoch)),
            Verdict::Done | Verdict::Open if self.shards.fence.is_placed_otherwise(rests_on) => {
                Ok(Round::Done(sent.pending()))
            }
            Verdict::Done | Verdict::Open => {
                tally.end(Stage::Over);
                Ok(Round::Done(Pending::default()))
            }
        }
    }

    /// Sends each mutation to its live replicas that have not acknowledged it, and makes the hints of those that are down.
    fn send(self: &Rc<Self>, mut pending: Pending, needs: &Needs, (kind, rests_on): (Kind, Epoch)) -> Sent {
        // This round has all that the last one did not.
        pending.end_last(Stage::Superseded);
        let Pending { planned, acknowledged, .. } = pending;
        let nodes = Rc::clone(planned[0].replication.nodes());
        let planned = Rc::new(planned);
        let tally = Rc::new(Tally::new(self.shards.storage.planted()));
        let at = (nodes.ring().epoch(), kind.created);
        let missed = Rc::new(Missed::new(self.hints.as_ref(), kind.hinting, at, planned.len(), tally.signal()));
        let (mut parts, mut absent): (Vec<Part>, Vec<Part>) = (Vec::new(), Vec::new());
        for (index, of) in planned.iter().enumerate() {
            let hosts = acknowledged.get(index).map_or(&[][..], Vec::as_slice);
            assert_eq!(of.replication.epoch(), nodes.ring().epoch(), "a write is planned by one ring");
            let has_it = |node: &NodeIndex| hosts.contains(&nodes.ring().node(*node).host_id);
            let (mut written, mut contacts) = (Vec::new(), Vec::new());
            for &node in of.replicas() {
                match () {
                    () if has_it(&node) => written.push(node),
                    () if nodes.is_alive(node) => {
                        put(&mut parts, Place::of(node, of.shard, &nodes), index);
                        contacts.push(node);
                    }
                    // It is down, and misses it.
                    () => put(&mut absent, Place::There(node), index),
                }
            }
            tally.push(needs.of(of), written, contacts);
        }
        for part in absent {
            part.is_missed(&missed, &nodes, &planned);
        }
        let terms = WriteTerms { durable: kind.is_durable, planned: rests_on };
        for part in parts {
            let (nodes, write) = (Rc::clone(&nodes), Rc::clone(&planned));
            let sending = Sending { part, nodes, write, tally: Rc::clone(&tally), missed: Rc::clone(&missed) };
            let writes = Rc::clone(self);
            self.shards.runtime.spawn(Group::Query, async move { writes.send_part(&sending, kind, terms).await });
        }
        Sent { nodes, planned, acknowledged, tally, missed }
    }

    /// Sends a part, counts its answer, and hints it if there is none.
    async fn send_part(self: &Rc<Self>, sending: &Sending, kind: Kind, terms: WriteTerms) {
        let Sending { part, nodes, write, tally, .. } = sending;
        // What this node writes itself is waited for elsewhere.
        let ending = self.hints.as_ref().map(|hints| &hints.ending).filter(|_| matches!(part.place, Place::There(_)));
        let _open = ending.map(Ending::open_part);
        let mutations = part.mutations(write);
        let terms = (terms, self.shards.timeouts.get(kind.timeout));
        let writing = part.place.write(&self.shards, nodes, &mutations, terms, kind.is_commit);
        let (node, answer) = match (ending, part.place) {
            (Some(ending), Place::There(node)) => ending.cuts(writing).await.unwrap_or((node, Answer::Silent)),
            _ => writing.await,
        };
        if is_missed(&answer) {
            sending.is_missed();
        }
        tally.count(node, &part.indices, &answer);
        if let Answer::Refused(ReplicaError::Stale { epoch, .. }) = answer {
            let late = self.when_over(sending, kind, (nodes.ring().node(node).host_id, epoch));
            let is_written = match ending {
                Some(ending) => ending.cuts(late).await.unwrap_or(false),
                None => late.await,
            };
            if !is_written {
                sending.is_missed();
            }
        }
    }

    /// Waits for the answers that decide a round, or until its time is over. Open: hints suffice.
    async fn verdict(&self, Sent { nodes, tally, missed, .. }: &Sent, time: Duration) -> Verdict {
        let counting = async {
            loop {
                let verdict = tally.verdict(nodes.ring());
                if !missed.may_suffice() || matches!(verdict, Verdict::Done | Verdict::Stale(..)) {
                    match verdict {
                        Verdict::Open => tally.changed().await,
                        verdict => return verdict,
                    }
                    continue;
                }
                let unmet = tally.unmet(nodes.ring());
                if missed.suffice(&unmet) {
                    return Verdict::Open;
                }
                // Where all may be answered yet, the hints are synced when they are written.
                if !tally.may_all_be_answered(&unmet) {
                    missed.hurry();
                }
                // What is still open may have a hint yet.
                if matches!(verdict, Verdict::Failed(_)) {
                    if let Some((node, epoch)) = tally.stale() {
                        return Verdict::Stale(node, epoch);
                    }
                    if !tally.is_open() && !missed.are_on_their_way(&unmet) {
                        return verdict;
                    }
                }
                tally.changed().await;
            }
        };
        match self.shards.runtime.timeout(missed.patience(time), counting).await {
            Ok(verdict) => verdict,
            Err(Elapsed) => Verdict::Failed(tally.timeout(nodes.ring())),
        }
    }

    /// Waits until a write is over of which a replica was Stale, and sends that part again, by a plan of then. True also if the write has gone on: then it was
    /// planned again as a whole. False: the replica lacks the part.
    async fn when_over(
        self: &Rc<Self>,
        Sending { part, write, tally, .. }: &Sending,
        kind: Kind,
        (node, epoch): (HostId, Epoch),
    ) -> bool {
        let time = self.shards.timeouts.get(kind.timeout);
        match self.shards.runtime.timeout(time.saturating_mul(ENDED_TIMES), tally.ended()).await {
            Ok(Stage::Superseded) => return true,
            Ok(Stage::Over | Stage::Counting) => {}
            Err(Elapsed) => return false,
        }
        if kind.late_tries == 0 || !self.has_caught_up(Some(node), epoch, time).await {
            return false;
        }
        stdx::sometimes!("a part is planned again after its write");
        let late: Vec<PlannedMutation> = part.indices.iter().map(|&index| write[index].clone()).collect();
        let sent: Pin<Box<dyn Future<Output = Result<(), Failure>> + '_>> =
            Box::pin(self.write_planned(late, Needs::Fixed(Required::Total(0)), kind.late()));
        sent.await.inspect_err(|error| tracing::debug!(%error, "cannot plan a part of a write again")).is_ok()
    }
}

impl Sending {
    /// Has the part hinted, as of this round.
    fn is_missed(&self) {
        self.part.is_missed(&self.missed, &self.nodes, &self.write);
    }
}

impl Pending {
    pub(super) fn new(planned: Vec<PlannedMutation>) -> Pending {
        Pending { planned, ..Pending::default() }
    }

    /// Plans all again, as ring and tables are now. An acknowledgement from before a truncation is of a row that the truncation took.
    fn plan_again(&mut self, placement: &Placement, fence: &Fence) {
        self.is_planned_again = true;
        for (index, planned) in self.planned.iter_mut().enumerate() {
            let is_truncated = planned.table().is_some_and(|table| fence.is_truncated_since(table, planned.moment));
            if let Some(hosts) = self.acknowledged.get_mut(index).filter(|_| is_truncated) {
                stdx::sometimes!("an acknowledgement is truncated");
                hosts.clear();
            }
            planned.plan_again(placement, fence);
        }
    }

    /// Removes the mutations at `indices`, which are in order.
    fn remove(&mut self, indices: &[usize]) {
        fn keep<T>(all: &mut Vec<T>, removed: &[usize]) {
            let mut index = 0..;
            all.retain(|_| index.next().is_some_and(|index| removed.binary_search(&index).is_err()));
        }
        keep(&mut self.planned, indices);
        keep(&mut self.acknowledged, indices);
    }

    /// Ends the last round, if there was one.
    fn end_last(&mut self, stage: Stage) {
        if let Some(tally) = self.last.take() {
            tally.end(stage);
        }
    }

    /// The acknowledgements that the mutation with the fewest has.
    fn received(&self) -> u32 {
        let fewest = self.acknowledged.iter().map(Vec::len).min().unwrap_or(0);
        u32::try_from(fewest).unwrap_or(u32::MAX)
    }
}

impl Sent {
    /// Its mutations, each with all nodes that have acknowledged it so far.
    fn pending(&self) -> Pending {
        let host = |node: NodeIndex| self.nodes.ring().node(node).host_id;
        let mut all = self.acknowledged.clone();
        all.resize_with(self.planned.len(), Vec::new);
        for (hosts, written) in all.iter_mut().zip(self.tally.written()) {
            let new: Vec<HostId> = written.into_iter().map(host).filter(|id| !hosts.contains(id)).collect();
            hosts.extend(new);
        }
        let last = Some(Rc::clone(&self.tally));
        Pending { planned: self.planned.to_vec(), acknowledged: all, last, is_planned_again: false }
    }
}

/// True if this node is the only replica of all, and enough.
fn is_local(planned: &[PlannedMutation], needs: &Needs) -> bool {
    planned.iter().all(|planned| match needs {
        Needs::Level(level) => planned.is_local(planned.needs(*level)),
        Needs::Electorate(_) => planned.is_local(&needs.of(planned)),
        Needs::Fixed(required) => planned.is_local(required),
    })
}
