//! DESCRIBE's text: statements that create a keyspace or a table again, laid out as Cassandra 5.0 lays them out, since people
//! compare dumps.

use std::collections::BTreeMap;
use std::fmt::Write;

use topology::STRATEGY_PACKAGE;

use crate::column::{Column, ColumnKind, Order};
use crate::java;
use crate::keyspace::Keyspace;
use crate::options::TableOptions;
use crate::snapshot::Schema;
use crate::system_keyspaces;
use crate::table::{DroppedColumn, Table};
use crate::user_type::{UserType, in_order_of_use, refers_to};

/// CREATE KEYSPACE, without the tables. A virtual keyspace gets a comment instead: it cannot be created.
pub fn keyspace(keyspace: &Keyspace) -> String {
    let name = identifier(keyspace.name());
    if system_keyspaces::is_virtual(keyspace.name()) {
        return format!(
            "/*\nWarning: Keyspace {name} is a virtual keyspace and cannot be recreated with CQL.\n\
             Structure, for reference:\nVIRTUAL KEYSPACE {name};\n*/"
        );
    }
    // The class comes first and goes by its short name.
    let class = keyspace.def.replication.get("class").map(String::as_str).unwrap_or_default();
    let mut replication = format!("'class': {}", literal(class.strip_prefix(STRATEGY_PACKAGE).unwrap_or(class)));
    for (key, value) in keyspace.def.replication.iter().filter(|(key, _)| *key != "class") {
        push(&mut replication, format_args!(", {}: {}", literal(key), literal(value)));
    }
    let durable = keyspace.def.durable_writes;
    // Two spaces before AND: Cassandra's.
    format!("CREATE KEYSPACE {name} WITH replication = {{{replication}}}  AND durable_writes = {durable};")
}

/// CREATE TABLE, in a comment if that does not make such a table.
pub fn table(table: &Table) -> String {
    commented(table, describe_table(table, Extent::Plain))
}

/// CREATE TABLE with what only the server needs: the table's id, and the columns that were dropped.
pub fn table_with_internals(table: &Table) -> String {
    commented(table, describe_table(table, Extent::Internals))
}

/// Statements that make the table where there is none, with its id and the columns that were dropped: a snapshot's `schema.cql`. The
/// user-defined types that it needs stand before it, each after those that it refers to.
pub fn statements(schema: &Schema, table: &Table) -> String {
    let needs = |ty: &&UserType| table.columns().iter().any(|column| refers_to(&column.ty, &ty.name));
    let types = schema.keyspace(&table.keyspace).map(|keyspace| in_order_of_use(&keyspace.types));
    let needed = types.into_iter().flatten().filter(needs);
    let mut parts: Vec<String> = needed.map(|ty| describe_user_type(ty, IF_NOT_EXISTS)).collect();
    parts.push(describe_table(table, Extent::Statements));
    parts.join("\n")
}

/// Makes a CREATE change nothing where that name is taken.
const IF_NOT_EXISTS: &str = " IF NOT EXISTS";

/// How much a text says of a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// What people see.
    Plain,
    /// Beside it what only the server needs.
    Internals,
    /// The same, but nothing that a statement cannot say.
    Statements,
}

/// CREATE TYPE.
pub fn user_type(ty: &UserType) -> String {
    describe_user_type(ty, "")
}

fn describe_user_type(ty: &UserType, condition: &str) -> String {
    let fields: Vec<String> =
        ty.fields.iter().map(|field| format!("    {} {}", identifier(&field.name), field.ty)).collect();
    format!(
        "CREATE TYPE{condition} {}.{} (\n{}\n);",
        identifier(&ty.keyspace),
        identifier(&ty.name),
        fields.join(",\n")
    )
}

/// Cassandra counts a table WITH COMPACT STORAGE as one that CQL did not make.
fn commented(table: &Table, text: String) -> String {
    if !table.options.compact_storage {
        return text;
    }
    let full_name = format!("{}.{}", identifier(&table.keyspace), identifier(&table.name));
    format!(
        "/*\nWarning: Table {full_name} omitted because it has constructs not compatible with CQL (was created via \
         legacy API).\nApproximate structure, for reference:\n(this should not be used to reproduce this schema)\n\n\
         {text}\n*/"
    )
}

fn describe_table(table: &Table, extent: Extent) -> String {
    let internals = extent != Extent::Plain;
    let is_virtual = system_keyspaces::is_virtual(&table.keyspace);
    let full_name = format!("{}.{}", identifier(&table.keyspace), identifier(&table.name));
    let mut text = String::new();
    if is_virtual {
        push(
            &mut text,
            format_args!(
                "/*\nWarning: Table {full_name} is a virtual table and cannot be recreated with CQL.\n\
                 Structure, for reference:\nVIRTUAL TABLE {full_name} (\n"
            ),
        );
    } else {
        let condition = if extent == Extent::Statements { IF_NOT_EXISTS } else { "" };
        push(&mut text, format_args!("CREATE TABLE{condition} {full_name} (\n"));
    }
    push_columns(&mut text, table, internals);
    text.push_str(") WITH ");
    let mut clauses = Vec::new();
    if table.options.compact_storage {
        clauses.push("COMPACT STORAGE".to_owned());
    }
    if internals {
        clauses.push(format!("ID = {}", table.id));
    }
    if !table.clustering().is_empty() {
        clauses.push(clustering_order(table.clustering()));
    } else if extent != Extent::Statements {
        let hidden = table.hidden_clustering();
        clauses.extend(hidden.map(|hidden| format!("CLUSTERING ORDER BY ({} ASC)", identifier(&hidden.name))));
    }
    if is_virtual {
        clauses.push(format!("comment = {}", literal(&table.options.comment)));
    } else {
        push_options(&mut clauses, &table.options);
    }
    text.push_str(&clauses.join("\n    AND "));
    text.push(';');
    if is_virtual {
        text.push_str("\n*/");
    }
    if internals {
        push_dropped(&mut text, table, &full_name);
    }
    text
}

fn push_columns(text: &mut String, table: &Table, internals: bool) {
    let key_is_inline =
        table.partition_key().len() == 1 && table.clustering().is_empty() && !table.options.compact_storage;
    let dropped: Vec<Column> = table.dropped.values().map(DroppedColumn::shown).collect();
    let mut listed: Vec<&Column> = table.partition_key().iter().chain(table.clustering()).collect();
    // Cassandra keeps columns of several cells behind the others.
    for columns in [table.statics(), table.regulars()] {
        listed.extend(columns.iter().filter(|column| !column.ty.is_multi_cell()));
        listed.extend(columns.iter().filter(|column| column.ty.is_multi_cell()));
    }
    if internals {
        // One that was added again is dropped and added below, so it stands with those that are gone.
        listed.retain(|column| !table.dropped.contains_key(&column.name));
        listed.extend(&dropped);
    }
    let last = listed.len() - 1;
    for (index, column) in listed.iter().enumerate() {
        push(text, format_args!("    {} {}", identifier(&column.name), column.ty));
        if column.kind == ColumnKind::Static {
            text.push_str(" static");
        }
        push_mask(text, column);
        if index == 0 && key_is_inline {
            text.push_str(" PRIMARY KEY");
        }
        text.push_str(if index == last && key_is_inline { "\n" } else { ",\n" });
    }
    if !key_is_inline {
        let names =
            |columns: &[Column]| -> Vec<String> { columns.iter().map(|column| identifier(&column.name)).collect() };
        let partition_key = names(table.partition_key()).join(", ");
        let mut key = match table.partition_key().len() {
            1 => vec![partition_key],
            _ => vec![format!("({partition_key})")],
        };
        key.extend(names(table.clustering()));
        push(text, format_args!("    PRIMARY KEY ({})\n", key.join(", ")));
    }
}

fn push_mask(text: &mut String, column: &Column) {
    if let Some(mask) = &column.mask {
        push(text, format_args!(" MASKED WITH {mask}"));
    }
}

fn clustering_order(columns: &[Column]) -> String {
    let orders: Vec<String> = columns
        .iter()
        .map(|column| {
            let order = if column.order == Order::Desc { "DESC" } else { "ASC" };
            format!("{} {order}", identifier(&column.name))
        })
        .collect();
    format!("CLUSTERING ORDER BY ({})", orders.join(", "))
}

/// All options, also those at their defaults, in Cassandra's order.
fn push_options(clauses: &mut Vec<String>, options: &TableOptions) {
    let mut clause = |name: &str, value: String| clauses.push(format!("{name} = {value}"));
    clause("additional_write_policy", literal(&options.additional_write_policy));
    clause("allow_auto_snapshot", options.allow_auto_snapshot.unwrap_or(true).to_string());
    clause("bloom_filter_fp_chance", java::double(options.bloom_filter_fp_chance));
    clause("caching", map(&options.caching));
    clause("cdc", options.cdc.to_string());
    clause("comment", literal(&options.comment));
    clause("compaction", map(&options.compaction));
    clause("compression", map(&options.compression));
    clause("memtable", literal(&options.memtable));
    clause("crc_check_chance", java::double(options.crc_check_chance));
    clause("default_time_to_live", options.default_time_to_live.to_string());
    clause("extensions", extensions(&options.extensions));
    clause("gc_grace_seconds", options.gc_grace_seconds.to_string());
    clause("incremental_backups", options.incremental_backups.unwrap_or(true).to_string());
    clause("max_index_interval", options.max_index_interval.to_string());
    clause("memtable_flush_period_in_ms", options.memtable_flush_period_in_ms.to_string());
    clause("min_index_interval", options.min_index_interval.to_string());
    clause("read_repair", literal(&options.read_repair));
    clause("speculative_retry", literal(&options.speculative_retry));
}

fn push_dropped(text: &mut String, table: &Table, full_name: &str) {
    for dropped in table.dropped.values() {
        let name = identifier(&dropped.column.name);
        push(
            text,
            format_args!("\nALTER TABLE {full_name} DROP {name} USING TIMESTAMP {};", dropped.dropped_at_micros),
        );
        if let Some(column) = table.column(&dropped.column.name) {
            let kind = if column.kind == ColumnKind::Static { " static" } else { "" };
            push(text, format_args!("\nALTER TABLE {full_name} ADD {name} {}{kind}", column.ty));
            push_mask(text, column);
            text.push(';');
        }
    }
}

fn map(entries: &BTreeMap<String, String>) -> String {
    let entries: Vec<String> =
        entries.iter().map(|(key, value)| format!("{}: {}", literal(key), literal(value))).collect();
    format!("{{{}}}", entries.join(", "))
}

fn extensions(entries: &BTreeMap<String, Vec<u8>>) -> String {
    let entries: Vec<String> = entries
        .iter()
        .map(|(key, value)| {
            let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{}: 0x{hex}", literal(key))
        })
        .collect();
    format!("{{{}}}", entries.join(", "))
}

/// A text literal.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name, quoted where CQL needs it.
pub fn identifier(name: &str) -> String {
    cql_syntax::quote_identifier(name).into_owned()
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to a string does not fail");
}
