//! Values as Cassandra's tools show them: as JSON, and as the plain text that stands in keys and paths.

use cql_types::by_class::values::Parts;
use cql_types::{ByClass, CqlType, NESTING_DEPTH_MAX, fields_of, parts_of_collection};
use stdx::Reader;

/// Appends `text` as a JSON string.
pub(crate) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            control if u32::from(control) < 0x20 => out.push_str(&format!("\\u{:04X}", u32::from(control))),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Appends a value as JSON. Bytes that are no value of the type are shown as a blob.
pub(crate) fn write_json(ty: &CqlType, value: &[u8], out: &mut String) {
    let start = out.len();
    if json(ty, value, out, 0).is_none() {
        out.truncate(start);
        write_string(&format!("0x{}", hex(value)), out);
    }
}

fn json(ty: &CqlType, value: &[u8], out: &mut String, depth: usize) -> Option<()> {
    if depth > NESTING_DEPTH_MAX {
        return None;
    }
    let depth = depth + 1;
    let nullable = |ty: &CqlType, value: Option<&[u8]>, out: &mut String| match value {
        Some(value) => json(ty, value, out, depth),
        None => {
            out.push_str("null");
            Some(())
        }
    };
    match ty {
        CqlType::Ascii | CqlType::Text => write_string(std::str::from_utf8(value).ok()?, out),
        CqlType::ByClass(class) if **class == ByClass::LexicalUuid => write_string(&plain(ty, value), out),
        CqlType::Blob | CqlType::ByClass(_) | CqlType::Custom(_) => write_string(&format!("0x{}", hex(value)), out),
        CqlType::List { element, .. } | CqlType::Set { element, .. } => {
            let parts: Vec<&[u8]> = parts_of_collection(ty, value).collect();
            list(&parts, out, |part, out| json(element, part, out, depth))?;
        }
        CqlType::Map { key, value: of, .. } => {
            let parts: Vec<&[u8]> = parts_of_collection(ty, value).collect();
            out.push('{');
            for (place, pair) in parts.chunks_exact(2).enumerate() {
                out.push_str(if place > 0 { ", " } else { "" });
                let start = out.len();
                json(key, pair[0], out, depth)?;
                // A name is a string, whatever the key is.
                if !out[start..].starts_with('"') {
                    let key = out.split_off(start);
                    write_string(&key, out);
                }
                out.push_str(": ");
                json(of, pair[1], out, depth)?;
            }
            out.push('}');
        }
        CqlType::Tuple(types) => {
            let fields: Vec<Option<&[u8]>> = fields_of(value).collect();
            let pairs: Vec<_> = types.iter().zip(fields.into_iter().chain(std::iter::repeat(None))).collect();
            list(&pairs, out, |(ty, field), out| nullable(ty, *field, out))?;
        }
        CqlType::Udt { fields, .. } => {
            let values = fields_of(value).chain(std::iter::repeat(None));
            out.push('{');
            for (place, (field, value)) in fields.iter().zip(values).enumerate() {
                out.push_str(if place > 0 { ", " } else { "" });
                let quotes = if field.name.bytes().any(|byte| byte.is_ascii_uppercase()) { "\"" } else { "" };
                write_string(&format!("{quotes}{}{quotes}", field.name), out);
                out.push_str(": ");
                nullable(&field.ty, value, out)?;
            }
            out.push('}');
        }
        CqlType::Vector { element, dimension } => {
            let parts = parts_of_vector(element, *dimension, value)?;
            list(&parts, out, |part, out| json(element, part, out, depth))?;
        }
        _ if value.is_empty() => out.push_str("\"\""),
        CqlType::Float | CqlType::Double => {
            let text = cql_types::print(ty, value);
            out.push_str(if text.ends_with(|last: char| last.is_ascii_digit()) { &text } else { "null" });
        }
        CqlType::Bigint
        | CqlType::Boolean
        | CqlType::Counter
        | CqlType::Decimal
        | CqlType::Int
        | CqlType::Smallint
        | CqlType::Tinyint
        | CqlType::Varint => out.push_str(&cql_types::print(ty, value)),
        CqlType::Timestamp => write_string(&scalar(ty, value).replace('T', " "), out),
        _ => write_string(&scalar(ty, value), out),
    }
    Some(())
}

fn list<T>(parts: &[T], out: &mut String, mut one: impl FnMut(&T, &mut String) -> Option<()>) -> Option<()> {
    out.push('[');
    for (place, part) in parts.iter().enumerate() {
        out.push_str(if place > 0 { ", " } else { "" });
        one(part, out)?;
    }
    out.push(']');
    Some(())
}

/// The elements of a vector: one after the other if all are of one length, else each behind its own.
fn parts_of_vector<'v>(element: &CqlType, dimension: u32, value: &'v [u8]) -> Option<Vec<&'v [u8]>> {
    let mut reader = Reader::new(value);
    let length = element.vector_element_len();
    (0..dimension)
        .map(|_| match length {
            Some(length) => reader.bytes(length).ok(),
            None => reader.varint_bytes().ok(),
        })
        .collect()
}

/// A value as plain text: what stands in a key or a path.
pub(crate) fn plain(ty: &CqlType, value: &[u8]) -> String {
    match ty {
        CqlType::Ascii | CqlType::Text => String::from_utf8_lossy(value).into_owned(),
        CqlType::Tuple(types) => joined(types.iter(), value),
        CqlType::Udt { fields, .. } => joined(fields.iter().map(|field| &field.ty), value),
        CqlType::ByClass(class) if **class == ByClass::LexicalUuid && !value.is_empty() => {
            scalar(&CqlType::Uuid, value)
        }
        CqlType::ByClass(class) if matches!(**class, ByClass::Composite(_)) => {
            composite(class, value).unwrap_or_else(|| hex(value))
        }
        CqlType::Blob
        | CqlType::ByClass(_)
        | CqlType::Custom(_)
        | CqlType::List { .. }
        | CqlType::Set { .. }
        | CqlType::Map { .. }
        | CqlType::Vector { .. } => hex(value),
        _ if value.is_empty() => String::new(),
        _ => scalar(ty, value),
    }
}

/// The components of a composite with colons between; `!` and `_` are the places after and before all that begin so. `None`: it is none.
fn composite(class: &ByClass, value: &[u8]) -> Option<String> {
    let mut parts = Parts::new(class, value);
    let mut out = String::new();
    while let Some((component, value)) = parts.read().ok()? {
        out.push_str(if out.is_empty() { "" } else { ":" });
        let text = plain(&component.ty, value).replace(':', "\\:");
        out.push_str(&text);
        // So that it is not taken for a place.
        out.push_str(if text.ends_with(['\\', '!']) { "!" } else { "" });
        out.push_str(match parts.end().ok()?.cast_signed() {
            0 => "",
            1.. => ":!",
            _ => ":_",
        });
    }
    Some(out)
}

/// The fields of a tuple with colons between; `@` is null.
fn joined<'t>(types: impl Iterator<Item = &'t CqlType>, value: &[u8]) -> String {
    let fields = types.zip(fields_of(value)).map(|(ty, field)| match field {
        None => "@".to_owned(),
        Some(field) => plain(ty, field).replace(':', "\\:").replace('@', "\\@"),
    });
    fields.collect::<Vec<_>>().join(":")
}

/// A scalar's constant without quotes around it.
fn scalar(ty: &CqlType, value: &[u8]) -> String {
    let text = cql_types::print(ty, value);
    // Cassandra shows nothing for a duration of nothing.
    if *ty == CqlType::Duration && text == "0s" {
        return String::new();
    }
    text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).map_or(text.clone(), str::to_owned)
}

/// Hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A time as Java's `Instant` prints it: as many digits of the second as are needed, three by three.
pub(crate) fn instant(seconds: i64, nanos: u32) -> String {
    let days = seconds.div_euclid(86_400);
    let of_day = seconds.rem_euclid(86_400);
    let fraction = match nanos {
        0 => String::new(),
        nanos if nanos % 1_000_000 == 0 => format!(".{:03}", nanos / 1_000_000),
        nanos if nanos % 1_000 == 0 => format!(".{:06}", nanos / 1_000),
        nanos => format!(".{nanos:09}"),
    };
    let date = date(days);
    format!("{date}T{:02}:{:02}:{:02}{fraction}Z", of_day / 3600, of_day / 60 % 60, of_day % 60)
}

/// A day since the epoch. Days beyond CQL's dates, which no honest timestamp has, are shown by their number.
fn date(days: i64) -> String {
    match u32::try_from(days + (1 << 31)) {
        Ok(value) => scalar(&CqlType::Date, &value.to_be_bytes()),
        Err(_) => format!("day {days}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped() {
        let mut out = String::new();
        write_string("a\"b\\c\nd\u{1}ä", &mut out);
        assert_eq!(out, "\"a\\\"b\\\\c\\nd\\u0001ä\"");
    }

    #[test]
    fn instants_have_the_digits_that_they_need() {
        assert_eq!(instant(1_700_000_000, 0), "2023-11-14T22:13:20Z");
        assert_eq!(instant(1_700_000_000, 1_000_000), "2023-11-14T22:13:20.001Z");
        assert_eq!(instant(1_700_000_000, 999_000), "2023-11-14T22:13:20.000999Z");
        assert_eq!(instant(-1, 0), "1969-12-31T23:59:59Z");
    }

    #[test]
    fn bytes_that_are_no_value_are_shown_as_they_are() {
        let mut out = String::new();
        write_json(&CqlType::Text, &[0xff, 0xfe], &mut out);
        assert_eq!(out, "\"0xfffe\"");
    }
}
