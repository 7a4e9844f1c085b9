//! Byte-comparable values: bytes whose `memcmp` order is the type's order, and of which none is a prefix of another, so
//! that the encodings of several columns can be joined and still compare right.
//!
//! Own encoding. Memtables order rows by it, and the paths of elements, which the commit log holds, are made of it: a change of
//! a form is a change of the log's format.
//!
//! ```text
//! integers, floats, time   01 then big-endian with the sign bit turned (floats: all bits of a negative); 00 if empty
//! text, blob, inet         the bytes, 00 written as 00 ff; then 00 01
//! uuid                     01, the version, of version 1 its time, the 16 bytes; 00 if empty
//! timeuuid                 01, the time, clock and node with each byte's sign turned; 00 if empty
//! varint                   01, length biased by sign (u32), two's complement; 00 if empty
//! decimal                  01, sign, exponent (biased i64), digits + 1, 00; negative: all turned; 00 if empty
//! list, set, map           01 before each element, 00 at the end
//! vector                   01 before each element
//! LexicalUUIDType          01, the 16 bytes, the sign of each half turned; 00 if empty
//! CompositeType            01, 00 of what is static, else 01; 02, the component, its end with the sign turned, for each; 00. 00 if empty
//! DynamicCompositeType     the same, before each component its class: text, and where that does not say all, its whole name
//! tuple, UDT               01, then each field up to the last that is there: 02 and the field, 01 for null; then 00; 00 if empty
//! ```
//!
//! A reversed column's bytes are all turned (`!`).

mod by_class;
mod decode;

pub use decode::decode;

use num_bigint::{BigInt, Sign};
use stdx::Reader;

use crate::{CqlType, NESTING_DEPTH_MAX, element};

/// The longest decimal whose form is made, bytes with the scale: its digits take time that grows with the square of its length,
/// at this length some 0.2 ms. Who takes values of keys from outside refuses longer ones; inside of a collection a longer one
/// is encoded as its bytes are, so it is equal to itself alone and its order is arbitrary.
pub const DECIMAL_BYTES_MAX: usize = 4 << 10;

const EMPTY: u8 = 0;
const PRESENT: u8 = 1;

/// What stands before a tuple's fields, between the 00 at the end and a field that is there.
const NULL_FIELD: u8 = 1;
const FIELD: u8 = 2;

/// Appends the byte-comparable form of `value`, which [`crate::validate`] has accepted. What it would have refused is
/// encoded somehow, without panic.
pub fn encode(ty: &CqlType, value: &[u8], reversed: bool, out: &mut Vec<u8>) {
    let start = out.len();
    encode_at(ty, value, out, 0);
    if reversed {
        turn(&mut out[start..]);
    }
}

fn turn(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = !*byte;
    }
}

fn encode_at(ty: &CqlType, value: &[u8], out: &mut Vec<u8>, depth: usize) {
    if depth > NESTING_DEPTH_MAX {
        return;
    }
    match ty {
        CqlType::Ascii | CqlType::Text | CqlType::Blob | CqlType::Inet | CqlType::Duration | CqlType::Custom(_) => {
            escaped(value, out)
        }
        CqlType::List { element, .. } | CqlType::Set { element, .. } => collection(value, &[element], out, depth),
        CqlType::Map { key, value: of, .. } => collection(value, &[key, of], out, depth),
        CqlType::Tuple(elements) => fields(elements.iter(), value, out, depth),
        CqlType::Udt { fields: of, .. } => fields(of.iter().map(|field| &field.ty), value, out, depth),
        CqlType::Vector { element, dimension } => vector(element, *dimension, value, out, depth),
        CqlType::ByClass(class) => by_class::encode(class, value, out, depth),
        _ if value.is_empty() => out.push(EMPTY),
        scalar => {
            out.push(PRESENT);
            fixed(scalar, value, out);
        }
    }
}

/// Whether the type's values are integers of one length, whose sign is the bit that is turned.
fn is_signed_integer(ty: &CqlType) -> bool {
    matches!(
        ty,
        CqlType::Bigint | CqlType::Counter | CqlType::Timestamp | CqlType::Int | CqlType::Smallint | CqlType::Tinyint
    )
}

fn fixed(ty: &CqlType, value: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    match ty {
        integer if is_signed_integer(integer) => {
            out.extend_from_slice(value);
            out[start] ^= 0x80;
        }
        CqlType::Boolean => out.push(u8::from(value[0] != 0)),
        CqlType::Float => match <[u8; 4]>::try_from(value) {
            Ok(bytes) if f32::from_be_bytes(bytes).is_nan() => out.extend_from_slice(&[0xff; 4]),
            _ => float(value, out),
        },
        CqlType::Double => match <[u8; 8]>::try_from(value) {
            Ok(bytes) if f64::from_be_bytes(bytes).is_nan() => out.extend_from_slice(&[0xff; 8]),
            _ => float(value, out),
        },
        CqlType::Uuid => uuid(value, out),
        CqlType::Timeuuid => {
            out.extend_from_slice(&uuid_time(value));
            out.extend(value.iter().skip(8).map(|byte| byte ^ 0x80));
        }
        CqlType::Varint => varint(&BigInt::from_signed_bytes_be(value), out),
        CqlType::Decimal => decimal(value, out),
        _ => out.extend_from_slice(value),
    }
}

fn float(value: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(value);
    let bytes = &mut out[start..];
    if bytes[0] & 0x80 != 0 {
        turn(bytes);
    } else {
        bytes[0] ^= 0x80;
    }
}

fn escaped(value: &[u8], out: &mut Vec<u8>) {
    for part in value.split_inclusive(|&byte| byte == 0) {
        out.extend_from_slice(part);
        if part.ends_with(&[0]) {
            out.push(0xff);
        }
    }
    out.extend_from_slice(&[0, 1]);
}

/// The 60-bit time of a version-1 UUID, most significant byte first, with the version where its first four bits are.
fn uuid_time(value: &[u8]) -> [u8; 8] {
    let at = |i: usize| value.get(i).copied().unwrap_or(0);
    [at(6) & 0x0f, at(7), at(4), at(5), at(0), at(1), at(2), at(3)]
}

fn uuid(value: &[u8], out: &mut Vec<u8>) {
    let version = value.get(6).map_or(0, |byte| byte >> 4);
    out.push(version);
    if version == 1 {
        out.extend_from_slice(&uuid_time(value));
    }
    out.extend_from_slice(value);
}

fn varint(value: &BigInt, out: &mut Vec<u8>) {
    let bytes = value.to_signed_bytes_be();
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX >> 1).min(u32::MAX >> 1);
    let biased = if value.sign() == Sign::Minus { (1 << 31) - length } else { (1 << 31) + length };
    out.extend_from_slice(&biased.to_be_bytes());
    out.extend_from_slice(&bytes);
}

/// Sign, the place of the first digit, and the digits without zeros at the end: equal numbers of different scales
/// become equal bytes.
fn decimal(value: &[u8], out: &mut Vec<u8>) {
    if value.len() > DECIMAL_BYTES_MAX {
        // Behind all others, and as free of prefixes as they are.
        out.push(0xff);
        out.extend_from_slice(&[0xff; 8]);
        return escaped(value, out);
    }
    let mut reader = Reader::new(value);
    let scale = i64::from(reader.i32().unwrap_or(0));
    let unscaled = BigInt::from_signed_bytes_be(reader.rest());
    let start = out.len();
    if unscaled.sign() == Sign::NoSign {
        out.push(0x80);
        return;
    }
    let digits = unscaled.magnitude().to_radix_be(10);
    let exponent = digits.len() as i64 - scale;
    let significant = digits.iter().rposition(|&digit| digit != 0).map_or(0, |last| last + 1);
    out.push(0xff);
    out.extend_from_slice(&(exponent.cast_unsigned() ^ (1 << 63)).to_be_bytes());
    out.extend(digits[..significant].iter().map(|digit| digit + 1));
    out.push(0);
    if unscaled.sign() == Sign::Minus {
        turn(&mut out[start..]);
    }
}

fn collection(value: &[u8], of: &[&CqlType], out: &mut Vec<u8>, depth: usize) {
    let mut reader = Reader::new(value);
    let count = reader.i32().unwrap_or(0);
    'elements: for _ in 0..count {
        for ty in of {
            let Ok(Some(item)) = element(&mut reader) else { break 'elements };
            out.push(PRESENT);
            encode_at(ty, item, out, depth + 1);
        }
    }
    out.push(EMPTY);
}

fn fields<'t>(of: impl Iterator<Item = &'t CqlType>, value: &[u8], out: &mut Vec<u8>, depth: usize) {
    let mut reader = Reader::new(value);
    if reader.is_empty() {
        out.push(EMPTY);
        return;
    }
    out.push(PRESENT);
    // Nulls at the end leave no trace, so that a type with another field behind the others gives the same bytes.
    let mut nulls = 0;
    for ty in of {
        match element(&mut reader) {
            Ok(Some(field)) => {
                out.extend(std::iter::repeat_n(NULL_FIELD, nulls));
                nulls = 0;
                out.push(FIELD);
                encode_at(ty, field, out, depth + 1);
            }
            _ => nulls += 1,
        }
    }
    out.push(EMPTY);
}

fn vector(of: &CqlType, dimension: u32, value: &[u8], out: &mut Vec<u8>, depth: usize) {
    let mut reader = Reader::new(value);
    for _ in 0..dimension {
        let item = match of.vector_element_len() {
            Some(length) => reader.bytes(length),
            None => reader.varint_bytes(),
        };
        match item {
            Ok(item) => {
                out.push(PRESENT);
                encode_at(of, item, out, depth + 1);
            }
            // Bytes that are no vector's: nothing follows, however many elements the type has.
            Err(_) => return out.push(EMPTY),
        }
    }
}
