//! A value as the console shows it: the CQL constant that DESCRIBE would print, without the outer quotes, and cut where it is long.

use cql_types::{CqlType, print};

/// What is shown of one value, bytes.
const SHOWN_MAX: usize = 4 << 10;
/// What is shown of all values of an answer together, before only the beginnings are.
const SHOWN_MAX_TOGETHER: usize = 4 << 20;
/// The beginning that is always shown.
const BEGINNING: usize = 64;
/// The longest value of a type other than text and blob that is printed at all: digits of a number are not had piece by piece.
const PRINTED_MAX: usize = 16 << 10;

/// How much may still be shown.
pub(super) struct Room {
    left: usize,
}

impl Default for Room {
    fn default() -> Self {
        Room { left: SHOWN_MAX_TOGETHER }
    }
}

/// The text of a value.
pub(super) fn shown(ty: &CqlType, value: &[u8], room: &mut Room) -> String {
    let most = SHOWN_MAX.min(room.left.max(BEGINNING));
    let text = match ty {
        CqlType::Text | CqlType::Ascii => match std::str::from_utf8(value) {
            Ok(text) => cut(text, most, value.len()),
            Err(_) => hex(ty, value, most),
        },
        CqlType::Blob | CqlType::ByClass(_) | CqlType::Custom(_) => hex(ty, value, most),
        _ if value.len() > PRINTED_MAX => format!("({} bytes)", value.len()),
        ty => cut(bare(ty, &print(ty, value)), most, value.len()),
    };
    room.left = room.left.saturating_sub(text.len());
    text
}

/// What a constant of these types is quoted with is no part of the value.
fn bare<'a>(ty: &CqlType, text: &'a str) -> &'a str {
    let is_quoted = matches!(ty, CqlType::Date | CqlType::Time | CqlType::Timestamp | CqlType::Inet);
    let inner = || text.strip_prefix('\'')?.strip_suffix('\'');
    if is_quoted { inner().unwrap_or(text) } else { text }
}

fn hex(ty: &CqlType, value: &[u8], most: usize) -> String {
    let kept = value.len().min(most / 2);
    let blob = if matches!(ty, CqlType::ByClass(_) | CqlType::Custom(_)) { ty } else { &CqlType::Blob };
    with_length(print(blob, &value[..kept]), kept < value.len(), value.len())
}

fn cut(text: &str, most: usize, length: usize) -> String {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    with_length(text[..end].to_owned(), end < text.len(), length)
}

fn with_length(text: String, is_cut: bool, length: usize) -> String {
    if is_cut { format!("{text}… ({length} bytes)") } else { text }
}

/// A type as clients know it: on the wire nothing is frozen.
pub(super) fn type_name(ty: &CqlType) -> String {
    match ty {
        CqlType::List { element, .. } => format!("list<{}>", type_name(element)),
        CqlType::Set { element, .. } => format!("set<{}>", type_name(element)),
        CqlType::Map { key, value, .. } => format!("map<{}, {}>", type_name(key), type_name(value)),
        CqlType::Tuple(elements) => {
            format!("tuple<{}>", elements.iter().map(type_name).collect::<Vec<_>>().join(", "))
        }
        CqlType::Udt { name, .. } => name.clone(),
        CqlType::Vector { element, dimension } => format!("vector<{}, {dimension}>", type_name(element)),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ty: &CqlType, value: &[u8]) -> String {
        shown(ty, value, &mut Room::default())
    }

    #[test]
    fn values_are_constants_without_their_outer_quotes() {
        assert_eq!(of(&CqlType::Text, "it's".as_bytes()), "it's");
        assert_eq!(of(&CqlType::Int, &7_i32.to_be_bytes()), "7");
        assert_eq!(of(&CqlType::Blob, &[0xca, 0xfe]), "0xcafe");
        assert_eq!(of(&CqlType::Inet, &[127, 0, 0, 1]), "127.0.0.1");
        assert_eq!(of(&CqlType::Boolean, &[1]), "true");
        assert_eq!(of(&CqlType::Date, &(1_u32 << 31).to_be_bytes()), "1970-01-01");
        assert!(of(&CqlType::Timestamp, &0_i64.to_be_bytes()).starts_with("1970-01-01"));
        let list = CqlType::List { element: Box::new(CqlType::Text), frozen: false };
        assert_eq!(of(&list, &[0, 0, 0, 1, 0, 0, 0, 1, b'a']), "['a']");
        assert_eq!(type_name(&CqlType::Tuple(vec![list])), "tuple<list<text>>");
    }

    #[test]
    fn long_values_are_cut_and_say_so() {
        let long = "é".repeat(5000);
        let text = of(&CqlType::Text, long.as_bytes());
        assert!(text.len() < SHOWN_MAX + 40 && text.ends_with("… (10000 bytes)"), "{}", text.len());
        let blob = of(&CqlType::Blob, &vec![7; 1 << 20]);
        assert!(blob.len() < SHOWN_MAX + 40 && blob.ends_with("… (1048576 bytes)"));
        assert_eq!(of(&CqlType::Varint, &vec![1; 1 << 20]), "(1048576 bytes)");
        assert!(of(&CqlType::Text, &[0xff; 9000]).starts_with("0xffff"), "no text is shown as its bytes");
    }

    #[test]
    fn many_values_are_cut_shorter() {
        let (mut room, mut all) = (Room::default(), 0);
        for _ in 0..10_000 {
            all += shown(&CqlType::Text, &[b'x'; 10_000], &mut room).len();
        }
        assert!(all < SHOWN_MAX_TOGETHER + 10_000 * (BEGINNING + 40), "{all}");
    }
}
