//! Values as CQL constants, as DESCRIBE and error messages show them.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use num_bigint::BigInt;
use stdx::Reader;

use crate::display::{quoted, write_name};
use crate::java_digits::{scientific_f32, scientific_f64};
use crate::{CqlType, Duration, NESTING_DEPTH_MAX, calendar, element};

/// `value` as a CQL constant; an empty value of a type without an empty constant is `null`, bytes that are no value of
/// the type are a hex constant.
pub fn print(ty: &CqlType, value: &[u8]) -> String {
    let mut out = String::new();
    write_value(ty, value, &mut out, 0);
    out
}

fn write_value(ty: &CqlType, value: &[u8], out: &mut String, depth: usize) {
    if depth > NESTING_DEPTH_MAX {
        return;
    }
    let done = match ty {
        CqlType::List { element, .. } => write_items(&[element], value, ('[', ']'), out, depth),
        CqlType::Set { element, .. } => write_items(&[element], value, ('{', '}'), out, depth),
        CqlType::Map { key, value: of, .. } => write_items(&[key, of], value, ('{', '}'), out, depth),
        CqlType::Tuple(elements) => write_tuple(elements, value, out, depth),
        CqlType::Udt { .. } => write_udt(ty, value, out, depth),
        CqlType::Vector { element, dimension } => write_vector(element, *dimension, value, out, depth),
        scalar => {
            let text = print_scalar(scalar, value);
            out.push_str(text.as_deref().unwrap_or_default());
            text
        }
        .map(drop),
    };
    if done.is_none() {
        write_hex(value, out);
    }
}

fn print_scalar(ty: &CqlType, value: &[u8]) -> Option<String> {
    let mut reader = Reader::new(value);
    Some(match ty {
        CqlType::Ascii | CqlType::Text => quoted(std::str::from_utf8(value).ok()?),
        CqlType::Blob | CqlType::ByClass(_) | CqlType::Custom(_) => {
            let mut hex = String::new();
            write_hex(value, &mut hex);
            hex
        }
        _ if value.is_empty() => "null".to_owned(),
        CqlType::Bigint | CqlType::Counter => reader.i64().ok()?.to_string(),
        CqlType::Boolean => (reader.u8().ok()? != 0).to_string(),
        CqlType::Date => quoted(&calendar::print_date(i64::from(reader.u32().ok()?) - (1 << 31))),
        CqlType::Decimal => {
            let scale = reader.i32().ok()?;
            print_decimal(&BigInt::from_signed_bytes_be(reader.rest()), scale)
        }
        CqlType::Double => {
            let number = f64::from_bits(reader.u64().ok()?);
            print_float(number, || scientific_f64(number))
        }
        CqlType::Duration => Duration::decode(value).ok()?.to_string(),
        CqlType::Float => {
            let number = f32::from_bits(reader.u32().ok()?);
            print_float(f64::from(number), || scientific_f32(number))
        }
        CqlType::Inet => match value.len() {
            4 => quoted(&Ipv4Addr::from(reader.array::<4>().ok()?).to_string()),
            _ => quoted(&print_ipv6(Ipv6Addr::from(reader.array::<16>().ok()?))),
        },
        CqlType::Int => reader.i32().ok()?.to_string(),
        CqlType::Smallint => reader.i16().ok()?.to_string(),
        CqlType::Tinyint => reader.u8().ok()?.cast_signed().to_string(),
        CqlType::Time => {
            let nanos = reader.i64().ok().filter(|nanos| (0..calendar::NANOS_OF_DAY).contains(nanos));
            quoted(&calendar::print_time(nanos?))
        }
        CqlType::Timestamp => quoted(&calendar::print_timestamp(reader.i64().ok()?)),
        CqlType::Timeuuid | CqlType::Uuid => print_uuid(&reader.array().ok()?),
        CqlType::Varint => BigInt::from_signed_bytes_be(value).to_string(),
        _ => return None,
    })
}

/// As Java prints floating-point numbers: a digit at least behind the point, and an exponent outside of 0.001 … 10,000,000.
/// `scientific` is the number with an exponent ([`crate::java_digits`]).
fn print_float(number: f64, scientific: impl FnOnce() -> String) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let scientific = scientific();
    let (mantissa, exponent) = scientific.split_once('E').unwrap_or((&scientific, "0"));
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let Ok(places @ -3..7) = exponent.parse::<i32>() else {
        return format!("{mantissa}{point}E{exponent}");
    };
    // The same digits without the exponent: rounding again to fewer bits than an f64 has would change them.
    let sign = if mantissa.starts_with('-') { "-" } else { "" };
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    match usize::try_from(places) {
        Ok(places) => {
            let digits = format!("{digits:0<width$}", width = places + 2);
            let (whole, fraction) = digits.split_at(places + 1);
            format!("{sign}{whole}.{fraction}")
        }
        Err(_) => format!("{sign}0.{}{digits}", "0".repeat((-places - 1).unsigned_abs() as usize)),
    }
}

/// All eight groups, as Java prints them; an IPv4 address in IPv6 form as IPv4.
fn print_ipv6(address: Ipv6Addr) -> String {
    match address.to_ipv4_mapped() {
        Some(address) => address.to_string(),
        None => address.segments().map(|group| format!("{group:x}")).join(":"),
    }
}

/// As Java's `BigDecimal` prints: plain while the scale is not negative and the number not tiny, else with an exponent.
fn print_decimal(unscaled: &BigInt, scale: i32) -> String {
    let text = unscaled.magnitude().to_string();
    let sign = if unscaled.sign() == num_bigint::Sign::Minus { "-" } else { "" };
    let digits = text.len() as i64;
    let adjusted = digits - 1 - i64::from(scale);
    if scale == 0 {
        return format!("{sign}{text}");
    }
    if scale > 0 && adjusted >= -6 {
        let point = digits - i64::from(scale);
        return match usize::try_from(point) {
            Ok(point) if point > 0 => format!("{sign}{}.{}", &text[..point], &text[point..]),
            _ => format!("{sign}0.{}{text}", "0".repeat(point.unsigned_abs() as usize)),
        };
    }
    let point = if digits > 1 { format!("{}.{}", &text[..1], &text[1..]) } else { text };
    format!("{sign}{point}E{adjusted:+}")
}

pub(crate) fn print_uuid(bytes: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn write_hex(value: &[u8], out: &mut String) {
    out.push_str("0x");
    for byte in value {
        let _ = write!(out, "{byte:02x}");
    }
}

fn write_items(
    of: &[&CqlType],
    value: &[u8],
    (open, close): (char, char),
    out: &mut String,
    depth: usize,
) -> Option<()> {
    let mut reader = Reader::new(value);
    let count = reader.i32().ok()?;
    let mut text = String::from(open);
    for i in 0..count {
        if i > 0 {
            text.push_str(", ");
        }
        for (part, ty) in of.iter().enumerate() {
            if part > 0 {
                text.push_str(": ");
            }
            write_value(ty, element(&mut reader).ok()??, &mut text, depth + 1);
        }
    }
    text.push(close);
    out.push_str(&text);
    Some(())
}

/// The fields that are there; the last ones may be missing.
fn write_tuple(of: &[CqlType], value: &[u8], out: &mut String, depth: usize) -> Option<()> {
    let mut reader = Reader::new(value);
    let mut text = String::from("(");
    for (i, ty) in of.iter().enumerate() {
        if reader.is_empty() {
            break;
        }
        if i > 0 {
            text.push_str(", ");
        }
        write_field(ty, &mut reader, &mut text, depth)?;
    }
    text.push(')');
    out.push_str(&text);
    Some(())
}

fn write_udt(ty: &CqlType, value: &[u8], out: &mut String, depth: usize) -> Option<()> {
    let CqlType::Udt { fields, .. } = ty else { return None };
    let mut reader = Reader::new(value);
    let mut text = String::from("{");
    for (i, field) in fields.iter().enumerate() {
        text.push_str(if i > 0 { ", " } else { "" });
        let _ = write_name(&mut text, &field.name);
        text.push_str(": ");
        write_field(&field.ty, &mut reader, &mut text, depth)?;
    }
    text.push('}');
    out.push_str(&text);
    Some(())
}

fn write_field(ty: &CqlType, reader: &mut Reader<'_>, out: &mut String, depth: usize) -> Option<()> {
    let field = if reader.is_empty() { None } else { element(reader).ok()? };
    match field {
        Some(field) => write_value(ty, field, out, depth + 1),
        None => out.push_str("null"),
    }
    Some(())
}

fn write_vector(of: &CqlType, dimension: u32, value: &[u8], out: &mut String, depth: usize) -> Option<()> {
    let mut reader = Reader::new(value);
    let mut text = String::from("[");
    for i in 0..dimension {
        if i > 0 {
            text.push_str(", ");
        }
        let item = match of.vector_element_len() {
            Some(length) => reader.bytes(length).ok()?,
            None => reader.varint_bytes().ok()?,
        };
        write_value(of, item, &mut text, depth + 1);
    }
    text.push(']');
    out.push_str(&text);
    Some(())
}
