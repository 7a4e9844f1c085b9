//! The rows of `system_schema` and `system_virtual_schema`: the schema as drivers read it.

use cql_types::CqlType;
use schema::{ColumnKind, ColumnMask, DroppedColumn, Keyspace, MaskArgument, Order, Table, UserType};

use super::rows::Rows;
use super::value;

pub(super) fn push_keyspace(rows: &mut Rows<'_>, keyspace: &Keyspace) {
    rows.push([
        ("keyspace_name", value::text(keyspace.name())),
        ("durable_writes", value::boolean(keyspace.def.durable_writes)),
        ("replication", value::text_map(&keyspace.def.replication)),
    ]);
}

/// An option that is on is not told, as in Cassandra.
fn unless_on(option: Option<bool>) -> Option<Vec<u8>> {
    option.filter(|is_on| !is_on).and_then(value::boolean)
}

pub(super) fn push_table(rows: &mut Rows<'_>, table: &Table) {
    let options = &table.options;
    let extensions = options.extensions.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
    rows.push([
        ("keyspace_name", value::text(&table.keyspace)),
        ("table_name", value::text(&table.name)),
        ("additional_write_policy", value::text(&options.additional_write_policy)),
        ("allow_auto_snapshot", unless_on(options.allow_auto_snapshot)),
        ("bloom_filter_fp_chance", value::double(options.bloom_filter_fp_chance)),
        ("caching", value::text_map(&options.caching)),
        ("cdc", options.cdc.then_some(true).and_then(value::boolean)),
        ("comment", value::text(&options.comment)),
        ("compaction", value::text_map(&options.compaction)),
        ("compression", value::text_map(&options.compression)),
        ("crc_check_chance", value::double(options.crc_check_chance)),
        ("dclocal_read_repair_chance", value::double(0.0)),
        ("default_time_to_live", value::count(options.default_time_to_live)),
        ("extensions", value::blob_map(extensions)),
        ("flags", value::texts(table.flags())),
        ("gc_grace_seconds", value::count(options.gc_grace_seconds)),
        ("id", value::uuid(table.id.0)),
        ("incremental_backups", unless_on(options.incremental_backups)),
        ("max_index_interval", value::count(options.max_index_interval)),
        ("memtable_flush_period_in_ms", value::count(options.memtable_flush_period_in_ms)),
        ("min_index_interval", value::count(options.min_index_interval)),
        ("read_repair", value::text(&options.read_repair)),
        ("read_repair_chance", value::double(0.0)),
        ("speculative_retry", value::text(&options.speculative_retry)),
    ]);
}

/// The rows of `system_schema.columns` or `system_virtual_schema.columns`, which are alike.
pub(super) fn push_columns(rows: &mut Rows<'_>, table: &Table) {
    for column in table.columns() {
        let clustering_order = match (column.kind, column.order) {
            (ColumnKind::Clustering, Order::Asc) => "asc",
            (ColumnKind::Clustering, Order::Desc) => "desc",
            _ => "none",
        };
        let kind = table.shown_kind(column);
        push_column(rows, table, (&column.name, kind, &column.ty.to_string()), (column.position, clustering_order));
    }
    for hidden in table.hidden_columns() {
        let clustering_order = if hidden.kind == ColumnKind::Clustering { "asc" } else { "none" };
        push_column(rows, table, (&hidden.name, hidden.kind, hidden.ty), (0, clustering_order));
    }
}

fn push_column(
    rows: &mut Rows<'_>,
    table: &Table,
    (name, kind, ty): (&str, ColumnKind, &str),
    (position, clustering_order): (u16, &str),
) {
    let position = if kind.is_key() { i32::from(position) } else { -1 };
    rows.push([
        ("keyspace_name", value::text(&table.keyspace)),
        ("table_name", value::text(&table.name)),
        ("column_name", value::text(name)),
        ("clustering_order", value::text(clustering_order)),
        ("column_name_bytes", value::text(name)),
        ("kind", value::text(kind.name())),
        ("position", value::int(position)),
        ("type", value::text(ty)),
    ]);
}

pub(super) fn push_column_masks(rows: &mut Rows<'_>, table: &Table) {
    for column in table.columns() {
        if let Some(mask) = &column.mask {
            push_column_mask(rows, table, &column.name, mask);
        }
    }
}

/// A null argument has an empty text, and differs by the list of nulls.
fn push_column_mask(rows: &mut Rows<'_>, table: &Table, column: &str, mask: &ColumnMask) {
    let types: Vec<String> = mask.arguments.iter().map(|argument| argument.ty.to_string()).collect();
    let value = |argument: &MaskArgument| {
        argument.value.as_ref().map_or_else(String::new, |value| plain_text(&argument.ty, value))
    };
    let values: Vec<String> = mask.arguments.iter().map(value).collect();
    rows.push([
        ("keyspace_name", value::text(&table.keyspace)),
        ("table_name", value::text(&table.name)),
        ("column_name", value::text(column)),
        ("function_argument_nulls", value::booleans(mask.arguments.iter().map(|argument| argument.value.is_none()))),
        ("function_argument_types", value::texts(types.iter().map(String::as_str))),
        ("function_argument_values", value::texts(values.iter().map(String::as_str))),
        ("function_keyspace", value::text("system")),
        ("function_name", value::text(&mask.function)),
    ]);
}

/// A value as Cassandra keeps a mask's argument: texts without quotes, the fields of tuples between colons, collections and vectors as their bytes.
fn plain_text(ty: &CqlType, value: &[u8]) -> String {
    let of_fields = |types: &mut dyn Iterator<Item = &CqlType>| {
        let fields = types.zip(cql_types::fields_of(value)).map(|(ty, field)| match field {
            Some(field) => plain_text(ty, field).replace(':', "\\:").replace('@', "\\@"),
            None => "@".to_owned(),
        });
        fields.collect::<Vec<_>>().join(":")
    };
    match ty {
        CqlType::Text | CqlType::Ascii => String::from_utf8_lossy(value).into_owned(),
        CqlType::Blob | CqlType::List { .. } | CqlType::Set { .. } | CqlType::Map { .. } | CqlType::Vector { .. } => {
            value.iter().map(|byte| format!("{byte:02x}")).collect()
        }
        CqlType::Tuple(types) => of_fields(&mut types.iter()),
        CqlType::Udt { fields, .. } => of_fields(&mut fields.iter().map(|field| &field.ty)),
        scalar => cql_types::print(scalar, value).trim_matches('\'').to_owned(),
    }
}

pub(super) fn push_dropped_columns(rows: &mut Rows<'_>, table: &Table) {
    table.dropped.values().for_each(|dropped| push_dropped_column(rows, table, dropped));
}

fn push_dropped_column(rows: &mut Rows<'_>, table: &Table, dropped: &DroppedColumn) {
    rows.push([
        ("keyspace_name", value::text(&table.keyspace)),
        ("table_name", value::text(&table.name)),
        ("column_name", value::text(&dropped.column.name)),
        ("dropped_time", value::timestamp(dropped.dropped_at_micros.div_euclid(1000))),
        ("kind", value::text(table.shown_kind(&dropped.column).name())),
        ("type", value::text(&dropped.shown().ty.to_string())),
    ]);
}

pub(super) fn push_types(rows: &mut Rows<'_>, keyspace: &Keyspace) {
    keyspace.types.values().for_each(|ty| push_type(rows, ty));
}

fn push_type(rows: &mut Rows<'_>, ty: &UserType) {
    let types: Vec<String> = ty.fields.iter().map(|field| field.ty.to_string()).collect();
    rows.push([
        ("keyspace_name", value::text(&ty.keyspace)),
        ("type_name", value::text(&ty.name)),
        ("field_names", value::texts(ty.fields.iter().map(|field| field.name.as_str()))),
        ("field_types", value::texts(types.iter().map(String::as_str))),
    ]);
}

pub(super) fn push_virtual_keyspace(rows: &mut Rows<'_>, keyspace: &Keyspace) {
    rows.push([("keyspace_name", value::text(keyspace.name()))]);
}

pub(super) fn push_virtual_table(rows: &mut Rows<'_>, table: &Table) {
    rows.push([
        ("keyspace_name", value::text(&table.keyspace)),
        ("table_name", value::text(&table.name)),
        ("comment", value::text(&table.options.comment)),
    ]);
}
