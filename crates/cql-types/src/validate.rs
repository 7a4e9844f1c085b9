//! Whether bytes are a value of a type.
//!
//! An empty value is let through where Cassandra does: most types hold an "empty" of zero bytes beside null.

use stdx::Reader;

use crate::{CqlType, NESTING_DEPTH_MAX, ValueError, by_class};

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
        CqlType::Ascii => ascii(value),
        CqlType::Bigint | CqlType::Counter => length_or_empty("8 or 0 byte long", 8, value),
        CqlType::Timestamp => length_or_empty("8 or 0 byte long for date", 8, value),
        CqlType::Double => length_or_empty("8 or 0 byte value for a double", 8, value),
        CqlType::Int => length_or_empty("4 or 0 byte int", 4, value),
        CqlType::Float => length_or_empty("4 or 0 byte value for a float", 4, value),
        CqlType::Date => length("4 byte long for date", 4, value),
        CqlType::Time => length("8 byte long for time", 8, value),
        CqlType::Smallint => length("2 bytes for a smallint", 2, value),
        CqlType::Tinyint => length("1 byte for a tinyint", 1, value),
        CqlType::Boolean => length_or_empty("1 or 0 byte value", 1, value),
        CqlType::Uuid => uuid(value),
        CqlType::Timeuuid => timeuuid(value),
        CqlType::Inet => inet(value),
        CqlType::Varint => Ok(()),
        CqlType::Decimal if value.is_empty() || value.len() >= 4 => Ok(()),
        CqlType::Decimal => Err(ValueError::malformed(format!("Expected 0 or at least 4 bytes ({})", value.len()))),
        CqlType::Duration => crate::duration::Duration::decode(value).map(|_| ()),
        CqlType::List { element, .. } => collection("list", value, &[element], depth),
        CqlType::Set { element, .. } => collection("set", value, &[element], depth),
        CqlType::Map { key, value: of, .. } => collection("map", value, &[key, of], depth),
        CqlType::Tuple(elements) => fields(elements.iter(), value, depth),
        CqlType::Udt { fields: of, .. } => fields(of.iter().map(|field| &field.ty), value, depth),
        CqlType::Vector { element, dimension } => vector(element, *dimension, value, depth),
        CqlType::Empty if value.is_empty() => Ok(()),
        CqlType::Empty => Err(ValueError::malformed("EmptyType only accept empty values")),
        CqlType::ByClass(class) => {
            by_class::values::validate(class, value, |component, value| validate_at(&component.ty, value, depth + 1))
        }
    }
}

fn utf8(value: &[u8]) -> Result<(), ValueError> {
    match std::str::from_utf8(value) {
        Ok(_) => Ok(()),
        Err(_) => Err(ValueError::malformed("String didn't validate.")),
    }
}

fn ascii(value: &[u8]) -> Result<(), ValueError> {
    match value.iter().find(|byte| !byte.is_ascii()) {
        None => Ok(()),
        Some(byte) => Err(ValueError::malformed(format!("Invalid byte for ascii: {}", byte.cast_signed()))),
    }
}

fn length(expected: &'static str, bytes: usize, value: &[u8]) -> Result<(), ValueError> {
    if value.len() == bytes { Ok(()) } else { Err(ValueError::Length { expected, actual: value.len() }) }
}

fn length_or_empty(expected: &'static str, bytes: usize, value: &[u8]) -> Result<(), ValueError> {
    if value.is_empty() { Ok(()) } else { length(expected, bytes, value) }
}

fn uuid(value: &[u8]) -> Result<(), ValueError> {
    match value.len() {
        0 | 16 => Ok(()),
        actual => Err(ValueError::malformed(format!("UUID should be 16 or 0 bytes ({actual})"))),
    }
}

fn timeuuid(value: &[u8]) -> Result<(), ValueError> {
    uuid(value)?;
    match value.get(6) {
        Some(byte) if byte >> 4 != 1 => {
            // The digit that is named is the value's first, as in Cassandra, not that of its version.
            Err(ValueError::malformed(format!("Invalid version for TimeUUID type: {:#x}", value[0] >> 4)))
        }
        _ => Ok(()),
    }
}

fn inet(value: &[u8]) -> Result<(), ValueError> {
    if matches!(value.len(), 0 | 4 | 16) {
        return Ok(());
    }
    let hex: String = value.iter().take(64).map(|byte| format!("{byte:02x}")).collect();
    Err(ValueError::malformed(format!("Expected 4 or 16 byte inetaddress; got {hex}")))
}

/// A count, then elements with a length each; a map has keys and values in turn.
fn collection(name: &str, value: &[u8], of: &[&CqlType], depth: usize) -> Result<(), ValueError> {
    let mut reader = Reader::new(value);
    let short = || ValueError::malformed(format!("Not enough bytes to read a {name}"));
    let count = reader.i32().map_err(|_| short())?;
    let negative = |_| ValueError::malformed(format!("The data cannot be deserialized as a {name}"));
    let count = usize::try_from(count).map_err(negative)?;
    // Every element takes four bytes at least, so that a count without elements behind it ends at once.
    for _ in 0..count {
        for ty in of {
            match crate::element(&mut reader).map_err(|_| short())? {
                Some(element) => validate_at(ty, element, depth + 1)?,
                None => return Err(ValueError::malformed("Null value read when not allowed")),
            }
        }
    }
    if reader.is_empty() {
        Ok(())
    } else {
        Err(ValueError::malformed(format!("Unexpected extraneous bytes after {name} value")))
    }
}

/// Fields with a length each; the last ones may be missing.
fn fields<'t>(of: impl Iterator<Item = &'t CqlType>, value: &[u8], depth: usize) -> Result<(), ValueError> {
    let mut reader = Reader::new(value);
    for (i, ty) in of.enumerate() {
        if reader.is_empty() {
            return Ok(());
        }
        let part = if reader.remaining() < 4 { "size of " } else { "" };
        let field = crate::element(&mut reader);
        let short = |_| ValueError::malformed(format!("Not enough bytes to read {part}{i}th component"));
        if let Some(field) = field.map_err(short)? {
            validate_at(ty, field, depth + 1)?;
        }
    }
    if reader.is_empty() {
        Ok(())
    } else {
        Err(ValueError::malformed("Invalid remaining data after end of tuple value"))
    }
}

fn vector(element: &CqlType, dimension: u32, value: &[u8], depth: usize) -> Result<(), ValueError> {
    if value.is_empty() {
        return Err(ValueError::malformed("Invalid empty vector value"));
    }
    let mut reader = Reader::new(value);
    // The vectors of models are long, and of numbers, of which any bytes are some.
    let is_plain = matches!(element, CqlType::Float | CqlType::Double | CqlType::Int | CqlType::Bigint);
    let length = element.vector_element_len().and_then(|length| length.checked_mul(dimension as usize));
    if is_plain && length == Some(value.len()) {
        return Ok(());
    }
    for _ in 0..dimension {
        let item = match element.vector_element_len() {
            Some(length) => reader.bytes(length),
            None => reader.varint_bytes(),
        };
        let short = |_| ValueError::malformed(format!("Not enough bytes to read a vector<{element}, {dimension}>"));
        validate_at(element, item.map_err(short)?, depth + 1)?;
    }
    if reader.is_empty() {
        return Ok(());
    }
    let count = reader.remaining();
    let message = format!("Unexpected {count} extraneous bytes after vector<{element}, {dimension}> value");
    Err(ValueError::malformed(message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What Cassandra 5.0.6 says to the same bytes.
    #[test]
    fn the_words_are_cassandras() {
        for (ty, bytes, message) in [
            ("bigint", "0102030405", "Expected 8 or 0 byte long (5)"),
            ("boolean", "0102030405", "Expected 1 or 0 byte value (5)"),
            ("date", "", "Expected 4 byte long for date (0)"),
            ("decimal", "000000", "Expected 0 or at least 4 bytes (3)"),
            ("double", "01", "Expected 8 or 0 byte value for a double (1)"),
            ("duration", "", "Expected at least 3 bytes for a duration (0)"),
            (
                "duration",
                "0102030405",
                "The duration months, days and nanoseconds must be all of the same sign (-1, 1, -2)",
            ),
            ("duration", "f1000000000000", "The duration months must be a 32 bits integer but was: 2147483648"),
            ("float", "01", "Expected 4 or 0 byte value for a float (1)"),
            ("inet", "0102030405", "Expected 4 or 16 byte inetaddress; got 0102030405"),
            ("int", "0102030405", "Expected 4 or 0 byte int (5)"),
            ("smallint", "", "Expected 2 bytes for a smallint (0)"),
            ("text", "ff", "String didn't validate."),
            ("ascii", "80", "Invalid byte for ascii: -128"),
            ("time", "", "Expected 8 byte long for time (0)"),
            ("timestamp", "01", "Expected 8 or 0 byte long for date (1)"),
            ("timeuuid", "0102030405", "UUID should be 16 or 0 bytes (5)"),
            ("timeuuid", "00000000000000000000000000000000", "Invalid version for TimeUUID type: 0x0"),
            ("tinyint", "", "Expected 1 byte for a tinyint (0)"),
            ("timeuuid", "a23e4567e89b42d3a456426655440000", "Invalid version for TimeUUID type: 0xa"),
            ("list<int>", "", "Not enough bytes to read a list"),
            ("list<int>", "ffffffff", "The data cannot be deserialized as a list"),
            ("list<int>", "00000001", "Not enough bytes to read a list"),
            ("list<int>", "00000001ffffffff", "Null value read when not allowed"),
            ("list<int>", "000000010000000300000000", "Expected 4 or 0 byte int (3)"),
            ("list<int>", "0000000000", "Unexpected extraneous bytes after list value"),
            ("set<int>", "00000001", "Not enough bytes to read a set"),
            ("map<int, text>", "7fffffff", "Not enough bytes to read a map"),
            ("tuple<int, text>", "00000004", "Not enough bytes to read 0th component"),
            ("tuple<int, text>", "0000", "Not enough bytes to read size of 0th component"),
            ("tuple<int, text>", "00000004000000090000000161ff", "Invalid remaining data after end of tuple value"),
            ("vector<float, 2>", "", "Invalid empty vector value"),
            ("vector<float, 2>", "00000000", "Not enough bytes to read a vector<float, 2>"),
            ("vector<text, 2>", "0161", "Not enough bytes to read a vector<text, 2>"),
            ("vector<tinyint, 2>", "0101", "Not enough bytes to read a vector<tinyint, 2>"),
            ("vector<float, 2>", "000000000000000000", "Unexpected 1 extraneous bytes after vector<float, 2> value"),
        ] {
            let error = validate(&CqlType::parse(ty).unwrap(), &hex(bytes)).unwrap_err();
            assert_eq!(error.to_string(), message, "{ty} {bytes}");
        }
    }

    #[test]
    fn what_cassandra_lets_through_is_valid() {
        for (ty, bytes) in [
            ("int", ""),
            ("varint", ""),
            ("inet", ""),
            ("timeuuid", ""),
            ("decimal", "00000000"),
            ("boolean", "02"),
            ("time", "ffffffffffffffff"),
            ("list<int>", "0000000100000000"),
            ("tuple<int, text>", ""),
            ("tuple<int, text>", "0000000400000009"),
            ("tuple<int, text>", "fffffffeffffffff"),
            ("vector<text, 2>", "01610162"),
            ("vector<tinyint, 2>", "01010101"),
            ("vector<vector<float, 1>, 2>", "0000000000000000"),
        ] {
            assert_eq!(validate(&CqlType::parse(ty).unwrap(), &hex(bytes)), Ok(()), "{ty} {bytes}");
        }
    }

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40), (ty, ..) in crate::samples::type_and_values()) {
            let _ = validate(&ty, &bytes);
            let _ = crate::print(&ty, &bytes);
            crate::comparable::encode(&ty, &bytes, false, &mut Vec::new());
        }
    }
}
