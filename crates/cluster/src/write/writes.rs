//! Writes at a level: to the owning shard of this node, at once where it is this one, else by message; and to other nodes.

use std::rc::Rc;

use runtime::{Group, ShardId};
use storage::{Ack, ApplyError};
use topology::{ConsistencyLevel, Required};

use super::place::{Place, WRITE_TIME};
use super::planned::{PlannedMutation, are_local, by_shard, onto_one_ring};
use super::tally::{Tally, Verdict};
use crate::outcome::Failure;
use crate::plan::Placement;
use crate::replica::{ReplicaError, Shards, apply_error};

/// The writes that a shard coordinates.
pub(crate) struct Writes {
    pub(super) shards: Rc<Shards>,
    pub(super) placement: Rc<Placement>,
}

/// What goes to one place, as one record of one log where it is a shard of this node.
struct Part {
    place: Place,
    /// Which of the write's mutations these are.
    indices: Vec<usize>,
    mutations: Vec<Vec<u8>>,
}

impl Writes {
    pub(crate) fn new(shards: Rc<Shards>, placement: Rc<Placement>) -> Rc<Writes> {
        Rc::new(Writes { shards, placement })
    }

    /// Writes on this shard without waiting, if the mutation's size allows that. `None`: nothing was done.
    #[inline]
    pub(crate) fn write_now(&self, mutation: &[u8]) -> Result<Option<Ack>, ReplicaError> {
        if !storage::is_small(1, mutation.len()) {
            return Ok(None);
        }
        self.applied(self.shards.storage.apply(mutation))
    }

    /// Writes several mutations on this shard as one log record without waiting.
    pub(crate) fn write_batch_now(&self, mutations: &[&[u8]]) -> Result<Option<Ack>, ReplicaError> {
        let bytes = mutations.iter().map(|mutation| mutation.len()).sum();
        if !storage::is_small(mutations.len(), bytes) {
            return Ok(None);
        }
        self.applied(self.shards.storage.apply_batch(mutations))
    }

    #[inline]
    fn applied(&self, applied: Result<Ack, ApplyError>) -> Result<Option<Ack>, ReplicaError> {
        match applied {
            Ok(ack) => Ok(Some(ack)),
            Err(error) if error.is_busy() => Ok(None),
            Err(error) => Err(apply_error(self.shards.here().0, error)),
        }
    }

    /// Writes, and waits until so many replicas of each mutation have it as `level` asks for. What belongs to one shard
    /// is one record of its log, so it is there as a whole or not at all. Where this node is the only contact of all, its shards are all waited
    /// for, and the first refusal is reported.
    pub(crate) async fn write_batch(
        &self,
        mut planned: Vec<PlannedMutation>,
        level: ConsistencyLevel,
    ) -> Result<(), Failure> {
        onto_one_ring(&mut planned, &self.placement);
        if are_local(&planned, level) {
            return Ok(self.shards.write_all(by_shard(planned), false).await?);
        }
        let needs = planned.iter().map(|planned| planned.replication.required(level).clone()).collect();
        self.write_to_replicas(planned, needs, false).await
    }

    /// Sends each mutation to its live replicas and counts their answers. Who answers late is not waited for. All were planned by one ring.
    pub(super) async fn write_to_replicas(
        &self,
        planned: Vec<PlannedMutation>,
        needs: Vec<Required>,
        durable: bool,
    ) -> Result<(), Failure> {
        let Some(nodes) = planned.first().map(|planned| Rc::clone(planned.replication.nodes())) else { return Ok(()) };
        let runtime = &self.shards.runtime;
        let tally = Rc::new(Tally::new(self.shards.storage.planted()));
        let mut parts: Vec<Part> = Vec::new();
        for (index, (planned, needs)) in planned.into_iter().zip(needs).enumerate() {
            assert_eq!(planned.replication.epoch(), nodes.ring().epoch(), "a write is planned by one ring");
            let contacts: Vec<_> = planned.contacts().collect();
            for &node in &contacts {
                put(&mut parts, Place::of(node, planned.shard, &nodes), index, planned.mutation.clone());
            }
            tally.push(needs, contacts);
        }
        for part in parts {
            let (shards, nodes, tally) = (Rc::clone(&self.shards), Rc::clone(&nodes), Rc::clone(&tally));
            runtime.spawn(Group::Query, async move {
                let Part { place, indices, mutations } = part;
                let (node, answer) = place.write(shards, nodes, mutations, durable).await;
                tally.count(node, &indices, &answer);
            });
        }
        let counting = async {
            loop {
                match tally.verdict(nodes.ring()) {
                    Verdict::Done => return Ok(()),
                    Verdict::Failed(failure) => return Err(failure),
                    Verdict::Open => tally.changed().await,
                }
            }
        };
        match runtime.timeout(WRITE_TIME, counting).await {
            Ok(outcome) => outcome,
            Err(runtime::Elapsed) => Err(tally.timeout(nodes.ring())),
        }
    }

    /// The shard that owns a token on this node.
    pub(super) fn owner(&self, token: topology::Token) -> ShardId {
        ShardId(self.shards.sharder.shard_of(token))
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
