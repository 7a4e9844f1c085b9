//! Delivers hints: to each target that is up, file by file, and to the present replicas what is for a node that is none any more.
//!
//! ```text
//! target is up, or left the ring ─► its oldest file, sealed ─► each hint: void · sent · through the coordinator ─► all done ─► removed
//!                                                                  ├ refused for now ─► put back into a later file
//!                                                                  └ target is silent ─► position kept, the target rests
//! ```
//!
//! While this node leaves, no target is waited for: what a target or the present replicas do not take is handed to a node that stays.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use mutation::MutationRef;
use planted::Bug;
use runtime::{Group, Instant};
use schema::TableId;
use topology::{ConsistencyLevel, Epoch, HostId, NodeIndex, Token};

use super::figures::add;
use super::flight::{Flight, RefusedHint, Sent};
use super::keep::Hints;
use super::pace::Throttle;
use super::reader::{Hint, HintReader};
use super::record::Start;
use super::target::HintFile;
use crate::fence::{NO_EPOCH, Plan};
use crate::plan::{Nodes, Placement, Replication};
use crate::replica::{ReplicaError, ReplicaShard, ask_to_write_in_bulk};
use crate::write::{PlannedMutation, Writes};

/// Time that a target has for one hint, and the bytes a second beyond that which a way to it has at least.
const ANSWER_TIME: Duration = Duration::from_secs(10);
const BYTES_A_SECOND: usize = 256 << 10;
/// Age of a file from which hints that are refused are put back though nothing else waits for the target: else the file would end its window.
const RENEW_AFTER: Duration = Duration::from_secs(600);
/// Time between two looks at who is up, and the first rest of a target.
const LOOK: Duration = Duration::from_secs(1);
/// The longest rest of a target.
const REST_MAX: Duration = Duration::from_secs(30);
/// Delivered bytes after which the position is kept.
const NOTE_BYTES: u64 = 4 << 20;

/// Finds the replication of a table's keyspace; `None`: the table is gone.
pub(crate) type Lookup = Rc<dyn Fn(TableId) -> Option<Rc<Replication>>>;

/// Delivers a shard's hints.
pub(crate) struct Delivery {
    hints: Rc<Hints>,
    writes: Rc<Writes>,
    placement: Rc<Placement>,
    lookup: Lookup,
    /// Targets that are delivered to now, or that rest.
    targets: RefCell<BTreeMap<HostId, TargetState>>,
}

/// A target that something was to be delivered to.
#[derive(Debug, Clone, Copy)]
enum TargetState {
    Delivering,
    Resting { until: Instant, rest: Duration },
}

/// The end of a pass over a file.
struct Pass {
    /// Nothing of the file is needed any more.
    is_done: bool,
    /// Hints that are done.
    done: u64,
    /// Some are in a later file now.
    has_put_back: bool,
}

/// The way of one hint's mutations, planned now.
struct Ways {
    to_target: Vec<Vec<u8>>,
    to_replicas: Vec<PlannedMutation>,
    /// The epoch that the plan rests on.
    planned: Epoch,
    /// Wall clock when the write began.
    created: i64,
}

impl Delivery {
    /// Begins to deliver.
    pub(crate) fn start(hints: &Rc<Hints>, writes: &Rc<Writes>, placement: &Rc<Placement>, lookup: Lookup) {
        let (hints, writes, placement) = (Rc::clone(hints), Rc::clone(writes), Rc::clone(placement));
        let runtime = hints.runtime.clone();
        let delivery = Rc::new(Delivery { hints, writes, placement, lookup, targets: RefCell::default() });
        drop(runtime.spawn(Group::Streaming, delivery.run()));
    }

    async fn run(self: Rc<Self>) {
        loop {
            let pending = self.hints.store.pending_hosts();
            self.targets.borrow_mut().retain(|host, state| match state {
                TargetState::Delivering => true,
                TargetState::Resting { .. } => pending.contains(host),
            });
            if pending.is_empty() {
                self.hints.store.changed().await;
                continue;
            }
            for host in pending {
                if let Some(rest) = self.may_begin(host) {
                    self.targets.borrow_mut().insert(host, TargetState::Delivering);
                    let delivery = Rc::clone(&self);
                    drop(self.hints.runtime.spawn(Group::Streaming, delivery.deliver_to(host, rest)));
                }
            }
            self.hints.runtime.sleep(LOOK).await;
        }
    }

    /// Gives the next rest if a delivery to the target may begin now.
    fn may_begin(&self, host: HostId) -> Option<Duration> {
        let rest = match self.targets.borrow().get(&host) {
            None => LOOK,
            Some(TargetState::Delivering) => return None,
            Some(TargetState::Resting { until, .. }) if *until > self.hints.runtime.now() => return None,
            Some(TargetState::Resting { rest, .. }) => *rest,
        };
        self.may_deliver(host).then_some(rest)
    }

    /// True if the target can be reached, or is not of the ring any more; and of each where this node leaves, whatever an operator has paused.
    fn may_deliver(&self, host: HostId) -> bool {
        let is_gone = index_of(&self.placement.nodes(), host).is_none();
        self.is_leaving() || !self.hints.is_paused() && (is_gone || self.placement.is_up(host))
    }

    /// True if this node hands on what it keeps.
    fn is_leaving(&self) -> bool {
        self.placement.is_leaving(self.placement.nodes().ring().local_node().host_id)
    }

    /// Delivers a target's files until none is left, or the target does not take them. What it refuses of one file waits in a later one for the next run.
    async fn deliver_to(self: Rc<Self>, host: HostId, rest: Duration) {
        let (hints, mut throttle) = (&self.hints, Throttle::new(self.hints.runtime.now()));
        let (mut delivered, mut newest) = (0, None);
        while let Some(file) = hints.store.next_file(host).await {
            let newest_before = hints.store.newest_ms();
            if newest.is_none_or(|newest| file.created_ms <= newest) {
                let pass = Rc::clone(&self).deliver_file(host, &file, &mut throttle).await;
                delivered += pass.done;
                if pass.has_put_back {
                    newest.get_or_insert(newest_before);
                }
                if pass.is_done || hints.planted().is(Bug::HintRemovedUndelivered) {
                    hints.store.remove(host, &file).await;
                    continue;
                }
            }
            let rest = if delivered > 0 || self.is_leaving() { LOOK } else { (rest * 2).min(REST_MAX) };
            let until = hints.runtime.now() + rest;
            self.targets.borrow_mut().insert(host, TargetState::Resting { until, rest });
            return;
        }
        tracing::info!(%host, hints = delivered, "delivered all hints");
        self.targets.borrow_mut().remove(&host);
    }

    /// Delivers what is left of a file.
    async fn deliver_file(self: Rc<Self>, host: HostId, file: &HintFile, throttle: &mut Throttle) -> Pass {
        let store = &self.hints.store;
        let position = store.position(file).await;
        let flight = Rc::new(Flight::new(position));
        let opened = HintReader::open(&self.hints.runtime, &file.path, position).await;
        let read = match opened {
            Ok(mut reader) => {
                let sent = self.send_all(host, file, &mut reader, &flight, throttle).await;
                if reader.damaged() > 0 {
                    tracing::error!(
                        path = %file.path.display(), bytes = reader.damaged(),
                        "hints are damaged; what could be read is delivered, the rest is lost until it is repaired"
                    );
                }
                sent
            }
            Err(error) => Err(error),
        };
        flight.landed().await;
        let is_at_end = *read.as_ref().unwrap_or(&false);
        let has_put_back = self.put_back(host, file, &flight, is_at_end).await;
        if let Err(error) = read {
            store.failed(host, file, &error).await;
        }
        let is_done = is_at_end && flight.is_done();
        if !is_done && flight.position() > position {
            store.note_position(host, file, flight.position()).await;
        }
        Pass { is_done, done: flight.done(), has_put_back }
    }

    /// Puts the hints that the target refused into a later file, unless nothing else waits for the target: so they are in the way of no other. True: some
    /// were.
    async fn put_back(&self, host: HostId, file: &HintFile, flight: &Flight, is_at_end: bool) -> bool {
        let store = &self.hints.store;
        let has_others = flight.done() > 0 || !is_at_end || store.has_more(host, file);
        let is_silent = flight.has_failed() && flight.done() == 0;
        if is_silent || !(has_others || store.age(file) > RENEW_AFTER) {
            return false;
        }
        let mut has_put_back = false;
        for hint in flight.refused() {
            // An operator may have removed them.
            if !store.has(host, file) || !self.put_one_back(host, file, hint).await {
                break;
            }
            flight.was_put_back(hint);
            has_put_back = true;
        }
        has_put_back
    }

    /// Reads a hint again and appends it to the target's open file with its own start. False: it has no room there, or cannot be read.
    async fn put_one_back(&self, host: HostId, file: &HintFile, hint: RefusedHint) -> bool {
        let read = async {
            let mut reader = HintReader::open(&self.hints.runtime, &file.path, hint.start).await?;
            reader.next().await
        };
        match read.await {
            Ok(Some(hint)) => {
                let mutations: Vec<&[u8]> = hint.mutations.iter().map(Vec::as_slice).collect();
                self.hints.store.put_back(host, &hint.start, &mutations).await
            }
            Ok(None) | Err(_) => false,
        }
    }

    /// Sends a file's hints. True: none is left to be sent.
    async fn send_all(
        self: &Rc<Self>,
        host: HostId,
        file: &HintFile,
        reader: &mut HintReader,
        flight: &Rc<Flight>,
        throttle: &mut Throttle,
    ) -> std::io::Result<bool> {
        let (hints, mut noted) = (&self.hints, flight.position());
        while let Some(hint) = reader.next().await? {
            if !self.may_deliver(host) || !hints.store.has(host, file) {
                flight.stop();
            }
            if !flight.room(hint.bytes).await {
                return Ok(false);
            }
            let (end, bytes) = (hint.end, hint.bytes);
            let ways = self.ways_of(host, hint);
            let number = flight.begin(end, bytes);
            if ways.to_target.is_empty() && ways.to_replicas.is_empty() {
                flight.end(number, bytes, Sent::Done, None);
            } else {
                throttle.take(&hints.runtime, bytes, self.rate()).await;
                let (delivery, flight) = (Rc::clone(self), Rc::clone(flight));
                drop(hints.runtime.spawn(Group::Streaming, async move {
                    let (sent, time) = delivery.send(host, ways).await;
                    flight.end(number, bytes, sent, time);
                }));
            }
            if flight.position() - noted > NOTE_BYTES {
                noted = flight.position();
                hints.store.note_position(host, file, noted).await;
            }
            hints.runtime.maybe_yield().await;
        }
        Ok(true)
    }

    /// Bytes a second that this shard sends to one target.
    fn rate(&self) -> u64 {
        let (throttle, runtime) = (self.hints.throttle(), &self.hints.runtime);
        let others = self.placement.nodes().ring().nodes().len().saturating_sub(1).max(1) as u64;
        // A limit of less than a byte is still one.
        if throttle == 0 { 0 } else { (throttle / others / u64::from(runtime.shard_count())).max(1) }
    }

    /// Finds where the mutations of a hint belong now. Those that are void belong nowhere.
    fn ways_of(&self, host: HostId, hint: Hint) -> Ways {
        let nodes = self.placement.nodes();
        let target = index_of(&nodes, host);
        let (fence, moment) = (self.writes.fence(), self.writes.fence().moment());
        let created = hint.start.created;
        let mut ways = Ways { to_target: Vec::new(), to_replicas: Vec::new(), planned: NO_EPOCH, created };
        let count = hint.mutations.len();
        for mutation in hint.mutations {
            let Some((table, token, replication)) = self.belongs(&hint.start, &mutation) else { continue };
            // A plan of this moment stands, unless its table is gone.
            let Plan::Stands(planned) = fence.judge(table, moment, replication.placed(), false) else { continue };
            ways.planned = ways.planned.max(planned);
            // From a replica that loses the range its successor may have copied what it had already.
            let takes = |target: &NodeIndex| {
                let is_written = replication.written(token, ConsistencyLevel::All).0.contains(target);
                let is_taken = replication.is_taken_from(*target, token);
                is_written && !is_taken || self.hints.planted().is(Bug::HintToAFormerReplica)
            };
            match target.filter(takes) {
                Some(_) => ways.to_target.push(mutation),
                None => {
                    let shard = self.writes.owner(token);
                    ways.to_replicas.push(PlannedMutation { replication, token, shard, mutation, moment });
                }
            }
        }
        let void = count - ways.to_target.len() - ways.to_replicas.len();
        if void > 0 {
            stdx::sometimes!("void hint");
            add(&self.hints.counts.void, void as u64);
        }
        ways
    }

    /// The table and token of a mutation, and its present replicas; `None`: it is void.
    fn belongs(&self, start: &Start, mutation: &[u8]) -> Option<(TableId, Token, Rc<Replication>)> {
        let hints = &self.hints;
        let mutation = MutationRef::decode(mutation).ok()?;
        let (table, token) = (mutation.table(), mutation.token());
        let grace = Duration::from_secs(storage::grace_seconds(&hints.storage, table)?.into());
        let age = hints.runtime.wall_clock_micros().saturating_sub(start.created);
        let is_too_old = u128::try_from(age).is_ok_and(|age| age > grace.as_micros());
        let is_truncated = storage::is_truncated_after(&hints.storage, table, start.position)
            && !hints.planted().is(Bug::HintOutlivesTruncate);
        let replication = (self.lookup)(table)?;
        (!is_too_old && !is_truncated).then_some((table, token, replication))
    }

    /// Sends a hint, and gives the time that its target took.
    async fn send(&self, host: HostId, ways: Ways) -> (Sent, Option<Duration>) {
        let counts = &self.hints.counts;
        let Ways { to_target, to_replicas, planned, created } = ways;
        let (mut time, mut is_refused) = (None, false);
        if !to_target.is_empty() {
            let began = self.hints.runtime.now();
            match self.send_to(host, &to_target, planned).await {
                Ok(()) => {}
                Err(error) if is_final(&error) => {
                    tracing::warn!(%host, %error, "node refused a hint; it is dropped");
                    add(&counts.failed, 1);
                    is_refused = true;
                }
                Err(error) => {
                    if let ReplicaError::Stale { epoch, .. } = error {
                        // Planned again when this node has applied that too: by then it may be void.
                        self.writes.catch_up(Some(host), epoch, ANSWER_TIME).await;
                    }
                    if !self.hand_over(&to_target, (created, planned)).await {
                        tracing::debug!(%host, %error, "hint not taken; retrying");
                        return (self.not_taken(host, &error), None);
                    }
                }
            }
            time = Some(self.hints.runtime.now() - began);
        }
        if !to_replicas.is_empty() {
            stdx::sometimes!("hint through the coordinator");
            // They are needed a second time only where this node leaves.
            let leaving = to_replicas.iter().filter(|_| self.is_leaving());
            let copies: Vec<Vec<u8>> = leaving.map(|planned| planned.mutation.clone()).collect();
            if let Err(error) = self.writes.write_rerouted(to_replicas, created).await
                && !self.hand_over(&copies, (created, planned)).await
            {
                tracing::debug!(%host, %error, "hint of a former replica not taken by the present ones; retrying");
                // Others may be of other replicas.
                return (Sent::Refused, time);
            }
            add(&counts.rerouted, 1);
        }
        if !is_refused {
            stdx::sometimes!("hint delivered");
            add(&counts.delivered, 1);
        }
        (Sent::Done, time)
    }

    /// Where this node leaves: hands what was not taken to a node that stays. False: it stays here.
    async fn hand_over(&self, mutations: &[Vec<u8>], (created, planned): (i64, Epoch)) -> bool {
        if !self.is_leaving() || mutations.is_empty() {
            return false;
        }
        match self.writes.hand_over(created, mutations, planned).await {
            Ok(()) => true,
            Err((node, error)) => {
                if let ReplicaError::Stale { epoch, .. } = error {
                    self.writes.catch_up(Some(node), epoch, ANSWER_TIME).await;
                }
                tracing::debug!(%node, %error, "hint not handed over; retrying");
                false
            }
        }
    }

    /// The outcome of a hint with this error: where the target is there, others may be taken. What a change that was not known here made stale is planned
    /// again together with all that follows.
    fn not_taken(&self, host: HostId, error: &ReplicaError) -> Sent {
        match error {
            ReplicaError::Stale { .. } | ReplicaError::Lags { .. } => Sent::Again,
            // Silent; the connection for requests says whether the node is.
            ReplicaError::Gone { .. } if !self.placement.is_up(host) => Sent::Again,
            _ => Sent::Refused,
        }
    }

    async fn send_to(&self, host: HostId, mutations: &[Vec<u8>], planned: Epoch) -> Result<(), ReplicaError> {
        let nodes = self.placement.nodes();
        // Where this node leaves, none that is down is waited for.
        let is_tried = !self.is_leaving() || self.placement.is_up(host);
        let peer = index_of(&nodes, host).filter(|_| is_tried).and_then(|index| nodes.peer(index));
        let Some(peer) = peer else { return Err(ReplicaError::Gone { shard: ReplicaShard::here() }) };
        let mutations: Vec<&[u8]> = mutations.iter().map(Vec::as_slice).collect();
        let time = answer_time(mutations.iter().map(|mutation| mutation.len()).sum());
        let asking = async {
            // A frame names no epoch that this node has not applied.
            match self.writes.fence().catch_up(None, planned).await {
                true => ask_to_write_in_bulk(peer, &mutations, (time, planned)).await,
                false => Err(ReplicaError::Lags { shard: ReplicaShard::here(), epoch: planned }),
            }
        };
        let silent = || ReplicaError::Gone { shard: ReplicaShard::of_node(peer.address()) };
        self.hints.runtime.timeout(time, asking).await.unwrap_or_else(|_| Err(silent()))
    }
}

/// Time that a target has for so many bytes.
fn answer_time(bytes: usize) -> Duration {
    ANSWER_TIME + Duration::from_secs((bytes / BYTES_A_SECOND) as u64)
}

/// A refusal that would come again.
fn is_final(error: &ReplicaError) -> bool {
    matches!(error, ReplicaError::Malformed { .. } | ReplicaError::TooLarge { .. })
}

/// A node's place in the present ring.
fn index_of(nodes: &Nodes, host: HostId) -> Option<NodeIndex> {
    let at = nodes.ring().nodes().iter().position(|node| node.host_id == host)?;
    u16::try_from(at).ok().map(NodeIndex)
}
