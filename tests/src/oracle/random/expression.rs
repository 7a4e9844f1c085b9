//! What SELECT computes: functions, casts, arithmetic and aggregates of columns.

use cql_types::CqlType;

use crate::oracle::random::chance;
use crate::oracle::random::course::Writer;
use crate::oracle::random::table::{Column, Kind, Table};

/// Types that CAST makes.
const CAST_TO: [&str; 12] = [
    "text",
    "ascii",
    "int",
    "bigint",
    "smallint",
    "tinyint",
    "varint",
    "decimal",
    "float",
    "double",
    "date",
    "timestamp",
];

/// Something computed of the table's columns, mostly of the right types.
pub fn computed(writer: &mut Writer<'_>, table: &Table) -> String {
    let column = writer.random.choose(&table.columns).clone();
    let inner = match chance(writer.random, 6) {
        true => computed(writer, table),
        false => column.name.clone(),
    };
    match writer.random.below(12) {
        0 | 1 if !is_descending(table, &inner) => format!("CAST({inner} AS {})", writer.random.choose(&CAST_TO)),
        2 | 3 if is_number(&column.ty) => {
            let right = operand(writer, table, &column);
            format!("{inner} {} {right}", writer.random.choose(&["+", "-", "*", "/", "%"]))
        }
        2 | 3 if matches!(column.ty, CqlType::Timestamp | CqlType::Date) => {
            let duration = writer.random.choose(&["1d", "2h", "1mo", "3d", "1y"]);
            format!("{inner} {} {duration}", writer.random.choose(&["+", "-"]))
        }
        4 => format!("-{inner}"),
        5 => {
            // Of a decimal 1 it is a zero whose exponent follows from what was computed before (COMPAT.md: log10).
            let may_be_decimal = inner.contains("decimal")
                || inner.contains('.')
                || table.columns.iter().any(|column| column.ty == CqlType::Decimal);
            let functions = ["abs", "exp", "log", "round", "log10"];
            let count = functions.len() - usize::from(may_be_decimal);
            format!("{}({inner})", writer.random.choose(&functions[..count]))
        }
        6 if !has_timeuuid(table, &inner) => {
            format!("{}({inner})", writer.random.choose(&["mask_null", "mask_default"]))
        }
        7 if is_collection(&column.ty) && !is_descending(table, &inner) => {
            let functions = [
                "collection_count",
                "collection_min",
                "collection_max",
                "collection_sum",
                "collection_avg",
                "map_keys",
                "map_values",
            ];
            format!("{}({inner})", writer.random.choose(&functions))
        }
        7 if matches!(column.ty, CqlType::Text | CqlType::Ascii) => {
            format!("{}({inner}, 1, null)", writer.random.choose(&["mask_inner", "mask_outer"]))
        }
        7 if matches!(column.ty, CqlType::Timeuuid | CqlType::Timestamp | CqlType::Date) => {
            format!("{}({inner})", writer.random.choose(&["to_date", "to_timestamp", "to_unix_timestamp"]))
        }
        7 if matches!(column.ty, CqlType::Vector { .. }) => {
            let name = writer.random.choose(&["similarity_cosine", "similarity_euclidean", "similarity_dot_product"]);
            format!("{name}({inner}, {})", writer.value(&column.ty))
        }
        8 => format!("to_json({inner})"),
        9 => format!("{}_as_blob({inner})", column.ty),
        _ => inner,
    }
}

/// An aggregate of something.
pub fn aggregate(writer: &mut Writer<'_>, table: &Table) -> String {
    let of = match chance(writer.random, 5) {
        true => computed(writer, table),
        false => writer.random.choose(&table.columns).name.clone(),
    };
    let name = match has_timeuuid(table, &of) {
        true => "count",
        false => *writer.random.choose(&["count", "min", "max", "sum", "avg", "min", "max"]),
    };
    let text = format!("{name}({of})");
    if chance(writer.random, 8) { format!("CAST({text} AS {})", writer.random.choose(&CAST_TO)) } else { text }
}

/// Whether a column with timeuuids is in it: what functions make of one has a type of its own in the real server (COMPAT.md: functions of a
/// `timeuuid`).
fn has_timeuuid(table: &Table, term: &str) -> bool {
    let names = |column: &&Column| term.contains(column.name.as_str());
    table.columns.iter().filter(names).any(|column| column.ty.to_string().contains("timeuuid"))
}

/// Whether it is a column stored in descending order, which the real server's functions do not take for a collection, nor for a value of
/// its own type (COMPAT.md: functions of collections, and CAST to its own type, of a clustering column in descending order).
fn is_descending(table: &Table, term: &str) -> bool {
    table.columns.iter().any(|column| column.name == term && column.kind == Kind::Clustering(true))
}

/// What stands at an operator's right: another number column, or a constant.
fn operand(writer: &mut Writer<'_>, table: &Table, beside: &Column) -> String {
    let numbers: Vec<&Column> = table.columns.iter().filter(|column| is_number(&column.ty)).collect();
    if chance(writer.random, 2) { writer.random.choose(&numbers).name.clone() } else { writer.value(&beside.ty) }
}

fn is_number(ty: &CqlType) -> bool {
    matches!(
        ty,
        CqlType::Int
            | CqlType::Bigint
            | CqlType::Smallint
            | CqlType::Tinyint
            | CqlType::Varint
            | CqlType::Decimal
            | CqlType::Float
            | CqlType::Double
    )
}

pub fn is_collection(ty: &CqlType) -> bool {
    matches!(ty, CqlType::List { .. } | CqlType::Set { .. } | CqlType::Map { .. })
}
