//! From a schema statement to schema changes: pure, so that any node plans alike, with Cassandra 5.0's checks and words.

mod alter;
mod compatible;
mod element;
mod keyspace;
mod masks;
mod names;
mod table;
mod types;
mod user_type;

use std::collections::BTreeMap;

use cql_syntax::Statement;
use topology::Strategies;

use crate::change::SchemaChange;
use crate::error::SchemaError;
use crate::event::{ChangeTarget, ChangeType, SchemaEvent};
use crate::ids::TableId;
use crate::properties::{Properties, PropertyValue};
use crate::snapshot::Schema;
pub use masks::sets_mask;
pub use table::system_table;
pub use types::qualified;

/// What planning needs to know besides the schema.
#[derive(Debug, Clone, Copy)]
pub struct DdlContext<'a> {
    /// The session's keyspace, for names without one.
    pub current_keyspace: Option<&'a str>,
    /// The id for a new table: a fresh UUID.
    pub new_id: TableId,
    /// The datacenters of the cluster with their numbers of nodes: `NetworkTopologyStrategy` names no others, and a larger replication factor draws a
    /// warning.
    pub datacenters: &'a BTreeMap<String, usize>,
    /// The replication strategies that keyspaces may name.
    pub strategies: &'a Strategies,
    /// Now, microseconds since 1970.
    pub now_micros: i64,
    /// True if columns may be given masks. The node that was asked decides that by its configuration; whoever plans its statement again does not.
    pub masks_enabled: bool,
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
    matches!(
        statement,
        Statement::CreateKeyspace(_)
            | Statement::AlterKeyspace(_)
            | Statement::DropKeyspace(_)
            | Statement::CreateTable(_)
            | Statement::AlterTable(_)
            | Statement::DropTable(_)
            | Statement::CreateType(_)
            | Statement::AlterType(_)
            | Statement::DropType(_)
            | Statement::DropElement(_)
    )
}

/// Checks `statement` against `schema` and says what it changes. A statement that is no schema change is refused.
pub fn plan_ddl(schema: &Schema, statement: &Statement, context: &DdlContext<'_>) -> Result<DdlPlan, SchemaError> {
    match statement {
        Statement::CreateKeyspace(create) => {
            let properties = read_properties(&create.properties)?;
            keyspace::create(schema, &create.keyspace, create.if_not_exists, properties, context)
        }
        Statement::AlterKeyspace(alter) => {
            let properties = read_properties(&alter.properties)?;
            keyspace::alter(schema, &alter.keyspace, alter.if_exists, properties, context)
        }
        Statement::DropKeyspace(drop) => keyspace::drop(schema, &drop.keyspace, drop.if_exists),
        Statement::CreateTable(create) => table::create(schema, create, context),
        Statement::AlterTable(statement) => alter::alter(schema, statement, context),
        Statement::DropTable(drop) => table::drop(schema, drop, context),
        Statement::CreateType(create) => user_type::create(schema, create, context),
        Statement::AlterType(statement) => user_type::alter(schema, statement, context),
        Statement::DropType(drop) => user_type::drop(schema, drop, context),
        Statement::DropElement(drop) => element::drop(schema, drop, context),
        _ => Err(SchemaError::invalid("the statement does not change the schema")),
    }
}

/// The plan of one step on one table.
fn table_plan(change: ChangeType, keyspace: &str, table: &str, step: SchemaChange, warnings: Vec<String>) -> DdlPlan {
    let event =
        SchemaEvent { change, target: ChangeTarget::Table, keyspace: keyspace.to_owned(), name: table.to_owned() };
    DdlPlan { changes: vec![step], warnings, event: Some(event) }
}

/// A WITH clause's properties by name. Names are already folded to lower case where they were not quoted.
fn read_properties(written: &cql_syntax::Properties) -> Result<Properties, SchemaError> {
    let mut properties = Properties::default();
    for (name, value) in written {
        let value = match value {
            cql_syntax::PropertyValue::Literal(literal) => PropertyValue::Text(literal.text.to_string()),
            cql_syntax::PropertyValue::Word(word) => PropertyValue::Text(word.clone()),
            cql_syntax::PropertyValue::Map(entries) => {
                let mut map = BTreeMap::new();
                for (key, value) in entries {
                    if map.insert(key.text.to_string(), value.text.to_string()).is_some() {
                        return Err(SchemaError::syntax(format!("Multiple definition for property {}", key.text)));
                    }
                }
                PropertyValue::Map(map)
            }
        };
        properties.add(name, value)?;
    }
    Ok(properties)
}

#[cfg(test)]
mod tests;
