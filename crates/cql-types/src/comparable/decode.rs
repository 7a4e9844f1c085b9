//! From a comparable form back to a value.

use num_bigint::{BigInt, Sign};
use stdx::Reader;

use super::{EMPTY, FIELD, NULL_FIELD, PRESENT, by_class, is_signed_integer, turn};
use crate::{CollectionWriter, CqlType, NESTING_DEPTH_MAX, push_field};

/// Appends a value whose form stands at the beginning of `form`, and gives the form's length; `None`: there is no form of the type.
///
/// Values that compare as equal have one form, and this gives one of them: a decimal without zeros at its end, NaN in its usual bits,
/// a tuple without nulls at its end.
pub fn decode(ty: &CqlType, form: &[u8], reversed: bool, out: &mut Vec<u8>) -> Option<usize> {
    let turned;
    let form = if reversed {
        turned = form.iter().map(|byte| !byte).collect::<Vec<_>>();
        &turned
    } else {
        form
    };
    let mut reader = Reader::new(form);
    decode_at(ty, &mut reader, out, 0)?;
    Some(form.len() - reader.remaining())
}

pub(super) fn decode_at(ty: &CqlType, reader: &mut Reader<'_>, out: &mut Vec<u8>, depth: usize) -> Option<()> {
    if depth > NESTING_DEPTH_MAX {
        return None;
    }
    match ty {
        CqlType::Ascii | CqlType::Text | CqlType::Blob | CqlType::Inet | CqlType::Duration | CqlType::Custom(_) => {
            unescape(reader, out)
        }
        CqlType::List { element, .. } | CqlType::Set { element, .. } => collection(&[element], reader, out, depth),
        CqlType::Map { key, value, .. } => collection(&[key, value], reader, out, depth),
        CqlType::Tuple(elements) => fields(elements.iter(), reader, out, depth),
        CqlType::Udt { fields: of, .. } => fields(of.iter().map(|field| &field.ty), reader, out, depth),
        CqlType::Vector { element, dimension } => vector(element, *dimension, reader, out, depth),
        CqlType::ByClass(class) => by_class::decode(class, reader, out, depth),
        scalar => match reader.u8().ok()? {
            EMPTY => Some(()),
            PRESENT => fixed(scalar, reader, out),
            _ => None,
        },
    }
}

pub(super) fn unescape(reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Option<()> {
    loop {
        let rest = reader.peek();
        let zero = rest.iter().position(|&byte| byte == 0)?;
        out.extend_from_slice(reader.bytes(zero).ok()?);
        match reader.array().ok()? {
            [0, 0xff] => out.push(0),
            [0, 1] => return Some(()),
            _ => return None,
        }
    }
}

fn fixed(ty: &CqlType, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    match ty {
        CqlType::Varint => {
            let length = reader.u32().ok()?.abs_diff(1 << 31);
            out.extend_from_slice(reader.bytes(usize::try_from(length).ok()?).ok()?);
        }
        CqlType::Decimal => return decimal(reader, out),
        CqlType::Uuid => {
            if reader.u8().ok()? == 1 {
                reader.u64().ok()?;
            }
            out.extend_from_slice(reader.bytes(16).ok()?);
        }
        CqlType::Timeuuid => {
            let [high, seventh, fourth, fifth, low @ ..] = reader.array::<8>().ok()?;
            out.extend_from_slice(&low);
            out.extend_from_slice(&[fourth, fifth, 0x10 | high, seventh]);
            out.extend(reader.array::<8>().ok()?.map(|byte| byte ^ 0x80));
        }
        _ => out.extend_from_slice(reader.bytes(ty.fixed_len()?).ok()?),
    }
    match ty {
        integer if is_signed_integer(integer) => out[start] ^= 0x80,
        CqlType::Float | CqlType::Double => float(&mut out[start..]),
        _ => {}
    }
    Some(())
}

fn float(bytes: &mut [u8]) {
    if bytes.iter().all(|&byte| byte == 0xff) {
        bytes.fill(0);
        let nan: &[u8] = if bytes.len() == 4 { &[0x7f, 0xc0] } else { &[0x7f, 0xf8] };
        bytes[..2].copy_from_slice(nan);
    } else if bytes[0] & 0x80 != 0 {
        bytes[0] ^= 0x80;
    } else {
        turn(bytes);
    }
}

fn decimal(reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Option<()> {
    let first = reader.u8().ok()?;
    let is_negative = match first {
        0x80 => {
            out.extend_from_slice(&[0; 5]);
            return Some(());
        }
        0xff => false,
        0 => true,
        _ => return None,
    };
    let own = |byte: u8| if is_negative { !byte } else { byte };
    let exponent = u64::from_be_bytes(reader.array().ok()?.map(own));
    if exponent == u64::MAX {
        // One that was too long to be taken apart.
        return unescape(reader, out);
    }
    let exponent = (exponent ^ 1 << 63).cast_signed();
    let rest = reader.peek();
    let end = rest.iter().position(|&byte| own(byte) == 0)?;
    let mut digits = reader.bytes(end).ok()?.iter().map(|&byte| own(byte) - 1).collect::<Vec<_>>();
    reader.u8().ok()?;
    let mut scale = (digits.len() as i64).checked_sub(exponent)?;
    // The zeros that were left out, where the scale without them has no room. A form has three digits for each byte at most.
    while scale < i64::from(i32::MIN) && digits.len() <= 3 * super::DECIMAL_BYTES_MAX {
        digits.push(0);
        scale += 1;
    }
    let scale = i32::try_from(scale).ok()?;
    let sign = if is_negative { Sign::Minus } else { Sign::Plus };
    let unscaled = BigInt::from_radix_be(sign, &digits, 10)?;
    out.extend_from_slice(&scale.to_be_bytes());
    out.extend_from_slice(&unscaled.to_signed_bytes_be());
    Some(())
}

fn collection(of: &[&CqlType], reader: &mut Reader<'_>, out: &mut Vec<u8>, depth: usize) -> Option<()> {
    let mut collection = CollectionWriter::begin(out);
    let mut part = Vec::new();
    loop {
        for (index, ty) in of.iter().enumerate() {
            match reader.u8().ok()? {
                EMPTY if index == 0 => {
                    collection.finish(out);
                    return Some(());
                }
                PRESENT => {}
                _ => return None,
            }
            part.clear();
            decode_at(ty, reader, &mut part, depth + 1)?;
            if index == 0 {
                collection.entry();
            }
            collection.part(&part, out);
        }
    }
}

fn fields<'t>(
    mut of: impl Iterator<Item = &'t CqlType>,
    reader: &mut Reader<'_>,
    out: &mut Vec<u8>,
    depth: usize,
) -> Option<()> {
    if reader.u8().ok()? == EMPTY {
        return Some(());
    }
    let mut part = Vec::new();
    let mut is_null = true;
    loop {
        match reader.u8().ok()? {
            EMPTY => break,
            NULL_FIELD => {
                of.next()?;
                push_field(None, out);
            }
            FIELD => {
                part.clear();
                decode_at(of.next()?, reader, &mut part, depth + 1)?;
                push_field(Some(&part), out);
            }
            _ => return None,
        }
        is_null = false;
    }
    // A tuple of nulls alone is not an empty one.
    if is_null {
        push_field(None, out);
    }
    Some(())
}

fn vector(of: &CqlType, dimension: u32, reader: &mut Reader<'_>, out: &mut Vec<u8>, depth: usize) -> Option<()> {
    let mut part = Vec::new();
    for _ in 0..dimension {
        if reader.u8().ok()? != PRESENT {
            return None;
        }
        part.clear();
        decode_at(of, reader, &mut part, depth + 1)?;
        if of.vector_element_len().is_none() {
            stdx::varint::encode(part.len() as u64, out);
        }
        out.extend_from_slice(&part);
    }
    Some(())
}
