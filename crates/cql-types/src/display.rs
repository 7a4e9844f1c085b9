//! Types as text.

use std::fmt;

use crate::CqlType;
use crate::class_name::class_name;

impl fmt::Display for CqlType {
    /// As `system_schema.columns` shows it; with `#` such that [`CqlType::parse`] reads it, where that is something else: a user-defined type
    /// may be called `empty` too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frozen = match self {
            CqlType::Tuple(_) => true,
            CqlType::List { frozen, .. }
            | CqlType::Set { frozen, .. }
            | CqlType::Map { frozen, .. }
            | CqlType::Udt { frozen, .. } => *frozen,
            _ => false,
        };
        if frozen {
            f.write_str("frozen<")?;
        }
        match self {
            CqlType::List { element, .. } => write_parameters(f, "list", &[element])?,
            CqlType::Set { element, .. } => write_parameters(f, "set", &[element])?,
            CqlType::Map { key, value, .. } => write_parameters(f, "map", &[key, value])?,
            CqlType::Tuple(elements) => write_parameters(f, "tuple", &elements.iter().collect::<Vec<_>>())?,
            CqlType::Udt { name, .. } => write_name(f, name)?,
            CqlType::Vector { element, dimension } => {
                f.write_str("vector<")?;
                fmt::Display::fmt(&**element, f)?;
                write!(f, ", {dimension}>")?;
            }
            CqlType::Empty if f.alternate() => f.write_str(&quoted(&class_name(self)))?,
            CqlType::Empty => f.write_str("empty")?,
            CqlType::ByClass(_) => f.write_str(&quoted(&class_name(self)))?,
            CqlType::Custom(class) => f.write_str(&quoted(class))?,
            ty => f.write_str(ty.name().unwrap_or_default())?,
        }
        if frozen {
            f.write_str(">")?;
        }
        Ok(())
    }
}

fn write_parameters(f: &mut fmt::Formatter<'_>, name: &str, parameters: &[&CqlType]) -> fmt::Result {
    write!(f, "{name}<")?;
    for (i, parameter) in parameters.iter().enumerate() {
        f.write_str(if i > 0 { ", " } else { "" })?;
        fmt::Display::fmt(*parameter, f)?;
    }
    f.write_str(">")
}

/// A name, in quotes unless its letters need none.
pub(crate) fn write_name(f: &mut impl fmt::Write, name: &str) -> fmt::Result {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && CqlType::native(name).is_none();
    // The words that are reserved everywhere are the syntax's matter; a type's name cannot be read wrongly here.
    if plain { f.write_str(name) } else { write!(f, "\"{}\"", name.replace('"', "\"\"")) }
}

/// `text` as a CQL string constant.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
