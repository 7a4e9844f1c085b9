//! Values to text.

use stdx::Reader;

use crate::print::print_uuid;
use crate::{ByClass, CqlType, NESTING_DEPTH_MAX, calendar, element};

/// Appends a value, which [`crate::validate`] has accepted, as JSON. An empty value of a type that has one is `""`.
pub fn to_json(ty: &CqlType, value: &[u8], out: &mut Vec<u8>) {
    write_value(ty, value, out, 0);
}

/// Appends the name of a column or field as an object has it: one with capital letters has quotes of its own inside.
pub fn write_name(name: &str, out: &mut Vec<u8>) {
    match name.to_lowercase() == name {
        true => quote(name, out),
        false => quote(&format!("\"{name}\""), out),
    }
}

/// Appends a text as a string.
pub fn quote(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            ..=0x1f => out.extend_from_slice(format!("\\u{byte:04X}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

fn write_value(ty: &CqlType, value: &[u8], out: &mut Vec<u8>, depth: usize) {
    if depth > NESTING_DEPTH_MAX {
        return out.extend_from_slice(b"null");
    }
    let start = out.len();
    let done = match ty {
        CqlType::List { element, .. } | CqlType::Set { element, .. } => write_items(element, value, out, depth),
        CqlType::Map { key, value: of, .. } => write_map(key, of, value, out, depth),
        CqlType::Tuple(types) => write_tuple(types, value, out, depth),
        CqlType::Udt { fields, .. } => {
            out.push(b'{');
            let mut given = crate::fields_of(value);
            for (index, field) in fields.iter().enumerate() {
                separate(index, out);
                write_name(&field.name, out);
                out.extend_from_slice(b": ");
                write_nullable(&field.ty, given.next().flatten(), out, depth);
            }
            out.push(b'}');
            Some(())
        }
        CqlType::Vector { element, dimension } => write_vector(element, *dimension, value, out, depth),
        scalar => {
            write_scalar(scalar, value, out);
            Some(())
        }
    };
    if done.is_none() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}

fn write_scalar(ty: &CqlType, value: &[u8], out: &mut Vec<u8>) {
    match ty {
        CqlType::Ascii | CqlType::Text => return quote(&String::from_utf8_lossy(value), out),
        CqlType::ByClass(class) if **class == ByClass::LexicalUuid => match value.first_chunk() {
            Some(uuid) => return quote(&print_uuid(uuid), out),
            None => return quote("", out),
        },
        CqlType::Blob | CqlType::ByClass(_) | CqlType::Custom(_) => return quote(&crate::print(ty, value), out),
        _ if value.is_empty() => return out.extend_from_slice(b"\"\""),
        _ => {}
    }
    let printed = crate::print(ty, value);
    match ty {
        // Neither is a number of JSON.
        CqlType::Double | CqlType::Float if printed == "NaN" || printed.ends_with("Infinity") => {
            out.extend_from_slice(b"null");
        }
        CqlType::Bigint
        | CqlType::Boolean
        | CqlType::Counter
        | CqlType::Decimal
        | CqlType::Double
        | CqlType::Float
        | CqlType::Int
        | CqlType::Smallint
        | CqlType::Tinyint
        | CqlType::Varint => out.extend_from_slice(printed.as_bytes()),
        CqlType::Timestamp => match value.first_chunk() {
            Some(millis) => quote(&calendar::timestamp_of_era(i64::from_be_bytes(*millis), ' '), out),
            None => quote("", out),
        },
        // Cassandra's durations of nothing are no text, and this is that text.
        CqlType::Duration if printed == "0s" => quote("", out),
        _ => quote(printed.trim_matches('\''), out),
    }
}

fn separate(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.extend_from_slice(b", ");
    }
}

fn write_nullable(ty: &CqlType, value: Option<&[u8]>, out: &mut Vec<u8>, depth: usize) {
    match value {
        Some(value) => write_value(ty, value, out, depth + 1),
        None => out.extend_from_slice(b"null"),
    }
}

fn write_items(of: &CqlType, value: &[u8], out: &mut Vec<u8>, depth: usize) -> Option<()> {
    let mut reader = Reader::new(value);
    let count = usize::try_from(reader.i32().ok()?).ok()?;
    out.push(b'[');
    for index in 0..count {
        separate(index, out);
        write_value(of, element(&mut reader).ok()??, out, depth + 1);
    }
    out.push(b']');
    Some(())
}

fn write_map(keys: &CqlType, values: &CqlType, value: &[u8], out: &mut Vec<u8>, depth: usize) -> Option<()> {
    let mut reader = Reader::new(value);
    let count = usize::try_from(reader.i32().ok()?).ok()?;
    let mut key = Vec::new();
    out.push(b'{');
    for index in 0..count {
        separate(index, out);
        key.clear();
        write_value(keys, element(&mut reader).ok()??, &mut key, depth + 1);
        // A key must be a string: what is none becomes one.
        match key.first() {
            Some(b'"') => out.extend_from_slice(&key),
            _ => quote(&String::from_utf8_lossy(&key), out),
        }
        out.extend_from_slice(b": ");
        write_value(values, element(&mut reader).ok()??, out, depth + 1);
    }
    out.push(b'}');
    Some(())
}

fn write_tuple(types: &[CqlType], value: &[u8], out: &mut Vec<u8>, depth: usize) -> Option<()> {
    let mut given = crate::fields_of(value);
    out.push(b'[');
    for (index, ty) in types.iter().enumerate() {
        separate(index, out);
        write_nullable(ty, given.next().flatten(), out, depth);
    }
    out.push(b']');
    Some(())
}

fn write_vector(of: &CqlType, dimension: u32, value: &[u8], out: &mut Vec<u8>, depth: usize) -> Option<()> {
    let mut reader = Reader::new(value);
    out.push(b'[');
    for index in 0..dimension as usize {
        separate(index, out);
        let item = match of.vector_element_len() {
            Some(length) => reader.bytes(length).ok()?,
            None => reader.varint_bytes().ok()?,
        };
        write_value(of, item, out, depth + 1);
    }
    out.push(b']');
    Some(())
}
