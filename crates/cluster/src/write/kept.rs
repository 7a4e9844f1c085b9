//! The keeper's side: copies that others send are kept, and delivered when their coordinators do not.

use std::rc::Rc;
use std::time::Duration;

use mutation::MutationRef;
use runtime::Group;
use storage::{BatchHead, UnfinishedBatch};
use topology::{Epoch, HostId, NodeIndex};

use super::batch::Undelivered;
use super::keepers::fates;
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

    /// Keeps a copy of another node's batch, whose write began at the time given, durably. From then on this node sees to it that the batch is delivered.
    pub(crate) async fn keep_copy(
        &self,
        (name, created): (BatchName, i64),
        mutations: Vec<Vec<u8>>,
        planned: Epoch,
    ) -> Result<(), ReplicaError> {
        let shards = &self.writes.shards;
        if shards.copies.has(name) || shards.copies.is_done(name) {
            return Ok(());
        }
        let gate = shards.fence.gate(shards.here(), planned);
        gate.check_mutations(&mutations)?;
        let head = BatchHead { created, copy_of: Some(name) };
        let id = log_batch(shards, &head, &mutations).await?;
        // It may have waited for room. A copy whose record lies after a truncation that it does not know would bring back what that took.
        if let Err(stale) = gate.check_mutations(&mutations) {
            shards.storage.finish_batch(id);
            return Err(stale.into());
        }
        if !shards.copies.keep(name, id, mutations, shards.runtime.now() + self.look()) {
            // The same was being kept meanwhile, or its coordinator is done: it waits for its first keeper only.
            stdx::sometimes!("a copy of a batch is not needed any more");
            shards.storage.finish_batch(id);
        }
        self.watch();
        Ok(())
    }

    /// Keeps the copies that a start found in this shard's log.
    pub(super) fn keep_found(&self, found: impl Iterator<Item = UnfinishedBatch>) {
        let shards = &self.writes.shards;
        for UnfinishedBatch { id, head, mutations } in found {
            let name = head.copy_of.expect("a copy has a name");
            stdx::sometimes!("a copy of a batch is found at a start");
            if !shards.copies.keep(name, id, mutations, shards.runtime.now()) {
                // A start under another shard count that was cut short leaves two.
                shards.storage.finish_batch(id);
            }
        }
        self.watch();
    }

    fn watch(&self) {
        let shards = &self.writes.shards;
        if shards.copies.is_empty() {
            return;
        }
        if !shards.copies.is_watched.replace(true) {
            let keeper = self.clone();
            drop(shards.runtime.spawn(Group::Maintenance, async move { keeper.watch_copies().await }));
        }
    }

    /// The time until a copy is looked at that is kept now, or stays: twice that of a write.
    fn look(&self) -> Duration {
        self.writes.shards.timeouts.get(TimeoutKind::Write).saturating_mul(2)
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
            match known.get(index).copied().unwrap_or(Fate::Unknown) {
                Fate::Unfinished => shards.copies.stays(&due, None, (shards.runtime.now(), self.look())),
                Fate::Done => {
                    shards.storage.finish_batch(due.id);
                    shards.copies.delivered(&due);
                }
                Fate::Unknown => match self.deliver_copy(&due).await {
                    Ok(()) => {
                        shards.copies.delivered(&due);
                        count(&shards.counts.batch_copies_delivered);
                    }
                    Err(left) => shards.copies.stays(&due, Some(left), (shards.runtime.now(), self.look())),
                },
            }
        }
    }

    /// Delivers a copy. Gives the mutations that no replica takes now.
    async fn deliver_copy(&self, due: &Due) -> Result<(), Vec<Vec<u8>>> {
        stdx::sometimes!("a copy of a batch is delivered by its keeper");
        let mut planned = Vec::with_capacity(due.mutations.len());
        for mutation in due.mutations.iter() {
            planned.extend(self.plan_copied(mutation.clone()));
            self.writes.shards.runtime.maybe_yield().await;
        }
        // Its coordinator's hints may be lost with it: this node makes its own.
        let delivered = self.writes.try_to_finish(due.id, planned).await;
        delivered.map_err(|Undelivered { left, error }| {
            tracing::debug!(%error, "a copy of a batch is not delivered, and not hinted; retrying");
            left.into_iter().map(|planned| planned.mutation).collect()
        })
    }

    /// A mutation of a copy, planned now. `None`: its table is gone.
    fn plan_copied(&self, mutation: Vec<u8>) -> Option<PlannedMutation> {
        let head = MutationRef::decode(&mutation).ok()?;
        let (token, table) = (head.token(), head.table());
        let Writes { shards, placement, .. } = &*self.writes;
        let keyspace = shards.fence.keyspace_of(table)?;
        let replication = placement.replication_of(keyspace.name(), keyspace.strategy());
        let (shard, moment) = (self.writes.owner(token), shards.fence.moment());
        Some(PlannedMutation { replication, token, shard, mutation, moment })
    }
}
