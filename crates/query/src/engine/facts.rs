//! What operators ask of a shard's engine beside its counters: the node, its ring, its keyspaces.

use schema::{ReplicationStrategy, Schema};
use topology::{NodeIndex, Ring};

use super::Engine;
use crate::NodeInfo;

impl Engine {
    /// The node it runs on.
    pub fn node(&self) -> &NodeInfo {
        &self.inner.node
    }

    /// The cluster's nodes.
    pub fn ring(&self) -> &Ring {
        self.inner.coordinator.ring()
    }

    /// Whether this shard sees a node answer.
    pub fn is_up(&self, node: NodeIndex) -> bool {
        self.inner.coordinator.is_up(node)
    }

    /// The server's own keyspaces.
    pub fn system_schema(&self) -> Schema {
        self.catalog().system.schema().clone()
    }

    /// For each node of the ring, in its order, what part of the ring it has a copy of in this keyspace.
    pub fn ownership(&self, keyspace: &str) -> Vec<f64> {
        let (catalog, ring) = (self.catalog(), self.ring());
        let strategy = catalog.schema.keyspace(keyspace).map(|keyspace| keyspace.strategy());
        let replication = match strategy {
            None | Some(ReplicationStrategy::Local) => return vec![1.0; ring.nodes().len()],
            Some(_) => catalog.replication(keyspace),
        };
        let mut parts = vec![0.0; ring.nodes().len()];
        let owners = ring.owners();
        let Some(((mut before, _), replication)) = owners.last().copied().zip(replication) else { return parts };
        for (token, _) in owners {
            // One token alone stands for the whole ring, which is a difference of 0.
            let span = token.0.wrapping_sub(before.0) as u64;
            let part = if span == 0 { 1.0 } else { span as f64 / 2f64.powi(64) };
            for replica in replication.replicas(*token) {
                parts[usize::from(replica.0)] += part;
            }
            before = *token;
        }
        parts
    }
}
