//! ALTER TABLE.

use cql_syntax::{AlterTable, AlterTableAction, ColumnDefinition};
use cql_types::CqlType;

use crate::change::SchemaChange;
use crate::column::{Column, ColumnKind};
use crate::error::SchemaError;
use crate::event::ChangeType;
use crate::ids::ColumnId;
use crate::options::read;
use crate::plan::compatible::takes_cells;
use crate::plan::table::{check_counters, static_without_clustering, unknown};
use crate::plan::{DdlContext, DdlPlan, masks, names, read_properties, table_plan, types};
use crate::snapshot::Schema;
use crate::table::{DroppedColumn, Table};
use crate::user_type::{UserTypes, named, recorded};

pub(super) fn alter(schema: &Schema, statement: &AlterTable, context: &DdlContext<'_>) -> Result<DdlPlan, SchemaError> {
    let keyspace = names::keyspace_of(statement.table.keyspace.as_deref(), context.current_keyspace)?;
    let name = &statement.table.table;
    names::check_modifiable(keyspace, "ALTER", &format!("<table {keyspace}.{name}>"))?;
    if let AlterTableAction::Mask { mask: Some(_), .. } = &statement.action
        && !context.masks_enabled
    {
        return Err(masks::disabled());
    }
    let Some(table) = schema.table(keyspace, name) else {
        return if statement.if_exists { Ok(DdlPlan::default()) } else { Err(unknown(keyspace, name)) };
    };
    let mut warnings = Vec::new();
    let altered = match &statement.action {
        AlterTableAction::Add { if_not_exists, columns } => {
            let types = schema.keyspace(keyspace).map(|keyspace| &keyspace.types);
            add((table, types.unwrap_or(&UserTypes::new())), columns, *if_not_exists, context.masks_enabled)?
        }
        AlterTableAction::Drop { if_exists, columns, timestamp } => {
            drop(table, columns, *if_exists, timestamp.unwrap_or(context.now_micros))?
        }
        AlterTableAction::Mask { if_exists, column, mask } => {
            rebuilt(table, masks::alter(table, column, mask.as_ref(), *if_exists)?)
        }
        // IF EXISTS is read and changes nothing, as in Cassandra.
        AlterTableAction::Rename { columns, .. } => rename(table, columns)?,
        AlterTableAction::With(properties) => {
            let mut properties = read_properties(properties)?;
            if properties.take("id").is_some() {
                return Err(SchemaError::configuration("Cannot alter table id."));
            }
            let mut altered = Table::clone(table);
            read::read(&mut altered.options, &mut properties, &mut warnings)?;
            properties.finish()?;
            check_counters(altered.columns(), &altered.options)?;
            altered
        }
        AlterTableAction::Alter { .. } => {
            return Err(SchemaError::invalid("Altering column types is no longer supported"));
        }
        AlterTableAction::DropCompactStorage => {
            return Err(SchemaError::invalid("DROP COMPACT STORAGE is disabled. Enable in cassandra.yaml to use."));
        }
    };
    // What changes nothing is answered as nothing done.
    if altered == **table {
        return Ok(DdlPlan { warnings, ..DdlPlan::default() });
    }
    let altered = Box::new(altered.with_types(named));
    Ok(table_plan(ChangeType::Updated, keyspace, name, SchemaChange::PutTable(altered), warnings))
}

fn add(
    (table, user_types): (&Table, &UserTypes),
    definitions: &[ColumnDefinition],
    if_not_exists: bool,
    masks_enabled: bool,
) -> Result<Table, SchemaError> {
    let mut columns = table.columns().to_vec();
    let mut next_column_id = table.next_column_id;
    for definition in definitions {
        let name = &definition.name;
        if definition.mask.is_some() && !masks_enabled {
            return Err(masks::disabled());
        }
        if columns.iter().any(|column| column.name == *name) || table.hides_name(name) {
            if if_not_exists {
                continue;
            }
            return Err(SchemaError::invalid(format!("Column with name '{name}' already exists")));
        }
        let ty = types::of_column(&table.keyspace, user_types, Some(name), definition.ty.clone())?;
        let mask = definition.mask.as_ref().map(|mask| masks::plan(mask, name, &ty)).transpose()?.map(Box::new);
        if table.options.compact_storage {
            return Err(SchemaError::invalid("Cannot add new column to a COMPACT STORAGE table"));
        }
        let kind = if definition.is_static { ColumnKind::Static } else { ColumnKind::Regular };
        if kind == ColumnKind::Static && table.clustering().is_empty() {
            return Err(static_without_clustering());
        }
        check_dropped(table, name, &ty, kind)?;
        check_counter_fits(table, name, &ty)?;
        // A column that was dropped comes back as the same one: what was written after it was dropped is shown again.
        let is_free = |id: &ColumnId| columns.iter().all(|column| column.id != *id);
        let id = match table.dropped.get(name).map(|dropped| dropped.column.id).filter(is_free) {
            Some(id) => id,
            None => {
                let id = u16::try_from(next_column_id).map_err(|_| {
                    let (keyspace, name) = (&table.keyspace, &table.name);
                    SchemaError::invalid(format!("Table '{keyspace}.{name}' has used up its column ids"))
                })?;
                next_column_id += 1;
                ColumnId(id)
            }
        };
        columns.push(Column { mask, ..Column::new(kind, id, name, ty) });
    }
    let mut altered = rebuilt(table, columns);
    altered.next_column_id = next_column_id;
    Ok(altered)
}

/// A dropped column's name may come back only for a type that its old values are of, as they may still be held, and the same kind.
fn check_dropped(table: &Table, name: &str, ty: &CqlType, kind: ColumnKind) -> Result<(), SchemaError> {
    let Some(dropped) = table.dropped.get(name) else { return Ok(()) };
    if !takes_cells(ty, &dropped.column.ty) {
        return Err(SchemaError::invalid(format!(
            "Cannot re-add previously dropped column '{name}' of type {ty}, incompatible with previous type {}",
            dropped.column.ty
        )));
    }
    if dropped.column.kind != kind {
        return Err(SchemaError::invalid(format!(
            "Cannot re-add previously dropped column '{name}' of kind {}, incompatible with previous kind {}",
            kind.name().to_ascii_uppercase(),
            dropped.column.kind.name().to_ascii_uppercase()
        )));
    }
    // What is left of its shards would be added to what comes.
    if dropped.column.ty == CqlType::Counter {
        return Err(SchemaError::invalid(format!("Cannot re-add previously dropped counter column {name}")));
    }
    Ok(())
}

fn check_counter_fits(table: &Table, name: &str, ty: &CqlType) -> Result<(), SchemaError> {
    let is_counter = *ty == CqlType::Counter;
    if is_counter == table.is_counter() {
        return Ok(());
    }
    let (has, of) = if is_counter { ("counter", "non counter") } else { ("non counter", "counter") };
    Err(SchemaError::configuration(format!(
        "{}.{}: Cannot have a {has} column (\"{name}\") in a {of} table",
        table.keyspace, table.name
    )))
}

fn drop(table: &Table, names: &[String], if_exists: bool, dropped_at_micros: i64) -> Result<Table, SchemaError> {
    let mut columns = table.columns().to_vec();
    let mut dropped = table.dropped.clone();
    for name in names {
        let Some(index) = columns.iter().position(|column| column.name == *name) else {
            if if_exists {
                continue;
            }
            return Err(SchemaError::invalid(format!(
                "Column {name} was not found in table '{}.{}'",
                table.keyspace, table.name
            )));
        };
        if columns[index].kind.is_key() {
            return Err(SchemaError::invalid(format!("Cannot drop PRIMARY KEY column {name}")));
        }
        // No tuple has several cells, so there is no type to record it with.
        if let ty @ CqlType::Udt { frozen: false, .. } = &columns[index].ty {
            return Err(SchemaError::invalid(format!("Cannot drop non-frozen column {name} of user type {ty}")));
        }
        let mut column = columns.remove(index);
        (column.ty, column.mask) = (recorded(column.ty), None);
        dropped.insert(name.clone(), DroppedColumn { column, dropped_at_micros });
    }
    let mut altered = rebuilt(table, columns);
    altered.dropped = dropped;
    Ok(altered)
}

fn rename(table: &Table, renames: &[(String, String)]) -> Result<Table, SchemaError> {
    let mut columns = table.columns().to_vec();
    for (place, (from, to)) in renames.iter().enumerate() {
        let Some(index) = table.column_index(from) else {
            return Err(SchemaError::invalid(format!(
                "Undefined column name {from} in table {}.{}",
                table.keyspace, table.name
            )));
        };
        if !columns[index].kind.is_key() {
            return Err(SchemaError::invalid(format!("Cannot rename non PRIMARY KEY column {from}")));
        }
        // Of what is said twice of a column the last counts.
        if renames[place + 1..].iter().any(|(later, _)| later == from) {
            continue;
        }
        let is_there = table.column(to).is_some() || columns.iter().any(|column| column.name == *to);
        if is_there || table.hides_name(to) {
            return Err(SchemaError::invalid(format!(
                "Cannot rename column {from} to {to} in table '{}.{}'; another column with that name already exists",
                table.keyspace, table.name
            )));
        }
        columns[index].name.clone_from(to);
    }
    Ok(rebuilt(table, columns))
}

/// The table with other columns; everything else stays.
fn rebuilt(table: &Table, columns: Vec<Column>) -> Table {
    let mut altered = Table::new(table.id, table.keyspace.clone(), table.name.clone(), columns, table.options.clone());
    altered.dropped = table.dropped.clone();
    altered.next_column_id = table.next_column_id;
    altered
}
