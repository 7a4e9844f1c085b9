//! DROP of what no keyspace has yet: indexes, views, functions, aggregates and triggers.

use cql_syntax::{DropElement, ElementKind};
use cql_types::CqlType;

use super::{DdlContext, DdlPlan, names, types};
use crate::error::SchemaError;
use crate::snapshot::Schema;
use crate::user_type::UserTypes;

pub(super) fn drop(schema: &Schema, statement: &DropElement, context: &DdlContext<'_>) -> Result<DdlPlan, SchemaError> {
    let keyspace = names::keyspace_of(statement.keyspace.as_deref(), context.current_keyspace)?;
    names::check_not_system(keyspace)?;
    let name = format!("{keyspace}.{}", statement.name);
    let signature = |arguments| signature(schema, keyspace, arguments);
    let missing = match &statement.kind {
        // The last quote is Cassandra's.
        ElementKind::Index => format!("Index '{name}' doesn't exist'"),
        ElementKind::MaterializedView => format!("Materialized view '{name}' doesn't exist"),
        ElementKind::Function(arguments) => format!("Function '{name}{}' doesn't exist", signature(arguments)?),
        ElementKind::Aggregate(arguments) => format!("Aggregate '{name}{}' doesn't exist", signature(arguments)?),
        ElementKind::Trigger(table) => format!("Trigger '{}' on '{keyspace}.{table}' doesn't exist", statement.name),
    };
    match statement.if_exists {
        true => Ok(DdlPlan::default()),
        false => Err(SchemaError::invalid(missing)),
    }
}

/// The types of arguments behind a function's name, or nothing where they were not given.
fn signature(schema: &Schema, keyspace: &str, arguments: &Option<Vec<CqlType>>) -> Result<String, SchemaError> {
    let Some(arguments) = arguments else { return Ok(String::new()) };
    let none = UserTypes::default();
    let user_types = schema.keyspace(keyspace).map_or(&none, |keyspace| &keyspace.types);
    let shown = |ty: &CqlType| types::of_argument(keyspace, user_types, ty).map(|ty| ty.to_string());
    let shown: Vec<String> = arguments.iter().map(shown).collect::<Result<_, _>>()?;
    Ok(format!("({})", shown.join(", ")))
}
