//! Cassandra's byte-comparable forms, by which its tries are ordered: `memcmp` of two forms is the order of what they stand for, and none is a
//! prefix of another. They are other bytes than `cql_types::comparable`, which is ours.
//!
//! ```text
//! key            40 token: 8, sign turned  40 key, as a blob  38
//! clustering     (40 value, or 3f if it is empty and its type has no form for that; 41 in a reversed column; 3e if a row has none)* end
//! end            38 of a row, 20 before all that begins so, 60 behind it
//!
//! int, smallint, tinyint, timestamp     big-endian, sign turned
//! bigint                                 signed vint: sign turned, then one bit more for each further byte; of a negative number all turned
//! float, double                          sign turned; of a negative number all turned; NaN as its usual bits
//! boolean                                0 or 1
//! date, time                             as they are
//! text, blob, inet, duration             the bytes; n zeros are 00 fe × (n − 1) ff, at the end 00 fe × n; else 00 behind
//! uuid                                   version: 4 bits, the rest; of version 1 the time's bits from the highest on
//! timeuuid                               the same, and the sign of each byte of clock and node turned
//! varint                                 up to six bytes as bigint; else ff or 00 for the sign, vint of its bytes − 7, turned if negative, the bytes
//! decimal                                80 for 0; else sign and length of the exponent of 100, that exponent, the digits of base 100 + 80, 00
//! list, set, map, tuple, vector          (40 element, or 3e for none)* 38
//! LexicalUUIDType                        the sign of each half turned
//! CompositeType                          40, 3e if static (40 component, or 3e if it has no form, 40 end: sign turned)* 38
//! DynamicCompositeType                   the same, before each component: (40 ReversedType)? 40 simple class name 40 class name
//! ```
//!
//! A reversed column's values have all bits turned. (Source: Cassandra 5.0's `ByteComparable.md`, `ByteSource` and `AbstractType.asComparableBytes`,
//! version OSS50; `testdata/comparables.txt` has forms that Cassandra made.)

use cql_types::{CqlType, NESTING_DEPTH_MAX, comparable, fields_of, parts_of_collection};
use mutation::{Bound, ClusteringRef};
use num_bigint::{BigInt, Sign};
use schema::Column;
use stdx::{Reader, varint};
use topology::Token;

mod by_class;

const COMPONENT: u8 = 0x40;
const EMPTY: u8 = 0x3f;
const EMPTY_REVERSED: u8 = 0x41;
const NULL: u8 = 0x3e;
const END: u8 = 0x38;
const BEFORE: u8 = 0x20;
const AFTER: u8 = 0x60;

/// From how many bytes on an integer has its length before it.
const LONG_INTEGER: usize = 7;

/// Which place among rows a clustering's first components name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The row of the whole clustering.
    Row,
    /// Before all rows that begin with it.
    Before,
    /// Behind all rows that begin with it.
    After,
}

impl Place {
    fn end(self) -> u8 {
        match self {
            Place::Row => END,
            Place::Before => BEFORE,
            Place::After => AFTER,
        }
    }
}

/// Appends the form of a partition key with its token.
pub fn key(token: Token, key: &[u8], out: &mut Vec<u8>) {
    out.push(COMPONENT);
    out.extend_from_slice(&(token.0.cast_unsigned() ^ (1 << 63)).to_be_bytes());
    out.push(COMPONENT);
    escaped(key, out);
    out.push(END);
}

/// Appends the form of a place among rows: of `clustering`'s components, of the types and orders of `columns`.
pub fn clustering(columns: &[Column], clustering: ClusteringRef<'_>, place: Place, out: &mut Vec<u8>) {
    for (column, value) in columns.iter().zip(clustering.components()) {
        component(column, value, out);
    }
    if place == Place::Row {
        // Null comes before all values, in a reversed column too.
        out.extend(columns.iter().skip(clustering.len()).map(|_| NULL));
    }
    out.push(place.end());
}

/// Appends the form of one end of a slice, whose components are in our own comparable form. What is no such form counts as if the bound ended
/// before it, so that the slice is rather too long.
pub fn bound(columns: &[Column], bound: Bound<'_>, is_start: bool, out: &mut Vec<u8>) {
    let mut left = bound.prefix;
    let mut value = Vec::new();
    let mut is_whole = true;
    for column in columns {
        if left.is_empty() {
            break;
        }
        value.clear();
        match comparable::decode(&column.ty, left, column.is_reversed(), &mut value) {
            Some(used) if is_form_of(column, &value, &left[..used]) => left = &left[used..],
            _ => {
                is_whole = false;
                break;
            }
        }
        component(column, &value, out);
    }
    let is_before = is_start == (bound.inclusive || !is_whole);
    out.push(if is_before { BEFORE } else { AFTER });
}

/// Whether `form` is that of a value: the successor of one may read like a value that stands elsewhere.
fn is_form_of(column: &Column, value: &[u8], form: &[u8]) -> bool {
    let mut again = Vec::new();
    comparable::encode(&column.ty, value, column.is_reversed(), &mut again);
    again == form
}

/// Appends the form of a clustering column's value with what stands before it.
fn component(column: &Column, bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.push(COMPONENT);
    if !value(&column.ty, bytes, out) {
        out[start] = if column.is_reversed() { EMPTY_REVERSED } else { EMPTY };
    } else if column.is_reversed() {
        turn(&mut out[start + 1..]);
    }
}

/// Appends the form of one value, not reversed; `false`: it is empty, and its type has no form for that. Bytes that are no value of the type give
/// some form.
pub fn value(ty: &CqlType, value: &[u8], out: &mut Vec<u8>) -> bool {
    value_at(ty, value, out, 0)
}

/// Whether the forms of all values of the type are in the values' order. In tuples and user-defined types they are not: a null and an empty value of a
/// type that has no form for that are the same there, though one is less than the other.
pub fn is_in_order(ty: &CqlType) -> bool {
    let mut ty = ty;
    loop {
        ty = match ty {
            CqlType::Tuple(_) | CqlType::Udt { .. } => return false,
            CqlType::List { element, .. } | CqlType::Set { element, .. } | CqlType::Vector { element, .. } => element,
            CqlType::Map { key, value, .. } if is_in_order(key) => value,
            CqlType::Map { .. } => return false,
            CqlType::ByClass(class) => return by_class::is_in_order(class),
            _ => return true,
        }
    }
}

fn turn(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = !*byte;
    }
}

fn value_at(ty: &CqlType, value: &[u8], out: &mut Vec<u8>, depth: usize) -> bool {
    let is_escaped = matches!(
        ty,
        CqlType::Ascii | CqlType::Text | CqlType::Blob | CqlType::Inet | CqlType::Duration | CqlType::Custom(_)
    );
    if is_escaped {
        escaped(value, out);
        return true;
    }
    if depth > NESTING_DEPTH_MAX {
        return false;
    }
    if value.is_empty() {
        return by_class::has_empty_form(ty) && by_class::empty(out);
    }
    match ty {
        CqlType::List { element, .. } | CqlType::Set { element, .. } => {
            let parts = parts_of_collection(ty, value).map(Some);
            sequence(parts.zip(std::iter::repeat(&**element)), out, depth);
        }
        CqlType::Map { key, value: of, .. } => {
            let types = [&**key, &**of].into_iter().cycle();
            sequence(parts_of_collection(ty, value).map(Some).zip(types), out, depth);
        }
        CqlType::Tuple(types) => tuple(types.iter(), value, out, depth),
        CqlType::Udt { fields, .. } => tuple(fields.iter().map(|field| &field.ty), value, out, depth),
        CqlType::Vector { element, dimension } => vector(element, *dimension, value, out, depth),
        CqlType::Boolean => out.push(u8::from(value[0] != 0)),
        CqlType::Date | CqlType::Time => out.extend_from_slice(value),
        CqlType::Float | CqlType::Double => float(value, out),
        CqlType::Bigint | CqlType::Counter => match value.try_into() {
            Ok(bytes) => short_integer(i64::from_be_bytes(bytes), out),
            Err(_) => signed(value, out),
        },
        CqlType::Varint => integer(value, out),
        CqlType::Decimal => decimal(value, out),
        CqlType::ByClass(class) => by_class::value(class, value, out, depth),
        CqlType::Uuid | CqlType::Timeuuid => uuid(value, matches!(ty, CqlType::Timeuuid), out),
        _ => signed(value, out),
    }
    true
}

fn signed(value: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(value);
    out[start] ^= 0x80;
}

/// Of the bits that mean NaN, those which are not the usual ones get its form: they compare as equal. Cassandra, for which they do too, has
/// other forms for them, by which it does not find them.
fn float(value: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    let value = match value.len() {
        4 if value.try_into().is_ok_and(|bytes| f32::from_be_bytes(bytes).is_nan()) => &[0x7f, 0xc0, 0, 0][..],
        8 if value.try_into().is_ok_and(|bytes| f64::from_be_bytes(bytes).is_nan()) => &[0x7f, 0xf8, 0, 0, 0, 0, 0, 0],
        _ => value,
    };
    out.extend_from_slice(value);
    let bytes = &mut out[start..];
    if bytes[0] & 0x80 != 0 { turn(bytes) } else { bytes[0] ^= 0x80 }
}

fn escaped(value: &[u8], out: &mut Vec<u8>) {
    let mut after_zero = false;
    for &byte in value {
        match (after_zero, byte) {
            (true, 0) => out.push(0xfe),
            (true, _) => out.extend_from_slice(&[0xff, byte]),
            (false, _) => out.push(byte),
        }
        after_zero = byte == 0;
    }
    out.push(if after_zero { 0xfe } else { 0 });
}

/// As a vint whose first bits are the sign's, turned: longer numbers are greater, of negative ones less.
fn short_integer(value: i64, out: &mut Vec<u8>) {
    let sign = (value >> 63) as u8;
    let magnitude = (if value < 0 { !value } else { value }).cast_unsigned();
    let bits = 64 - (magnitude | 1).leading_zeros() as usize;
    let length = bits / 7 + 1;
    let start = out.len();
    if length >= 9 {
        out.push(0xff);
        out.extend_from_slice(&(magnitude | 1 << 63).to_be_bytes());
    } else {
        out.extend_from_slice(&magnitude.to_be_bytes()[8 - length..]);
        // One bit for the sign and one for each further byte.
        out[start] |= (0xff00_u16 >> length) as u8;
    }
    for byte in &mut out[start..] {
        *byte ^= sign;
    }
}

fn integer(value: &[u8], out: &mut Vec<u8>) {
    let sign = if value[0] & 0x80 != 0 { 0xff } else { 0 };
    let leading = value[..value.len() - 1].iter().take_while(|&&byte| byte == sign).count();
    let digits = &value[leading..];
    if digits.len() < LONG_INTEGER {
        let number = digits.iter().fold(-i64::from(sign & 1), |number, &byte| number << 8 | i64::from(byte));
        return short_integer(number, out);
    }
    out.push(!sign);
    let start = out.len();
    varint::encode((digits.len() - LONG_INTEGER) as u64, out);
    for byte in &mut out[start..] {
        *byte ^= sign;
    }
    out.extend_from_slice(digits);
}

fn uuid(value: &[u8], is_time: bool, out: &mut Vec<u8>) {
    let Ok(bytes) = <[u8; 16]>::try_from(value) else {
        return out.extend_from_slice(value);
    };
    let both = u128::from_be_bytes(bytes);
    let (high, low) = ((both >> 64) as u64, both as u64);
    let version = high >> 12 & 0x0f;
    let high = if is_time || version == 1 {
        // Time's low, middle and high parts, and the version before the latter.
        high << 48 | (high << 16 & 0x0000_ffff_0000_0000) | high >> 32
    } else {
        version << 60 | high >> 4 & 0x0fff_ffff_ffff_f000 | high & 0x0fff
    };
    let low = if is_time { low ^ 0x8080_8080_8080_8080 } else { low };
    out.extend_from_slice(&high.to_be_bytes());
    out.extend_from_slice(&low.to_be_bytes());
}

fn decimal(value: &[u8], out: &mut Vec<u8>) {
    let mut reader = Reader::new(value);
    let scale = i64::from(reader.i32().unwrap_or(0));
    let unscaled = BigInt::from_signed_bytes_be(reader.rest());
    if unscaled.sign() == Sign::NoSign {
        return out.push(0x80);
    }
    let is_negative = unscaled.sign() == Sign::Minus;
    let digits = unscaled.magnitude().to_radix_be(10);
    // The number is 0.digits × 10^exponent, and that with an even exponent, which is one of 100.
    let exponent = digits.len() as i64 - scale;
    let hundreds = (exponent + 1).div_euclid(2);
    put_exponent(hundreds, is_negative, out);
    let start = out.len();
    let odd = exponent.rem_euclid(2) as usize;
    let (first, rest) = digits.split_at(odd);
    out.extend_from_slice(first);
    out.extend(rest.chunks(2).map(|pair| pair[0] * 10 + pair.get(1).copied().unwrap_or(0)));
    let last = out[start..].iter().rposition(|&digit| digit != 0).unwrap_or(0);
    out.truncate(start + last + 1);
    if is_negative {
        // As a negative digit and positive ones behind it: −1.25 is −2 + 0.75.
        let more = u8::from(last > 0);
        out[start] = 0x80_u8.wrapping_sub(out[start] + more);
        for (index, digit) in out[start..].iter_mut().enumerate().skip(1) {
            *digit = 0x80 + 99 + u8::from(index == last) - *digit;
        }
    } else {
        out[start..].iter_mut().for_each(|digit| *digit += 0x80);
    }
    out.push(0);
}

/// The exponent with the number's sign, before it its length with its own sign, and the number's.
fn put_exponent(exponent: i64, is_negative: bool, out: &mut Vec<u8>) {
    let signed = if is_negative { -exponent } else { exponent };
    let length = (64 - signed.unsigned_abs().leading_zeros() as usize).div_ceil(8);
    let with_sign = if signed < 0 { 0x40 - length as u8 } else { 0x40 + length as u8 };
    out.push(with_sign + if is_negative { 0 } else { 0x80 });
    out.extend_from_slice(&signed.to_be_bytes()[8 - length..]);
}

/// Appends parts with their types, each perhaps null.
fn sequence<'t, 'v>(parts: impl Iterator<Item = (Option<&'v [u8]>, &'t CqlType)>, out: &mut Vec<u8>, depth: usize) {
    for (part, ty) in parts {
        let start = out.len();
        out.push(COMPONENT);
        if !part.is_some_and(|part| value_at(ty, part, out, depth + 1)) {
            out[start] = NULL;
        }
    }
    out.push(END);
}

/// Nulls at the end leave no trace, so that a type with another field behind the others gives the same bytes.
fn tuple<'t>(types: impl Iterator<Item = &'t CqlType>, value: &[u8], out: &mut Vec<u8>, depth: usize) {
    let count = fields_of(value).enumerate().filter(|(_, field)| field.is_some()).map(|(index, _)| index + 1).last();
    sequence(fields_of(value).take(count.unwrap_or(0)).zip(types), out, depth);
}

fn vector(element: &CqlType, dimension: u32, value: &[u8], out: &mut Vec<u8>, depth: usize) {
    let mut reader = Reader::new(value);
    let parts = std::iter::from_fn(|| {
        let part = match element.vector_element_len() {
            Some(length) => reader.bytes(length),
            None => reader.varint_bytes(),
        };
        part.ok().map(Some)
    });
    sequence(parts.take(dimension as usize).zip(std::iter::repeat(element)), out, depth);
}

#[cfg(test)]
mod tests;
