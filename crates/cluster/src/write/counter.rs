//! Updates of counters: deltas go to a leader, the owning shard of one replica, which makes states of them and applies these; the
//! other replicas are sent the states, as a plain write. See `docs/internals/counters.md`.

use std::rc::Rc;

use mutation::MutationRef;
use planted::Bug;
use storage::{Ack, TryOutcome};
use topology::{ConsistencyLevel, Epoch, NodeIndex};

use super::planned::{PlannedMutation, are_local, by_shard, onto_one_ring};
use super::rounds::{Kind, Needs, Pending};
use super::writes::Writes;
use crate::outcome::{Failure, Refusal};
use crate::plan::Nodes;
use crate::replica::{ReplicaError, apply_error, ask_to_count};
use crate::timeouts::TimeoutKind;

impl Writes {
    /// Changes counters on this shard without waiting, if what is in memory allows that. `None`: nothing was done.
    pub(crate) fn count_now(&self, delta: &[u8]) -> Result<TryOutcome<Ack>, ReplicaError> {
        let shards = &self.shards;
        let counted = shards.storage.count_now(|table| shards.fence.counter_id(table), delta);
        counted.map_err(|error| apply_error(shards.here().0, error))
    }

    /// Changes counters by mutations with deltas, and waits until so many replicas of each have what they come to as `level` asks
    /// for. What belongs to one shard of the leader is one record of its log.
    pub(crate) async fn count(
        self: &Rc<Self>,
        mut planned: Vec<PlannedMutation>,
        level: ConsistencyLevel,
    ) -> Result<(), Failure> {
        onto_one_ring(&mut planned, &self.placement, &self.shards.fence);
        let time = self.shards.timeouts.get(TimeoutKind::CounterWrite);
        let until = self.shards.runtime.now() + time;
        let mut pending = Pending::new(planned);
        let rests_on = self.settle(&mut pending, Kind::PLAIN, time).await?;
        if are_local(&pending.planned, level) {
            return self.count_locally(pending.planned, rests_on).await;
        }
        while !pending.planned.is_empty() {
            let left = until - self.shards.runtime.now();
            let rests_on = self.settle(&mut pending, Kind::PLAIN, left).await?;
            let (leader, planned) = take_of_one_leader(&mut pending.planned)?;
            let nodes = Rc::clone(planned[0].replication.nodes());
            let states = match self.count_at(&nodes, leader, &planned, rests_on).await {
                Err(CountFailure::Stale(epoch)) => {
                    // Nothing was counted; another node may lead by now.
                    let host = nodes.ring().node(leader).host_id;
                    self.catch_up(Some(host), epoch, until - self.shards.runtime.now()).await;
                    if self.shards.runtime.now() >= until {
                        return Err(Failure::Timeout { received: 0 });
                    }
                    pending.planned.extend(planned);
                    continue;
                }
                Err(CountFailure::Failed(failure)) => return Err(failure),
                Ok(states) => states,
            };
            let planned = states.into_iter().filter_map(|state| as_planned(state, &planned)).collect::<Vec<_>>();
            // The leader is sent them again, which changes nothing there, and answers for itself.
            match self.write_planned(planned, Needs::Level(level), Kind::STATES).await {
                // The statement must not be planned again: it has counted.
                Err(Failure::Outdated) => return Err(Failure::Timeout { received: 1 }),
                written => written?,
            }
        }
        Ok(())
    }

    /// Counts where this node is the only replica of all, and enough.
    async fn count_locally(&self, planned: Vec<PlannedMutation>, rests_on: Epoch) -> Result<(), Failure> {
        let mut is_begun = false;
        for (shard, deltas) in by_shard(planned) {
            match self.shards.count(shard, deltas, false, rests_on).await {
                Ok(_) => is_begun = true,
                Err(ReplicaError::Stale { .. }) => {
                    // What was counted must not be again: then the client hears that it is not known.
                    return Err(if is_begun { Failure::Timeout { received: 0 } } else { Failure::Outdated });
                }
                Err(ReplicaError::Gone { .. }) => return Err(Failure::Timeout { received: 0 }),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Has a node make states of deltas, apply and sync them. They are sent once: they may have been counted wherever no answer came.
    async fn count_at(
        &self,
        nodes: &Nodes,
        leader: NodeIndex,
        planned: &[PlannedMutation],
        rests_on: Epoch,
    ) -> Result<Vec<Vec<u8>>, CountFailure> {
        let unknown = || CountFailure::Failed(Failure::Timeout { received: 0 });
        if leader == nodes.local() {
            let mut states = Vec::new();
            for (shard, deltas) in by_shard(planned.to_vec()) {
                match self.shards.count(shard, deltas, true, rests_on).await {
                    Ok(of_shard) => states.extend(of_shard),
                    Err(ReplicaError::Stale { epoch, .. }) if states.is_empty() => {
                        return Err(CountFailure::Stale(epoch));
                    }
                    Err(ReplicaError::Stale { .. } | ReplicaError::Gone { .. }) => return Err(unknown()),
                    Err(error) => return Err(CountFailure::Failed(error.into())),
                }
            }
            return Ok(states);
        }
        let deltas: Vec<&[u8]> = planned.iter().map(|planned| planned.mutation.as_slice()).collect();
        let node = nodes.address(leader);
        let failed = |error| Failure::Failed { received: 0, refusals: vec![Refusal { node, error }] };
        let Some(peer) = nodes.peer(leader) else { return Err(unknown()) };
        let time = self.shards.timeouts.get(TimeoutKind::CounterWrite);
        match self.shards.runtime.timeout(time, ask_to_count(peer, &deltas, (time, rests_on))).await {
            Ok(Ok(states)) => Ok(states),
            Ok(Err(ReplicaError::Stale { epoch, .. })) => Err(CountFailure::Stale(epoch)),
            Err(runtime::Elapsed) if self.shards.storage.planted().is(Bug::DeltaSentTwice) => {
                ask_to_count(peer, &deltas, (time, rests_on)).await.map_err(|_| unknown())
            }
            // Whether it counted is not known.
            Err(runtime::Elapsed) | Ok(Err(ReplicaError::Gone { .. })) => Err(unknown()),
            Ok(Err(error)) => Err(CountFailure::Failed(failed(error))),
        }
    }
}

/// Why no states came of deltas.
enum CountFailure {
    /// The leader has applied a change of this epoch that the plan does not know. Nothing was counted.
    Stale(Epoch),
    /// It failed.
    Failed(Failure),
}

/// Takes out the mutations that have the leader of the first one.
fn take_of_one_leader(planned: &mut Vec<PlannedMutation>) -> Result<(NodeIndex, Vec<PlannedMutation>), Failure> {
    // All may have gone down since the plan was made.
    let leader = planned.first().and_then(leader_of).ok_or(Failure::Timeout { received: 0 })?;
    let (taken, left) = std::mem::take(planned).into_iter().partition(|planned| leader_of(planned) == Some(leader));
    *planned = left;
    Ok((leader, taken))
}

/// The node that makes a state of a delta: this one if it is a replica, else the first live replica of this datacenter, else the first live one.
fn leader_of(planned: &PlannedMutation) -> Option<NodeIndex> {
    let nodes = planned.replication.nodes();
    let (ring, local) = (nodes.ring(), nodes.local());
    let is_near = |node: &NodeIndex| ring.node(*node).datacenter == ring.local_node().datacenter;
    // One that does not have all of its data yet would begin from less.
    let settled = planned.replication.settled(planned.token);
    let contacts: Vec<NodeIndex> = planned.contacts().filter(|node| settled.contains(node)).collect();
    let own = contacts.iter().find(|node| **node == local);
    own.or(contacts.iter().find(|node| is_near(node))).or(contacts.first()).copied()
}

/// The state with the plan of the mutation that it was made of: one of the same table and token.
fn as_planned(state: Vec<u8>, planned: &[PlannedMutation]) -> Option<PlannedMutation> {
    let of = |mutation: &[u8]| MutationRef::decode(mutation).map(|mutation| (mutation.table(), mutation.token())).ok();
    let made_of = of(&state)?;
    let PlannedMutation { replication, token, shard, moment, .. } =
        planned.iter().find(|planned| of(&planned.mutation) == Some(made_of))?;
    let replication = Rc::clone(replication);
    Some(PlannedMutation { replication, token: *token, shard: *shard, mutation: state, moment: *moment })
}
