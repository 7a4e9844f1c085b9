//! The keeper's side: copies that others send are kept, and delivered when their coordinators do not.

use std::rc::Rc;
use std::time::Duration;

use mutation::MutationRef;
use runtime::{Group, Instant};
use topology::{Epoch, HostId, NodeIndex};

use super::keepers::fates;
use super::missed::Hinting;
use super::planned::PlannedMutation;
use super::writes::Writes;
use crate::batches::{BatchName, Due, Fate};
use crate::counts::count;
use crate::replica::{ReplicaError, log_batch};
use crate::timeouts::TimeoutKind;

/// Between two looks at the copies.
const LOOK: Duration = Duration::from_secs(1);

/// A shard as a keeper of other nodes' batches. Clones are the same.
#[derive(Clone)]
pub(crate) struct Keeper {
    writes: Rc<Writes>,
}

impl Keeper {
    /// Copies are delivered by `writes`.
    pub(crate) fn new(writes: Rc<Writes>) -> Keeper {
        Keeper { writes }
    }

    /// Keeps a copy of another node's batch, durably. From then on this node sees to it that the batch is delivered.
    pub(crate) async fn keep_copy(
        &self,
        name: BatchName,
        mutations: Vec<Vec<u8>>,
        planned: Epoch,
    ) -> Result<(), ReplicaError> {
        let shards = &self.writes.shards;
        if shards.copies.has(name) {
            return Ok(());
        }
        let gate = shards.fence.gate(shards.here(), planned);
        gate.check_mutations(&mutations)?;
        let id = log_batch(shards, &mutations).await?;
        // It may have waited for room. A copy whose record lies after a truncation that it does not know would bring back what that took.
        if let Err(stale) = gate.check_mutations(&mutations) {
            shards.storage.finish_batch(id);
            return Err(stale.into());
        }
        if !shards.copies.keep(name, id, mutations, self.next_look()) {
            // The same was being kept meanwhile.
            shards.storage.finish_batch(id);
        }
        if !shards.copies.is_watched.replace(true) {
            let keeper = self.clone();
            drop(shards.runtime.spawn(Group::Maintenance, async move { keeper.watch_copies().await }));
        }
        Ok(())
    }

    /// When a copy is looked at that is kept now, or stays: after twice the time of a write.
    fn next_look(&self) -> Instant {
        let shards = &self.writes.shards;
        shards.runtime.now() + shards.timeouts.get(TimeoutKind::Write).saturating_mul(2)
    }

    /// Looks after copies as long as there are some.
    async fn watch_copies(self) {
        let shards = &self.writes.shards;
        while !shards.copies.is_empty() {
            shards.runtime.sleep(LOOK).await;
            let mut due = shards.copies.take_due(shards.runtime.now());
            while let Some(host_id) = due.first().map(|due| due.name.host_id) {
                let (of_host, rest) = due.into_iter().partition(|due| due.name.host_id == host_id);
                due = rest;
                self.look_at(host_id, of_host).await;
            }
        }
        shards.copies.is_watched.set(false);
    }

    /// Asks a coordinator about its batches, and delivers those that it does not see to.
    async fn look_at(&self, coordinator: HostId, due: Vec<Due>) {
        let (shards, nodes) = (&self.writes.shards, self.writes.placement.nodes());
        let index = nodes.ring().nodes().iter().position(|node| node.host_id == coordinator);
        let index = index.and_then(|index| u16::try_from(index).ok()).map(NodeIndex);
        let names: Vec<BatchName> = due.iter().map(|due| due.name).collect();
        let known = match index.and_then(|node| nodes.peer(node)).filter(|peer| peer.is_up()) {
            Some(peer) => fates(shards, peer, &names).await.unwrap_or_default(),
            None => Vec::new(),
        };
        for (index, due) in due.into_iter().enumerate() {
            let is_seen_to = known.get(index) == Some(&Fate::Unfinished);
            if is_seen_to || !self.deliver_copy(&due).await {
                shards.copies.stays(due.name, !is_seen_to, self.next_look());
            } else {
                shards.copies.delivered(due.name);
                count(&shards.counts.batch_copies_delivered);
            }
        }
    }

    /// Delivers a copy. False: not now.
    async fn deliver_copy(&self, due: &Due) -> bool {
        stdx::sometimes!("a copy of a batch is delivered by its keeper");
        let mut planned = Vec::with_capacity(due.mutations.len());
        for mutation in due.mutations.iter() {
            planned.extend(self.plan_copied(mutation.clone()));
            self.writes.shards.runtime.maybe_yield().await;
        }
        // Its coordinator's hints may be lost with it; those of a first try here are not.
        let hinting = if due.is_tried { Hinting::None } else { Hinting::Kept };
        self.writes.try_to_finish(due.id, &planned, hinting).await
    }

    /// A mutation of a copy, planned now. `None`: its table is gone.
    fn plan_copied(&self, mutation: Vec<u8>) -> Option<PlannedMutation> {
        let head = MutationRef::decode(&mutation).ok()?;
        let (token, table) = (head.token(), head.table());
        let Writes { shards, placement, .. } = &*self.writes;
        let keyspace = shards.fence.keyspace_of(table)?;
        let replication = placement.replication(keyspace.strategy());
        let (shard, moment) = (self.writes.owner(token), shards.fence.moment());
        Some(PlannedMutation { replication, token, shard, mutation, moment })
    }
}
