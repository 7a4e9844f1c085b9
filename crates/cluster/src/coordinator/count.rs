//! Updates of counters: deltas go to a leader, the owning shard of one replica, which makes states of them and applies these; the
//! other replicas are sent the states, as a plain write. See `docs/internals/counters.md`.

use std::net::IpAddr;

use mutation::{CounterId, MutationRef};
use runtime::ShardId;
use storage::{Ack, CountError, Shard};
use topology::{ConsistencyLevel, NodeIndex};

use super::message::{ReplicaError, ReplicaReply, ReplicaRequest};
use super::outcome::{Failure, Refusal};
use super::replica::{apply_error, unreadable};
use super::replication::ReplicaPlan;
use super::write::{PlannedMutation, WRITE_TIME, by_shard, wrong_answer};
use super::{Coordinator, PlanPlace};
use crate::replica::{PeerAnswer, PeerRequest};

impl Coordinator {
    /// Changes counters without waiting, if the plan and what is in memory allow that. `None`: nothing was done,
    /// [`Coordinator::count`] it.
    pub fn count_now(&self, plan: &ReplicaPlan<'_>, delta: &[u8]) -> Result<Option<Ack>, ReplicaError> {
        if self.place_of_write(plan) != PlanPlace::Here {
            return Ok(None);
        }
        self.inner.storage.count_now(self.inner.counter, delta).map_err(|error| apply_error(self.shard().0, error))
    }

    /// Changes counters by mutations with deltas, and waits until so many replicas of each have what they come to as `level` asks
    /// for. What belongs to one shard of the leader is one record of its log.
    pub async fn count(&self, planned: Vec<PlannedMutation>, level: ConsistencyLevel) -> Result<(), Failure> {
        if self.inner.ring.nodes().len() == 1 {
            for (shard, deltas) in by_shard(planned) {
                self.count_on_shard(shard, deltas).await?;
            }
            return Ok(());
        }
        let mut by_leader: Vec<(NodeIndex, Vec<PlannedMutation>)> = Vec::new();
        for planned in planned {
            let contacts = self.contacts_of(&planned);
            let local = self.inner.nodes.local();
            // All may have gone down since the plan was made.
            let Some(&first) = contacts.first() else { return Err(Failure::Timeout { received: 0 }) };
            let leader = if contacts.contains(&local) { local } else { first };
            match by_leader.iter_mut().find(|(known, _)| *known == leader) {
                Some((_, all)) => all.push(planned),
                None => by_leader.push((leader, vec![planned])),
            }
        }
        for (leader, planned) in by_leader {
            let states = self.count_at(leader, &planned).await?;
            let planned = states.into_iter().filter_map(|state| as_planned(state, &planned)).collect::<Vec<_>>();
            // The leader is sent them again, which changes nothing there, and answers for itself.
            let needs = planned.iter().map(|planned| planned.replication.required(level).clone()).collect();
            self.write_to_replicas(planned, needs, false).await?;
        }
        Ok(())
    }

    /// Has a node make states of deltas, apply and sync them.
    async fn count_at(&self, leader: NodeIndex, planned: &[PlannedMutation]) -> Result<Vec<Vec<u8>>, Failure> {
        if leader == self.inner.nodes.local() {
            let mut states = Vec::new();
            for (shard, deltas) in by_shard(planned.to_vec()) {
                states.extend(self.count_on_shard(shard, deltas).await?);
            }
            return Ok(states);
        }
        let request = PeerRequest::Count { deltas: planned.iter().map(|planned| planned.mutation.clone()).collect() };
        let address: IpAddr = self.inner.ring.node(leader).address.ip();
        let failed = |error| Failure::Failed { received: 0, refusals: vec![Refusal { node: address, error }] };
        match self.inner.runtime.timeout(WRITE_TIME, self.inner.nodes.call(leader, &request)).await {
            Ok(Ok(PeerAnswer::Counted { states })) => Ok(states),
            // Whether it counted is not known.
            Err(runtime::Elapsed) | Ok(Err(ReplicaError::Gone { .. })) => Err(Failure::Timeout { received: 0 }),
            Ok(Err(error)) => Err(failed(error)),
            Ok(Ok(_)) => Err(failed(wrong_answer())),
        }
    }

    /// Counts what another node sent, each on its owner. Gives the states.
    pub(super) async fn count_for_peer(&self, deltas: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, ReplicaError> {
        let mut states = Vec::new();
        let mut parts: Vec<(ShardId, Vec<Vec<u8>>)> = Vec::new();
        for delta in deltas {
            let shard = ShardId(self.inner.sharder.shard_of(self.checked_token(&delta)?));
            match parts.iter_mut().find(|(known, _)| *known == shard) {
                Some((_, deltas)) => deltas.push(delta),
                None => parts.push((shard, vec![delta])),
            }
        }
        for (shard, deltas) in parts {
            states.extend(self.count_on_shard(shard, deltas).await?);
        }
        Ok(states)
    }

    /// Counts on a shard of this node, and waits for the sync that the mode asks for.
    async fn count_on_shard(&self, shard: ShardId, deltas: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, ReplicaError> {
        if shard == self.shard() {
            return count_here(&self.inner.storage, self.inner.counter, shard, &deltas).await;
        }
        let wants_states = self.inner.ring.nodes().len() > 1;
        match self.call(shard, ReplicaRequest::Count { id: self.inner.counter, deltas, wants_states }).await? {
            ReplicaReply::Counted { states } => Ok(states),
            ReplicaReply::Written if !wants_states => Ok(Vec::new()),
            reply => panic!("a shard answers a count with states, not with {reply:?}"),
        }
    }
}

/// Counts on this shard, and waits until what comes of it may be acknowledged: no other replica hears of a state that this one could
/// still lose.
pub(super) async fn count_here(
    storage: &Shard,
    id: CounterId,
    shard: ShardId,
    deltas: &[Vec<u8>],
) -> Result<Vec<Vec<u8>>, ReplicaError> {
    let counted = storage.count(id, deltas).await;
    let (ack, states) = counted.map_err(|error| match error {
        CountError::Apply(error) => apply_error(shard.0, error),
        CountError::Read(error) => unreadable(shard.0, error),
        CountError::Queue => ReplicaError::Overloaded { shard: shard.0, problem: error.to_string() },
    })?;
    if let Ack::When(sequence) = ack {
        let synced = storage.wait_synced(sequence).await;
        synced.map_err(|reason| ReplicaError::NotSynced { shard: shard.0, reason })?;
    }
    Ok(states)
}

/// The state with the plan of the mutation that it was made of: one of the same table and token.
fn as_planned(state: Vec<u8>, planned: &[PlannedMutation]) -> Option<PlannedMutation> {
    let of = |mutation: &[u8]| MutationRef::decode(mutation).map(|mutation| (mutation.table(), mutation.token())).ok();
    let made_of = of(&state)?;
    let of = planned.iter().find(|planned| of(&planned.mutation) == Some(made_of))?;
    Some(PlannedMutation { mutation: state, ..of.clone() })
}
