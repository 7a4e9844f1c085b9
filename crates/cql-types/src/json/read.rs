//! A tree to a value of a type.

use std::borrow::Cow;

use num_bigint::BigInt;

use super::{Json, fold_names, parse};
use crate::literal::of_text;
use crate::{ByClass, CqlType, Field, NESTING_DEPTH_MAX, ValueError, compose};

/// The value of that type that JSON other than `null` stands for. Errors are in Cassandra's words.
pub fn from_json(ty: &CqlType, json: &Json) -> Result<Vec<u8>, ValueError> {
    value(ty, json, 0)
}

fn wrong(reason: impl Into<String>) -> ValueError {
    ValueError::Text { reason: reason.into() }
}

fn value(ty: &CqlType, json: &Json, depth: usize) -> Result<Vec<u8>, ValueError> {
    if depth > NESTING_DEPTH_MAX {
        return Err(ValueError::TooDeep);
    }
    match ty {
        CqlType::List { element, .. } => {
            let json = inside(json)?;
            elements(ty, element, items_of(&json, "a list")?, "list", depth)
        }
        CqlType::Set { element, .. } => {
            let json = inside(json)?;
            elements(ty, element, items_of(&json, "a list (representing a set)")?, "set", depth)
        }
        CqlType::Vector { element, dimension } => {
            let json = inside(json)?;
            let items = items_of(&json, "a list")?;
            if items.len() != *dimension as usize {
                let count = items.len();
                return Err(wrong(format!("List had incorrect size: expected {dimension} but given {count}; {json}")));
            }
            elements(ty, element, items, "vector", depth)
        }
        CqlType::Map { key, value: of, .. } => {
            let json = inside(json)?;
            let Json::Map(entries) = &*json else { return Err(expected("a map", &json)) };
            let mut parts = Vec::with_capacity(entries.len() * 2);
            for (name, json) in entries {
                if *json == Json::Null {
                    return Err(wrong("Invalid null value in map"));
                }
                parts.push(value(key, &Json::String(name.clone()), depth + 1)?);
                parts.push(value(of, json, depth + 1)?);
            }
            compose(ty, &parts.iter().map(|part| Some(part.as_slice())).collect::<Vec<_>>())
        }
        CqlType::Tuple(types) => {
            let json = inside(json)?;
            tuple(ty, types, items_of(&json, "a list representation of a tuple")?, &json, depth)
        }
        CqlType::Udt { name, fields, .. } => {
            let json = inside(json)?;
            let Json::Map(entries) = &*json else { return Err(expected("a map", &json)) };
            udt(ty, name, fields, entries.clone(), depth)
        }
        scalar => self::scalar(scalar, json),
    }
}

fn expected(what: &str, json: &Json) -> ValueError {
    wrong(format!("Expected {what}, but got a {}: {json}", json.class()))
}

/// What a string holds as JSON, where a list or a map is wanted; anything else as it is.
fn inside(json: &Json) -> Result<Cow<'_, Json>, ValueError> {
    match json {
        Json::String(text) => match parse(text) {
            Ok(json) => Ok(Cow::Owned(json)),
            Err(error) => Err(wrong(format!("Error decoding JSON string: {error}"))),
        },
        other => Ok(Cow::Borrowed(other)),
    }
}

fn items_of<'j>(json: &'j Json, what: &str) -> Result<&'j [Json], ValueError> {
    match json {
        Json::List(items) => Ok(items),
        other => Err(expected(what, other)),
    }
}

fn elements(ty: &CqlType, element: &CqlType, items: &[Json], what: &str, depth: usize) -> Result<Vec<u8>, ValueError> {
    let mut parts = Vec::with_capacity(items.len());
    for item in items {
        if *item == Json::Null {
            return Err(wrong(format!("Invalid null element in {what}")));
        }
        parts.push(value(element, item, depth + 1)?);
    }
    compose(ty, &parts.iter().map(|part| Some(part.as_slice())).collect::<Vec<_>>())
}

fn tuple(ty: &CqlType, types: &[CqlType], items: &[Json], json: &Json, depth: usize) -> Result<Vec<u8>, ValueError> {
    let count = types.len();
    if items.len() > count {
        return Err(wrong(format!("Tuple contains extra items (expected {count}): {json}")));
    }
    if items.len() < count {
        return Err(wrong(format!("Tuple is missing items (expected {count}): {json}")));
    }
    let mut parts = Vec::with_capacity(count);
    for (item, ty) in items.iter().zip(types) {
        parts.push(if *item == Json::Null { None } else { Some(value(ty, item, depth + 1)?) });
    }
    compose(ty, &parts.iter().map(Option::as_deref).collect::<Vec<_>>())
}

fn udt(
    ty: &CqlType,
    name: &str,
    fields: &[Field],
    mut entries: Vec<(String, Json)>,
    depth: usize,
) -> Result<Vec<u8>, ValueError> {
    fold_names(&mut entries);
    let mut parts = Vec::with_capacity(fields.len());
    for field in fields {
        let given = entries.iter().find(|(name, _)| *name == field.name).map(|(_, json)| json);
        parts.push(match given {
            None | Some(Json::Null) => None,
            Some(json) => Some(value(&field.ty, json, depth + 1)?),
        });
    }
    if let Some((field, _)) = entries.iter().find(|(name, _)| fields.iter().all(|field| field.name != *name)) {
        return Err(wrong(format!("Unknown field '{field}' in value of user defined type {name}")));
    }
    compose(ty, &parts.iter().map(Option::as_deref).collect::<Vec<_>>())
}

fn scalar(ty: &CqlType, json: &Json) -> Result<Vec<u8>, ValueError> {
    // An empty string is the empty value of the types that read their text here.
    let text = |text: &str| match (text, ty) {
        ("", CqlType::Int | CqlType::Bigint | CqlType::Double | CqlType::Float) => Ok(Vec::new()),
        ("", CqlType::Uuid | CqlType::Timeuuid | CqlType::Duration) => Ok(Vec::new()),
        // Cassandra refuses it as the request's fault, wherever the duration stands.
        (text, CqlType::Duration) => {
            of_text(ty, text).map_err(|error| ValueError::Request { reason: error.to_string() })
        }
        (text, _) => of_text(ty, text),
    };
    let described = |what: &str| expected(&format!("a string representation of {what}"), json);
    match (ty, json) {
        (CqlType::Text, Json::String(text)) => Ok(text.as_bytes().to_vec()),
        (CqlType::Text, _) => Err(expected("a UTF-8 string", json)),
        (CqlType::Ascii, Json::String(text)) => of_text(ty, text),
        (CqlType::Ascii, _) => Err(expected("an ascii string", json)),
        (CqlType::Bigint | CqlType::Counter, Json::String(given)) => text(given),
        (CqlType::Bigint | CqlType::Counter, Json::Integer(number)) => match i64::try_from(number) {
            Ok(number) => Ok(number.to_be_bytes().to_vec()),
            Err(_) => Err(expected("a bigint value", json)),
        },
        (CqlType::Bigint | CqlType::Counter, _) => Err(expected("a bigint value", json)),
        (CqlType::Int, Json::String(given)) => text(given),
        (CqlType::Int, Json::Integer(number)) => match i32::try_from(number) {
            Ok(number) => Ok(number.to_be_bytes().to_vec()),
            Err(_) => Err(expected("an int value", json)),
        },
        (CqlType::Int, _) => Err(expected("an int value", json)),
        (CqlType::Smallint | CqlType::Tinyint, Json::String(_) | Json::Integer(_) | Json::Double(_)) => {
            of_text(ty, &json.to_string())
        }
        (CqlType::Smallint, _) => Err(expected("a short value", json)),
        (CqlType::Tinyint, _) => Err(expected("a byte value", json)),
        (CqlType::Varint, _) => {
            let number = json.to_string();
            let refused = || wrong(format!("Value '{json}' is not a valid representation of a varint value"));
            of_text(ty, &number).map_err(|_| refused())
        }
        (CqlType::Decimal, Json::String(given)) if given.is_empty() => Ok(Vec::new()),
        (CqlType::Decimal, _) => {
            let refused = || wrong(format!("Value '{json}' is not a valid representation of a decimal value"));
            of_text(ty, &json.to_string()).map_err(|_| refused())
        }
        (CqlType::Double | CqlType::Float, Json::String(given)) => text(given),
        (CqlType::Double, Json::Integer(_) | Json::Double(_)) => Ok(number(json).to_be_bytes().to_vec()),
        (CqlType::Double, _) => Err(expected("a double value", json)),
        (CqlType::Float, Json::Integer(_) | Json::Double(_)) => Ok((number(json) as f32).to_be_bytes().to_vec()),
        (CqlType::Float, _) => Err(expected("a float value", json)),
        (CqlType::Boolean, Json::Boolean(value)) => Ok(vec![u8::from(*value)]),
        (CqlType::Boolean, Json::String(text)) => match text.to_ascii_lowercase().as_str() {
            "" | "false" => Ok(vec![0]),
            "true" => Ok(vec![1]),
            _ => Err(ValueError::text("Unable to make boolean from", text)),
        },
        (CqlType::Boolean, _) => Err(expected("a boolean value", json)),
        (CqlType::Blob, json) => blob(ty, json),
        (CqlType::Timestamp, Json::Integer(number)) => match (i32::try_from(number), i64::try_from(number)) {
            // Only what is too long for an int is a count of milliseconds.
            (Err(_), Ok(millis)) => Ok(millis.to_be_bytes().to_vec()),
            _ => Err(expected("a long or a datestring representation of a timestamp value", json)),
        },
        (CqlType::Timestamp, Json::String(given)) => text(given),
        (CqlType::Timestamp, _) => Err(expected("a long or a datestring representation of a timestamp value", json)),
        (CqlType::Date | CqlType::Time | CqlType::Inet | CqlType::Duration, Json::String(given)) => text(given),
        (CqlType::Uuid | CqlType::Timeuuid, Json::String(given)) => text(given),
        (CqlType::ByClass(class), _) if **class == ByClass::LexicalUuid => match json {
            Json::String(given) => text(given),
            _ => Err(described("a uuid")),
        },
        (CqlType::Empty, Json::String(given)) if given.is_empty() => Ok(Vec::new()),
        (CqlType::Date, _) => Err(described("a date value")),
        (CqlType::Time, _) => Err(described("a time value")),
        (CqlType::Inet, _) => Err(described("an inet value")),
        (CqlType::Duration, _) => Err(described("a duration")),
        (CqlType::Uuid, _) => Err(described("a uuid")),
        (CqlType::Timeuuid, _) => Err(described("a timeuuid")),
        (other, _) => Err(wrong(format!("values of type {other} cannot be written as JSON"))),
    }
}

fn number(json: &Json) -> f64 {
    match json {
        Json::Integer(number) => big_to_double(number),
        Json::Double(number) => *number,
        _ => f64::NAN,
    }
}

/// Rounded once, as the parse of its digits does.
fn big_to_double(number: &BigInt) -> f64 {
    number.to_string().parse().unwrap_or(f64::NAN)
}

fn blob(ty: &CqlType, json: &Json) -> Result<Vec<u8>, ValueError> {
    let refused = |why: &str| wrong(format!("Value '{json}' is not a valid blob representation: {why}"));
    let Json::String(text) = json else {
        let class = match json {
            Json::List(_) => "java.util.ArrayList",
            Json::Map(_) => "java.util.LinkedHashMap",
            Json::Integer(_) if json.class() == "BigInteger" => "java.math.BigInteger",
            Json::Integer(_) if json.class() == "Long" => "java.lang.Long",
            Json::Integer(_) => "java.lang.Integer",
            Json::Double(_) => "java.lang.Double",
            _ => "java.lang.Boolean",
        };
        return Err(refused(&format!(
            "class {class} cannot be cast to class java.lang.String ({class} and java.lang.String are in module java.base of loader 'bootstrap')"
        )));
    };
    if !text.starts_with("0x") {
        return Err(refused(&format!("String representation of blob is missing 0x prefix: {text}")));
    }
    of_text(ty, text).map_err(|error| refused(&error.to_string()))
}
