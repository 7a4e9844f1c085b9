//! Whether bytes are a value of a type.
//!
//! An empty value is let through where Cassandra does: most types hold an "empty" of zero bytes beside null.

use stdx::Reader;

use crate::{CqlType, NESTING_DEPTH_MAX, ValueError};

/// Nanoseconds of a day.
pub(crate) const NANOS_OF_DAY: i64 = 86_400_000_000_000;

/// Refuses bytes that are no value of the type.
#[inline]
pub fn validate(ty: &CqlType, value: &[u8]) -> Result<(), ValueError> {
    match ty {
        CqlType::Blob => Ok(()),
        CqlType::Text => utf8(value),
        other => validate_at(other, value, 0),
    }
}

fn validate_at(ty: &CqlType, value: &[u8], depth: usize) -> Result<(), ValueError> {
    if depth > NESTING_DEPTH_MAX {
        return Err(ValueError::TooDeep);
    }
    match ty {
        CqlType::Blob | CqlType::Custom(_) => Ok(()),
        CqlType::Text => utf8(value),
        CqlType::Ascii if value.is_ascii() => Ok(()),
        CqlType::Ascii => Err(ValueError::malformed("Invalid byte for ascii: it is not in 0-127")),
        CqlType::Bigint | CqlType::Counter => length_or_empty("long", 8, value),
        CqlType::Timestamp => length_or_empty("date", 8, value),
        CqlType::Double => length_or_empty("double", 8, value),
        CqlType::Int => length_or_empty("int", 4, value),
        CqlType::Float => length_or_empty("float", 4, value),
        CqlType::Date => length("date", 4, value),
        CqlType::Smallint => length("smallint", 2, value),
        CqlType::Tinyint => length("tinyint", 1, value),
        CqlType::Boolean => length_or_empty("boolean", 1, value),
        CqlType::Uuid => length_or_empty("UUID", 16, value),
        CqlType::Timeuuid => timeuuid(value),
        CqlType::Inet => inet(value),
        CqlType::Time => time(value),
        CqlType::Varint => Ok(()),
        CqlType::Decimal if value.is_empty() || value.len() >= 4 => Ok(()),
        CqlType::Decimal => Err(ValueError::malformed(format!("Expected 0 or at least 4 bytes ({})", value.len()))),
        CqlType::Duration => crate::duration::Duration::decode(value).map(|_| ()),
        CqlType::List { element, .. } | CqlType::Set { element, .. } => collection(value, &[element], depth),
        CqlType::Map { key, value: of, .. } => collection(value, &[key, of], depth),
        CqlType::Tuple(elements) => fields(elements.iter(), value, depth),
        CqlType::Udt { fields: of, .. } => fields(of.iter().map(|field| &field.ty), value, depth),
        CqlType::Vector { element, dimension } => vector(element, *dimension, value, depth),
    }
}

fn utf8(value: &[u8]) -> Result<(), ValueError> {
    match std::str::from_utf8(value) {
        Ok(_) => Ok(()),
        Err(_) => Err(ValueError::malformed("String didn't validate.")),
    }
}

fn length(ty: &'static str, expected: usize, value: &[u8]) -> Result<(), ValueError> {
    if value.len() == expected { Ok(()) } else { Err(ValueError::Length { ty, expected, actual: value.len() }) }
}

fn length_or_empty(ty: &'static str, expected: usize, value: &[u8]) -> Result<(), ValueError> {
    if value.is_empty() { Ok(()) } else { length(ty, expected, value) }
}

fn timeuuid(value: &[u8]) -> Result<(), ValueError> {
    length_or_empty("timeuuid", 16, value)?;
    match value.get(6) {
        Some(byte) if byte >> 4 != 1 => Err(ValueError::malformed("Invalid version for TimeUUID type.")),
        _ => Ok(()),
    }
}

fn inet(value: &[u8]) -> Result<(), ValueError> {
    match value.len() {
        0 | 4 | 16 => Ok(()),
        actual => Err(ValueError::Length { ty: "inet", expected: 4, actual }),
    }
}

fn time(value: &[u8]) -> Result<(), ValueError> {
    length("time", 8, value)?;
    let nanos = Reader::new(value).i64().unwrap_or(-1);
    if (0..NANOS_OF_DAY).contains(&nanos) {
        return Ok(());
    }
    Err(ValueError::malformed(format!("Input long out of bounds: {nanos}")))
}

/// A count, then elements with a length each; a map has keys and values in turn.
fn collection(value: &[u8], of: &[&CqlType], depth: usize) -> Result<(), ValueError> {
    let mut reader = Reader::new(value);
    let count = reader.i32().ok().and_then(|count| usize::try_from(count).ok());
    let count = count.ok_or_else(|| ValueError::malformed("Not enough bytes to read a collection's size"))?;
    for _ in 0..count {
        for ty in of {
            match crate::element(&mut reader)? {
                Some(element) => validate_at(ty, element, depth + 1)?,
                None => return Err(ValueError::malformed("null is not supported inside collections")),
            }
        }
    }
    if reader.is_empty() { Ok(()) } else { Err(ValueError::malformed("Unexpected extraneous bytes after collection")) }
}

/// Fields with a length each; the last ones may be missing.
fn fields<'t>(of: impl Iterator<Item = &'t CqlType>, value: &[u8], depth: usize) -> Result<(), ValueError> {
    let mut reader = Reader::new(value);
    for ty in of {
        if reader.is_empty() {
            return Ok(());
        }
        if let Some(field) = crate::element(&mut reader)? {
            validate_at(ty, field, depth + 1)?;
        }
    }
    if reader.is_empty() {
        Ok(())
    } else {
        Err(ValueError::malformed("Invalid remaining data after end of tuple value"))
    }
}

fn vector(element: &CqlType, dimension: u16, value: &[u8], depth: usize) -> Result<(), ValueError> {
    let mut reader = Reader::new(value);
    for _ in 0..dimension {
        let item = match element.fixed_len() {
            Some(length) => reader.bytes(length),
            None => reader.varint_bytes(),
        };
        validate_at(element, item.map_err(|_| ValueError::malformed("Not enough bytes to read a vector"))?, depth + 1)?;
    }
    if reader.is_empty() { Ok(()) } else { Err(ValueError::malformed("Unexpected extraneous bytes after vector")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lengths_are_checked() {
        assert!(validate(&CqlType::Int, &[0; 4]).is_ok());
        assert!(validate(&CqlType::Int, &[]).is_ok());
        let error = validate(&CqlType::Int, &[0; 3]).unwrap_err();
        assert_eq!(error.to_string(), "Expected 4 bytes for a int (3)");
        assert!(validate(&CqlType::Smallint, &[]).is_err());
        assert!(validate(&CqlType::Time, &NANOS_OF_DAY.to_be_bytes()).is_err());
        assert!(validate(&CqlType::Timeuuid, &[0; 16]).is_err());
        assert!(validate(&CqlType::Text, &[0xff]).is_err());
    }

    #[test]
    fn collections_are_checked_to_their_leaves() {
        let list = CqlType::parse("list<int>").unwrap();
        assert!(validate(&list, &[0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 9]).is_ok());
        assert!(validate(&list, &[0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0]).is_err());
        assert!(validate(&list, &[0x7f, 0xff, 0xff, 0xff]).is_err());
        assert!(validate(&list, &[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40), which in 0usize..8) {
            let names = ["decimal", "varint", "duration", "map<text, list<int>>", "tuple<int, text>", "inet",
                "vector<text, 2>", "set<duration>"];
            let _ = validate(&CqlType::parse(names[which]).unwrap(), &bytes);
        }
    }
}
