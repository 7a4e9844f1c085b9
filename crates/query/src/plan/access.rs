//! The permissions that a statement needs: `auth`'s matrix, with the objects that the statement names.
//!
//! The names are resolved as Cassandra resolves them. A table that is read or written is one of the schema, since no plan is made of another one. What a
//! schema statement or TRUNCATE names need not exist: the refusal of who has no permission comes before that of a table which does not exist. A name without
//! a keyspace, where the session has none, is refused before both.
//!
//! Not here: statements about roles, whose needs depend on their options.

use std::collections::BTreeSet;

use auth::{Objects, Requirement, StatementKind, requirements};
use cql_syntax::{ElementKind, Statement, TableName};
use planted::{Bug, Planted};
use schema::{Table, TableId};

use super::context::PlanContext;
use super::{Action, BatchPlan, Modification, masks};
use crate::catalog::no_keyspace;
use crate::error::QueryError;

/// The needs of a planned statement, in the order in which they are checked. Without checks there are none, and an empty box takes no memory.
pub(super) fn needs(action: &Action, context: PlanContext<'_>) -> Result<Box<[Requirement]>, QueryError> {
    if !context.checks_access {
        return Ok(Box::default());
    }
    let needs = match action {
        Action::Select(select) | Action::SelectVirtual(select) => {
            let masked = select.restricts_masked.to_vec();
            requirements(StatementKind::Select, &Objects { masked, ..of_table(&select.table) })
        }
        Action::Modify(modification) => of_modification(modification, context.planted),
        Action::Batch(batch) => of_batch(batch, context.planted),
        Action::Other(statement) => needs_of_statement(statement, context.keyspace)?,
    };
    Ok(needs.into_boxed_slice())
}

/// The needs of a statement that is worked out when it runs. DESCRIBE and USE need a login alone.
pub(crate) fn needs_of_statement(statement: &Statement, current: Option<&str>) -> Result<Vec<Requirement>, QueryError> {
    use StatementKind as Kind;
    let within = |keyspace: &Option<String>| match keyspace.as_deref().or(current) {
        Some(keyspace) => Ok(of_keyspace(keyspace)),
        None => Err(no_keyspace()),
    };
    let on = |name: &TableName| Ok(Objects { table: name.table.clone(), ..within(&name.keyspace)? });
    let (kind, objects) = match statement {
        Statement::Truncate(table) => (Kind::Truncate, on(table)),
        Statement::CreateKeyspace(create) => (Kind::CreateKeyspace, Ok(of_keyspace(&create.keyspace))),
        Statement::AlterKeyspace(alter) => (Kind::AlterKeyspace, Ok(of_keyspace(&alter.keyspace))),
        Statement::DropKeyspace(drop) => (Kind::DropKeyspace, Ok(of_keyspace(&drop.keyspace))),
        Statement::CreateTable(create) => (Kind::CreateTable, on(&create.table)),
        Statement::AlterTable(alter) => (Kind::AlterTable, on(&alter.table)),
        Statement::DropTable(drop) => (Kind::DropTable, on(&drop.table)),
        Statement::CreateType(create) => (Kind::CreateType, within(&create.name.keyspace)),
        Statement::AlterType(alter) => (Kind::AlterType, within(&alter.name.keyspace)),
        Statement::DropType(drop) => (Kind::DropType, within(&drop.name.keyspace)),
        Statement::DropElement(drop) => match drop.kind {
            ElementKind::Trigger(_) => (Kind::DropTrigger, within(&drop.keyspace)),
            // Permissions are on the table of an index or view, and on functions. No keyspace has any of these, and the statement says so to all.
            _ => return Ok(Vec::new()),
        },
        _ => return Ok(Vec::new()),
    };
    Ok(requirements(kind, &objects?))
}

/// The needs of a TRUNCATE.
pub(crate) fn needs_of_truncate(keyspace: &str, table: &str) -> Vec<Requirement> {
    requirements(StatementKind::Truncate, &Objects { table: table.to_owned(), ..of_keyspace(keyspace) })
}

fn of_keyspace(keyspace: &str) -> Objects {
    Objects { keyspace: keyspace.to_owned(), ..Objects::default() }
}

fn of_table(table: &Table) -> Objects {
    Objects { table: table.name.clone(), ..of_keyspace(&table.keyspace) }
}

fn of_modification(modification: &Modification, planted: Planted) -> Vec<Requirement> {
    let is_conditional = modification.conditions.is_some() && !planted.is(Bug::IfWithoutSelect);
    let masked = masks::compared(modification).into_vec();
    requirements(StatementKind::Modify, &Objects { is_conditional, masked, ..of_table(&modification.table) })
}

/// The needs of all statements, in their order. Thousands of statements about one table need what one of them needs.
fn of_batch(batch: &BatchPlan, planted: Planted) -> Vec<Requirement> {
    let mut seen: BTreeSet<(TableId, bool, Box<[String]>)> = BTreeSet::new();
    let mut needs = Vec::new();
    for modification in &batch.modifications {
        if planted.is(Bug::BatchCheckedOnce) && !seen.is_empty() {
            break;
        }
        let what = (modification.table.id, modification.conditions.is_some(), masks::compared(modification));
        if seen.insert(what) {
            needs.extend(of_modification(modification, planted));
        }
    }
    needs
}

#[cfg(test)]
mod tests;
