//! DELETE.

use cql_syntax::{Delete, Deletion};
use schema::{ColumnKind, Table};

use super::context::PlanContext;
use super::modification::sort_by_column;
use super::planner::{using, writable_table};
use super::restrictions::{Restrictions, StatementKind};
use super::terms::{Markers, undefined_column};
use super::{Assignment, ClusteringChoice, Conditions, Modification, ModificationKind, Target, conditions};
use crate::error::{QueryError, invalid};

pub(super) fn plan(
    delete: &Delete,
    context: PlanContext<'_>,
    markers: &mut Markers,
) -> Result<Modification, QueryError> {
    let found = writable_table(&delete.table, context)?;
    let table = &found.table;
    let (timestamp, _) = using(&delete.using, table, markers)?;
    let conditions = conditions::plan(&delete.conditions, &delete.using, table, markers)?;
    let (statics, regulars) = columns(delete, table, markers)?;
    let mut restrictions = Restrictions::new(&delete.relations, table, StatementKind::Delete, false, markers)?;
    restrictions.check_key_is_there(table)?;
    restrictions.check_no_other_columns(table)?;
    if conditions.is_some() {
        let deletes_regulars = !regulars.is_empty() || statics.is_empty();
        // The clustering column that a sparse table hides cannot be restricted; what is not its row's is static.
        let is_one_row = restrictions.names_rows(table) && !(table.is_sparse() && delete.deletions.is_empty());
        conditions::check_delete(conditions.as_deref(), deletes_regulars, is_one_row)?;
    }
    let target = target(&mut restrictions, table, (&statics, &regulars), conditions.as_deref())?;
    let modification = Modification {
        table: found.table.clone(),
        replication: found.replication,
        kind: ModificationKind::Delete,
        key: restrictions.into_keys(table, StatementKind::Delete)?,
        target,
        marks_rows: false,
        statics,
        regulars,
        counts: table.is_counter(),
        ttl: None,
        timestamp,
        conditions,
    };
    conditions::check(&modification)?;
    Ok(modification)
}

/// The columns to delete: static ones, regular ones.
fn columns(
    delete: &Delete,
    table: &Table,
    markers: &mut Markers,
) -> Result<(Vec<Assignment>, Vec<Assignment>), QueryError> {
    let (mut statics, mut regulars) = (Vec::new(), Vec::new());
    for deletion in &delete.deletions {
        let (Deletion::Column(name) | Deletion::Element { column: name, .. } | Deletion::Field { column: name, .. }) =
            deletion;
        let column = table.column(name).ok_or_else(|| undefined_column(name, table))?;
        if column.kind.is_key() {
            return Err(invalid(format!("Invalid identifier {name} for deletion (should not be a PRIMARY KEY part)")));
        }
        let change = Assignment::of_deletion(deletion, column, table, markers)?;
        let list = if column.kind == ColumnKind::Static { &mut statics } else { &mut regulars };
        list.push(change);
    }
    sort_by_column(&mut statics);
    sort_by_column(&mut regulars);
    Ok((statics, regulars))
}

fn target(
    restrictions: &mut Restrictions,
    table: &Table,
    (statics, regulars): (&[Assignment], &[Assignment]),
    conditions: Option<&Conditions>,
) -> Result<Target, QueryError> {
    // Without columns it is the row that goes.
    let deletes_rows = !regulars.is_empty() || statics.is_empty();
    if Modification::is_about_statics(table, !statics.is_empty(), deletes_rows, conditions) {
        restrictions.check_no_clustering(StatementKind::Delete, table)?;
        return Ok(Target::StaticRow);
    }
    if !restrictions.has_clustering() && regulars.is_empty() {
        return Ok(Target::Partition);
    }
    restrictions.check_prefix(table)?;
    let rows = restrictions.take_rows();
    let width: usize = rows.choices.iter().map(ClusteringChoice::width).sum();
    let is_whole = width == table.clustering().len() && rows.start.is_none() && rows.end.is_none();
    if is_whole {
        return Ok(Target::Rows(rows.choices));
    }
    match regulars.is_empty() {
        true => Ok(Target::Range { prefix: rows.choices, start: rows.start, end: rows.end }),
        false => Err(invalid("Range deletions are not supported for specific columns")),
    }
}
