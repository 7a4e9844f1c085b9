//! INSERT.

use cql_syntax::Insert;
use schema::{Column, ColumnKind, Table};

use super::context::PlanContext;
use super::modification::sort_by_column;
use super::planner::{using, writable_table};
use super::restrictions::check_dense_prefix;
use super::terms::{Markers, Receiver, undefined_column};
use super::{
    Assignment, ClusteringChoice, Conditions, KeyChoice, Modification, ModificationKind, Operand, Target, conditions,
    insert_json,
};
use crate::error::{QueryError, invalid};

pub(super) fn plan(
    insert: &Insert,
    context: PlanContext<'_>,
    markers: &mut Markers,
) -> Result<Modification, QueryError> {
    let found = writable_table(&insert.table, context)?;
    let table = &found.table;
    if table.is_counter() {
        return Err(invalid("INSERT statements are not allowed on counter tables, use UPDATE instead"));
    }
    if insert.json.is_some() {
        check_hidden_json(table)?;
    }
    let mut key: Vec<Option<Operand>> = table.partition_key().iter().map(|_| None).collect();
    let mut clustering: Vec<Option<Operand>> = table.clustering().iter().map(|_| None).collect();
    let (mut statics, mut regulars) = (Vec::new(), Vec::new());
    let given = match &insert.json {
        Some(json) => insert_json::operands(json, table, markers)?,
        None => operands(insert, table, markers)?,
    };
    for (column, operand) in given {
        match column.kind {
            ColumnKind::PartitionKey => key[usize::from(column.position)] = Some(operand),
            ColumnKind::Clustering => clustering[usize::from(column.position)] = Some(operand),
            ColumnKind::Static => statics.push(Assignment::whole(column, operand, markers)?),
            ColumnKind::Regular => regulars.push(Assignment::whole(column, operand, markers)?),
        }
    }
    let key = complete(key, table.partition_key(), "partition key parts")?;
    check_hidden(table, !regulars.is_empty())?;
    let target = target(table, clustering, !statics.is_empty() && regulars.is_empty())?;
    sort_by_column(&mut statics);
    sort_by_column(&mut regulars);
    let (timestamp, ttl) = using(&insert.using, table, markers)?;
    let modification = Modification {
        table: found.table.clone(),
        replication: found.replication,
        kind: ModificationKind::Insert,
        key: key.into_iter().map(KeyChoice::One).collect(),
        target,
        marks_rows: table.marks_rows(),
        statics,
        regulars,
        counts: false,
        ttl,
        timestamp,
        conditions: insert.if_not_exists.then(|| Box::new(Conditions::NotExists)),
    };
    conditions::check(&modification)?;
    Ok(modification)
}

/// The operands of the columns that are named.
fn operands<'t>(
    insert: &Insert,
    table: &'t Table,
    markers: &mut Markers,
) -> Result<Vec<(&'t Column, Operand)>, QueryError> {
    if insert.columns.len() != insert.values.len() {
        return Err(invalid("Unmatched column names/values"));
    }
    let mut operands = Vec::with_capacity(insert.columns.len());
    for (index, (name, term)) in insert.columns.iter().zip(&insert.values).enumerate() {
        let column = table.column(name).ok_or_else(|| undefined_column(name, table))?;
        if insert.columns[..index].contains(name) {
            return Err(invalid("The column names contains duplicates"));
        }
        operands.push((column, markers.operand(term, &Receiver::column(table, column))?));
    }
    Ok(operands)
}

/// A sparse table WITH COMPACT STORAGE hides a clustering column, which nobody can name. JSON says all columns, so it would have to.
fn check_hidden_json(table: &Table) -> Result<(), QueryError> {
    match table.hidden_clustering() {
        Some(hidden) => Err(undefined_column(&hidden.name, table)),
        None => Ok(()),
    }
}

/// Without a column outside of the key an INSERT into such a table could be about nothing but what is hidden.
fn check_hidden(table: &Table, has_regulars: bool) -> Result<(), QueryError> {
    match table.hidden_clustering() {
        Some(hidden) if !has_regulars => Err(invalid(format!("Some clustering keys are missing: {}", hidden.name))),
        _ => Ok(()),
    }
}

/// The row, or the static row alone where only static columns are given and no clustering column.
fn target(table: &Table, clustering: Vec<Option<Operand>>, only_statics: bool) -> Result<Target, QueryError> {
    if only_statics && !table.clustering().is_empty() && clustering.iter().all(Option::is_none) {
        return Ok(Target::StaticRow);
    }
    let given = clustering.iter().enumerate().filter(|(_, operand)| operand.is_some());
    check_dense_prefix(table, given.map(|(position, _)| position))?;
    let names_prefix = table.has_rows_of_prefixes() && clustering.iter().any(Option::is_some);
    let clustering = match names_prefix {
        true => clustering.into_iter().flatten().collect(),
        false => complete(clustering, table.clustering(), "clustering keys")?,
    };
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
