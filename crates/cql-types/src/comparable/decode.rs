//! The way back from a byte-comparable form to a value.

use num_bigint::{BigInt, Sign};
use stdx::{Reader, varint};

use super::{EMPTY, FIELD, NULL_FIELD, PRESENT};
use crate::{CollectionWriter, CqlType, NESTING_DEPTH_MAX, push_field};

/// Appends the value that a form, not a reversed one, was made of: one that is equal to it, and all bytes of which are
/// the same but for numbers that can be written in several ways. `None`, with anything appended: the bytes are no form
/// of the type's values.
pub fn decode(ty: &CqlType, form: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut reader = Reader::new(form);
    decode_at(ty, &mut reader, out, 0)?;
    reader.is_empty().then_some(())
}

fn decode_at(ty: &CqlType, reader: &mut Reader<'_>, out: &mut Vec<u8>, depth: usize) -> Option<()> {
    if depth > NESTING_DEPTH_MAX {
        return None;
    }
    match ty {
        CqlType::Ascii | CqlType::Text | CqlType::Blob | CqlType::Inet | CqlType::Duration | CqlType::Custom(_) => {
            escaped(reader, out)
        }
        CqlType::List { element, .. } | CqlType::Set { element, .. } => collection(reader, &[element], out, depth),
        CqlType::Map { key, value, .. } => collection(reader, &[key, value], out, depth),
        CqlType::Tuple(elements) => fields(elements.iter(), reader, out, depth),
        CqlType::Udt { fields: of, .. } => fields(of.iter().map(|field| &field.ty), reader, out, depth),
        CqlType::Vector { element, dimension } => vector(element, *dimension, reader, out, depth),
        scalar => match reader.u8().ok()? {
            EMPTY => Some(()),
            PRESENT => fixed(scalar, reader, out),
            _ => None,
        },
    }
}

fn fixed(ty: &CqlType, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    match ty {
        CqlType::Bigint
        | CqlType::Counter
        | CqlType::Timestamp
        | CqlType::Int
        | CqlType::Smallint
        | CqlType::Tinyint => {
            out.extend_from_slice(reader.bytes(ty.fixed_len()?).ok()?);
            out[start] ^= 0x80;
        }
        CqlType::Float | CqlType::Double => {
            let form = reader.bytes(ty.fixed_len()?).ok()?;
            match (form.iter().all(|&byte| byte == 0xff), ty) {
                (true, CqlType::Float) => out.extend_from_slice(&f32::NAN.to_be_bytes()),
                (true, _) => out.extend_from_slice(&f64::NAN.to_be_bytes()),
                (false, _) => {
                    let is_negative = form[0] & 0x80 == 0;
                    out.extend_from_slice(form);
                    if is_negative {
                        super::turn(&mut out[start..]);
                    } else {
                        out[start] ^= 0x80;
                    }
                }
            }
        }
        CqlType::Uuid => {
            if reader.u8().ok()? == 1 {
                reader.u64().ok()?;
            }
            out.extend_from_slice(reader.bytes(16).ok()?);
        }
        CqlType::Timeuuid => {
            let [a, b, c, d, e, f, g, h] = reader.array::<8>().ok()?;
            out.extend_from_slice(&[e, f, g, h, c, d, 0x10 | a & 0x0f, b]);
            out.extend(reader.array::<8>().ok()?.map(|byte| byte ^ 0x80));
        }
        CqlType::Varint => {
            let biased = reader.u32().ok()?;
            out.extend_from_slice(reader.bytes(biased.abs_diff(1 << 31) as usize).ok()?);
        }
        CqlType::Decimal => decimal(reader, out)?,
        other => out.extend_from_slice(reader.bytes(other.fixed_len()?).ok()?),
    }
    Some(())
}

fn escaped(reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Option<()> {
    loop {
        match reader.u8().ok()? {
            0 => match reader.u8().ok()? {
                0xff => out.push(0),
                1 => return Some(()),
                _ => return None,
            },
            byte => out.push(byte),
        }
    }
}

fn decimal(reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Option<()> {
    let sign = reader.u8().ok()?;
    if sign == 0x80 {
        // Zero, in one byte behind a scale of 0.
        out.extend_from_slice(&[0; 5]);
        return Some(());
    }
    let turned = match sign {
        0xff => 0,
        0 => 0xff,
        _ => return None,
    };
    let exponent = reader.u64().ok()?;
    if sign == 0xff && exponent == u64::MAX {
        return escaped(reader, out);
    }
    let exponent = if turned == 0 { exponent } else { !exponent };
    let exponent = (exponent ^ 1 << 63).cast_signed();
    let mut digits = Vec::new();
    loop {
        match reader.u8().ok()? ^ turned {
            0 => break,
            digit => digits.push(digit - 1),
        }
    }
    let mut scale = (digits.len() as i64).checked_sub(exponent)?;
    // The zeros that were left out, if the scale without them has no room.
    while scale < i64::from(i32::MIN) && digits.len() <= super::DECIMAL_BYTES_MAX * 3 {
        digits.push(0);
        scale += 1;
    }
    let sign = if turned == 0 { Sign::Plus } else { Sign::Minus };
    let unscaled = BigInt::from_radix_be(sign, &digits, 10)?;
    out.extend_from_slice(&i32::try_from(scale).ok()?.to_be_bytes());
    out.extend_from_slice(&unscaled.to_signed_bytes_be());
    Some(())
}

fn collection(reader: &mut Reader<'_>, of: &[&CqlType], out: &mut Vec<u8>, depth: usize) -> Option<()> {
    let mut collection = CollectionWriter::begin(out);
    let mut part = Vec::new();
    while reader.u8().ok()? == PRESENT {
        collection.entry();
        for (place, ty) in of.iter().enumerate() {
            if place > 0 && reader.u8().ok()? != PRESENT {
                return None;
            }
            part.clear();
            decode_at(ty, reader, &mut part, depth + 1)?;
            collection.part(&part, out);
        }
    }
    collection.finish(out);
    Some(())
}

fn fields<'t>(
    of: impl Iterator<Item = &'t CqlType>,
    reader: &mut Reader<'_>,
    out: &mut Vec<u8>,
    depth: usize,
) -> Option<()> {
    if reader.u8().ok()? == EMPTY {
        return Some(());
    }
    let start = out.len();
    let mut field = Vec::new();
    for ty in of {
        match reader.u8().ok()? {
            EMPTY => {
                // No bytes at all would be an empty value, which is another.
                if out.len() == start {
                    push_field(None, out);
                }
                return Some(());
            }
            NULL_FIELD => push_field(None, out),
            FIELD => {
                field.clear();
                decode_at(ty, reader, &mut field, depth + 1)?;
                push_field(Some(&field), out);
            }
            _ => return None,
        }
    }
    (reader.u8().ok()? == EMPTY).then_some(())
}

fn vector(of: &CqlType, dimension: u16, reader: &mut Reader<'_>, out: &mut Vec<u8>, depth: usize) -> Option<()> {
    let mut item = Vec::new();
    for _ in 0..dimension {
        if reader.u8().ok()? != PRESENT {
            return None;
        }
        item.clear();
        decode_at(of, reader, &mut item, depth + 1)?;
        if of.vector_element_len().is_none() {
            varint::encode(item.len() as u64, out);
        }
        out.extend_from_slice(&item);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::encode;
    use super::*;
    use crate::{compare, samples};

    fn form(ty: &CqlType, value: &[u8]) -> Vec<u8> {
        let mut form = Vec::new();
        encode(ty, value, false, &mut form);
        form
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        /// What comes back has the same form, and so compares equal.
        #[test]
        fn a_form_leads_back_to_an_equal_value((ty, value, _) in samples::type_and_values()) {
            let form_of_value = form(&ty, &value);
            let mut back = Vec::new();
            prop_assert_eq!(decode(&ty, &form_of_value, &mut back), Some(()));
            prop_assert_eq!(crate::validate(&ty, &back), Ok(()));
            prop_assert!(compare(&ty, &back, &value).is_eq());
            prop_assert_eq!(form(&ty, &back), form_of_value);
        }

        #[test]
        fn other_bytes_do_not_panic((ty, value, _) in samples::type_and_values(), at: prop::sample::Index, byte: u8) {
            let mut bytes = form(&ty, &value);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = decode(&ty, &bytes, &mut Vec::new());
            let _ = decode(&ty, &bytes[..at], &mut Vec::new());
        }
    }

    #[test]
    fn decimals_at_the_ends_of_their_scale_come_back() {
        for scale in [i32::MIN, i32::MIN + 1, 0, i32::MAX] {
            for unscaled in [1000_i32, -1000, 7] {
                let mut value = scale.to_be_bytes().to_vec();
                value.extend_from_slice(&BigInt::from(unscaled).to_signed_bytes_be());
                let form_of_value = form(&CqlType::Decimal, &value);
                let mut back = Vec::new();
                assert_eq!(decode(&CqlType::Decimal, &form_of_value, &mut back), Some(()), "{scale} {unscaled}");
                assert_eq!(form(&CqlType::Decimal, &back), form_of_value, "{scale} {unscaled}");
            }
        }
    }
}
