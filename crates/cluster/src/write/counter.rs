//! Updates of counters: deltas go to a leader, the owning shard of one replica, which makes states of them and applies these; the
//! other replicas are sent the states, as a plain write. See `docs/internals/counters.md`.

use std::rc::Rc;

use mutation::MutationRef;
use storage::{Ack, TryOutcome};
use topology::{ConsistencyLevel, NodeIndex};

use super::missed::Hinting;
use super::place::WRITE_TIME;
use super::planned::{PlannedMutation, are_local, by_shard, onto_one_ring};
use super::writes::Writes;
use crate::outcome::{Failure, Refusal};
use crate::plan::Nodes;
use crate::replica::{ReplicaError, apply_error, ask_to_count};

impl Writes {
    /// Changes counters on this shard without waiting, if what is in memory allows that. `None`: nothing was done.
    pub(crate) fn count_now(&self, delta: &[u8]) -> Result<TryOutcome<Ack>, ReplicaError> {
        let shards = &self.shards;
        shards.storage.count_now(shards.counter, delta).map_err(|error| apply_error(shards.here().0, error))
    }

    /// Changes counters by mutations with deltas, and waits until so many replicas of each have what they come to as `level` asks
    /// for. What belongs to one shard of the leader is one record of its log.
    pub(crate) async fn count(
        &self,
        mut planned: Vec<PlannedMutation>,
        level: ConsistencyLevel,
    ) -> Result<(), Failure> {
        onto_one_ring(&mut planned, &self.placement);
        if are_local(&planned, level) {
            for (shard, deltas) in by_shard(planned) {
                self.shards.count(shard, deltas, false).await?;
            }
            return Ok(());
        }
        let Some(nodes) = planned.first().map(|planned| Rc::clone(planned.replication.nodes())) else { return Ok(()) };
        let mut by_leader: Vec<(NodeIndex, Vec<PlannedMutation>)> = Vec::new();
        for planned in planned {
            let contacts: Vec<_> = planned.contacts().collect();
            let local = nodes.local();
            // All may have gone down since the plan was made.
            let Some(&first) = contacts.first() else { return Err(Failure::Timeout { received: 0 }) };
            let leader = if contacts.contains(&local) { local } else { first };
            match by_leader.iter_mut().find(|(known, _)| *known == leader) {
                Some((_, all)) => all.push(planned),
                None => by_leader.push((leader, vec![planned])),
            }
        }
        for (leader, planned) in by_leader {
            let states = self.count_at(&nodes, leader, &planned).await?;
            let planned = states.into_iter().filter_map(|state| as_planned(state, &planned)).collect::<Vec<_>>();
            // The leader is sent them again, which changes nothing there, and answers for itself.
            let needs = planned.iter().map(|planned| planned.replication.required(level).clone()).collect();
            self.write_to_replicas(Rc::new(planned), needs, (false, Hinting::Kept)).await?;
        }
        Ok(())
    }

    /// Has a node make states of deltas, apply and sync them.
    async fn count_at(
        &self,
        nodes: &Nodes,
        leader: NodeIndex,
        planned: &[PlannedMutation],
    ) -> Result<Vec<Vec<u8>>, Failure> {
        if leader == nodes.local() {
            let mut states = Vec::new();
            for (shard, deltas) in by_shard(planned.to_vec()) {
                states.extend(self.shards.count(shard, deltas, true).await?);
            }
            return Ok(states);
        }
        let deltas: Vec<&[u8]> = planned.iter().map(|planned| planned.mutation.as_slice()).collect();
        let node = nodes.address(leader);
        let failed = |error| Failure::Failed { received: 0, refusals: vec![Refusal { node, error }] };
        let Some(peer) = nodes.peer(leader) else { return Err(Failure::Timeout { received: 0 }) };
        match self.shards.runtime.timeout(WRITE_TIME, ask_to_count(peer, &deltas, WRITE_TIME)).await {
            Ok(Ok(states)) => Ok(states),
            // Whether it counted is not known.
            Err(runtime::Elapsed) | Ok(Err(ReplicaError::Gone { .. })) => Err(Failure::Timeout { received: 0 }),
            Ok(Err(error)) => Err(failed(error)),
        }
    }
}

/// The state with the plan of the mutation that it was made of: one of the same table and token.
fn as_planned(state: Vec<u8>, planned: &[PlannedMutation]) -> Option<PlannedMutation> {
    let of = |mutation: &[u8]| MutationRef::decode(mutation).map(|mutation| (mutation.table(), mutation.token())).ok();
    let made_of = of(&state)?;
    let PlannedMutation { replication, token, shard, .. } =
        planned.iter().find(|planned| of(&planned.mutation) == Some(made_of))?;
    Some(PlannedMutation { replication: Rc::clone(replication), token: *token, shard: *shard, mutation: state })
}
