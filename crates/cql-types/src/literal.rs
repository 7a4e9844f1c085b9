//! Constants as CQL text writes them, before their type is known, and the values they make.

use std::net::IpAddr;

use num_bigint::BigInt;

use crate::validate::NANOS_OF_DAY;
use crate::{CqlType, Duration, ValueError, calendar};

/// The most digits that a varint or decimal constant may have, so that a hostile one costs no noticeable time.
const DIGITS_MAX: usize = 10_000;

/// What a constant looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LiteralKind {
    /// `'text'` or `$$text$$`.
    String,
    /// `-12`
    Integer,
    /// `1.5e3`, `NaN`, `-Infinity`
    Float,
    /// `true`, `false`
    Boolean,
    /// `123e4567-e89b-12d3-a456-426614174000`
    Uuid,
    /// `0xcafe`; the text has the `0x`.
    Hex,
    /// `1h30m`, `P1DT2H`
    Duration,
}

impl LiteralKind {
    /// Its name in Cassandra's error messages.
    pub fn name(self) -> &'static str {
        match self {
            LiteralKind::String => "STRING",
            LiteralKind::Integer => "INTEGER",
            LiteralKind::Float => "FLOAT",
            LiteralKind::Boolean => "BOOLEAN",
            LiteralKind::Uuid => "UUID",
            LiteralKind::Hex => "HEX",
            LiteralKind::Duration => "DURATION",
        }
    }

    /// Whether a constant of this look may stand for a value of that type, as Cassandra has it.
    fn fits(self, ty: &CqlType) -> bool {
        use CqlType as T;
        match self {
            LiteralKind::String => {
                matches!(ty, T::Ascii | T::Text | T::Inet | T::Timestamp | T::Date | T::Time | T::Custom(_))
            }
            LiteralKind::Integer => matches!(
                ty,
                T::Bigint
                    | T::Counter
                    | T::Date
                    | T::Decimal
                    | T::Double
                    | T::Duration
                    | T::Float
                    | T::Int
                    | T::Smallint
                    | T::Time
                    | T::Timestamp
                    | T::Tinyint
                    | T::Varint
            ),
            LiteralKind::Float => matches!(ty, T::Decimal | T::Double | T::Float),
            LiteralKind::Boolean => matches!(ty, T::Boolean),
            LiteralKind::Uuid => matches!(ty, T::Uuid | T::Timeuuid),
            LiteralKind::Hex => matches!(ty, T::Blob),
            LiteralKind::Duration => matches!(ty, T::Duration),
        }
    }
}

/// A constant: its looks, and its text without quotes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Literal {
    /// What it looks like.
    pub kind: LiteralKind,
    /// Its text; of a string, the content.
    pub text: String,
}

impl std::fmt::Display for Literal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            LiteralKind::String => f.write_str(&crate::print::quoted(&self.text)),
            _ => f.write_str(&self.text),
        }
    }
}

/// The value that a constant stands for in a place of that type.
pub fn parse_literal(ty: &CqlType, literal: &Literal) -> Result<Vec<u8>, ValueError> {
    let cut = || literal.text.chars().take(100).collect::<String>();
    if !literal.kind.fits(ty) {
        return Err(ValueError::Kind { kind: literal.kind.name(), text: cut(), ty: ty.to_string() });
    }
    parse_text(ty, &literal.text).map_err(|reason| ValueError::Text {
        text: cut(),
        ty: ty.to_string(),
        reason: reason.to_owned(),
    })
}

fn parse_text(ty: &CqlType, text: &str) -> Result<Vec<u8>, &'static str> {
    Ok(match ty {
        CqlType::Text => text.as_bytes().to_vec(),
        CqlType::Ascii if text.is_ascii() => text.as_bytes().to_vec(),
        CqlType::Ascii => return Err("it is not ASCII"),
        CqlType::Blob => hex(text.strip_prefix("0x").or(text.strip_prefix("0X")).unwrap_or(text))?,
        CqlType::Custom(_) => return Err("values of custom types are written as blobs"),
        CqlType::Boolean => vec![u8::from(text.eq_ignore_ascii_case("true"))],
        CqlType::Bigint | CqlType::Counter => integer::<i64>(text)?.to_be_bytes().to_vec(),
        CqlType::Int => integer::<i32>(text)?.to_be_bytes().to_vec(),
        CqlType::Smallint => integer::<i16>(text)?.to_be_bytes().to_vec(),
        CqlType::Tinyint => integer::<i8>(text)?.to_be_bytes().to_vec(),
        CqlType::Varint => big_integer(text)?.to_signed_bytes_be(),
        CqlType::Decimal => decimal(text)?,
        CqlType::Double => float::<f64>(text)?.to_be_bytes().to_vec(),
        CqlType::Float => float::<f32>(text)?.to_be_bytes().to_vec(),
        CqlType::Uuid => uuid(text)?.to_vec(),
        CqlType::Timeuuid => {
            let bytes = uuid(text)?;
            if bytes[6] >> 4 != 1 {
                return Err("a timeuuid is a UUID of version 1");
            }
            bytes.to_vec()
        }
        CqlType::Inet => match text.parse::<IpAddr>() {
            Ok(IpAddr::V4(address)) => address.octets().to_vec(),
            Ok(IpAddr::V6(address)) => address.octets().to_vec(),
            Err(_) => return Err("it is no IPv4 or IPv6 address"),
        },
        CqlType::Timestamp => match text.parse::<i64>().ok().or_else(|| calendar::parse_timestamp(text)) {
            Some(millis) => millis.to_be_bytes().to_vec(),
            None => return Err("Unable to parse a date/time from it"),
        },
        CqlType::Date => date(text)?.to_be_bytes().to_vec(),
        CqlType::Time => time(text)?.to_be_bytes().to_vec(),
        CqlType::Duration => {
            let mut bytes = Vec::new();
            let duration = Duration::parse(text).ok_or("Unable to convert it to a duration")?;
            duration.encode(&mut bytes);
            bytes
        }
        _ => return Err("a constant cannot be a value of that type"),
    })
}

fn integer<T: std::str::FromStr>(text: &str) -> Result<T, &'static str> {
    text.parse().map_err(|_| "it is no integer of the type's range")
}

fn float<T: std::str::FromStr>(text: &str) -> Result<T, &'static str> {
    text.parse().map_err(|_| "it is no number")
}

fn big_integer(text: &str) -> Result<BigInt, &'static str> {
    if text.len() > DIGITS_MAX {
        return Err("it has more than 10000 digits");
    }
    text.parse().map_err(|_| "it is no integer")
}

/// Digits with a point and an exponent, as an i32 scale and a varint.
fn decimal(text: &str) -> Result<Vec<u8>, &'static str> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().map_err(|_| "its exponent is out of range")?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let unscaled = big_integer(&format!("{whole}{fraction}"))?;
    let scale = (fraction.len() as i64).checked_sub(exponent).and_then(|scale| i32::try_from(scale).ok());
    let mut bytes = scale.ok_or("its exponent is out of range")?.to_be_bytes().to_vec();
    bytes.extend(unscaled.to_signed_bytes_be());
    Ok(bytes)
}

fn date(text: &str) -> Result<u32, &'static str> {
    const EPOCH: i64 = 1 << 31;
    // An integer is the raw value, with the epoch at 2³¹.
    let raw = match text.parse::<i64>() {
        Ok(raw) => Some(raw),
        Err(_) => calendar::parse_date(text).and_then(|days| days.checked_add(EPOCH)),
    };
    raw.and_then(|raw| u32::try_from(raw).ok()).ok_or("Unable to coerce it to a formatted date (long)")
}

fn time(text: &str) -> Result<i64, &'static str> {
    let nanos = text.parse::<i64>().ok().or_else(|| calendar::parse_time(text));
    nanos
        .filter(|nanos| (0..NANOS_OF_DAY).contains(nanos))
        .ok_or("(TimeType) Unable to coerce it to a formatted time (long)")
}

fn hex(text: &str) -> Result<Vec<u8>, &'static str> {
    if !text.len().is_multiple_of(2) {
        return Err("it has an odd number of hex digits");
    }
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    let pair = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
    text.as_bytes().chunks_exact(2).map(pair).collect::<Option<_>>().ok_or("it has characters that are no hex digits")
}

fn uuid(text: &str) -> Result<[u8; 16], &'static str> {
    let shape = text.len() == 36 && [8, 13, 18, 23].iter().all(|&at| text.as_bytes()[at] == b'-');
    let bytes = if shape { hex(&text.replace('-', "")) } else { Err("") };
    bytes.ok().and_then(|bytes| bytes.try_into().ok()).ok_or("it is no UUID")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print;

    fn value(ty: &CqlType, kind: LiteralKind, text: &str) -> Result<Vec<u8>, ValueError> {
        parse_literal(ty, &Literal { kind, text: text.to_owned() })
    }

    #[test]
    fn constants_print_as_they_were_written() {
        use LiteralKind as K;
        for (ty, kind, text, printed) in [
            (CqlType::Int, K::Integer, "-12", "-12"),
            (CqlType::Varint, K::Integer, "-123456789012345678901234567890", "-123456789012345678901234567890"),
            (CqlType::Decimal, K::Float, "-1.50", "-1.50"),
            (CqlType::Decimal, K::Float, "1e10", "1E+10"),
            (CqlType::Decimal, K::Float, "0.000000012", "1.2E-8"),
            (CqlType::Decimal, K::Float, "0.0012", "0.0012"),
            (CqlType::Double, K::Float, "1.5e3", "1500.0"),
            (CqlType::Double, K::Float, "-Infinity", "-Infinity"),
            (CqlType::Float, K::Float, "0.1", "0.1"),
            (CqlType::Text, K::String, "it's", "'it''s'"),
            (CqlType::Blob, K::Hex, "0xCAfe", "0xcafe"),
            (CqlType::Boolean, K::Boolean, "TRUE", "true"),
            (CqlType::Inet, K::String, "::1", "'::1'"),
            (CqlType::Inet, K::String, "127.0.0.1", "'127.0.0.1'"),
            (CqlType::Date, K::String, "2020-02-29", "'2020-02-29'"),
            (CqlType::Time, K::String, "08:12:54.1", "'08:12:54.100000000'"),
            (CqlType::Timestamp, K::Integer, "0", "'1970-01-01T00:00:00.000Z'"),
            (CqlType::Duration, K::Duration, "1h30m", "1h30m"),
            (CqlType::Uuid, K::Uuid, "123E4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
        ] {
            let bytes = value(&ty, kind, text).unwrap_or_else(|error| panic!("{ty} {text}: {error}"));
            assert_eq!(crate::validate(&ty, &bytes), Ok(()), "{ty} {text}");
            assert_eq!(print(&ty, &bytes), printed, "{ty}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        use LiteralKind as K;
        for (ty, kind, text) in [
            (CqlType::Int, K::String, "1"),
            (CqlType::Text, K::Integer, "1"),
            (CqlType::Tinyint, K::Integer, "128"),
            (CqlType::Uuid, K::Uuid, "123e4567"),
            (CqlType::Timeuuid, K::Uuid, "123e4567-e89b-42d3-a456-426614174000"),
            (CqlType::Blob, K::Hex, "0xabc"),
            (CqlType::Inet, K::String, "localhost"),
            (CqlType::Decimal, K::Float, "1e99999999999"),
        ] {
            assert!(value(&ty, kind, text).is_err(), "{ty} {text}");
        }
        let error = value(&CqlType::Int, K::String, "x").unwrap_err();
        assert_eq!(error.to_string(), "Invalid STRING constant (x) for type int");
    }
}
