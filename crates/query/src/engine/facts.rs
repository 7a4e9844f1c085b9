//! What operators ask of a shard's engine beside its counters: the node, its ring, its keyspaces.

use cluster::coordinator::Coordinator;
use cql_types::CqlType;
use schema::{Schema, TableId};
use stdx::Reader;
use topology::ReplicationStrategy;

use super::Engine;
use crate::NodeInfo;

impl Engine {
    /// The node it runs on.
    pub fn node(&self) -> &NodeInfo {
        &self.inner.node
    }

    /// The shard's coordinator, which knows the ring and the nodes that answer.
    pub fn coordinator(&self) -> &Coordinator {
        &self.inner.coordinator
    }

    /// The server's own keyspaces.
    pub fn system_schema(&self) -> Schema {
        self.catalog().system.schema().clone()
    }

    /// A table's name and a partition's key as people write them: the values of the key's columns, with colons between; `None`: there is no
    /// such table.
    pub fn partition_text(&self, table: TableId, key: &[u8]) -> Option<(String, String, String)> {
        let catalog = self.catalog();
        let table = catalog.schema.table_by_id(table)?;
        let columns = table.partition_key();
        let text = match columns {
            [column] => value_text(&column.ty, key),
            columns => {
                let mut rest = Reader::new(key);
                let mut texts = Vec::with_capacity(columns.len());
                for column in columns {
                    let value = rest.u16().and_then(|length| rest.bytes(usize::from(length)));
                    texts.push(value.map_or_else(|_| String::new(), |value| value_text(&column.ty, value)));
                    // What ends a component.
                    let _ = rest.u8();
                }
                texts.join(":")
            }
        };
        Some((table.keyspace.clone(), table.name.clone(), text))
    }

    /// For each node of the present ring, in its order, what part of the ring it has a copy of in this keyspace.
    pub fn ownership(&self, keyspace: &str) -> Vec<f64> {
        let (catalog, ring) = (self.catalog(), self.inner.coordinator.ring());
        let strategy = catalog.schema.keyspace(keyspace).map(|keyspace| keyspace.strategy());
        let replication = match strategy {
            None | Some(ReplicationStrategy::Local) => return vec![1.0; ring.nodes().len()],
            Some(_) => catalog.replication(keyspace),
        };
        // Summed as tokens: parts as floating-point numbers would not add up to the whole.
        let mut spans = vec![0u128; ring.nodes().len()];
        let owners = ring.owners();
        if let Some(((mut before, _), replication)) = owners.last().copied().zip(replication) {
            for (token, _) in owners {
                // One token alone stands for the whole ring, which is a difference of 0.
                let span = token.0.wrapping_sub(before.0) as u64;
                let span = if span == 0 { 1 << 64 } else { u128::from(span) };
                for replica in replication.replicas(*token) {
                    spans[usize::from(replica.0)] += span;
                }
                before = *token;
            }
        }
        spans.into_iter().map(|span| span as f64 / 2f64.powi(64)).collect()
    }
}

/// A value without the quotes that it has in a statement.
fn value_text(ty: &CqlType, value: &[u8]) -> String {
    match ty {
        CqlType::Ascii | CqlType::Text => String::from_utf8_lossy(value).into_owned(),
        ty => cql_types::print(ty, value).trim_matches('\'').to_owned(),
    }
}
