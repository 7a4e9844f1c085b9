//! CREATE TABLE and DROP TABLE.

use std::collections::BTreeMap;

use cql_syntax::{CreateTable, DropTable, PrimaryKey, Statement};
use cql_types::CqlType;

use crate::change::SchemaChange;
use crate::column::{Column, ColumnKind, Order};
use crate::error::SchemaError;
use crate::event::ChangeType;
use crate::ids::{ColumnId, TableId};
use crate::options::{TableOptions, read};
use crate::plan::{DdlContext, DdlPlan, keyspace, masks, names, read_properties, table_plan, types};
use crate::properties::{Properties, PropertyValue};
use crate::snapshot::Schema;
use crate::system_keyspaces;
use crate::table::Table;
use crate::user_type::{UserTypes, named};

/// The most columns a table may have: column ids are 16 bits, and some are kept for columns to be added later.
const COLUMNS_MAX: usize = 32_768;

/// The share of false positives of a new table's bloom filters when it is compacted in levels and says nothing of them.
const LEVELED_FP_CHANCE: f64 = 0.1;

pub(super) fn create(
    schema: &Schema,
    statement: &CreateTable,
    context: &DdlContext<'_>,
) -> Result<DdlPlan, SchemaError> {
    let in_keyspace = names::keyspace_of(statement.table.keyspace.as_deref(), context.current_keyspace)?;
    let name = &statement.table.table;
    // What is wrong in itself is said before what is wrong with this schema.
    let properties = read_properties(&statement.properties)?;
    let primary_key = check_form(statement)?;
    if !context.masks_enabled && statement.columns.iter().any(|column| column.mask.is_some()) {
        return Err(masks::disabled());
    }
    names::check_modifiable(in_keyspace, "CREATE", &format!("<all tables in {in_keyspace}>"))?;
    let Some(existing) = schema.keyspace(in_keyspace) else { return Err(keyspace::unknown(in_keyspace)) };
    if existing.table(name).is_some() {
        if statement.if_not_exists {
            return Ok(DdlPlan::default());
        }
        return Err(SchemaError::AlreadyExists {
            keyspace: in_keyspace.to_owned(),
            table: name.clone(),
            message: format!("Cannot add already existing table \"{name}\" to keyspace \"{in_keyspace}\""),
        });
    }
    let mut warnings = Vec::new();
    let types = &existing.types;
    let table = build(in_keyspace, types, statement, primary_key, properties, context.new_id, &mut warnings)?;
    let table = table.with_types(named);
    if schema.table_by_id(table.id).is_some() {
        return Err(SchemaError::configuration(format!("A table with the id {} already exists", table.id)));
    }
    Ok(table_plan(ChangeType::Created, in_keyspace, name, SchemaChange::PutTable(Box::new(table)), warnings))
}

/// The table that a CREATE TABLE of one of the server's own keyspaces defines.
pub fn system_table(statement: &Statement, id: impl FnOnce(&str, &str) -> TableId) -> Result<Table, SchemaError> {
    let Statement::CreateTable(statement) = statement else {
        return Err(SchemaError::invalid("a system table is defined by CREATE TABLE"));
    };
    let in_keyspace = names::keyspace_of(statement.table.keyspace.as_deref(), None)?;
    if !system_keyspaces::is_system(in_keyspace) {
        return Err(SchemaError::invalid(format!("{in_keyspace} is no system keyspace")));
    }
    let properties = read_properties(&statement.properties)?;
    let primary_key = check_form(statement)?;
    let id = id(in_keyspace, &statement.table.table);
    build(in_keyspace, &UserTypes::new(), statement, primary_key, properties, id, &mut Vec::new())
}

pub(super) fn drop(schema: &Schema, statement: &DropTable, context: &DdlContext<'_>) -> Result<DdlPlan, SchemaError> {
    let keyspace = names::keyspace_of(statement.table.keyspace.as_deref(), context.current_keyspace)?;
    let name = &statement.table.table;
    names::check_modifiable(keyspace, "DROP", &format!("<table {keyspace}.{name}>"))?;
    let Some(table) = schema.table(keyspace, name) else {
        return if statement.if_exists { Ok(DdlPlan::default()) } else { Err(unknown(keyspace, name)) };
    };
    let step = SchemaChange::DropTable { keyspace: keyspace.to_owned(), name: name.clone(), id: table.id };
    Ok(table_plan(ChangeType::Dropped, keyspace, name, step, Vec::new()))
}

pub(super) fn unknown(keyspace: &str, table: &str) -> SchemaError {
    SchemaError::invalid(format!("Table '{keyspace}.{table}' doesn't exist"))
}

/// Checks that need no schema: one primary key, no column twice.
fn check_form(statement: &CreateTable) -> Result<&PrimaryKey, SchemaError> {
    // The table as the statement names it.
    let name = match &statement.table.keyspace {
        Some(keyspace) => format!("{keyspace}.{}", statement.table.table),
        None => statement.table.table.clone(),
    };
    let mut columns = std::collections::BTreeSet::new();
    for column in &statement.columns {
        if !columns.insert(&column.name) {
            return Err(SchemaError::invalid(format!(
                "Duplicate column '{}' declaration for table '{name}'",
                column.name
            )));
        }
    }
    let mut ordered = std::collections::BTreeSet::new();
    for (column, _) in &statement.clustering_order {
        if !ordered.insert(column) {
            return Err(SchemaError::invalid(format!(
                "Duplicate column '{column}' in CLUSTERING ORDER BY clause for table '{name}'"
            )));
        }
    }
    match statement.primary_keys.as_slice() {
        [primary_key] => Ok(primary_key),
        [] => Err(SchemaError::invalid(format!("No PRIMARY KEY specifed for table '{name}' (exactly one required)"))),
        _ => Err(SchemaError::invalid(format!(
            "Multiple PRIMARY KEY specified for table '{name}' (exactly one required)"
        ))),
    }
}

fn build(
    keyspace: &str,
    types: &UserTypes,
    statement: &CreateTable,
    primary_key: &PrimaryKey,
    mut properties: Properties,
    new_id: TableId,
    warnings: &mut Vec<String>,
) -> Result<Table, SchemaError> {
    let name = &statement.table.table;
    names::check_table_name(keyspace, name)?;
    let id = match properties.take("id") {
        None => new_id,
        Some(PropertyValue::Text(text)) => {
            read_uuid(&text).ok_or_else(|| SchemaError::configuration("Invalid table id"))?
        }
        Some(PropertyValue::Map(_)) => return Err(SchemaError::configuration("Invalid table id")),
    };
    let mut options = TableOptions { compact_storage: statement.compact_storage, ..TableOptions::default() };
    let has_fp_chance = properties.has("bloom_filter_fp_chance");
    read::read(&mut options, &mut properties, warnings)?;
    properties.finish()?;
    let class = options.compaction.get("class").map_or("", String::as_str);
    if !has_fp_chance && class.ends_with("LeveledCompactionStrategy") {
        // Levels bound how many sstables a read looks at, so that their filters need not be as good.
        options.bloom_filter_fp_chance = LEVELED_FP_CHANCE;
    }
    let columns = columns(keyspace, types, statement, primary_key)?;
    let table_columns = number(columns);
    check_counters(&table_columns, &options)?;
    if options.compact_storage {
        check_compact(&table_columns)?;
    }
    Ok(Table::new(id, keyspace, name, table_columns, options))
}

/// The columns in a table's order, not numbered yet.
fn columns(
    keyspace: &str,
    user_types: &UserTypes,
    statement: &CreateTable,
    primary_key: &PrimaryKey,
) -> Result<Vec<Column>, SchemaError> {
    if statement.columns.len() > COLUMNS_MAX {
        return Err(SchemaError::invalid(format!("A table has at most {COLUMNS_MAX} columns")));
    }
    let mut rest: BTreeMap<&str, Column> = BTreeMap::new();
    for definition in &statement.columns {
        let ty = types::of_column(keyspace, user_types, None, definition.ty.clone())?;
        let name = &definition.name;
        let mask = definition.mask.as_ref().map(|mask| masks::plan(mask, name, &ty)).transpose()?.map(Box::new);
        let kind = if definition.is_static { ColumnKind::Static } else { ColumnKind::Regular };
        rest.insert(name, Column { mask, ..Column::new(kind, ColumnId(0), name, ty) });
    }
    let mut columns = Vec::new();
    let parts = [(ColumnKind::PartitionKey, &primary_key.partition), (ColumnKind::Clustering, &primary_key.clustering)];
    for (kind, names) in parts {
        for (name, position) in names.iter().zip(0u16..) {
            let taken = columns.iter().any(|column: &Column| column.name == *name);
            let column = take_key_column(&mut rest, &statement.table.table, name, taken)?;
            columns.push(Column { kind, position, ..column });
        }
    }
    let clustering = &mut columns[primary_key.partition.len()..];
    set_orders(clustering, &statement.clustering_order)?;
    let is_reversed = |column: &&mut Column| {
        statement.columns.iter().any(|given| given.name == column.name && types::is_reversed(&given.ty))
    };
    clustering.iter_mut().filter(is_reversed).for_each(|column| column.order = Order::Desc);
    let has_statics =
        primary_key.clustering.is_empty() && rest.values().any(|column| column.kind == ColumnKind::Static);
    // WITH COMPACT STORAGE has its own words for them.
    if has_statics && !statement.compact_storage {
        return Err(static_without_clustering());
    }
    columns.extend(rest.into_values());
    Ok(columns)
}

pub(super) fn static_without_clustering() -> SchemaError {
    SchemaError::invalid(
        "Static columns are only useful (and thus allowed) if the table has at least one clustering column",
    )
}

fn take_key_column(
    rest: &mut BTreeMap<&str, Column>,
    table: &str,
    name: &str,
    taken: bool,
) -> Result<Column, SchemaError> {
    if taken {
        return Err(SchemaError::invalid(format!(
            "Duplicate column '{name}' in PRIMARY KEY clause for table '{table}'"
        )));
    }
    let Some(column) = rest.remove(name) else {
        return Err(SchemaError::invalid(format!(
            "Unknown column '{name}' referenced in PRIMARY KEY for table '{table}'"
        )));
    };
    if column.kind == ColumnKind::Static {
        return Err(SchemaError::invalid(format!("Static column '{name}' cannot be part of the PRIMARY KEY")));
    }
    if column.ty.is_multi_cell() {
        let what = match &column.ty {
            CqlType::Udt { keyspace, name, .. } => format!("user-defined type \"{keyspace}.{name}\""),
            collection => format!("collection type {collection}"),
        };
        return Err(SchemaError::invalid(format!("Invalid non-frozen {what} for PRIMARY KEY column '{name}'")));
    }
    if column.ty == CqlType::Counter {
        return Err(SchemaError::invalid(format!("counter type is not supported for PRIMARY KEY column '{name}'")));
    }
    if column.ty.refers_to_duration() {
        return Err(SchemaError::invalid(format!("duration type is not supported for PRIMARY KEY column '{name}'")));
    }
    Ok(column)
}

/// Sets the clustering columns' orders. The clause may name fewer than there are, but from the first on and in their order.
fn set_orders(clustering: &mut [Column], given: &[(String, bool)]) -> Result<(), SchemaError> {
    let unknown: Vec<&str> = given
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| !clustering.iter().any(|column| column.name == *name))
        .collect();
    if !unknown.is_empty() {
        return Err(SchemaError::invalid(format!(
            "Only clustering key columns can be defined in CLUSTERING ORDER directive: [{}] are not clustering columns",
            unknown.join(", ")
        )));
    }
    for (column, (name, is_descending)) in clustering.iter_mut().zip(given) {
        if column.name != *name {
            return Err(SchemaError::invalid(if given.iter().any(|(given, _)| *given == column.name) {
                format!(
                    "The order of columns in the CLUSTERING ORDER directive must match that of the clustering columns \
                     ({} must appear before {name})",
                    column.name
                )
            } else {
                format!("Missing CLUSTERING ORDER for column {}", column.name)
            }));
        }
        column.order = if *is_descending { Order::Desc } else { Order::Asc };
    }
    Ok(())
}

/// Numbers the columns: keys first, then static and regular ones by name.
fn number(mut columns: Vec<Column>) -> Vec<Column> {
    columns.sort_by(|a, b| {
        let by_kind = a.kind.cmp(&b.kind).then(a.position.cmp(&b.position));
        by_kind.then_with(|| crate::compare_names(&a.name, &b.name))
    });
    for (column, id) in columns.iter_mut().zip(0u16..) {
        column.id = ColumnId(id);
    }
    columns
}

pub(super) fn check_counters(columns: &[Column], options: &TableOptions) -> Result<(), SchemaError> {
    let mut others = columns.iter().filter(|column| !column.kind.is_key());
    let is_counter = |column: &Column| column.ty == CqlType::Counter;
    let counters = others.clone().filter(|column| is_counter(column)).count();
    if counters == 0 {
        return Ok(());
    }
    if others.any(|column| !is_counter(column)) {
        return Err(SchemaError::invalid("Cannot mix counter and non counter columns in the same table"));
    }
    if options.default_time_to_live > 0 {
        return Err(SchemaError::invalid("Cannot set default_time_to_live on a table with counters"));
    }
    Ok(())
}

/// What a table WITH COMPACT STORAGE may not have.
fn check_compact(columns: &[Column]) -> Result<(), SchemaError> {
    if columns.iter().any(|column| column.kind == ColumnKind::Static) {
        return Err(SchemaError::invalid("Static columns are not supported in COMPACT STORAGE tables"));
    }
    if columns.iter().any(|column| column.ty.is_multi_cell()) {
        return Err(SchemaError::invalid("Non-frozen collections and UDTs are not supported with COMPACT STORAGE"));
    }
    let has_clustering = columns.iter().any(|column| column.kind == ColumnKind::Clustering);
    let regular: Vec<&str> =
        columns.iter().filter(|column| column.kind == ColumnKind::Regular).map(|column| column.name.as_str()).collect();
    if has_clustering && regular.len() > 1 {
        return Err(SchemaError::invalid(format!(
            "COMPACT STORAGE with composite PRIMARY KEY allows no more than one column not part of the PRIMARY KEY \
             (got: {})",
            regular.join(", ")
        )));
    }
    if !has_clustering && regular.is_empty() {
        return Err(SchemaError::invalid("No definition found that is not part of the PRIMARY KEY"));
    }
    Ok(())
}

/// A UUID in its usual form.
fn read_uuid(text: &str) -> Option<TableId> {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    if lengths != [8, 4, 4, 4, 12] || !text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
        return None;
    }
    u128::from_str_radix(&groups.concat(), 16).ok().map(|number| TableId(number.to_be_bytes()))
}
