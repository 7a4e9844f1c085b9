//! Writes: to the owning shard of this node, at once where it is this one, else by message; and to other nodes.

use std::rc::Rc;
use std::time::Duration;

use mutation::MutationRef;
use runtime::{Group, ShardId};
use storage::{Ack, ApplyError};
use topology::{ConsistencyLevel, NodeIndex, Required, Sharder, Token, token_of};

use super::message::{ReplicaError, ReplicaReply, ReplicaRequest};
use super::outcome::Failure;
use super::replica::{apply_error, apply_when_there_is_room, needed_ack};
use super::replication::{ReplicaPlan, Replication, is_enough};
use super::tally::{Answer, Tally, Verdict};
use super::{Coordinator, PlanPlace};
use crate::replica::{PeerAnswer, PeerRequest};

/// How long replicas have to answer a write. Cassandra's `write_request_timeout`.
pub(super) const WRITE_TIME: Duration = Duration::from_secs(2);

/// A mutation whose plan was made, on its way into a batch.
#[derive(Debug, Clone)]
pub struct PlannedMutation {
    /// Its keyspace's replication.
    pub replication: Rc<Replication>,
    /// Its partition's token.
    pub token: Token,
    /// The shard of this node that owns the token.
    pub shard: ShardId,
    /// As `mutation::MutationEncoder` wrote it.
    pub mutation: Vec<u8>,
}

/// Where a part of a write goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A shard of this node.
    Here(ShardId),
    /// Another node.
    There(NodeIndex),
}

/// What goes to one place, as one record of one log where it is a shard of this node.
struct Part {
    place: Place,
    /// Which of the write's mutations these are.
    indices: Vec<usize>,
    mutations: Vec<Vec<u8>>,
}

impl Coordinator {
    /// Writes without waiting, if the plan and the mutation's size allow that. `None`: nothing was done,
    /// [`Coordinator::write_batch`] it.
    #[inline]
    pub fn write_now(&self, plan: &ReplicaPlan<'_>, mutation: &[u8]) -> Result<Option<Ack>, ReplicaError> {
        if self.place_of_write(plan) != PlanPlace::Here || !storage::is_small(1, mutation.len()) {
            return Ok(None);
        }
        self.applied(self.inner.storage.apply(mutation))
    }

    /// Writes several mutations as one log record without waiting. All of them have plans that are served here.
    pub fn write_batch_now(&self, mutations: &[&[u8]]) -> Result<Option<Ack>, ReplicaError> {
        let bytes = mutations.iter().map(|mutation| mutation.len()).sum();
        if !storage::is_small(mutations.len(), bytes) {
            return Ok(None);
        }
        self.applied(self.inner.storage.apply_batch(mutations))
    }

    #[inline]
    fn applied(&self, applied: Result<Ack, ApplyError>) -> Result<Option<Ack>, ReplicaError> {
        match applied {
            Ok(ack) => Ok(Some(ack)),
            Err(error) if error.is_busy() => Ok(None),
            Err(error) => Err(apply_error(self.shard().0, error)),
        }
    }

    /// Writes, and waits until so many replicas of each mutation have it as `level` asks for. What belongs to one shard
    /// is one record of its log, so it is there as a whole or not at all. On a ring of one node all shards are waited for,
    /// and the first refusal is reported.
    pub async fn write_batch(&self, planned: Vec<PlannedMutation>, level: ConsistencyLevel) -> Result<(), Failure> {
        match self.inner.ring.nodes().len() {
            1 => Ok(self.write_to_shards(by_shard(planned), false).await?),
            _ => {
                let needs = planned.iter().map(|planned| planned.replication.required(level).clone()).collect();
                self.write_to_replicas(planned, needs, false).await
            }
        }
    }

    /// Writes each part on its shard of this node; `durable` parts are synced whatever the mode.
    pub(super) async fn write_to_shards(
        &self,
        mut parts: Vec<(ShardId, Vec<Vec<u8>>)>,
        durable: bool,
    ) -> Result<(), ReplicaError> {
        if let [(shard, mutations)] = parts.as_mut_slice() {
            return self.write_to_shard(*shard, std::mem::take(mutations), durable).await;
        }
        let mut running = Vec::with_capacity(parts.len());
        for (shard, mutations) in parts {
            let coordinator = self.clone();
            let write = async move { coordinator.write_to_shard(shard, mutations, durable).await };
            running.push(self.inner.runtime.spawn(Group::Query, write));
        }
        let mut outcome = Ok(());
        for write in running {
            outcome = outcome.and(write.await);
        }
        outcome
    }

    /// Sends each mutation to its live replicas and counts their answers. Who answers late is not waited for.
    pub(super) async fn write_to_replicas(
        &self,
        planned: Vec<PlannedMutation>,
        needs: Vec<Required>,
        durable: bool,
    ) -> Result<(), Failure> {
        let inner = &*self.inner;
        let tally = Rc::new(Tally::new(inner.storage.planted()));
        let mut parts: Vec<Part> = Vec::new();
        let mut is_local_enough = true;
        for (index, (planned, needs)) in planned.into_iter().zip(needs).enumerate() {
            let contacts = self.contacts_of(&planned);
            is_local_enough &= is_enough(&needs, &inner.ring, &[inner.nodes.local()]);
            for &node in &contacts {
                put(&mut parts, self.place_of(node, planned.shard), index, planned.mutation.clone());
            }
            tally.push(needs, contacts);
        }
        // A node may have gone down since the plan was made, so what the level needs is asked again.
        if let ([Part { place: Place::Here(shard), mutations, .. }], true) = (parts.as_mut_slice(), is_local_enough) {
            return Ok(self.write_to_shard(*shard, std::mem::take(mutations), durable).await?);
        }
        for part in parts {
            let (coordinator, tally) = (self.clone(), Rc::clone(&tally));
            inner.runtime.spawn(Group::Query, async move {
                let Part { place, indices, mutations } = part;
                let (node, answer) = coordinator.write_to_place(place, mutations, durable).await;
                tally.count(node, &indices, &answer);
            });
        }
        let counting = async {
            loop {
                match tally.verdict(&inner.ring) {
                    Verdict::Done => return Ok(()),
                    Verdict::Failed(failure) => return Err(failure),
                    Verdict::Open => tally.changed().await,
                }
            }
        };
        match inner.runtime.timeout(WRITE_TIME, counting).await {
            Ok(outcome) => outcome,
            Err(runtime::Elapsed) => Err(tally.timeout(&inner.ring)),
        }
    }

    /// The live replicas of a mutation.
    pub(super) fn contacts_of(&self, planned: &PlannedMutation) -> Vec<NodeIndex> {
        let replicas = planned.replication.replicas(planned.token).iter().copied();
        replicas.filter(|&node| self.inner.nodes.is_alive(node)).collect()
    }

    pub(super) fn place_of(&self, node: NodeIndex, shard: ShardId) -> Place {
        if node == self.inner.nodes.local() { Place::Here(shard) } else { Place::There(node) }
    }

    /// Whether each shard that has a part of the write, of this node or another, has all of it: then it is one record of one
    /// log at each replica.
    pub(super) fn is_whole_everywhere(&self, planned: &[PlannedMutation]) -> bool {
        let nodes = &self.inner.nodes;
        let owner = |node: NodeIndex, planned: &PlannedMutation| match nodes.shard_count(node) {
            _ if node == nodes.local() => planned.shard.0,
            count => Sharder::new(count.max(1)).shard_of(planned.token),
        };
        let owners = |planned: &PlannedMutation| {
            let owners = self.contacts_of(planned).into_iter().map(|node| (node, owner(node, planned)));
            owners.collect::<Vec<_>>()
        };
        let mut all = planned.iter().map(owners);
        let first = all.next();
        all.all(|owners| Some(owners) == first)
    }

    pub(super) async fn write_to_place(
        &self,
        place: Place,
        mutations: Vec<Vec<u8>>,
        durable: bool,
    ) -> (NodeIndex, Answer) {
        let inner = &*self.inner;
        match place {
            Place::Here(shard) => {
                let written = self.write_to_shard(shard, mutations, durable).await;
                (inner.nodes.local(), written.map_or_else(Answer::Refused, |()| Answer::Written))
            }
            Place::There(node) => {
                let request = PeerRequest::Write { mutations };
                let answer = match inner.runtime.timeout(WRITE_TIME, inner.nodes.call(node, &request)).await {
                    Ok(Ok(PeerAnswer::Written)) => Answer::Written,
                    // The connection ended: whether the request got there is not known.
                    Err(runtime::Elapsed) | Ok(Err(ReplicaError::Gone { .. })) => Answer::Silent,
                    Ok(Err(error)) => Answer::Refused(error),
                    Ok(Ok(_)) => Answer::Refused(wrong_answer()),
                };
                (node, answer)
            }
        }
    }

    /// Applies what another node sent, each mutation on its owner. All are waited for; the first refusal is the answer.
    pub(super) async fn write_for_peer(&self, mutations: Vec<Vec<u8>>) -> Result<(), ReplicaError> {
        let mut parts = Vec::new();
        for mutation in mutations {
            let token = self.checked_token(&mutation)?;
            add(&mut parts, ShardId(self.inner.sharder.shard_of(token)), mutation);
            self.inner.runtime.maybe_yield().await;
        }
        if parts.is_empty() {
            return Ok(());
        }
        self.write_to_shards(parts, false).await
    }

    /// The token of a mutation that came from another node, which must be its key's: rows are found by it.
    pub(super) fn checked_token(&self, mutation: &[u8]) -> Result<Token, ReplicaError> {
        let malformed = |problem: String| ReplicaError::Malformed { shard: self.shard().0, problem };
        let mutation = MutationRef::decode(mutation).map_err(|error| malformed(error.to_string()))?;
        match token_of(mutation.key()) == mutation.token() {
            true => Ok(mutation.token()),
            false => Err(malformed("a mutation's token is not its key's".to_owned())),
        }
    }

    async fn write_to_shard(
        &self,
        shard: ShardId,
        mut mutations: Vec<Vec<u8>>,
        durable: bool,
    ) -> Result<(), ReplicaError> {
        if shard == self.shard() {
            let storage = &self.inner.storage;
            let ack = apply_when_there_is_room(storage, &mutations).await;
            let ack = ack.map_err(|error| apply_error(shard.0, error))?;
            return match needed_ack(storage, ack, durable) {
                Ack::Now => Ok(()),
                Ack::When(sequence) => {
                    let synced = self.inner.storage.wait_synced(sequence).await;
                    synced.map_err(|reason| ReplicaError::NotSynced { shard: shard.0, reason })
                }
            };
        }
        let request = match mutations.len() {
            1 if !durable => ReplicaRequest::Write { mutation: mutations.swap_remove(0) },
            _ => ReplicaRequest::WriteBatch { mutations, durable },
        };
        match self.call(shard, request).await? {
            ReplicaReply::Written => Ok(()),
            reply => panic!("a shard answers a write with its outcome, not with {reply:?}"),
        }
    }

    /// Asks another shard, and turns its refusal into an error.
    pub(super) async fn call(&self, shard: ShardId, request: ReplicaRequest) -> Result<ReplicaReply, ReplicaError> {
        match self.inner.mesh.call(shard, request).await {
            Ok(ReplicaReply::Failed(error)) => Err(error),
            Ok(reply) => Ok(reply),
            Err(gone) => Err(ReplicaError::Gone { shard: gone.shard.0 }),
        }
    }
}

pub(super) fn wrong_answer() -> ReplicaError {
    ReplicaError::Malformed { shard: 0, problem: "the answer is to another kind of request".to_owned() }
}

pub(super) fn by_shard(planned: Vec<PlannedMutation>) -> Vec<(ShardId, Vec<Vec<u8>>)> {
    let mut parts = Vec::new();
    for PlannedMutation { shard, mutation, .. } in planned {
        add(&mut parts, shard, mutation);
    }
    parts
}

fn add(parts: &mut Vec<(ShardId, Vec<Vec<u8>>)>, shard: ShardId, mutation: Vec<u8>) {
    match parts.iter_mut().find(|(known, _)| *known == shard) {
        Some((_, mutations)) => mutations.push(mutation),
        None => parts.push((shard, vec![mutation])),
    }
}

fn put(parts: &mut Vec<Part>, place: Place, index: usize, mutation: Vec<u8>) {
    match parts.iter_mut().find(|part| part.place == place) {
        Some(part) => {
            part.indices.push(index);
            part.mutations.push(mutation);
        }
        None => parts.push(Part { place, indices: vec![index], mutations: vec![mutation] }),
    }
}
