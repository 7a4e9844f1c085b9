//! What the families' tests share: values of texts, a context at a fixed time, calls by name.

use cql_types::{CqlType, Literal, LiteralKind};

use crate::{Argument, Context, FunctionError, resolve};

/// A context in which it is one second past 1970.
pub(crate) struct Nothing;

impl Context for Nothing {
    fn now_micros(&mut self) -> i64 {
        1_000_000
    }

    fn time_uuid(&mut self) -> [u8; 16] {
        cql_types::timeuuid::min_of_unix_millis(1_000).unwrap()
    }

    fn random_uuid(&mut self) -> [u8; 16] {
        [0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0]
    }

    fn token(&mut self, key: &[u8]) -> i64 {
        key.len() as i64
    }
}

/// The type of that name, and its value that a constant of the text stands for.
pub(crate) fn value(ty: &str, text: &str) -> (CqlType, Vec<u8>) {
    let ty = CqlType::parse(ty).unwrap();
    let kind = match ty {
        CqlType::Decimal | CqlType::Double | CqlType::Float => LiteralKind::Float,
        CqlType::Blob => LiteralKind::Hex,
        CqlType::Boolean => LiteralKind::Boolean,
        CqlType::Uuid | CqlType::Timeuuid => LiteralKind::Uuid,
        CqlType::Duration => LiteralKind::Duration,
        CqlType::Ascii | CqlType::Text | CqlType::Inet => LiteralKind::String,
        CqlType::Timestamp | CqlType::Date | CqlType::Time => LiteralKind::String,
        _ => LiteralKind::Integer,
    };
    let value = cql_types::parse_literal(&ty, &Literal::new(kind, text)).unwrap();
    (ty, value)
}

/// A value as a constant, or `null`.
pub(crate) fn printed(ty: &CqlType, value: Option<&Vec<u8>>) -> String {
    if let Some(value) = value {
        assert_eq!(cql_types::validate(ty, value), Ok(()), "{ty}");
    }
    value.map_or("null".to_owned(), |value| cql_types::print(ty, value))
}

/// What a function gives of values, as a constant.
pub(crate) fn evaluated(name: &str, arguments: &[(&str, &str)]) -> Result<String, FunctionError> {
    let given: Vec<(CqlType, Vec<u8>)> = arguments.iter().map(|(ty, text)| value(ty, text)).collect();
    let typed: Vec<Argument<'_>> = given.iter().map(|(ty, _)| Argument::Typed(ty)).collect();
    let call = resolve(None, name, &typed, None).unwrap();
    let values: Vec<Option<&[u8]>> = given.iter().map(|(_, value)| Some(&value[..])).collect();
    let mut out = Vec::new();
    let is_there = call.evaluate(&values, &mut Nothing, &mut out)?;
    Ok(printed(call.returns(), is_there.then_some(&out)))
}

#[test]
fn an_empty_value_is_null_to_most() {
    for name in ["to_date", "abs"] {
        let ty = if name == "abs" { CqlType::Int } else { CqlType::Timestamp };
        let call = resolve(None, name, &[Argument::Typed(&ty)], None).unwrap();
        assert_eq!(call.evaluate(&[Some(&[])], &mut Nothing, &mut Vec::new()), Ok(false), "{name}");
    }
    let call = resolve(None, "int_as_blob", &[Argument::Typed(&CqlType::Int)], None).unwrap();
    assert_eq!(call.evaluate(&[Some(&[])], &mut Nothing, &mut Vec::new()), Ok(true));
}

#[test]
fn the_token_of_several_columns_is_that_of_all() {
    let key = [CqlType::Int, CqlType::Text];
    let call = crate::token(&key, &[Argument::Marker, Argument::Marker]).unwrap();
    let mut out = Vec::new();
    assert_eq!(call.evaluate(&[Some(&[0; 4]), Some(b"abc")], &mut Nothing, &mut out), Ok(true));
    // Each has two bytes of length and one behind it.
    assert_eq!(out, 13_i64.to_be_bytes());
    assert_eq!(call.evaluate(&[Some(&[0; 4]), None], &mut Nothing, &mut Vec::new()), Ok(false));
}
