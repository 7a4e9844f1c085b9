//! INSERT.

use cql_syntax::Insert;
use schema::{ColumnKind, Table};

use super::planner::{PlanContext, using, writable_table};
use super::terms::{Markers, Receiver, undefined_column};
use super::{Assignment, ClusteringChoice, KeyChoice, Modification, ModificationKind, Operand, Target};
use crate::error::{QueryError, invalid};

pub(super) fn plan(
    insert: &Insert,
    context: PlanContext<'_>,
    markers: &mut Markers,
) -> Result<Modification, QueryError> {
    if insert.if_not_exists {
        return Err(conditional_error());
    }
    let found = writable_table(&insert.table, context)?;
    let table = &found.table;
    if insert.columns.len() != insert.values.len() {
        return Err(invalid("Unmatched column names/values"));
    }
    let mut key: Vec<Option<Operand>> = table.partition_key().iter().map(|_| None).collect();
    let mut clustering: Vec<Option<Operand>> = table.clustering().iter().map(|_| None).collect();
    let (mut statics, mut regulars) = (Vec::new(), Vec::new());
    for (index, (name, term)) in insert.columns.iter().zip(&insert.values).enumerate() {
        let column = table.column(name).ok_or_else(|| undefined_column(name, table))?;
        if insert.columns[..index].contains(name) {
            return Err(invalid("The column names contains duplicates"));
        }
        let operand = markers.operand(term, &Receiver::column(table, column))?;
        match column.kind {
            ColumnKind::PartitionKey => key[usize::from(column.position)] = Some(operand),
            ColumnKind::Clustering => clustering[usize::from(column.position)] = Some(operand),
            ColumnKind::Static => statics.push(Assignment::whole(column, operand, markers)?),
            ColumnKind::Regular => regulars.push(Assignment::whole(column, operand, markers)?),
        }
    }
    let key = complete(key, table.partition_key(), "partition key parts")?;
    let target = target(table, clustering, !statics.is_empty() && regulars.is_empty())?;
    statics.sort_by_key(|assignment| assignment.column);
    regulars.sort_by_key(|assignment| assignment.column);
    let (timestamp, ttl) = using(&insert.using, table, markers)?;
    Ok(Modification {
        table: found.table.clone(),
        replication: found.replication,
        kind: ModificationKind::Insert,
        key: key.into_iter().map(KeyChoice::One).collect(),
        target,
        statics,
        regulars,
        ttl,
        timestamp,
    })
}

/// The row, or the static row alone where only static columns are given and no clustering column.
fn target(table: &Table, clustering: Vec<Option<Operand>>, only_statics: bool) -> Result<Target, QueryError> {
    if only_statics && !table.clustering().is_empty() && clustering.iter().all(Option::is_none) {
        return Ok(Target::StaticRow);
    }
    let clustering = complete(clustering, table.clustering(), "clustering keys")?;
    Ok(Target::Rows(clustering.into_iter().map(ClusteringChoice::One).collect()))
}

/// All operands, or the sentence that names the missing ones.
fn complete(
    operands: Vec<Option<Operand>>,
    columns: &[schema::Column],
    what: &str,
) -> Result<Vec<Operand>, QueryError> {
    let missing = operands.iter().zip(columns).filter(|(operand, _)| operand.is_none());
    let missing: Vec<&str> = missing.map(|(_, column)| column.name.as_str()).collect();
    match missing.is_empty() {
        true => Ok(operands.into_iter().flatten().collect()),
        false => Err(invalid(format!("Some {what} are missing: {}", missing.join(", ")))),
    }
}

/// Conditional statements need Paxos, which is not there yet.
pub(super) fn conditional_error() -> QueryError {
    invalid("Conditional statements (IF ...) are not supported yet")
}
