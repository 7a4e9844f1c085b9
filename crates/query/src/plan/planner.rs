//! From a parsed statement to a plan.

use std::rc::Rc;

use cql_syntax::{Batch, BatchKind, Statement, TableName, Using};
use cql_types::CqlType;
use runtime::Runtime;
use schema::{Table, system_keyspaces};

use super::terms::{Markers, Receiver};
use super::{Action, BatchPlan, Modification, Operand, Plan, delete, insert, selection_plan, update};
use crate::catalog::Catalog;
use crate::error::{QueryError, invalid};

/// What planning needs besides the statement.
#[derive(Clone, Copy)]
pub(crate) struct PlanContext<'a> {
    /// The schema.
    pub(crate) catalog: &'a Catalog,
    /// The keyspace for names without one.
    pub(crate) keyspace: Option<&'a str>,
}

/// Plans a statement.
pub(crate) fn plan(statement: Statement, context: PlanContext<'_>) -> Result<Plan, QueryError> {
    let is_qualified = is_qualified(&statement);
    let mut markers = Markers::default();
    let action = action(statement, context, &mut markers)?;
    finish(action, markers, is_qualified)
}

/// [`plan`] for a statement that may be a batch of thousands, with a pause after each of them.
pub(crate) async fn plan_in_steps(
    statement: Statement,
    context: PlanContext<'_>,
    runtime: &Runtime,
) -> Result<Plan, QueryError> {
    let is_qualified = is_qualified(&statement);
    let mut markers = Markers::default();
    let action = match statement {
        Statement::Batch(mut batch) => {
            check_batch(&batch)?;
            let statements = std::mem::take(&mut batch.statements);
            let mut modifications = Vec::with_capacity(statements.len());
            for statement in statements {
                modifications.push(batch_modification(&batch, &statement, context, &mut markers)?);
                runtime.maybe_yield().await;
            }
            Action::Batch(finish_batch(&batch, modifications, &mut markers)?)
        }
        other => action(other, context, &mut markers)?,
    };
    finish(action, markers, is_qualified)
}

fn action(statement: Statement, context: PlanContext<'_>, markers: &mut Markers) -> Result<Action, QueryError> {
    Ok(match statement {
        Statement::Select(select) => selection_plan::plan(&select, context, markers)?,
        Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {
            Action::Modify(Box::new(modification(&statement, context, markers)?))
        }
        Statement::Batch(batch) => Action::Batch(batch_plan(&batch, context, markers)?),
        Statement::Unsupported { what } => return Err(invalid(format!("{what} is not supported yet"))),
        other => Action::Other(Rc::new(other)),
    })
}

fn finish(action: Action, markers: Markers, is_qualified: bool) -> Result<Plan, QueryError> {
    let key_markers = match &action {
        Action::Modify(modification) => key_markers(&[&modification.key]),
        Action::SelectVirtual(select) => key_markers(&[&select.system_key]),
        Action::Select(select) => match &select.keys {
            super::Keys::Choices(choices) => key_markers(&[choices]),
            super::Keys::Tokens { .. } => Vec::new(),
        },
        Action::Batch(batch) => batch_key_markers(batch),
        Action::Other(_) => Vec::new(),
    };
    let (markers, generators) = markers.finish()?;
    let is_about_one = match &action {
        Action::Modify(modification) => modification.is_single_row() && !modification.needs_reading(),
        Action::Select(select) => select.is_single_partition(),
        _ => false,
    };
    let is_quick = is_about_one && generators.is_empty();
    let has_order = markers.iter().any(|marker| cql_types::has_order(&marker.ty));
    Ok(Plan { action, markers, generators, key_markers, has_order, is_quick, is_qualified, warnings: Vec::new() })
}

/// Whether the statement means the same in every session.
fn is_qualified(statement: &Statement) -> bool {
    match statement {
        Statement::Select(select) => select.table.keyspace.is_some(),
        Statement::Insert(insert) => insert.table.keyspace.is_some(),
        Statement::Update(update) => update.table.keyspace.is_some(),
        Statement::Delete(delete) => delete.table.keyspace.is_some(),
        Statement::Truncate(table) => table.keyspace.is_some(),
        Statement::Batch(batch) => batch.statements.iter().all(is_qualified),
        _ => false,
    }
}

/// For each column of the partition key the last marker bound to it, in any of the keys; nothing if one has none, since a
/// driver could not then compute the key.
fn key_markers(keys: &[&[super::KeyChoice]]) -> Vec<u16> {
    let columns = keys.first().map_or(0, |key| key.len());
    let marker_of = |choice: &super::KeyChoice| match choice {
        super::KeyChoice::One(operand) => operand.marker(),
        super::KeyChoice::In(super::InList::Operands(operands)) => operands.iter().filter_map(Operand::marker).max(),
        super::KeyChoice::In(super::InList::Marker(_)) => None,
    };
    let last = |column: usize| keys.iter().filter_map(|key| marker_of(&key[column])).max();
    (0..columns).map(last).collect::<Option<Vec<u16>>>().unwrap_or_default()
}

/// As for one statement, if all are about one table. A marker for the batch's own timestamp belongs to no table, and then
/// Cassandra tells of no key.
fn batch_key_markers(batch: &BatchPlan) -> Vec<u16> {
    let mut tables = batch.modifications.iter().map(|modification| modification.table.id);
    let first = tables.next();
    if tables.any(|table| Some(table) != first) || batch.timestamp.as_ref().is_some_and(|at| at.marker().is_some()) {
        return Vec::new();
    }
    let keys: Vec<&[super::KeyChoice]> = batch.modifications.iter().map(|modification| &modification.key[..]).collect();
    key_markers(&keys)
}

/// Plans an INSERT, UPDATE or DELETE.
fn modification(
    statement: &Statement,
    context: PlanContext<'_>,
    markers: &mut Markers,
) -> Result<Modification, QueryError> {
    match statement {
        Statement::Insert(insert) => insert::plan(insert, context, markers),
        Statement::Update(update) => update::plan(update, context, markers),
        Statement::Delete(delete) => delete::plan(delete, context, markers),
        _ => Err(invalid("A batch holds INSERT, UPDATE and DELETE statements only")),
    }
}

fn batch_plan(batch: &Batch, context: PlanContext<'_>, markers: &mut Markers) -> Result<BatchPlan, QueryError> {
    check_batch(batch)?;
    let mut modifications = Vec::with_capacity(batch.statements.len());
    for statement in &batch.statements {
        modifications.push(batch_modification(batch, statement, context, markers)?);
    }
    finish_batch(batch, modifications, markers)
}

fn check_batch(batch: &Batch) -> Result<(), QueryError> {
    if batch.kind == BatchKind::Counter {
        return Err(invalid("Counter batches are not supported yet"));
    }
    if batch.using.ttl.is_some() {
        return Err(invalid("Global TTL on the BATCH statement is not supported."));
    }
    Ok(())
}

fn batch_modification(
    batch: &Batch,
    statement: &Statement,
    context: PlanContext<'_>,
    markers: &mut Markers,
) -> Result<Modification, QueryError> {
    let modification = modification(statement, context, markers)?;
    if batch.using.timestamp.is_some() && modification.timestamp.is_some() {
        return Err(invalid("Timestamp must be set either on BATCH or individual statements"));
    }
    Ok(modification)
}

fn finish_batch(
    batch: &Batch,
    modifications: Vec<Modification>,
    markers: &mut Markers,
) -> Result<BatchPlan, QueryError> {
    let (timestamp, _) = match modifications.first() {
        Some(first) => using(&batch.using, &first.table.clone(), markers)?,
        None => (None, None),
    };
    Ok(BatchPlan { is_logged: batch.kind == BatchKind::Logged, timestamp, modifications })
}

/// The table that a modification is about, which must be one that takes modifications.
pub(super) fn writable_table(name: &TableName, context: PlanContext<'_>) -> Result<crate::catalog::Found, QueryError> {
    let found = context.catalog.find(name.keyspace.as_deref().or(context.keyspace), &name.table)?;
    if found.is_system && system_keyspaces::is_virtual(&found.table.keyspace) {
        let (keyspace, table) = (&found.table.keyspace, &found.table.name);
        return Err(invalid(format!("Modification is not supported by table {keyspace}.{table}")));
    }
    if found.is_system {
        return Err(invalid(format!("the tables of keyspace {} cannot be written to", found.table.keyspace)));
    }
    if found.table.is_counter() {
        return Err(invalid("Updates of counter tables are not supported yet"));
    }
    Ok(found)
}

/// USING: timestamp and time to live.
pub(super) fn using(
    using: &Using,
    table: &Table,
    markers: &mut Markers,
) -> Result<(Option<Operand>, Option<Operand>), QueryError> {
    let timestamp = Receiver::new(table, "[timestamp]", CqlType::Bigint);
    let ttl = Receiver::new(table, "[ttl]", CqlType::Int);
    let timestamp = using.timestamp.as_ref().map(|term| markers.operand(term, &timestamp)).transpose()?;
    let ttl = using.ttl.as_ref().map(|term| markers.operand(term, &ttl)).transpose()?;
    Ok((timestamp, ttl))
}
