//! Masks: what shows that there is a value, and not which.

use cql_types::{ByClass, CqlType, Duration, compose, timeuuid};
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};

use crate::call::Body;
use crate::parameter::{self, Parameter};
use crate::resolve::check_arguments;
use crate::{Argument, Call, Context, FunctionError, ResolveError};

const TEXTS: Parameter = Parameter::Fixed(&[CqlType::Text, CqlType::Text, CqlType::Ascii], "[text|varchar|ascii]");
const INT: Parameter = Parameter::Fixed(&[CqlType::Int], "int");
const TEXT: Parameter = Parameter::Fixed(&[CqlType::Text], "text");
const ANY: Parameter = Parameter::Any { from_receiver: false };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mask {
    Null,
    Default,
    Replace,
    Inner,
    Outer,
    Hash,
}

/// True if a function of that name masks its first argument: it may be a column's mask.
pub fn is_mask(name: &str) -> bool {
    make(name, &[], None).is_some()
}

/// The function of a name for such arguments.
pub(crate) fn make(
    name: &str,
    arguments: &[Argument<'_>],
    receiver: Option<&CqlType>,
) -> Option<Result<Call, ResolveError>> {
    let (mask, parameters) = match name {
        "mask_null" => (Mask::Null, vec![ANY]),
        "mask_default" => (Mask::Default, vec![ANY]),
        "mask_replace" => {
            let any = Parameter::Any { from_receiver: true };
            let same = Parameter::SameAs { index: 0, prefers_other: true, otherwise: Box::new(any.clone()) };
            (Mask::Replace, vec![any, same])
        }
        "mask_inner" => (Mask::Inner, vec![TEXTS, INT, INT, Parameter::Optional(Box::new(TEXT))]),
        "mask_outer" => (Mask::Outer, vec![TEXTS, INT, INT, Parameter::Optional(Box::new(TEXT))]),
        "mask_hash" => (Mask::Hash, vec![ANY, Parameter::Optional(Box::new(TEXT))]),
        _ => return None,
    };
    let types = parameter::infer(name, &parameters, arguments, receiver);
    Some(types.and_then(|types| {
        let call = call(name, mask, types);
        if mask == Mask::Replace {
            check_arguments(call.name(), call.arguments(), arguments)?;
        }
        Ok(call)
    }))
}

fn call(name: &str, mask: Mask, mut types: Vec<CqlType>) -> Call {
    let returns = match mask {
        Mask::Hash => CqlType::Blob,
        Mask::Replace => types[1].clone(),
        _ => types[0].clone(),
    };
    // Those that may be of other types by themselves are taken as these.
    let settled = match mask {
        Mask::Inner | Mask::Outer => vec![CqlType::Int, CqlType::Int, CqlType::Text],
        Mask::Hash => vec![CqlType::Text],
        _ => types[1..].to_vec(),
    };
    for (ty, settled) in types[1..].iter_mut().zip(settled) {
        *ty = settled;
    }
    let body = Masked { name: format!("system.{name}"), mask, ty: types[0].clone() };
    Call::new(name, types, returns, body).seeing_nulls()
}

#[derive(Debug)]
struct Masked {
    name: String,
    mask: Mask,
    ty: CqlType,
}

impl Body for Masked {
    fn evaluate(
        &self,
        arguments: &[Option<&[u8]>],
        _: &mut dyn Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, FunctionError> {
        let argument = |index: usize| arguments.get(index).copied().flatten();
        let given = match self.mask {
            Mask::Null => return Ok(false),
            Mask::Default => {
                out.extend_from_slice(&masked(&self.ty)?);
                return Ok(true);
            }
            Mask::Replace => argument(1),
            _ => argument(0),
        };
        let Some(given) = given else { return Ok(false) };
        match self.mask {
            Mask::Hash => out.extend_from_slice(&hash(given, argument(1))?),
            Mask::Inner | Mask::Outer => {
                let count =
                    |index: usize| argument(index).and_then(|value| Some(i32::from_be_bytes(value.try_into().ok()?)));
                let (start, end) = (count(1).unwrap_or(0), count(2).unwrap_or(0));
                let padding = match argument(3) {
                    Some(padding) => self.padding(padding)?,
                    None => u16::from(b'*'),
                };
                let text = std::str::from_utf8(given).unwrap_or_default();
                out.extend_from_slice(partly(self.mask, text, start, end, padding).as_bytes());
            }
            _ => out.extend_from_slice(given),
        }
        Ok(true)
    }
}

impl Masked {
    fn padding(&self, padding: &[u8]) -> Result<u16, FunctionError> {
        let padding = std::str::from_utf8(padding).unwrap_or_default();
        let mut units = padding.encode_utf16();
        match (units.next(), units.next()) {
            (Some(unit), None) => Ok(unit),
            _ => Err(FunctionError::invalid(format!(
                "The padding argument for function {} should be single-character, but '{padding}' has {} characters.",
                self.name,
                padding.encode_utf16().count()
            ))),
        }
    }
}

/// A text of which what is inside, or outside, of so many characters from its start and end is padded. Characters are UTF-16's,
/// as in Cassandra, and half of one that needs two becomes a question mark.
fn partly(mask: Mask, text: &str, start: i32, end: i32, padding: u16) -> String {
    let units: Vec<u16> = text.encode_utf16().collect();
    let last = i64::try_from(units.len()).unwrap_or(i64::MAX) - 1 - i64::from(end);
    let is_inside = |index: usize| {
        let index = i64::try_from(index).unwrap_or(i64::MAX);
        (i64::from(start)..=last).contains(&index)
    };
    let padded = |(index, unit): (usize, u16)| match is_inside(index) == (mask == Mask::Inner) {
        true => padding,
        false => unit,
    };
    let masked = units.into_iter().enumerate().map(padded);
    char::decode_utf16(masked).map(|character| character.unwrap_or('?')).collect()
}

fn hash(value: &[u8], algorithm: Option<&[u8]>) -> Result<Vec<u8>, FunctionError> {
    let algorithm = match algorithm {
        Some(algorithm) => std::str::from_utf8(algorithm).unwrap_or_default(),
        None => "SHA-256",
    };
    Ok(match algorithm.to_ascii_uppercase().as_str() {
        "MD5" => Md5::digest(value).to_vec(),
        "SHA" | "SHA1" | "SHA-1" => Sha1::digest(value).to_vec(),
        "SHA-224" | "SHA224" => Sha224::digest(value).to_vec(),
        "SHA-256" | "SHA256" => Sha256::digest(value).to_vec(),
        "SHA-384" | "SHA384" => Sha384::digest(value).to_vec(),
        "SHA-512" | "SHA512" => Sha512::digest(value).to_vec(),
        "SHA-512/224" | "SHA512/224" => Sha512_224::digest(value).to_vec(),
        "SHA-512/256" | "SHA512/256" => Sha512_256::digest(value).to_vec(),
        _ => return Err(FunctionError::invalid(format!("Hash algorithm not found: {algorithm}"))),
    })
}

/// The longest value that stands for a vector, bytes: a vector's type may have more elements than any value.
const MASKED_BYTES_MAX: usize = 1 << 20;

/// The value that stands for all of a type.
fn masked(ty: &CqlType) -> Result<Vec<u8>, FunctionError> {
    let parts_of = |types: &mut dyn Iterator<Item = &CqlType>| {
        let parts = types.map(masked).collect::<Result<Vec<_>, _>>()?;
        let parts: Vec<Option<&[u8]>> = parts.iter().map(|part| Some(&part[..])).collect();
        compose(ty, &parts).map_err(|error| FunctionError::invalid(error.to_string()))
    };
    Ok(match ty {
        CqlType::Ascii | CqlType::Text => b"****".to_vec(),
        CqlType::Blob => Vec::new(),
        CqlType::Boolean | CqlType::Tinyint | CqlType::Varint => vec![0],
        CqlType::Smallint => vec![0; 2],
        CqlType::Int | CqlType::Float | CqlType::Inet => vec![0; 4],
        CqlType::Date => vec![0x80, 0, 0, 0],
        CqlType::Decimal => vec![0; 5],
        CqlType::Duration => {
            let mut out = Vec::new();
            Duration { months: 0, days: 0, nanos: 0 }.encode(&mut out);
            out
        }
        CqlType::Bigint | CqlType::Counter | CqlType::Double | CqlType::Time | CqlType::Timestamp => vec![0; 8],
        CqlType::Uuid => vec![0; 16],
        CqlType::Timeuuid => timeuuid::min_of_unix_millis(0).unwrap_or_default().to_vec(),
        CqlType::List { .. } | CqlType::Set { .. } | CqlType::Map { .. } => vec![0; 4],
        CqlType::Tuple(types) => parts_of(&mut types.iter())?,
        CqlType::Udt { fields, .. } => parts_of(&mut fields.iter().map(|field| &field.ty))?,
        CqlType::Vector { element, dimension } => {
            let (part, count) = (masked(element)?, *dimension as usize);
            if part.len().max(1).saturating_mul(count) > MASKED_BYTES_MAX {
                return Err(FunctionError::invalid(format!("The masked value of a {ty} is too long")));
            }
            compose(ty, &vec![Some(&part[..]); count]).map_err(|error| FunctionError::invalid(error.to_string()))?
        }
        CqlType::Empty => Vec::new(),
        CqlType::ByClass(class) if **class == ByClass::LexicalUuid => vec![0; 16],
        CqlType::ByClass(_) | CqlType::Custom(_) => {
            return Err(FunctionError::server(format!("There isn't a defined masked value for type {ty}")));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Nothing, evaluated};

    #[test]
    fn texts_are_masked_in_part() {
        for (name, arguments, expected) in [
            ("mask_inner", &[("text", "abcdef"), ("int", "1"), ("int", "2")][..], "'a***ef'"),
            ("mask_inner", &[("text", "abcdef"), ("int", "1"), ("int", "2"), ("text", "#")], "'a###ef'"),
            ("mask_outer", &[("text", "abcdef"), ("int", "1"), ("int", "2")], "'*bcd**'"),
            ("mask_inner", &[("text", "abc"), ("int", "5"), ("int", "0")], "'abc'"),
            ("mask_outer", &[("text", "abc"), ("int", "-1"), ("int", "5")], "'***'"),
            ("mask_inner", &[("ascii", ""), ("int", "0"), ("int", "0")], "''"),
            ("mask_replace", &[("int", "5"), ("int", "7")], "7"),
            ("mask_null", &[("int", "5")], "null"),
            ("mask_hash", &[("text", "abc"), ("text", "MD5")], "0x900150983cd24fb0d6963f7d28e17f72"),
            ("mask_hash", &[("text", "abc"), ("text", "sha-1")], "0xa9993e364706816aba3e25717850c26c9cd0d89d"),
            ("mask_hash", &[("text", "abc")], "0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ] {
            assert_eq!(evaluated(name, arguments).unwrap(), expected, "{name}");
        }
        let error = evaluated("mask_hash", &[("text", "abc"), ("text", "x")]).unwrap_err();
        assert_eq!(error.to_string(), "Hash algorithm not found: x");
        let error = evaluated("mask_inner", &[("text", "a"), ("int", "1"), ("int", "1"), ("text", "xy")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "The padding argument for function system.mask_inner should be single-character, but 'xy' has 2 characters."
        );
    }

    #[test]
    fn every_type_has_a_value_that_stands_for_all() {
        for text in [
            "int",
            "text",
            "blob",
            "boolean",
            "date",
            "time",
            "timestamp",
            "timeuuid",
            "uuid",
            "inet",
            "duration",
            "decimal",
            "varint",
            "tinyint",
            "smallint",
            "bigint",
            "float",
            "double",
            "ascii",
            "list<int>",
            "frozen<map<int, text>>",
            "tuple<int, text>",
            "vector<float, 3>",
            "vector<text, 2>",
        ] {
            let ty = CqlType::parse(text).unwrap();
            let value = masked(&ty).unwrap();
            assert_eq!(cql_types::validate(&ty, &value), Ok(()), "{text}");
        }
        // A null has one too.
        let call = make("mask_default", &[Argument::Typed(&CqlType::Int)], None).unwrap().unwrap();
        let mut out = Vec::new();
        assert_eq!(call.evaluate(&[None], &mut Nothing, &mut out), Ok(true));
        assert_eq!(out, [0; 4]);
    }
}
