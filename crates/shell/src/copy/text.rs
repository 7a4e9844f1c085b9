//! Texts of a file to values of a type: the inverse of what COPY TO writes. Pure.

use cql_types::calendar::days_from_civil;
use cql_types::{CqlType, NESTING_DEPTH_MAX};

use crate::format::Style;

/// A text that is no value of its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Failed to parse {text} : {reason}")]
pub(super) struct NoValue {
    text: String,
    reason: String,
}

/// The bytes of a field's value.
pub(super) fn value(ty: &CqlType, text: &str, style: &Style) -> Result<Vec<u8>, NoValue> {
    parse(ty, text, style, 0).map_err(|reason| NoValue { text: text.to_owned(), reason })
}

fn parse(ty: &CqlType, text: &str, style: &Style, depth: usize) -> Result<Vec<u8>, String> {
    if depth > NESTING_DEPTH_MAX {
        return Err("it nests too deep".to_owned());
    }
    let plain = |text: &str| cql_types::of_text(ty, text).map_err(|error| error.to_string());
    match ty {
        CqlType::Ascii | CqlType::Text => plain(text),
        CqlType::Boolean => Ok(vec![u8::from(text.trim().eq_ignore_ascii_case(&style.booleans.0))]),
        CqlType::Blob => match text.strip_prefix("0x") {
            Some(digits) => plain(&format!("0x{digits}")),
            None => Err("a blob begins with 0x".to_owned()),
        },
        CqlType::Timestamp => timestamp(text.trim()).map(|millis| millis.to_be_bytes().to_vec()),
        CqlType::Bigint | CqlType::Counter | CqlType::Int | CqlType::Smallint | CqlType::Tinyint | CqlType::Varint => {
            plain(&without(text.trim(), &style.thousands_separator))
        }
        CqlType::Decimal | CqlType::Double | CqlType::Float => {
            let number = without(text.trim(), &style.thousands_separator);
            plain(&number.replace(&style.decimal_separator, "."))
        }
        CqlType::Uuid | CqlType::Timeuuid => plain(&hyphenated(text.trim())),
        CqlType::List { element, .. } | CqlType::Set { element, .. } | CqlType::Vector { element, .. } => {
            let parts = split(text, ',')?.into_iter().map(|part| present(element, part, style, depth));
            let parts = parts.collect::<Result<Vec<_>, _>>()?;
            if let CqlType::Vector { dimension, .. } = ty
                && parts.len() != *dimension as usize
            {
                return Err(format!("it has {} elements, and its type {dimension}", parts.len()));
            }
            composed(ty, parts.into_iter().map(Some).collect())
        }
        CqlType::Map { key, value, .. } => {
            let mut parts = Vec::new();
            for entry in split(text, ',')? {
                let (left, right) = pair(entry)?;
                parts.push(Some(present(key, left, style, depth)?));
                parts.push(Some(present(value, right, style, depth)?));
            }
            composed(ty, parts)
        }
        CqlType::Tuple(types) => {
            let parts = split(text, ',')?;
            if parts.len() > types.len() {
                return Err(format!("it has {} parts, and its type {}", parts.len(), types.len()));
            }
            let parts = parts.iter().zip(types).map(|(part, ty)| optional(ty, part, style, depth));
            composed(ty, parts.collect::<Result<_, _>>()?)
        }
        CqlType::Udt { fields, .. } => {
            let entries = split(text, ',')?.into_iter().map(pair).collect::<Result<Vec<_>, _>>()?;
            let field = |field: &cql_types::Field| match entries.iter().find(|(name, _)| unquoted(name) == field.name) {
                Some((_, text)) => optional(&field.ty, text, style, depth),
                None => Ok(None),
            };
            composed(ty, fields.iter().map(field).collect::<Result<_, _>>()?)
        }
        _ => plain(text.trim()),
    }
}

/// A UUID's 32 digits with their hyphens, which other programs leave out; other text as it is.
fn hyphenated(text: &str) -> String {
    match text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-"),
        false => text.to_owned(),
    }
}

fn composed(ty: &CqlType, parts: Vec<Option<Vec<u8>>>) -> Result<Vec<u8>, String> {
    let parts: Vec<Option<&[u8]>> = parts.iter().map(Option::as_deref).collect();
    cql_types::compose(ty, &parts).map_err(|error| error.to_string())
}

/// A part that must be there; text within others has quotes.
fn present(ty: &CqlType, text: &str, style: &Style, depth: usize) -> Result<Vec<u8>, String> {
    let is_text = matches!(ty, CqlType::Ascii | CqlType::Text);
    let text = unquoted(text);
    if text == style.null && !is_text {
        return Err("Empty values are not allowed".to_owned());
    }
    parse(ty, &text, style, depth + 1)
}

fn optional(ty: &CqlType, text: &str, style: &Style, depth: usize) -> Result<Option<Vec<u8>>, String> {
    match text.trim() {
        bare if bare == style.null || bare == "null" => Ok(None),
        text => present(ty, text, style, depth).map(Some),
    }
}

/// Text without the quotes around it.
fn unquoted(text: &str) -> String {
    let text = text.trim();
    match text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(inner) => inner.replace("''", "'"),
        None => text.to_owned(),
    }
}

fn without(text: &str, separator: &str) -> String {
    if separator.is_empty() { text.to_owned() } else { text.replace(separator, "") }
}

/// The parts between brackets, at `separator`s that are in no quotes and no inner brackets.
fn split(text: &str, separator: char) -> Result<Vec<&str>, String> {
    let text = text.trim();
    let brackets = [('{', '}'), ('[', ']'), ('(', ')')];
    let is_pair = brackets.iter().any(|(open, close)| text.starts_with(*open) && text.ends_with(*close));
    if !is_pair || text.len() < 2 {
        return Err(format!("Invalid composite string, it should start and end with matching parentheses: {text}"));
    }
    let inner = &text[1..text.len() - 1];
    if inner.trim().is_empty() {
        return Ok(Vec::new());
    }
    Ok(cut(inner, separator))
}

fn cut(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut from, mut level, mut is_quoted) = (Vec::new(), 0, 0_usize, false);
    for (at, character) in text.char_indices() {
        match character {
            '\'' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '{' | '[' | '(' => level += 1,
            '}' | ']' | ')' => level = level.saturating_sub(1),
            other if other == separator && level == 0 => {
                parts.push(&text[from..at]);
                from = at + other.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

/// A key and its value. The first colon that is in no quotes and no brackets parts them.
fn pair(entry: &str) -> Result<(&str, &str), String> {
    let first = cut(entry, ':').first().map_or(0, |key| key.len());
    match entry.get(first + 1..) {
        Some(value) => Ok((&entry[..first], value)),
        None => Err(format!("an entry has a colon: {entry}")),
    }
}

/// Milliseconds of a timestamp: a date, a time with fractions or none, an offset or none, as CQL and cqlsh write them; or the number itself.
fn timestamp(text: &str) -> Result<i64, String> {
    if let Ok(millis) = text.parse() {
        return Ok(millis);
    }
    read_timestamp(text).ok_or_else(|| format!("can't interpret '{text}' as a date or as an int"))
}

fn read_timestamp(text: &str) -> Option<i64> {
    let mut rest = text;
    let (year, month, day) = (digits(&mut rest, 4)?, next(&mut rest, "-", 2)?, next(&mut rest, "-", 2)?);
    if !(1..=12).contains(&month) || !(1..=cql_types::calendar::days_in_month(year, month)).contains(&day) {
        return None;
    }
    let mut millis = days_from_civil(year, month, day) * 86_400_000;
    rest = rest.strip_prefix(['T', ' ']).unwrap_or(rest);
    if rest.starts_with(|character: char| character.is_ascii_digit()) {
        let (hour, minute) = (digits(&mut rest, 2)?, next(&mut rest, ":", 2)?);
        let second = next(&mut rest, ":", 2).unwrap_or(0);
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        millis += ((hour * 60 + minute) * 60 + second) * 1000;
        if let Some(fraction) = rest.strip_prefix('.') {
            let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
            let three = format!("{:0<3}", &fraction[..count.min(3)]);
            millis += three.parse::<i64>().ok()?;
            rest = &fraction[count..];
        }
    }
    let zone = rest.trim();
    if matches!(zone, "" | "Z" | "UTC") {
        return Some(millis);
    }
    let (sign, mut offset) = match zone.strip_prefix('-') {
        Some(offset) => (-1, offset),
        None => (1, zone.strip_prefix('+')?),
    };
    let hours = digits(&mut offset, 2)?;
    offset = offset.strip_prefix(':').unwrap_or(offset);
    let minutes = if offset.is_empty() { 0 } else { digits(&mut offset, 2)? };
    offset.is_empty().then(|| millis - sign * (hours * 60 + minutes) * 60_000)
}

fn digits(text: &mut &str, count: usize) -> Option<i64> {
    let (number, rest) = text.split_at_checked(count)?;
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    *text = rest;
    number.parse().ok()
}

fn next(text: &mut &str, before: &str, count: usize) -> Option<i64> {
    let mut rest = text.strip_prefix(before)?;
    let number = digits(&mut rest, count)?;
    *text = rest;
    Some(number)
}
