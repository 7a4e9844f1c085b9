//! The bytes of a schema change: what the metadata log holds and shards compare by digest.
//!
//! ```text
//! change:    u8 version · u8 kind · body
//! string:    varint length · UTF-8
//! map:       varint count · (string · string)*
//! keyspace:  string name · map replication · u8 durable, and in version 2: varint tenure
//! table:     16 id · string keyspace · string name · varint next column id
//!            · varint count · column* · varint count · (column · i64 dropped at)* · options
//!            and in version 3: varint count · (varint column id · mask)*
//! mask:      string function · varint count · (string type · u8 is there · varint length · value)*
//! column:    varint id · string name · string type · u8 kind · varint position · u8 descending
//! type:      string keyspace · string name · varint count · (string field · string type)*
//! options:   varint count · (string name · varint length · value)*
//! ```
//!
//! Options are written by name, each with its length, so that a later version can add one without a new format: a reader that does not
//! know an option refuses it by name instead of misreading what follows. Types are written as CQL prints them. Version 3 is written of tables with
//! masks, version 2 of keyspaces that are not of their first tenure, version 1 of all else.

use std::collections::BTreeMap;

use cql_types::{CqlType, Field};
use stdx::{Reader, varint};
use topology::ReplicationStrategy;

use crate::change::{DecodeError, SchemaChange};
use crate::column::{Column, ColumnKind, Order};
use crate::ids::{ColumnId, TableId};
use crate::keyspace::KeyspaceDef;
use crate::mask::{ColumnMask, MASK_ARGUMENTS_MAX, MaskArgument};
use crate::options::TableOptions;
use crate::table::{DroppedColumn, Table, check_columns};
use crate::user_type::UserType;

/// The newest version that this code writes and reads.
pub const FORMAT_VERSION: u8 = 3;
/// The version of a keyspace with a tenure.
const TENURE_VERSION: u8 = 2;
/// The version of all that has neither a tenure nor masks.
const FIRST_VERSION: u8 = 1;

const PUT_KEYSPACE: u8 = 1;
const DROP_KEYSPACE: u8 = 2;
const PUT_TABLE: u8 = 3;
const DROP_TABLE: u8 = 4;
const PUT_TYPE: u8 = 5;
const DROP_TYPE: u8 = 6;

pub(crate) fn encode(change: &SchemaChange, out: &mut Vec<u8>) {
    out.push(match change {
        SchemaChange::PutKeyspace(def) if def.tenure > 0 => TENURE_VERSION,
        SchemaChange::PutTable(table) if table.has_masks() => FORMAT_VERSION,
        _ => FIRST_VERSION,
    });
    match change {
        SchemaChange::PutKeyspace(def) => {
            out.push(PUT_KEYSPACE);
            encode_keyspace(def, out);
        }
        SchemaChange::DropKeyspace(name) => {
            out.push(DROP_KEYSPACE);
            put_str(name, out);
        }
        SchemaChange::PutTable(table) => {
            out.push(PUT_TABLE);
            encode_table(table, out);
        }
        SchemaChange::DropTable { keyspace, name, id } => {
            out.push(DROP_TABLE);
            out.extend_from_slice(&id.0);
            put_str(keyspace, out);
            put_str(name, out);
        }
        SchemaChange::PutType(ty) => {
            out.push(PUT_TYPE);
            encode_type(ty, out);
        }
        SchemaChange::DropType { keyspace, name } => {
            out.push(DROP_TYPE);
            put_str(keyspace, out);
            put_str(name, out);
        }
    }
}

pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<SchemaChange, DecodeError> {
    let version = reader.u8()?;
    if version > FORMAT_VERSION {
        return Err(DecodeError::NewerVersion { version, supported: FORMAT_VERSION });
    }
    if version == 0 {
        return Err(invalid("the format version is 0"));
    }
    match reader.u8()? {
        PUT_KEYSPACE => decode_keyspace(reader, version).map(SchemaChange::PutKeyspace),
        DROP_KEYSPACE => Ok(SchemaChange::DropKeyspace(string(reader)?)),
        PUT_TABLE => decode_table(reader, version).map(|table| SchemaChange::PutTable(Box::new(table))),
        DROP_TABLE => {
            let id = TableId(reader.array()?);
            Ok(SchemaChange::DropTable { id, keyspace: string(reader)?, name: string(reader)? })
        }
        PUT_TYPE => decode_type(reader).map(SchemaChange::PutType),
        DROP_TYPE => Ok(SchemaChange::DropType { keyspace: string(reader)?, name: string(reader)? }),
        kind => Err(invalid(format!("the kind of change {kind} is unknown"))),
    }
}

pub(crate) fn encode_keyspace(def: &KeyspaceDef, out: &mut Vec<u8>) {
    put_str(&def.name, out);
    put_map(&def.replication, out);
    out.push(u8::from(def.durable_writes));
    if def.tenure > 0 {
        varint::encode(def.tenure, out);
    }
}

fn decode_keyspace(reader: &mut Reader<'_>, version: u8) -> Result<KeyspaceDef, DecodeError> {
    let name = string(reader)?;
    let replication = string_map(reader)?;
    let strategy = ReplicationStrategy::parse_stored(&replication).map_err(invalid)?;
    let durable_writes = boolean(reader)?;
    let tenure = if version == FIRST_VERSION { 0 } else { reader.varint()? };
    Ok(KeyspaceDef { name, replication, strategy, durable_writes, tenure })
}

pub(crate) fn encode_type(ty: &UserType, out: &mut Vec<u8>) {
    put_str(&ty.keyspace, out);
    put_str(&ty.name, out);
    varint::encode(ty.fields.len() as u64, out);
    for field in &ty.fields {
        put_str(&field.name, out);
        put_str(&format!("{:#}", field.ty), out);
    }
}

fn decode_type(reader: &mut Reader<'_>) -> Result<UserType, DecodeError> {
    let keyspace = string(reader)?;
    let name = string(reader)?;
    let mut fields = Vec::new();
    for _ in 0..reader.varint()? {
        let field = string(reader)?;
        let ty = string(reader)?;
        let ty = CqlType::parse(&ty).map_err(|_| invalid(format!("the type of field {field} is unknown: {ty}")))?;
        fields.push(Field { name: field, ty });
    }
    Ok(UserType { keyspace, name, fields })
}

pub(crate) fn encode_table(table: &Table, out: &mut Vec<u8>) {
    out.extend_from_slice(&table.id.0);
    put_str(&table.keyspace, out);
    put_str(&table.name, out);
    varint::encode(u64::from(table.next_column_id), out);
    varint::encode(table.columns().len() as u64, out);
    for column in table.columns() {
        put_column(column, out);
    }
    varint::encode(table.dropped.len() as u64, out);
    for dropped in table.dropped.values() {
        put_column(&dropped.column, out);
        out.extend_from_slice(&dropped.dropped_at_micros.to_be_bytes());
    }
    put_options(&table.options, out);
    if table.has_masks() {
        put_masks(table.columns(), out);
    }
}

fn decode_table(reader: &mut Reader<'_>, version: u8) -> Result<Table, DecodeError> {
    let id = TableId(reader.array()?);
    let keyspace = string(reader)?;
    let name = string(reader)?;
    let next_column_id = u32::try_from(reader.varint()?).map_err(|_| invalid("the next column id is out of range"))?;
    let mut columns = Vec::new();
    for _ in 0..reader.varint()? {
        columns.push(column(reader)?);
    }
    let mut dropped = BTreeMap::new();
    for _ in 0..reader.varint()? {
        let column = column(reader)?;
        let dropped_at_micros = reader.i64()?;
        dropped.insert(column.name.clone(), DroppedColumn { column, dropped_at_micros });
    }
    let options = options(reader)?;
    if version > TENURE_VERSION {
        masks(reader, &mut columns)?;
    }
    check_columns(&columns).map_err(|problem| invalid(format!("table {keyspace}.{name}: {problem}")))?;
    let mut table = Table::new(id, keyspace, name, columns, options);
    if next_column_id < table.next_column_id {
        return Err(invalid("the next column id is in use"));
    }
    table.next_column_id = next_column_id;
    table.dropped = dropped;
    Ok(table)
}

fn put_column(column: &Column, out: &mut Vec<u8>) {
    varint::encode(u64::from(column.id.0), out);
    put_str(&column.name, out);
    put_str(&format!("{:#}", column.ty), out);
    out.push(match column.kind {
        ColumnKind::PartitionKey => 0,
        ColumnKind::Clustering => 1,
        ColumnKind::Static => 2,
        ColumnKind::Regular => 3,
    });
    varint::encode(u64::from(column.position), out);
    out.push(u8::from(column.is_reversed()));
}

fn column(reader: &mut Reader<'_>) -> Result<Column, DecodeError> {
    let id = ColumnId(small(reader)?);
    let name = string(reader)?;
    let ty = string(reader)?;
    let ty = CqlType::parse(&ty).map_err(|_| invalid(format!("the type of column {name} is unknown: {ty}")))?;
    let kind = match reader.u8()? {
        0 => ColumnKind::PartitionKey,
        1 => ColumnKind::Clustering,
        2 => ColumnKind::Static,
        3 => ColumnKind::Regular,
        kind => return Err(invalid(format!("the kind {kind} of column {name} is unknown"))),
    };
    let position = small(reader)?;
    let order = if boolean(reader)? { Order::Desc } else { Order::Asc };
    Ok(Column { id, name, ty, kind, position, order, mask: None })
}

fn put_masks(columns: &[Column], out: &mut Vec<u8>) {
    let masked = || columns.iter().filter_map(|column| Some((column.id, column.mask.as_ref()?)));
    varint::encode(masked().count() as u64, out);
    for (id, mask) in masked() {
        varint::encode(u64::from(id.0), out);
        put_str(&mask.function, out);
        varint::encode(mask.arguments.len() as u64, out);
        for MaskArgument { ty, value } in &mask.arguments {
            put_str(&format!("{ty:#}"), out);
            out.push(u8::from(value.is_some()));
            if let Some(value) = value {
                varint::encode(value.len() as u64, out);
                out.extend_from_slice(value);
            }
        }
    }
}

/// Gives columns their masks. If a function is a mask of its column's type is asked when values are read: the types are only named here.
fn masks(reader: &mut Reader<'_>, columns: &mut [Column]) -> Result<(), DecodeError> {
    for _ in 0..reader.varint()? {
        let id = ColumnId(small(reader)?);
        let function = string(reader)?;
        if !functions::is_mask(&function) {
            return Err(invalid(format!("the mask {function} is unknown")));
        }
        let count = reader.varint()?;
        if count > MASK_ARGUMENTS_MAX as u64 {
            return Err(invalid(format!("a mask has {count} arguments")));
        }
        let mut arguments = Vec::new();
        for _ in 0..count {
            let ty = string(reader)?;
            let ty =
                CqlType::parse(&ty).map_err(|_| invalid(format!("the type of a mask's argument is unknown: {ty}")))?;
            let value = if boolean(reader)? { Some(reader.varint_bytes()?.to_vec()) } else { None };
            arguments.push(MaskArgument { ty, value });
        }
        let column = columns.iter_mut().find(|column| column.id == id);
        let column = column.ok_or_else(|| invalid("a mask is of no column"))?;
        if column.mask.replace(Box::new(ColumnMask { function, arguments })).is_some() {
            return Err(invalid(format!("column {} has two masks", column.name)));
        }
    }
    Ok(())
}

fn put_options(options: &TableOptions, out: &mut Vec<u8>) {
    let mut written: Vec<(&str, Vec<u8>)> = Vec::new();
    let text = |value: &str| value.as_bytes().to_vec();
    let map = |value: &BTreeMap<String, String>| {
        let mut bytes = Vec::new();
        put_map(value, &mut bytes);
        bytes
    };
    written.push(("additional_write_policy", text(&options.additional_write_policy)));
    if let Some(value) = options.allow_auto_snapshot {
        written.push(("allow_auto_snapshot", vec![u8::from(value)]));
    }
    written.push(("bloom_filter_fp_chance", options.bloom_filter_fp_chance.to_be_bytes().to_vec()));
    written.push(("caching", map(&options.caching)));
    written.push(("cdc", vec![u8::from(options.cdc)]));
    written.push(("comment", text(&options.comment)));
    written.push(("compaction", map(&options.compaction)));
    written.push(("compression", map(&options.compression)));
    written.push(("crc_check_chance", options.crc_check_chance.to_be_bytes().to_vec()));
    written.push(("default_time_to_live", options.default_time_to_live.to_be_bytes().to_vec()));
    written.push(("extensions", extension_bytes(&options.extensions)));
    written.push(("gc_grace_seconds", options.gc_grace_seconds.to_be_bytes().to_vec()));
    if let Some(value) = options.incremental_backups {
        written.push(("incremental_backups", vec![u8::from(value)]));
    }
    written.push(("max_index_interval", options.max_index_interval.to_be_bytes().to_vec()));
    written.push(("memtable", text(&options.memtable)));
    written.push(("memtable_flush_period_in_ms", options.memtable_flush_period_in_ms.to_be_bytes().to_vec()));
    written.push(("min_index_interval", options.min_index_interval.to_be_bytes().to_vec()));
    written.push(("read_repair", text(&options.read_repair)));
    written.push(("speculative_retry", text(&options.speculative_retry)));
    written.push(("compact_storage", vec![u8::from(options.compact_storage)]));
    varint::encode(written.len() as u64, out);
    for (name, value) in written {
        put_str(name, out);
        varint::encode(value.len() as u64, out);
        out.extend_from_slice(&value);
    }
}

fn options(reader: &mut Reader<'_>) -> Result<TableOptions, DecodeError> {
    let mut options = TableOptions::default();
    for _ in 0..reader.varint()? {
        let name = string(reader)?;
        let mut value = Reader::new(reader.varint_bytes()?);
        option(&mut options, &name, &mut value)?;
        if !value.is_empty() {
            return Err(invalid(format!("the table option {name} has bytes left over")));
        }
    }
    Ok(options)
}

fn option(options: &mut TableOptions, name: &str, value: &mut Reader<'_>) -> Result<(), DecodeError> {
    match name {
        "additional_write_policy" => options.additional_write_policy = rest(value)?,
        "allow_auto_snapshot" => options.allow_auto_snapshot = Some(boolean(value)?),
        "bloom_filter_fp_chance" => options.bloom_filter_fp_chance = double(value)?,
        "caching" => options.caching = string_map(value)?,
        "cdc" => options.cdc = boolean(value)?,
        "comment" => options.comment = rest(value)?,
        "compaction" => options.compaction = string_map(value)?,
        "compression" => options.compression = string_map(value)?,
        "crc_check_chance" => options.crc_check_chance = double(value)?,
        "default_time_to_live" => options.default_time_to_live = value.u32()?,
        "extensions" => options.extensions = extensions(value)?,
        "gc_grace_seconds" => options.gc_grace_seconds = value.u32()?,
        "incremental_backups" => options.incremental_backups = Some(boolean(value)?),
        "max_index_interval" => options.max_index_interval = value.u32()?,
        "memtable" => options.memtable = rest(value)?,
        "memtable_flush_period_in_ms" => options.memtable_flush_period_in_ms = value.u32()?,
        "min_index_interval" => options.min_index_interval = value.u32()?,
        "read_repair" => options.read_repair = rest(value)?,
        "speculative_retry" => options.speculative_retry = rest(value)?,
        "compact_storage" => options.compact_storage = boolean(value)?,
        _ => return Err(invalid(format!("the table option {name} is unknown"))),
    }
    Ok(())
}

fn extension_bytes(extensions: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint::encode(extensions.len() as u64, &mut bytes);
    for (name, value) in extensions {
        put_str(name, &mut bytes);
        varint::encode(value.len() as u64, &mut bytes);
        bytes.extend_from_slice(value);
    }
    bytes
}

fn extensions(reader: &mut Reader<'_>) -> Result<BTreeMap<String, Vec<u8>>, DecodeError> {
    let mut extensions = BTreeMap::new();
    for _ in 0..reader.varint()? {
        let name = string(reader)?;
        extensions.insert(name, reader.varint_bytes()?.to_vec());
    }
    Ok(extensions)
}

fn put_str(value: &str, out: &mut Vec<u8>) {
    varint::encode(value.len() as u64, out);
    out.extend_from_slice(value.as_bytes());
}

fn put_map(map: &BTreeMap<String, String>, out: &mut Vec<u8>) {
    varint::encode(map.len() as u64, out);
    for (key, value) in map {
        put_str(key, out);
        put_str(value, out);
    }
}

fn string(reader: &mut Reader<'_>) -> Result<String, DecodeError> {
    let bytes = reader.varint_bytes()?;
    Ok(std::str::from_utf8(bytes).map_err(|_| stdx::ReadError::NotUtf8)?.to_owned())
}

fn rest(reader: &mut Reader<'_>) -> Result<String, DecodeError> {
    let length = reader.remaining();
    Ok(reader.str(length)?.to_owned())
}

/// No memory is taken for the count: each entry takes bytes, and the bytes end.
fn string_map(reader: &mut Reader<'_>) -> Result<BTreeMap<String, String>, DecodeError> {
    let mut map = BTreeMap::new();
    for _ in 0..reader.varint()? {
        let key = string(reader)?;
        map.insert(key, string(reader)?);
    }
    Ok(map)
}

fn small(reader: &mut Reader<'_>) -> Result<u16, DecodeError> {
    u16::try_from(reader.varint()?).map_err(|_| invalid("a small number is out of range"))
}

fn boolean(reader: &mut Reader<'_>) -> Result<bool, DecodeError> {
    match reader.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        byte => Err(invalid(format!("{byte} is not a boolean"))),
    }
}

fn double(reader: &mut Reader<'_>) -> Result<f64, DecodeError> {
    Ok(f64::from_be_bytes(reader.array()?))
}

fn invalid(problem: impl Into<String>) -> DecodeError {
    DecodeError::Invalid { problem: problem.into() }
}

#[cfg(test)]
mod tests;
