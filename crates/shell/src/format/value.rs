//! A value of a type as text.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use cql_types::{CqlType, Duration, NESTING_DEPTH_MAX};
use stdx::Reader;

use super::colour::Colour;
use super::shown::Shown;
use super::style::Style;
use super::{float, time};

/// A value that is there.
pub(crate) fn value(ty: &CqlType, bytes: &[u8], style: &Style) -> Shown {
    let mut out = Shown::default();
    write(ty, bytes, style, false, 0, &mut out);
    out
}

/// A null.
pub(crate) fn null(style: &Style) -> Shown {
    Shown::of(&style.null, Colour::NULL)
}

/// A column's name.
pub(crate) fn name(text: &str, colour: Colour, style: &Style) -> Shown {
    let mut out = Shown::default();
    out.push_text(text, colour, style.is_coloured);
    out
}

/// Appends a value; `is_nested`: within another, where text has quotes. Bytes that are no value of the type are shown as a blob.
fn write(ty: &CqlType, bytes: &[u8], style: &Style, is_nested: bool, depth: usize, out: &mut Shown) {
    // Not a copy of what is there: a collection of thousands of values would be copied as often.
    let before = out.mark();
    let done = match depth > NESTING_DEPTH_MAX {
        true => None,
        false => Writer { style, is_nested, depth }.write(ty, bytes, out),
    };
    if done.is_none() {
        out.back_to(&before);
        out.push(&hex(bytes), Colour::BLOB);
    }
}

struct Writer<'s> {
    style: &'s Style,
    is_nested: bool,
    depth: usize,
}

impl Writer<'_> {
    fn write(&self, ty: &CqlType, bytes: &[u8], out: &mut Shown) -> Option<()> {
        match ty {
            CqlType::Ascii | CqlType::Text => self.text(std::str::from_utf8(bytes).ok()?, out),
            // A result names a vector of collections or of vectors by its class, since it has no other name there.
            CqlType::Custom(class) => match cql_types::class_name::parse(class) {
                Ok(vector @ CqlType::Vector { .. }) => self.write(&vector, bytes, out)?,
                _ => out.push(&hex(bytes), Colour::BLOB),
            },
            CqlType::Blob | CqlType::ByClass(_) => out.push(&hex(bytes), Colour::BLOB),
            // The empty value that some types have beside theirs.
            _ if bytes.is_empty() => out.push("", Colour::TEXT),
            CqlType::List { element, .. } => self.items(&items(bytes, 1)?, &[element], ("[", "]"), out),
            CqlType::Set { element, .. } => {
                self.items(&sorted(items(bytes, 1)?, 1, element), &[element], ("{", "}"), out)
            }
            CqlType::Map { key, value, .. } => {
                self.items(&sorted(items(bytes, 2)?, 2, key), &[key, value], ("{", "}"), out);
            }
            CqlType::Vector { element, dimension } => {
                self.items(&elements(element, *dimension, bytes)?, &[element], ("[", "]"), out);
            }
            CqlType::Tuple(types) => self.tuple(types, bytes, out),
            CqlType::Udt { fields, .. } => self.fields(fields, bytes, out),
            scalar => self.scalar(scalar, bytes, out)?,
        }
        Some(())
    }

    fn text(&self, text: &str, out: &mut Shown) {
        let quoted = self.is_nested.then(|| format!("'{}'", text.replace('\'', "''")));
        let text = quoted.as_deref().unwrap_or(text);
        match self.style.is_raw {
            true => out.push(text, Colour::TEXT),
            false => out.push_text(text, Colour::TEXT, self.style.is_coloured),
        }
    }

    fn scalar(&self, ty: &CqlType, bytes: &[u8], out: &mut Shown) -> Option<()> {
        let style = self.style;
        let mut reader = Reader::new(bytes);
        let text = match ty {
            CqlType::Boolean => match reader.u8().ok()? {
                0 => style.booleans.1.clone(),
                _ => style.booleans.0.clone(),
            },
            CqlType::Date => time::date(i64::from(reader.u32().ok()?) - (1 << 31)),
            CqlType::Time => cql_types::print(ty, bytes).trim_matches('\'').to_owned(),
            CqlType::Timestamp => {
                let text = time::timestamp(reader.i64().ok()?, &style.time_format, style.has_millis);
                if self.is_nested { format!("'{text}'") } else { text }
            }
            CqlType::Inet => {
                let text = match bytes.len() {
                    4 => Ipv4Addr::from(reader.array::<4>().ok()?).to_string(),
                    _ => Ipv6Addr::from(reader.array::<16>().ok()?).to_string(),
                };
                if self.is_nested { format!("'{text}'") } else { text }
            }
            CqlType::Double => self.float(f64::from_bits(reader.u64().ok()?), !self.is_nested),
            CqlType::Float => self.float(f64::from(f32::from_bits(reader.u32().ok()?)), false),
            CqlType::Decimal => self.decimal(bytes),
            CqlType::Duration => {
                let duration = Duration::decode(bytes).ok()?;
                let is_zero = (duration.months, duration.days, duration.nanos) == (0, 0, 0);
                if is_zero { String::new() } else { duration.to_string() }
            }
            CqlType::Bigint
            | CqlType::Counter
            | CqlType::Int
            | CqlType::Smallint
            | CqlType::Tinyint
            | CqlType::Varint => {
                let digits = cql_types::print(ty, bytes);
                match style.thousands_separator.as_str() {
                    "" => digits,
                    separator => float::group(&digits, separator),
                }
            }
            CqlType::Uuid | CqlType::Timeuuid => cql_types::print(ty, bytes),
            _ => return None,
        };
        out.push(&text, Colour::SCALAR);
        Some(())
    }

    fn float(&self, number: f64, is_double: bool) -> String {
        let Style { float_precision, double_precision, decimal_separator, thousands_separator, .. } = self.style;
        let precision = if is_double { *double_precision } else { *float_precision };
        float::shown(number, precision, decimal_separator, thousands_separator)
    }

    /// All digits; with separators of one's own as a floating-point number, as cqlsh does.
    fn decimal(&self, bytes: &[u8]) -> String {
        let text = cql_types::print(&CqlType::Decimal, bytes);
        if self.style.decimal_separator == "." && self.style.thousands_separator.is_empty() {
            return text;
        }
        text.parse().map_or(text, |number| self.float(number, false))
    }

    /// Values between brackets. With two types they are keys and values in turn.
    fn items(&self, items: &[Option<&[u8]>], types: &[&CqlType], (open, close): (&str, &str), out: &mut Shown) {
        out.push(open, Colour::BRACKET);
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                out.push(if index % types.len() == 0 { ", " } else { ": " }, Colour::BRACKET);
            }
            self.part(types[index % types.len()], *item, out);
        }
        out.push(close, Colour::BRACKET);
    }

    fn tuple(&self, types: &[CqlType], bytes: &[u8], out: &mut Shown) {
        let mut parts = cql_types::fields_of(bytes);
        out.push("(", Colour::BRACKET);
        for (index, ty) in types.iter().enumerate() {
            if index > 0 {
                out.push(", ", Colour::BRACKET);
            }
            self.part(ty, parts.next().flatten(), out);
        }
        out.push(")", Colour::BRACKET);
    }

    fn fields(&self, fields: &[cql_types::Field], bytes: &[u8], out: &mut Shown) {
        let mut parts = cql_types::fields_of(bytes);
        out.push("{", Colour::BRACKET);
        for (index, field) in fields.iter().enumerate() {
            if index > 0 {
                out.push(", ", Colour::BRACKET);
            }
            out.push_text(&field.name, Colour::TEXT, self.style.is_coloured);
            out.push(": ", Colour::BRACKET);
            self.part(&field.ty, parts.next().flatten(), out);
        }
        out.push("}", Colour::BRACKET);
    }

    fn part(&self, ty: &CqlType, part: Option<&[u8]>, out: &mut Shown) {
        match part {
            Some(bytes) => write(ty, bytes, self.style, true, self.depth + 1, out),
            None => out.push(&self.style.null, Colour::NULL),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 + bytes.len() * 2);
    text.push_str("0x");
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The values of a collection; `each`: so many for an entry.
fn items(bytes: &[u8], each: usize) -> Option<Vec<Option<&[u8]>>> {
    let mut reader = Reader::new(bytes);
    let count = usize::try_from(reader.i32().ok()?).ok()?.checked_mul(each)?;
    // Each has its length at least, so no count takes more memory than there are bytes.
    let mut items = Vec::with_capacity(count.min(bytes.len() / 4));
    for _ in 0..count {
        items.push(match usize::try_from(reader.i32().ok()?) {
            Ok(length) => Some(reader.bytes(length).ok()?),
            Err(_) => None,
        });
    }
    Some(items)
}

/// The elements of a vector.
fn elements<'b>(element: &CqlType, dimension: u32, bytes: &'b [u8]) -> Option<Vec<Option<&'b [u8]>>> {
    let mut reader = Reader::new(bytes);
    let mut elements = Vec::with_capacity((dimension as usize).min(bytes.len()));
    for _ in 0..dimension {
        elements.push(Some(match element.vector_element_len() {
            Some(length) => reader.bytes(length).ok()?,
            None => reader.varint_bytes().ok()?,
        }));
    }
    reader.is_empty().then_some(elements)
}

/// In the order in which Python has them: that of the type, in which a server keeps a collection but not one within a tuple or a user-defined type; but
/// addresses are there text, and UUIDs numbers.
fn sorted<'b>(items: Vec<Option<&'b [u8]>>, each: usize, ty: &CqlType) -> Vec<Option<&'b [u8]>> {
    let text = |key: Option<&[u8]>| value(ty, key.unwrap_or_default(), &Style::default()).text(false).to_owned();
    let mut entries: Vec<&[Option<&[u8]>]> = items.chunks(each).collect();
    match ty {
        CqlType::Inet | CqlType::Uuid | CqlType::Timeuuid => entries.sort_by_key(|entry| text(entry[0])),
        // Bytes that are no value of the type have no order, and stay where they are.
        _ if entries.iter().all(|entry| entry[0].is_some_and(|key| cql_types::validate(ty, key).is_ok())) => {
            entries
                .sort_by(|one, other| cql_types::compare(ty, one[0].unwrap_or_default(), other[0].unwrap_or_default()));
        }
        _ => {}
    }
    entries.concat()
}
