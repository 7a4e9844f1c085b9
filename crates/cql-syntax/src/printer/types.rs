//! Types, with the keyspaces of user-defined ones, which a type's own `Display` leaves out as the system's tables do.

use std::fmt::{self, Formatter, Write};

use cql_types::CqlType;

use crate::quote_identifier;

/// The type as a statement writes it.
pub(crate) fn type_text(ty: &CqlType) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_to(&mut text, ty);
    text
}

pub(super) fn write_type(f: &mut Formatter<'_>, ty: &CqlType) -> fmt::Result {
    write_to(f, ty)
}

fn write_to(out: &mut impl Write, ty: &CqlType) -> fmt::Result {
    let frozen = match ty {
        CqlType::Tuple(_) => true,
        CqlType::List { frozen, .. }
        | CqlType::Set { frozen, .. }
        | CqlType::Map { frozen, .. }
        | CqlType::Udt { frozen, .. } => *frozen,
        _ => false,
    };
    out.write_str(if frozen { "frozen<" } else { "" })?;
    match ty {
        CqlType::List { element, .. } => write_parameters(out, "list", &[element])?,
        CqlType::Set { element, .. } => write_parameters(out, "set", &[element])?,
        CqlType::Map { key, value, .. } => write_parameters(out, "map", &[key, value])?,
        CqlType::Tuple(elements) => write_parameters(out, "tuple", &elements.iter().collect::<Vec<_>>())?,
        CqlType::Udt { keyspace, name, .. } => write_udt(out, keyspace, name)?,
        CqlType::Vector { element, dimension } => {
            out.write_str("vector<")?;
            write_to(out, element)?;
            write!(out, ", {dimension}>")?;
        }
        other => write!(out, "{other}")?,
    }
    out.write_str(if frozen { ">" } else { "" })
}

fn write_parameters(out: &mut impl Write, name: &str, parameters: &[&CqlType]) -> fmt::Result {
    write!(out, "{name}<")?;
    for (i, parameter) in parameters.iter().enumerate() {
        out.write_str(if i > 0 { ", " } else { "" })?;
        write_to(out, parameter)?;
    }
    out.write_str(">")
}

fn write_udt(out: &mut impl Write, keyspace: &str, name: &str) -> fmt::Result {
    if !keyspace.is_empty() {
        write!(out, "{}.", quote_identifier(keyspace))?;
    }
    // A type may have a native type's name, between quotes.
    match CqlType::native(name) {
        Some(_) => write!(out, "\"{name}\""),
        None => out.write_str(&quote_identifier(name)),
    }
}
