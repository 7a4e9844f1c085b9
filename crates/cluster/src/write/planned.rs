//! Mutations whose plans were made, on their way to their replicas.

use std::rc::Rc;

use mutation::MutationRef;
use runtime::ShardId;
use schema::TableId;
use topology::{ConsistencyLevel, Epoch, NodeIndex, Required, Sharder, Token};

use crate::fence::Fence;
use crate::paxos::{STATE_TABLE, table_of};
use crate::plan::{Placement, Replication, is_enough};
use crate::replica::{ByShard, MUTATIONS_MAX, add};

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
    /// The [epoch](crate::fence::Fence::moment) at which it was planned, before it was encoded.
    pub moment: Epoch,
}

impl PlannedMutation {
    /// The table that it is about; `None` for bytes that are no mutation, which replicas refuse.
    pub(super) fn table(&self) -> Option<TableId> {
        MutationRef::decode(&self.mutation).map(|mutation| table_of(&mutation)).ok()
    }

    /// True if it writes an acceptor's register.
    pub(super) fn is_register(&self) -> bool {
        MutationRef::decode(&self.mutation).is_ok_and(|mutation| mutation.table() == STATE_TABLE)
    }

    /// Plans it again, by the ring and its keyspace's replication as they are now.
    pub(super) fn plan_again(&mut self, placement: &Placement, fence: &Fence) {
        let keyspace = self.table().and_then(|table| fence.keyspace_of(table));
        self.replication = match &keyspace {
            Some(keyspace) => placement.replication_of(keyspace.name(), keyspace.strategy()),
            None => placement.replication(self.replication.strategy()),
        };
        self.moment = fence.moment();
    }

    /// The replicas that it is for, alive or not.
    pub(super) fn replicas(&self) -> &[NodeIndex] {
        self.replication.written(self.token, ConsistencyLevel::All).0
    }

    /// The answers that it needs at a level.
    pub(super) fn needs(&self, level: ConsistencyLevel) -> &Required {
        self.replication.write_needs(self.token, level)
    }

    /// Its live replicas.
    pub(super) fn contacts(&self) -> impl Iterator<Item = NodeIndex> {
        let nodes = self.replication.nodes();
        self.replicas().iter().copied().filter(|&node| nodes.is_alive(node))
    }

    /// True if this node is its only replica, and its answer enough for `needs`: then nothing is counted or hinted, and this node's refusal is
    /// the answer.
    pub(super) fn is_local(&self, needs: &Required) -> bool {
        let nodes = self.replication.nodes();
        let is_only = matches!(self.replicas(), [only] if *only == nodes.local());
        is_only && is_enough(needs, nodes.ring(), &[nodes.local()])
    }
}

/// True if this node is the only replica of all mutations, and enough for `level`: nothing is sent to another.
pub fn are_local(planned: &[PlannedMutation], level: ConsistencyLevel) -> bool {
    planned.iter().all(|planned| planned.is_local(planned.needs(level)))
}

/// Plans mutations by the present ring that were planned by another. Their moments stay: what they rest on beside the ring is as old as it was.
fn onto_present_ring(planned: &mut [PlannedMutation], placement: &Placement, fence: &Fence) {
    let present = placement.nodes().ring().epoch();
    for planned in planned.iter_mut().filter(|planned| planned.replication.epoch() != present) {
        let strategy = planned.replication.strategy();
        planned.replication = match planned.table().and_then(|table| fence.keyspace_of(table)) {
            Some(keyspace) => placement.replication_of(keyspace.name(), strategy),
            None => placement.replication(strategy),
        };
    }
}

/// Sees to it that all were planned by one ring, since answers are counted by its nodes. A batch's mutations are planned one after the other, and
/// the ring may have changed meanwhile.
pub(super) fn onto_one_ring(planned: &mut [PlannedMutation], placement: &Placement, fence: &Fence) {
    let mut epochs = planned.iter().map(|planned| planned.replication.epoch());
    let first = epochs.next();
    if !epochs.all(|epoch| Some(epoch) == first) {
        onto_present_ring(planned, placement, fence);
    }
}

/// True if each shard that has a part of the write, of this node or another, has all of it: then it is one record of one
/// log at each replica, or one hint. Replicas that are down count too: they will have no more than their part. A frame to another node has its bound.
pub(super) fn is_whole_everywhere(planned: &[PlannedMutation]) -> bool {
    if planned.len() > MUTATIONS_MAX {
        return false;
    }
    // A node that was never greeted may have any number of shards: of one token only is it known to be one shard's.
    let owner = |node: NodeIndex, planned: &PlannedMutation| {
        let nodes = planned.replication.nodes();
        match nodes.shard_count(node) {
            _ if node == nodes.local() => Ok(planned.shard.0),
            0 => Err(planned.token),
            count => Ok(Sharder::new(count).shard_of(planned.token)),
        }
    };
    let owners = |planned: &PlannedMutation| {
        let replicas = planned.replicas().iter();
        let mut owners: Vec<_> = replicas.map(|&node| (node, owner(node, planned))).collect();
        owners.sort_by_key(|(node, _)| *node);
        owners
    };
    let mut all = planned.iter().map(owners);
    let first = all.next();
    // What has no replica is nowhere.
    first.as_ref().is_none_or(|first| !first.is_empty()) && all.all(|owners| Some(owners) == first)
}

/// The mutations by the shard of this node that owns them.
pub(super) fn by_shard(planned: Vec<PlannedMutation>) -> ByShard {
    let mut parts = Vec::new();
    for PlannedMutation { shard, mutation, .. } in planned {
        add(&mut parts, shard, mutation);
    }
    parts
}
