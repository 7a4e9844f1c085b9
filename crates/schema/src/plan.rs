//! From a schema statement to schema changes: pure, so that any node plans alike, with Cassandra 5.0's checks and words.

use std::collections::BTreeSet;

use cql_syntax::Statement;

use crate::change::SchemaChange;
use crate::error::SchemaError;
use crate::event::SchemaEvent;
use crate::ids::TableId;
use crate::snapshot::Schema;

/// What planning needs to know besides the schema.
#[derive(Debug, Clone, Copy)]
pub struct DdlContext<'a> {
    /// The session's keyspace, for names without one.
    pub current_keyspace: Option<&'a str>,
    /// The id for a new table: a fresh UUID.
    pub new_id: TableId,
    /// The datacenters of the cluster, for `NetworkTopologyStrategy`.
    pub datacenters: &'a BTreeSet<String>,
    /// How many nodes the cluster has: a larger replication factor draws a warning.
    pub node_count: usize,
    /// Now, microseconds since 1970.
    pub now_micros: i64,
}

/// A planned statement.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DdlPlan {
    /// To be applied together; empty where the statement changes nothing (IF NOT EXISTS).
    pub changes: Vec<SchemaChange>,
    /// What the client is warned of.
    pub warnings: Vec<String>,
    /// What the client and the subscribers are told; `None` where nothing changes.
    pub event: Option<SchemaEvent>,
}

/// Whether `statement` is one for [`plan_ddl`].
pub fn is_ddl(statement: &Statement) -> bool {
    let _ = statement;
    todo!()
}

/// Checks `statement` against `schema` and says what it changes.
pub fn plan_ddl(schema: &Schema, statement: &Statement, context: &DdlContext<'_>) -> Result<DdlPlan, SchemaError> {
    let _ = (schema, statement, context);
    todo!()
}
