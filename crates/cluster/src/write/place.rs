//! Where the parts of a write go, and what became of a part.

use std::time::Duration;

use runtime::ShardId;
use topology::{Epoch, NodeIndex};

use super::tally::Answer;
use crate::plan::Nodes;
use crate::replica::{ReplicaError, Shards, WriteTerms, ask_to_write};

/// Time-out of replicas' answers to a write. Cassandra's `write_request_timeout`.
pub(super) const WRITE_TIME: Duration = Duration::from_secs(2);

/// Where a part of a write goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A shard of this node.
    Here(ShardId),
    /// Another node.
    There(NodeIndex),
}

impl Place {
    /// The place of a node's part, of which `shard` is the owner on this node.
    pub(crate) fn of(node: NodeIndex, shard: ShardId, nodes: &Nodes) -> Place {
        if node == nodes.local() { Place::Here(shard) } else { Place::There(node) }
    }

    /// Writes a part, and gives the node with its answer.
    pub(crate) async fn write(
        self,
        shards: &Shards,
        nodes: &Nodes,
        mutations: &[&[u8]],
        terms: WriteTerms,
    ) -> (NodeIndex, Answer) {
        match self {
            Place::Here(shard) => {
                let written = shards.write_shared(shard, mutations, terms).await;
                (nodes.local(), written.map_or_else(Answer::Refused, |()| Answer::Written))
            }
            Place::There(node) => (node, write_there(shards, nodes, node, mutations, terms.planned).await),
        }
    }
}

async fn write_there(shards: &Shards, nodes: &Nodes, node: NodeIndex, mutations: &[&[u8]], planned: Epoch) -> Answer {
    let Some(peer) = nodes.peer(node) else { return Answer::Silent };
    match shards.runtime.timeout(WRITE_TIME, ask_to_write(peer, mutations, (WRITE_TIME, planned))).await {
        Ok(Ok(())) => Answer::Written,
        // The connection ended: whether the request got there is not known.
        Err(runtime::Elapsed) | Ok(Err(ReplicaError::Gone { .. })) => Answer::Silent,
        Ok(Err(error)) => Answer::Refused(error),
    }
}
