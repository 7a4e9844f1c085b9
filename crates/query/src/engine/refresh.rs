//! Files that an operator has taken in while the node runs, led by shard 0 as schema changes are: one thing after the other.

use cluster::coordinator::Replication;
use storage::{FilesToTakeIn, OpenError};
use topology::Token;

use super::Engine;
use crate::control::{ControlReply, ControlRequest};

/// The addresses of a token's replicas; `None`: this node is one of them, or has no others beside it.
fn other_replicas(replication: &Replication, token: Token) -> Option<String> {
    let (ring, replicas) = (replication.ring(), replication.replicas(token));
    if ring.others().next().is_none() || replicas.contains(&ring.local()) {
        return None;
    }
    let addresses = replicas.iter().map(|node| ring.node(*node).address.ip().to_string());
    Some(addresses.collect::<Vec<_>>().join(", "))
}

impl Engine {
    /// Takes in the files that a person laid into a table's folder, or into its `upload/`. On shard 0. The error says what could not be done, or
    /// what was left alone beside files that are taken in.
    pub async fn refresh(&self, keyspace: &str, table: &str) -> Result<(), String> {
        // No statement of this node, nor a change that another one has asked for, comes between the steps.
        let _turns = (self.proposer().turn().await, self.proposer().turn_of_shards().await);
        let found = self.catalog().find(Some(keyspace), table).map_err(|error| error.to_string())?;
        let storage = self.inner.coordinator.storage();
        let replication = self.catalog().replication_of(found.table.id);
        let others = |token| replication.as_ref().and_then(|replication| other_replicas(replication, token));
        let sentence = |error: OpenError| error.to_string();
        let files = storage.find_files_to_take_in(found.table.id, &others).await.map_err(sentence)?;
        if !files.is_empty() {
            let taken_in = self.take_in(&files).await;
            taken_in.map_err(|what| {
                format!("{what}; the remaining SSTables are imported by the next refresh, or at the next start")
            })?;
            storage.clear_files_taken_in(&files).await.map_err(sentence)?;
        }
        if files.left_alone.is_empty() { Ok(()) } else { Err(files.left_alone.join("; ")) }
    }

    async fn take_in(&self, files: &FilesToTakeIn) -> Result<(), String> {
        self.on_all_shards_or_why(|| ControlRequest::NameFiles { files: files.clone() }).await?;
        self.on_all_shards_or_why(|| ControlRequest::OpenFiles { files: files.clone() }).await
    }

    /// A step of all shards; the first error of any.
    async fn on_all_shards_or_why(&self, request: impl Fn() -> ControlRequest) -> Result<(), String> {
        let replies = self.on_all_shards(request).await.map_err(|error| error.to_string())?;
        let failed = replies.into_iter().find_map(|(_, reply)| match reply {
            ControlReply::TakenIn(taken) => taken.err(),
            _ => None,
        });
        failed.map_or(Ok(()), Err)
    }
}
