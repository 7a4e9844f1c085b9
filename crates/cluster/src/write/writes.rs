//! Writes at a level: to the owning shard of this node, at once where it is this one, else by message; and to other nodes.

use std::rc::Rc;

use runtime::{Group, ShardId};
use storage::{Ack, ApplyError, TryOutcome};
use topology::{ConsistencyLevel, Required};

use super::missed::{Hinting, Missed, is_missed};
use super::place::{Place, WRITE_TIME};
use super::planned::{PlannedMutation, are_local, by_shard, onto_one_ring};
use super::tally::{Tally, Verdict};
use crate::hints::Hints;
use crate::outcome::Failure;
use crate::plan::{Nodes, Placement};
use crate::replica::{ReplicaError, Shards, apply_error};

/// The writes that a shard coordinates.
pub(crate) struct Writes {
    pub(super) shards: Rc<Shards>,
    pub(super) placement: Rc<Placement>,
    /// None where no other node could miss anything.
    hints: Option<Rc<Hints>>,
}

/// The mutations of a write for one place, one record of one log where it is a shard of this node.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    place: Place,
    /// Their places in the write: each is encoded once, when it is planned, and all parts are sent from there.
    indices: Vec<usize>,
}

impl Part {
    /// Its mutations' bytes.
    fn mutations<'w>(&self, write: &'w [PlannedMutation]) -> Vec<&'w [u8]> {
        self.indices.iter().map(|&index| write[index].mutation.as_slice()).collect()
    }

    /// Has it hinted. What this node itself refused is no hint.
    fn is_missed(&self, missed: &Missed, nodes: &Nodes, write: &[PlannedMutation]) {
        if let Place::There(node) = self.place {
            missed.keep(nodes.ring().node(node), &self.indices, &self.mutations(write));
        }
    }
}

impl Writes {
    pub(crate) fn new(shards: Rc<Shards>, placement: Rc<Placement>, hints: Option<Rc<Hints>>) -> Rc<Writes> {
        Rc::new(Writes { shards, placement, hints })
    }

    /// Writes on this shard without waiting, if the mutation's size allows that.
    #[inline]
    pub(crate) fn write_now(&self, mutation: &[u8]) -> Result<TryOutcome<Ack>, ReplicaError> {
        if !storage::is_small(1, mutation.len()) {
            return Ok(TryOutcome::WouldBlock);
        }
        self.applied(self.shards.storage.apply(mutation))
    }

    /// Writes several mutations on this shard as one log record without waiting.
    pub(crate) fn write_batch_now(&self, mutations: &[&[u8]]) -> Result<TryOutcome<Ack>, ReplicaError> {
        let bytes = mutations.iter().map(|mutation| mutation.len()).sum();
        if !storage::is_small(mutations.len(), bytes) {
            return Ok(TryOutcome::WouldBlock);
        }
        self.applied(self.shards.storage.apply_batch(mutations))
    }

    #[inline]
    fn applied(&self, applied: Result<Ack, ApplyError>) -> Result<TryOutcome<Ack>, ReplicaError> {
        match applied {
            Ok(ack) => Ok(TryOutcome::Done(ack)),
            Err(error) if error.is_busy() => Ok(TryOutcome::WouldBlock),
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
        self.write_to_replicas(Rc::new(planned), needs, (false, Hinting::of(level))).await
    }

    /// Writes what a former replica missed to one present replica of each mutation at least, and hints it for those that miss it.
    pub(crate) async fn write_rerouted(&self, mut planned: Vec<PlannedMutation>) -> Result<(), Failure> {
        onto_one_ring(&mut planned, &self.placement);
        let needs = vec![Required::Total(1); planned.len()];
        self.write_to_replicas(Rc::new(planned), needs, (true, Hinting::Kept)).await
    }

    /// Sends each mutation to its live replicas and counts their answers. Who answers late is not waited for, and has a hint if it does not answer at
    /// all, as have those that are down. All were planned by one ring. `durable`: this node's part is synced whatever the mode.
    pub(super) async fn write_to_replicas(
        &self,
        planned: Rc<Vec<PlannedMutation>>,
        needs: Vec<Required>,
        (durable, hinting): (bool, Hinting),
    ) -> Result<(), Failure> {
        let Some(nodes) = planned.first().map(|planned| Rc::clone(planned.replication.nodes())) else { return Ok(()) };
        let runtime = &self.shards.runtime;
        let tally = Rc::new(Tally::new(self.shards.storage.planted()));
        let missed = Rc::new(Missed::new(self.hints.as_ref(), hinting, nodes.ring().epoch(), planned.len()));
        let (mut parts, mut absent) = (Vec::new(), Vec::new());
        for (index, (planned, needs)) in planned.iter().zip(needs).enumerate() {
            assert_eq!(planned.replication.epoch(), nodes.ring().epoch(), "a write is planned by one ring");
            let contacts: Vec<_> = planned.contacts().collect();
            for &node in &contacts {
                put(&mut parts, Place::of(node, planned.shard, &nodes), index);
            }
            for node in planned.absent(&contacts) {
                put(&mut absent, Place::There(node), index);
            }
            tally.push(needs, contacts);
        }
        for part in absent {
            part.is_missed(&missed, &nodes, &planned);
        }
        for part in parts {
            let (shards, nodes, tally) = (Rc::clone(&self.shards), Rc::clone(&nodes), Rc::clone(&tally));
            let (write, missed) = (Rc::clone(&planned), Rc::clone(&missed));
            runtime.spawn(Group::Query, async move {
                let (node, answer) = part.place.write(&shards, &nodes, &part.mutations(&write), durable).await;
                if is_missed(&answer) {
                    part.is_missed(&missed, &nodes, &write);
                }
                tally.count(node, &part.indices, &answer);
            });
        }
        let counting = async {
            loop {
                match tally.verdict(nodes.ring()) {
                    Verdict::Done => return Ok(()),
                    // What is still open may have a hint yet.
                    Verdict::Failed(_) if missed.may_suffice() && tally.is_open() => tally.changed().await,
                    Verdict::Failed(failure) => return Err(failure),
                    Verdict::Open => tally.changed().await,
                }
            }
        };
        let outcome = match runtime.timeout(missed.patience(WRITE_TIME), counting).await {
            Ok(outcome) => outcome,
            Err(runtime::Elapsed) => Err(tally.timeout(nodes.ring())),
        };
        match outcome {
            Err(_) if missed.suffice(&tally.unmet(nodes.ring())).await => Ok(()),
            outcome => outcome,
        }
    }

    /// The shard that owns a token on this node.
    pub(crate) fn owner(&self, token: topology::Token) -> ShardId {
        ShardId(self.shards.sharder.shard_of(token))
    }
}

fn put(parts: &mut Vec<Part>, place: Place, index: usize) {
    match parts.iter_mut().find(|part| part.place == place) {
        Some(part) => part.indices.push(index),
        None => parts.push(Part { place, indices: vec![index] }),
    }
}

#[cfg(test)]
mod tests {
    use topology::{Epoch, HostId, Node, NodeIndex, ReplicationStrategy, Ring, Token};

    use super::*;

    #[test]
    fn all_replicas_are_sent_the_bytes_that_were_encoded_once() {
        let node = |number: u8| Node {
            host_id: HostId([number; 16]),
            address: ([10, 0, 0, number], 9042).into(),
            internode: ([10, 0, 0, number], 7000).into(),
            datacenter: "datacenter1".into(),
            rack: "rack1".into(),
            tokens: vec![Token(i64::from(number))],
        };
        let ring = Ring::new(Epoch::FIRST, (0..3).map(node).collect(), NodeIndex(0));
        let placement = Placement::new(Rc::new(ring), None);
        let replication = placement.replication(&ReplicationStrategy::Simple { replication_factor: 3 });
        let planned = |token, bytes: &[u8]| PlannedMutation {
            replication: Rc::clone(&replication),
            token: Token(token),
            shard: ShardId(u16::from(token > 1)),
            mutation: bytes.to_vec(),
        };
        let write = vec![planned(1, b"first"), planned(2, b"second")];
        let encoded: Vec<*const u8> = write.iter().map(|planned| planned.mutation.as_ptr()).collect();
        let write = Rc::new(write);

        let mut parts = Vec::new();
        for (index, planned) in write.iter().enumerate() {
            for &node in replication.replicas(planned.token) {
                put(&mut parts, Place::of(node, planned.shard, &placement.nodes()), index);
            }
        }
        let both = |place| Part { place, indices: vec![0, 1] };
        let here = |shard, index| Part { place: Place::Here(ShardId(shard)), indices: vec![index] };
        let there = |node| both(Place::There(NodeIndex(node)));
        for part in [here(0, 0), here(1, 1), there(1), there(2)] {
            assert!(parts.contains(&part), "{part:?} of {parts:?}");
        }
        assert_eq!(parts.len(), 4);
        for part in parts {
            let sent: Vec<*const u8> = part.mutations(&write).iter().map(|bytes| bytes.as_ptr()).collect();
            let expected: Vec<*const u8> = part.indices.iter().map(|&index| encoded[index]).collect();
            assert_eq!(sent, expected, "the bytes of {part:?} are those that were planned");
        }
    }
}
