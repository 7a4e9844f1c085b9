//! Where the parts of a write go, and what became of a part.

use std::time::Duration;

use runtime::ShardId;
use topology::{Epoch, NodeIndex};

use super::tally::Answer;
use crate::plan::Nodes;
use crate::replica::{ReplicaError, Shards, WriteTerms, ask_to_commit, ask_to_write};

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

    /// Writes a part, and gives the node with its answer. Another node has so much time, and syncs a commit in any mode.
    pub(crate) async fn write(
        self,
        shards: &Shards,
        nodes: &Nodes,
        mutations: &[&[u8]],
        (terms, time): (WriteTerms, Duration),
        is_commit: bool,
    ) -> (NodeIndex, Answer) {
        match self {
            Place::Here(shard) => {
                let written = shards.write_shared(shard, mutations, terms).await;
                (nodes.local(), written.map_or_else(Answer::Refused, |()| Answer::Written))
            }
            Place::There(node) => {
                (node, write_there(shards, nodes, node, mutations, (time, terms.planned), is_commit).await)
            }
        }
    }
}

async fn write_there(
    shards: &Shards,
    nodes: &Nodes,
    node: NodeIndex,
    mutations: &[&[u8]],
    (time, planned): (Duration, Epoch),
    is_commit: bool,
) -> Answer {
    let Some(peer) = nodes.peer(node) else { return Answer::Silent };
    let writing = async {
        match is_commit {
            true => ask_to_commit(peer, mutations, (time, planned)).await,
            false => ask_to_write(peer, mutations, (time, planned)).await,
        }
    };
    match shards.runtime.timeout(time, writing).await {
        Ok(Ok(())) => Answer::Written,
        // The connection ended: whether the request got there is not known.
        Err(runtime::Elapsed) | Ok(Err(ReplicaError::Gone { .. })) => Answer::Silent,
        Ok(Err(error)) => Answer::Refused(error),
    }
}
