//! INSERT, UPDATE, DELETE and BATCH.

use cql_types::CqlType;

use crate::oracle::random::chance;
use crate::oracle::random::course::Writer;
use crate::oracle::random::expression::is_collection;
use crate::oracle::random::select::slice;
use crate::oracle::random::table::{Column, Kind, Table};

/// One change.
pub fn statement(writer: &mut Writer<'_>, table: &Table) -> String {
    change(writer, table, Timestamps::Allowed)
}

/// Several changes in one statement.
pub fn batch(writer: &mut Writer<'_>, table: &Table) -> String {
    let kind = *writer.random.choose(&["", "", "UNLOGGED "]);
    let (using, timestamps) = match writer.has_timestamps && chance(writer.random, 4) {
        true => (format!(" USING TIMESTAMP {}", timestamp(writer)), Timestamps::None),
        false => (String::new(), Timestamps::Allowed),
    };
    let changes: Vec<String> =
        (0..1 + writer.random.below(4)).map(|_| change(writer, table, timestamps) + ";").collect();
    format!("BEGIN {kind}BATCH{using}\n{}\nAPPLY BATCH", changes.join("\n"))
}

/// Whether a statement may have a timestamp of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Timestamps {
    Allowed,
    None,
}

fn change(writer: &mut Writer<'_>, table: &Table, timestamps: Timestamps) -> String {
    match writer.random.below(10) {
        0..5 => insert(writer, table, timestamps),
        5..8 => update(writer, table, timestamps),
        _ => delete(writer, table, timestamps),
    }
}

fn timestamp(writer: &mut Writer<'_>) -> u64 {
    1_700_000_000_000_000 + writer.random.below(8) as u64 * 400_000
}

/// USING with TIMESTAMP and TTL, or nothing.
fn using(writer: &mut Writer<'_>, timestamps: Timestamps, may_expire: bool) -> String {
    let mut parts = Vec::new();
    if timestamps == Timestamps::Allowed && writer.has_timestamps && chance(writer.random, 6) {
        let timestamp = timestamp(writer);
        parts.push(format!("TIMESTAMP {}", writer.put(timestamp.to_string())));
    }
    if may_expire && !writer.is_conditional && chance(writer.random, 8) {
        let ttl = *writer.random.choose(&["1", "3", "10", "0", "100000", "null"]);
        parts.push(format!("TTL {}", writer.put(ttl.into())));
    }
    if parts.is_empty() { String::new() } else { format!(" USING {}", parts.join(" AND ")) }
}

fn insert(writer: &mut Writer<'_>, table: &Table, timestamps: Timestamps) -> String {
    let (mut names, mut values) = (Vec::new(), Vec::new());
    // Without a clustering only statics can be written.
    let is_static = table.columns.iter().any(|column| column.kind == Kind::Static) && chance(writer.random, 6);
    for column in &table.columns {
        let is_wanted = match column.kind {
            Kind::PartitionKey => !writer.errs(20),
            Kind::Clustering(_) => !is_static && !writer.errs(20),
            Kind::Static => is_static || chance(writer.random, 4),
            Kind::Regular => !is_static && !chance(writer.random, 3),
        };
        if !is_wanted {
            continue;
        }
        names.push(column.name.as_str());
        values.push(match column.kind {
            Kind::PartitionKey => writer.partition_value(&column.ty),
            Kind::Clustering(_) => writer.key_value(&column.ty),
            _ => writer.value_or_null(&column.ty),
        });
    }
    if writer.is_conditional && chance(writer.random, 2) {
        return format!(
            "INSERT INTO {} ({}) VALUES ({}) IF NOT EXISTS",
            table.name,
            names.join(", "),
            values.join(", ")
        );
    }
    // No TTL: of a row whose mark has expired the real server passes over what is older than the mark and not selected (COMPAT.md).
    let using = using(writer, timestamps, false);
    format!("INSERT INTO {} ({}) VALUES ({}){using}", table.name, names.join(", "), values.join(", "))
}

/// IF with conditions, EXISTS, or nothing.
fn conditions(writer: &mut Writer<'_>, table: &Table, rows: Rows) -> String {
    if !writer.is_conditional || chance(writer.random, 2) {
        return String::new();
    }
    let values = table.of(|kind| kind == Kind::Static || rows == Rows::Whole && kind == Kind::Regular);
    if values.is_empty() || chance(writer.random, 4) {
        return " IF EXISTS".into();
    }
    let first = writer.random.below(values.len());
    let conditions: Vec<String> = (0..values.len().min(1 + writer.random.below(2)))
        .map(|at| compared(writer, values[(first + at) % values.len()]))
        .collect();
    format!(" IF {}", conditions.join(" AND "))
}

fn compared(writer: &mut Writer<'_>, column: &Column) -> String {
    let name = &column.name;
    let operator = *writer.random.choose(&["=", "=", "!=", "<", "<=", ">", ">="]);
    if chance(writer.random, 6) {
        let values: Vec<String> = (0..1 + writer.random.below(3)).map(|_| writer.key_value(&column.ty)).collect();
        return format!("{name} IN ({})", values.join(", "));
    }
    match &column.ty {
        // Values are compared as if they were keys, and what is no UUID is equal to all that is none either (COMPAT.md: an element of a map).
        CqlType::Map { key, value, .. }
            if !matches!(**key, CqlType::Uuid | CqlType::Timeuuid) && chance(writer.random, 2) =>
        {
            let key = writer.value(key);
            format!("{name}[{key}] {operator} {}", writer.key_value(value))
        }
        CqlType::List { element, .. } if chance(writer.random, 2) => {
            let index = writer.random.below(3).to_string();
            let index = writer.put(index);
            format!("{name}[{index}] {operator} {}", writer.key_value(element))
        }
        CqlType::Udt { fields, .. } if chance(writer.random, 2) => {
            let field = &fields[writer.random.below(fields.len())];
            format!("{name}.{} {operator} {}", field.name, writer.key_value(&field.ty))
        }
        // Null is compared by `=` and `!=` alone, and so is an empty collection: whether the others are refused depends on which condition
        // the real server looks at first, which is the order of a hash table (COMPAT.md: several conditions in IF). So is a value that is not set.
        _ if matches!(operator, "=" | "!=") && chance(writer.random, 24) => {
            format!("{name} {operator} {}", writer.put("null".into()))
        }
        ty if is_collection(ty) && !matches!(operator, "=" | "!=") => {
            format!("{name} {operator} {}", writer.value_with_parts(ty))
        }
        ty => format!("{name} {operator} {}", writer.value(ty)),
    }
}

fn update(writer: &mut Writer<'_>, table: &Table, timestamps: Timestamps) -> String {
    let values = table.values();
    if values.is_empty() {
        return insert(writer, table, timestamps);
    }
    let using = using(writer, timestamps, true);
    let mut assignments = Vec::new();
    let mut is_of_rows = false;
    let first = writer.random.below(values.len());
    for at in 0..1 + writer.random.below(values.len().min(3)) {
        let column = values[(first + at) % values.len()];
        is_of_rows |= column.kind == Kind::Regular;
        assignments.push(assignment(writer, column));
    }
    let rows = if is_of_rows || writer.errs(10) { Rows::Whole } else { Rows::Partition };
    let relations = key(writer, table, rows);
    let conditions = conditions(writer, table, rows);
    format!("UPDATE {}{using} SET {} WHERE {relations}{conditions}", table.name, assignments.join(", "))
}

fn assignment(writer: &mut Writer<'_>, column: &Column) -> String {
    let name = &column.name;
    let other = |ty: &CqlType| match ty {
        CqlType::List { .. } => 4,
        CqlType::Set { .. } => 3,
        CqlType::Map { .. } => 4,
        CqlType::Udt { .. } => 2,
        _ => 1,
    };
    let kind = if chance(writer.random, 3) { 0 } else { writer.random.below(other(&column.ty)) };
    match (&column.ty, kind) {
        (_, 0) => format!("{name} = {}", writer.value_or_null(&column.ty)),
        (CqlType::List { element, .. }, 3) => {
            let index = writer.random.below(4).to_string();
            let index = writer.put(index);
            format!("{name}[{index}] = {}", writer.value_or_null(element))
        }
        (CqlType::Map { key, value, .. }, 3) => {
            let key = writer.value(key);
            format!("{name}[{key}] = {}", writer.value_or_null(value))
        }
        (CqlType::Udt { fields, .. }, _) => {
            let field = &fields[writer.random.below(fields.len())];
            format!("{name}.{} = {}", field.name, writer.value_or_null(&field.ty))
        }
        (CqlType::Map { key, .. }, 2) => {
            let keys = CqlType::Set { element: key.clone(), frozen: true };
            format!("{name} = {name} - {}", writer.value_or_null(&keys))
        }
        (ty, 2) => match (ty, chance(writer.random, 2)) {
            (CqlType::List { .. }, true) => format!("{name} = {} + {name}", writer.value_or_null(ty)),
            _ => format!("{name} -= {}", writer.value_or_null(ty)),
        },
        (ty, _) => match chance(writer.random, 2) {
            true => format!("{name} = {name} + {}", writer.value_or_null(ty)),
            false => format!("{name} += {}", writer.value_or_null(ty)),
        },
    }
}

fn delete(writer: &mut Writer<'_>, table: &Table, timestamps: Timestamps) -> String {
    let values = table.values();
    let (mut columns, mut is_of_rows) = (Vec::new(), false);
    if !values.is_empty() && chance(writer.random, 2) {
        for _ in 0..1 + writer.random.below(2) {
            let column = *writer.random.choose(&values);
            is_of_rows |= column.kind == Kind::Regular;
            columns.push(deletion(writer, column));
        }
    }
    let using = using(writer, timestamps, false);
    let rows = match (columns.is_empty(), is_of_rows) {
        (true, _) => *writer.random.choose(&[Rows::Partition, Rows::Whole, Rows::Whole, Rows::Range, Rows::Range]),
        (false, true) => Rows::Whole,
        (false, false) => Rows::Partition,
    };
    let relations = key(writer, table, rows);
    let columns = if columns.is_empty() { String::new() } else { format!("{} ", columns.join(", ")) };
    let conditions = match rows {
        Rows::Range => String::new(),
        rows => conditions(writer, table, rows),
    };
    format!("DELETE {columns}FROM {}{using} WHERE {relations}{conditions}", table.name)
}

fn deletion(writer: &mut Writer<'_>, column: &Column) -> String {
    let name = &column.name;
    match &column.ty {
        _ if chance(writer.random, 2) => name.clone(),
        CqlType::List { .. } => {
            let index = writer.random.below(3).to_string();
            format!("{name}[{}]", writer.put(index))
        }
        CqlType::Set { element, .. } => format!("{name}[{}]", writer.value(element)),
        CqlType::Map { key, .. } => format!("{name}[{}]", writer.value(key)),
        CqlType::Udt { fields, .. } => format!("{name}.{}", fields[writer.random.below(fields.len())].name),
        _ => name.clone(),
    }
}

/// Which rows a change is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// The partition as a whole, or its static row.
    Partition,
    /// Rows with a whole clustering.
    Whole,
    /// Those of a prefix, or of a slice.
    Range,
}

fn key(writer: &mut Writer<'_>, table: &Table, rows: Rows) -> String {
    let mut relations = Vec::new();
    for column in table.partition_key() {
        relations.push(equal_or_in(writer, column));
    }
    let clustering = table.clustering();
    let count = match rows {
        Rows::Partition => 0,
        Rows::Whole => clustering.len(),
        Rows::Range => writer.random.below(clustering.len() + 1),
    };
    for column in &clustering[..count] {
        relations.push(equal_or_in(writer, column));
    }
    if let (Rows::Range, Some(column)) = (rows, clustering.get(count)) {
        for operator in slice(writer) {
            relations.push(format!("{} {operator} {}", column.name, writer.end(&column.ty)));
        }
    }
    relations.join(" AND ")
}

fn equal_or_in(writer: &mut Writer<'_>, column: &Column) -> String {
    let name = &column.name;
    let value = |writer: &mut Writer<'_>| match column.kind {
        Kind::PartitionKey => writer.partition_value(&column.ty),
        _ => writer.key_value(&column.ty),
    };
    if writer.is_conditional || !chance(writer.random, 10) {
        return format!("{name} = {}", value(writer));
    }
    let values: Vec<String> = (0..writer.random.below(4)).map(|_| value(writer)).collect();
    format!("{name} IN ({})", values.join(", "))
}
