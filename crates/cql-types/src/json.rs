//! Values as JSON, as SELECT JSON and to_json() show them and INSERT JSON and from_json() read them.
//!
//! What is read is first a tree of what JSON has ([`Json`]), as Java's numbers: an integer of any length, or a double. Then
//! [`from_json`] makes a value of a type of it. What each type takes, and the words that refuse the rest, are those of the `marshal` package of
//! Cassandra 5.0; those about text that is no JSON are Jackson's, which Cassandra hands on.

mod parse;
mod read;
mod write;

use num_bigint::BigInt;

pub use parse::{JsonError, parse, parse_object};
pub use read::from_json;
pub use write::{quote, to_json, write_name};

/// A value of JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true`, `false`
    Boolean(bool),
    /// A number without point and exponent.
    Integer(BigInt),
    /// Any other number.
    Double(f64),
    /// A string.
    String(String),
    /// `[…]`
    List(Vec<Json>),
    /// `{…}`, in the order of the text, each name once.
    Map(Vec<(String, Json)>),
}

impl Json {
    /// The Java class that stands for it, which messages name.
    fn class(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Boolean(_) => "Boolean",
            Json::Integer(number) if i32::try_from(number).is_ok() => "Integer",
            Json::Integer(number) if i64::try_from(number).is_ok() => "Long",
            Json::Integer(_) => "BigInteger",
            Json::Double(_) => "Double",
            Json::String(_) => "String",
            Json::List(_) => "ArrayList",
            Json::Map(_) => "LinkedHashMap",
        }
    }
}

impl std::fmt::Display for Json {
    /// As Java prints it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Boolean(value) => value.fmt(f),
            Json::Integer(number) => number.fmt(f),
            Json::Double(number) => f.write_str(&crate::print(&crate::CqlType::Double, &number.to_be_bytes())),
            Json::String(text) => f.write_str(text),
            Json::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    f.write_str(if index > 0 { ", " } else { "" })?;
                    item.fmt(f)?;
                }
                f.write_str("]")
            }
            Json::Map(entries) => {
                f.write_str("{")?;
                for (index, (name, value)) in entries.iter().enumerate() {
                    write!(f, "{}{name}={value}", if index > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
        }
    }
}

/// What names of columns and fields in JSON mean: one in quotes of its own is kept as it stands in them, another is in lower case. Of
/// names that mean the same the last stays, and stands last.
fn fold_names(entries: &mut Vec<(String, Json)>) {
    for (name, _) in entries.iter_mut() {
        *name = match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
            Some(inside) => inside.to_owned(),
            None => name.to_lowercase(),
        };
    }
    if entries.len() > 1 {
        let mut seen = std::collections::BTreeSet::new();
        let mut kept: Vec<bool> = entries.iter().rev().map(|(name, _)| seen.insert(name.clone())).collect();
        kept.reverse();
        let mut kept = kept.into_iter();
        entries.retain(|_| kept.next().unwrap_or(true));
    }
}

#[cfg(test)]
mod tests;
