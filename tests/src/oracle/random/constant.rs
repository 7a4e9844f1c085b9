//! Constants of every type. There are few of each, so that keys meet and conditions find something, and many are at the edges.

use std::collections::BTreeSet;

use cql_types::CqlType;

use crate::Random;
use crate::oracle::random::chance;

/// A constant of that type, as CQL text.
pub fn constant(random: &mut Random, ty: &CqlType) -> String {
    of_parts(random, ty, 3)
}

/// The same, a collection with so many parts at most. What lies within another value has one: the real server takes its parts in any
/// order that a client gives them.
fn of_parts(random: &mut Random, ty: &CqlType, parts: usize) -> String {
    let one = |random: &mut Random, ty: &CqlType| of_parts(random, ty, 1);
    match ty {
        CqlType::List { element, .. } => braced(random, parts, "[", "]", |random| one(random, element)),
        CqlType::Set { element, .. } => braced(random, parts, "{", "}", |random| one(random, element)),
        CqlType::Map { key, value, .. } => {
            // Which of two values for a key counts is chance, in the real server.
            let keys: BTreeSet<String> = (0..random.below(parts + 1)).map(|_| one(random, key)).collect();
            let entries: Vec<String> = keys.into_iter().map(|key| format!("{key}: {}", one(random, value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        CqlType::Tuple(types) => {
            let parts: Vec<String> = types.iter().map(|ty| part(random, ty)).collect();
            format!("({})", parts.join(", "))
        }
        CqlType::Udt { fields, .. } => {
            let parts: Vec<String> =
                fields.iter().map(|field| format!("{}: {}", field.name, part(random, &field.ty))).collect();
            format!("{{{}}}", parts.join(", "))
        }
        CqlType::Vector { element, dimension } => {
            let parts: Vec<String> = (0..*dimension).map(|_| constant(random, element)).collect();
            format!("[{}]", parts.join(", "))
        }
        other => {
            let all = natives(other);
            // The first few are met more often.
            let among = if chance(random, 3) { all.len() } else { all.len().min(3) };
            all[random.below(among)].to_string()
        }
    }
}

/// A field of a tuple or user-defined type, which may be null.
fn part(random: &mut Random, ty: &CqlType) -> String {
    if chance(random, 6) { "null".into() } else { of_parts(random, ty, 1) }
}

fn braced(random: &mut Random, parts: usize, open: &str, close: &str, one: impl Fn(&mut Random) -> String) -> String {
    let parts: Vec<String> = (0..random.below(parts + 1)).map(|_| one(random)).collect();
    format!("{open}{}{close}", parts.join(", "))
}

/// The constants of a native type.
fn natives(ty: &CqlType) -> &'static [&'static str] {
    match ty {
        CqlType::Int => &["0", "1", "2", "-1", "2147483647", "-2147483648"],
        CqlType::Bigint => &["0", "1", "2", "-1", "9223372036854775807", "-9223372036854775808"],
        CqlType::Smallint => &["0", "1", "2", "-1", "32767", "-32768"],
        CqlType::Tinyint => &["0", "1", "2", "-1", "127", "-128"],
        CqlType::Varint => &["0", "1", "-1", "127", "128", "-129", "123456789012345678901234567890"],
        CqlType::Decimal => &["0", "1", "1.0", "-0.5", "1e3", "1000", "0.00", "-12345678901234567890.123"],
        CqlType::Float => &["0", "1.5", "-1.5", "-0.0", "NaN", "Infinity", "-Infinity", "3.4028235e38"],
        CqlType::Double => &["0", "1.5", "-1.5", "-0.0", "NaN", "Infinity", "-Infinity", "1.7976931348623157e308"],
        CqlType::Boolean => &["true", "false"],
        CqlType::Text => &["'a'", "'b'", "''", "'ab'", "'B'", "'ä'", "'日本'", "'it''s'"],
        CqlType::Ascii => &["'a'", "'b'", "''", "'ab'", "'~'"],
        CqlType::Blob => &["0x01", "0x02", "0x", "0x00", "0xff", "0x0100"],
        CqlType::Uuid => &[
            "5b6962dd-3f90-4c93-8f61-eabfa4a803e2",
            "00000000-0000-0000-0000-000000000000",
            "8ac6d1dc-fbeb-11ed-be56-0242ac120002",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ],
        CqlType::Timeuuid => &[
            "8ac6d1dc-fbeb-11ed-be56-0242ac120002",
            "8ac6d1dd-fbeb-11ed-be56-0242ac120002",
            "8ac6d1dc-fbeb-11ed-be56-0242ac120003",
            "00000000-0000-1000-8080-808080808080",
        ],
        CqlType::Timestamp => {
            &["'2023-05-26 12:00:00+0000'", "0", "'2023-05-26 12:30:01.5+0000'", "-1", "'1969-12-31 23:59:59+0000'"]
        }
        CqlType::Date => &["'2023-05-26'", "'1970-01-01'", "'1969-12-31'", "0", "4294967295"],
        CqlType::Time => &["'12:00:00'", "'00:00:00'", "'23:59:59.999999999'", "1"],
        CqlType::Inet => &["'127.0.0.1'", "'10.0.0.1'", "'::1'", "'255.255.255.255'"],
        CqlType::Duration => &["1d", "1mo", "-3h4m", "P1Y2M3DT4H5M6S", "0s"],
        CqlType::Counter => &["1", "2", "-1"],
        _ => &["null"],
    }
}
