//! SELECT in all its forms.

use cql_types::CqlType;

use crate::oracle::random::chance;
use crate::oracle::random::course::Writer;
use crate::oracle::random::expression;
use crate::oracle::random::table::{Column, Kind, Table};

/// One question.
pub fn statement(writer: &mut Writer<'_>, table: &Table) -> String {
    let distinct = chance(writer.random, 14);
    let selection = if distinct { distinct_columns(writer, table) } else { selection(writer, table) };
    let relations = if distinct { partitions(writer, table) } else { relations(writer, table) };
    let mut text = format!("SELECT {}{selection} FROM {}", if distinct { "DISTINCT " } else { "" }, table.name);
    let has_relations = !relations.is_empty();
    if has_relations {
        text.push_str(&format!(" WHERE {}", relations.join(" AND ")));
    }
    if !distinct && chance(writer.random, 8) {
        let mut columns = table.partition_key();
        columns.extend(table.clustering());
        let count = match chance(writer.random, 6) {
            true => 1 + writer.random.below(columns.len()),
            false => table.partition_key().len() + writer.random.below(table.clustering().len() + 1),
        };
        let names: Vec<&str> = columns[..count].iter().map(|column| column.name.as_str()).collect();
        text.push_str(&format!(" GROUP BY {}", names.join(", ")));
    }
    let clustering = table.clustering();
    // Of several partitions, JSON of all columns is in the order of its text (COMPAT.md: SELECT JSON *).
    let is_all_as_json = selection == "JSON *";
    if !clustering.is_empty() && chance(writer.random, 6) && !is_all_as_json {
        let count = 1 + writer.random.below(clustering.len());
        let reversed = chance(writer.random, 2);
        let order: Vec<String> = clustering[..count]
            .iter()
            .map(|column| {
                let descends = column.kind == Kind::Clustering(true);
                let descends = if writer.errs(10) { !descends } else { descends };
                format!("{}{}", column.name, if descends != reversed { " DESC" } else { "" })
            })
            .collect();
        text.push_str(&format!(" ORDER BY {}", order.join(", ")));
    }
    for (clause, one_in) in [("PER PARTITION LIMIT", 10), ("LIMIT", 8)] {
        if chance(writer.random, one_in) {
            let limit = (1 + writer.random.below(4)).to_string();
            text.push_str(&format!(" {clause} {}", writer.put(limit)));
        }
    }
    if has_relations && !chance(writer.random, 4) {
        text.push_str(" ALLOW FILTERING");
    }
    text
}

fn distinct_columns(writer: &mut Writer<'_>, table: &Table) -> String {
    let mut names: Vec<&str> = table.partition_key().iter().map(|column| column.name.as_str()).collect();
    for column in table.of(|kind| kind == Kind::Static) {
        if chance(writer.random, 2) {
            names.push(&column.name);
        }
    }
    if writer.errs(4) {
        names.push(&writer.random.choose(&table.columns).name);
    }
    names.join(", ")
}

fn selection(writer: &mut Writer<'_>, table: &Table) -> String {
    match writer.random.below(12) {
        0..4 => "*".into(),
        4 => "count(*)".into(),
        5 => {
            let selectors: Vec<String> = (0..1 + writer.random.below(3)).map(|_| aggregated(writer, table)).collect();
            selectors.join(", ")
        }
        6 => format!("JSON {}", if chance(writer.random, 2) { "*".into() } else { selector(writer, table) }),
        _ => {
            let selectors: Vec<String> = (0..1 + writer.random.below(4)).map(|_| selector(writer, table)).collect();
            selectors.join(", ")
        }
    }
}

/// An aggregate, or a column beside it.
fn aggregated(writer: &mut Writer<'_>, table: &Table) -> String {
    if chance(writer.random, 4) { selector(writer, table) } else { expression::aggregate(writer, table) }
}

fn selector(writer: &mut Writer<'_>, table: &Table) -> String {
    let column = writer.random.choose(&table.columns);
    let name = &column.name;
    // What was written conditionally has the time at which it was.
    let has_times = matches!(column.kind, Kind::Static | Kind::Regular) && !writer.is_conditional;
    let text = match writer.random.below(11) {
        8.. => expression::computed(writer, table),
        4 if has_times || !writer.is_conditional && writer.errs(10) => {
            format!("{}({name})", writer.random.choose(&["writetime", "ttl", "maxwritetime"]))
        }
        0..5 => name.clone(),
        5 => {
            let key: Vec<&str> = table.partition_key().iter().map(|column| column.name.as_str()).collect();
            format!("token({})", key.join(", "))
        }
        _ => part(writer, column),
    };
    if chance(writer.random, 12) { format!("{text} AS x") } else { text }
}

/// A part of a column's value.
fn part(writer: &mut Writer<'_>, column: &Column) -> String {
    let name = &column.name;
    let text = match &column.ty {
        CqlType::Set { element: key, .. } | CqlType::Map { key, .. } => match chance(writer.random, 3) {
            true => format!("{name}[{}..{}]", writer.value(key), writer.value(key)),
            false => format!("{name}[{}]", writer.value(key)),
        },
        CqlType::Udt { fields, .. } => format!("{name}.{}", fields[writer.random.below(fields.len())].name),
        _ => name.clone(),
    };
    let has_times = matches!(column.kind, Kind::Static | Kind::Regular) && !writer.is_conditional;
    match has_times && chance(writer.random, 4) {
        true => format!("{}({text})", writer.random.choose(&["writetime", "ttl"])),
        false => text,
    }
}

/// Conditions on the partition key.
fn partitions(writer: &mut Writer<'_>, table: &Table) -> Vec<String> {
    match writer.random.below(20) {
        0..13 => {
            let columns = table.partition_key();
            columns.into_iter().map(|column| equal_or_in(writer, column)).collect()
        }
        13 | 14 => tokens(writer, table),
        _ => Vec::new(),
    }
}

fn relations(writer: &mut Writer<'_>, table: &Table) -> Vec<String> {
    let mut relations = partitions(writer, table);
    let clustering = table.clustering();
    if !clustering.is_empty() && chance(writer.random, 2) {
        match chance(writer.random, 5) {
            true => relations.push(tuple(writer, &clustering)),
            false => relations.extend(prefix(writer, &clustering)),
        }
    }
    if chance(writer.random, 4) {
        // Of the rows' columns; a second condition on a column of the key is mostly a mistake.
        let columns = match writer.errs(4) {
            true => table.columns.iter().collect(),
            false => table.values(),
        };
        let first = writer.random.below(columns.len().max(1));
        for at in 0..columns.len().min(1 + writer.random.below(2)) {
            relations.push(any(writer, columns[(first + at) % columns.len()]));
        }
    }
    relations
}

fn equal_or_in(writer: &mut Writer<'_>, column: &Column) -> String {
    let name = &column.name;
    let value = |writer: &mut Writer<'_>| match column.kind {
        Kind::PartitionKey => writer.partition_value(&column.ty),
        _ => writer.key_value(&column.ty),
    };
    if !chance(writer.random, 8) {
        return format!("{name} = {}", value(writer));
    }
    let values: Vec<String> = (0..writer.random.below(5)).map(|_| value(writer)).collect();
    format!("{name} IN ({})", values.join(", "))
}

/// A slice's one end or both.
pub fn slice(writer: &mut Writer<'_>) -> &'static [&'static str] {
    const ENDS: [&[&str]; 7] = [&[">"], &[">="], &["<"], &["<="], &[">", "<="], &[">=", "<"], &[">", "<"]];
    ENDS[writer.random.below(ENDS.len())]
}

fn tokens(writer: &mut Writer<'_>, table: &Table) -> Vec<String> {
    let key: Vec<&str> = table.partition_key().iter().map(|column| column.name.as_str()).collect();
    let key = key.join(", ");
    slice(writer)
        .iter()
        .map(|operator| {
            let end = match chance(writer.random, 2) {
                true => (writer.random.next_u64() as i64).to_string(),
                false => {
                    let types: Vec<CqlType> = table.partition_key().iter().map(|column| column.ty.clone()).collect();
                    let values: Vec<String> = types.iter().map(|ty| writer.value(ty)).collect();
                    format!("token({})", values.join(", "))
                }
            };
            format!("token({key}) {operator} {end}")
        })
        .collect()
}

/// Conditions on the first clustering columns, and mostly a slice of the next.
fn prefix(writer: &mut Writer<'_>, clustering: &[&Column]) -> Vec<String> {
    let count = writer.random.below(clustering.len() + 1);
    let mut relations: Vec<String> = clustering[..count].iter().map(|column| equal_or_in(writer, column)).collect();
    if let (Some(column), false) = (clustering.get(count), chance(writer.random, 4)) {
        for operator in slice(writer) {
            relations.push(format!("{} {operator} {}", column.name, writer.end(&column.ty)));
        }
    }
    relations
}

/// A condition on several clustering columns at once.
fn tuple(writer: &mut Writer<'_>, clustering: &[&Column]) -> String {
    let columns = &clustering[..1 + writer.random.below(clustering.len())];
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let one = |writer: &mut Writer<'_>, may_be_empty: bool| {
        let value = |column: &&Column| match may_be_empty {
            true => writer.value(&column.ty),
            false => writer.value_with_bytes(&column.ty),
        };
        let values: Vec<String> = columns.iter().map(value).collect();
        format!("({})", values.join(", "))
    };
    let names = names.join(", ");
    match *writer.random.choose(&["=", ">", ">=", "<", "<=", "IN"]) {
        "IN" => {
            // Where more conditions follow, an empty value is taken for one that is not set (COMPAT.md: stumbles).
            let count = 1 + writer.random.below(3);
            let values: Vec<String> = (0..count).map(|_| one(writer, false)).collect();
            format!("({names}) IN ({})", values.join(", "))
        }
        operator => format!("({names}) {operator} {}", one(writer, true)),
    }
}

/// Any condition on that column.
fn any(writer: &mut Writer<'_>, column: &Column) -> String {
    let name = &column.name;
    let compared = *writer.random.choose(&["=", "=", ">", ">=", "<", "<="]);
    // Deleted elements of a static collection are still contained, now and then (COMPAT.md: CONTAINS on static collections).
    let may_contain = column.kind != Kind::Static;
    match (&column.ty, writer.random.below(3)) {
        (CqlType::List { element, .. } | CqlType::Set { element, .. }, 0 | 1) if may_contain => {
            format!("{name} CONTAINS {}", writer.value(element))
        }
        (CqlType::Map { value, .. }, 0) if may_contain => format!("{name} CONTAINS {}", writer.value(value)),
        (CqlType::Map { key, .. }, 1) if may_contain => format!("{name} CONTAINS KEY {}", writer.value(key)),
        (CqlType::Map { key, value, .. }, _) => {
            let key = writer.value(key);
            format!("{name}[{key}] = {}", writer.value(value))
        }
        (ty, _) if chance(writer.random, 5) => {
            let values: Vec<String> = (0..1 + writer.random.below(3)).map(|_| writer.value(ty)).collect();
            format!("{name} IN ({})", values.join(", "))
        }
        (ty, _) if compared == "=" => format!("{name} = {}", writer.key_value(ty)),
        (ty, _) => format!("{name} {compared} {}", writer.end(ty)),
    }
}
