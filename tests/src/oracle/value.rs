//! Values between their bytes and CQL constants.

use cql_protocol::response::DecodedSpec;
use cql_protocol::{Value, ValuesBuffer};
use cql_syntax::{Statement, Term};
use cql_types::CqlType;

/// Values for a prepared statement's markers: constants with commas between, each perhaps behind `name =`; `null`, `unset`,
/// `raw 0x…` for bytes as they are, or `raw 0x… * N` for them N times.
pub fn bound(text: &str, markers: &[DecodedSpec]) -> Result<ValuesBuffer, String> {
    let pieces = pieces(text);
    let mut buffer = buffer_for(&pieces);
    for (at, piece) in pieces.into_iter().enumerate() {
        let (name, constant) = named(piece);
        let marker = match name {
            "" => markers.get(at),
            name => markers.iter().find(|marker| marker.name == name),
        };
        // More values than markers are for the server to refuse.
        let ty = marker.map_or(&CqlType::Int, |marker| &marker.ty);
        push(&mut buffer, name, constant, ty)?;
    }
    Ok(buffer)
}

/// Values with their types before them, for a statement that is not prepared.
pub fn typed(text: &str) -> Result<ValuesBuffer, String> {
    let pieces = pieces(text);
    let mut buffer = buffer_for(&pieces);
    for piece in pieces {
        let (name, rest) = named(piece);
        if matches!(rest, "null" | "unset") || rest.starts_with("raw ") {
            push(&mut buffer, name, rest, &CqlType::Int)?;
            continue;
        }
        let end = type_end(rest).ok_or_else(|| format!("`{rest}` is no type and constant"))?;
        let ty = CqlType::parse(&rest[..end]).map_err(|error| format!("`{rest}`: {error}"))?;
        push(&mut buffer, name, rest[end..].trim(), &ty)?;
    }
    Ok(buffer)
}

fn buffer_for(pieces: &[&str]) -> ValuesBuffer {
    let is_named = pieces.iter().any(|piece| !named(piece).0.is_empty());
    if is_named { ValuesBuffer::named() } else { ValuesBuffer::new() }
}

fn push(buffer: &mut ValuesBuffer, name: &str, text: &str, ty: &CqlType) -> Result<(), String> {
    let bytes;
    let value = match (text, text.strip_prefix("raw ")) {
        ("null", _) => Value::Null,
        ("unset", _) => Value::Unset,
        (_, raw) => {
            let of = |text, ty| constant(text, ty).ok_or_else(|| format!("`{text}` is no constant of {ty}"));
            bytes = match (raw, raw.and_then(|raw| raw.split_once(" * "))) {
                (_, Some((raw, times))) => {
                    let times = times.parse().map_err(|_| format!("`{times}` is no number of times"))?;
                    of(raw, &CqlType::Blob)?.repeat(times)
                }
                (Some(raw), None) => of(raw, &CqlType::Blob)?,
                (None, None) => of(text, ty)?,
            };
            Value::Bytes(&bytes)
        }
    };
    buffer.push_named(name, value).map_err(|error| error.to_string())
}

/// A piece's name, or nothing, and its constant.
fn named(piece: &str) -> (&str, &str) {
    match piece.split_once(" = ") {
        Some((name, rest)) if name.chars().all(|character| character.is_alphanumeric() || character == '_') => {
            (name, rest.trim())
        }
        _ => ("", piece),
    }
}

/// The text's pieces between commas that stand in no brackets and in no quotes.
fn pieces(text: &str) -> Vec<&str> {
    let (mut depth, mut is_quoted, mut start, mut pieces) = (0, false, 0, Vec::new());
    for (at, character) in text.char_indices() {
        match character {
            '\'' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '[' | '{' | '(' | '<' => depth += 1,
            ']' | '}' | ')' | '>' => depth -= 1,
            ',' if depth == 0 => {
                pieces.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text.trim().is_empty() {
        pieces.push(text[start..].trim());
    }
    pieces
}

/// Where the type at the text's start ends.
fn type_end(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().find_map(|(at, character)| {
        depth += i32::from(character == '<') - i32::from(character == '>');
        (character == ' ' && depth == 0).then_some(at)
    })
}

/// The value of a constant.
fn constant(text: &str, ty: &CqlType) -> Option<Vec<u8>> {
    match cql_syntax::parse(&format!("INSERT INTO t (c) VALUES ({text})")) {
        Ok(Statement::Insert(insert)) => term_value(&insert.values[0], ty),
        _ => None,
    }
}

/// A set's elements and a map's entries stay as they are written, so that a client that sends them out of order can be tried.
fn term_value(term: &Term, ty: &CqlType) -> Option<Vec<u8>> {
    let parts: Vec<Option<Vec<u8>>> = match (term, ty) {
        (Term::Literal(literal), ty) => return cql_types::parse_literal(ty, literal).ok(),
        (Term::List(terms), CqlType::List { element, .. } | CqlType::Vector { element, .. })
        | (Term::Set(terms), CqlType::Set { element, .. }) => {
            terms.iter().map(|term| term_value(term, element)).collect()
        }
        (Term::Map(entries), CqlType::Map { key, value, .. }) => {
            entries.iter().flat_map(|entry| [term_value(&entry.0, key), term_value(&entry.1, value)]).collect()
        }
        (Term::Set(terms), CqlType::Map { .. }) if terms.is_empty() => Vec::new(),
        (Term::Tuple(terms), CqlType::Tuple(types)) => {
            terms.iter().zip(types).map(|(term, ty)| term_value(term, ty)).collect()
        }
        (Term::Udt(given), CqlType::Udt { fields, .. }) => {
            let of = |name: &str| given.iter().find(|(given, _)| given == name).map(|(_, term)| term);
            fields.iter().map(|field| of(&field.name).and_then(|term| term_value(term, &field.ty))).collect()
        }
        _ => return None,
    };
    let parts: Vec<Option<&[u8]>> = parts.iter().map(Option::as_deref).collect();
    let as_written = match ty {
        CqlType::Set { element, .. } => CqlType::List { element: element.clone(), frozen: true },
        CqlType::Map { .. } => return Some(counted(parts.len() / 2, &parts)),
        other => other.clone(),
    };
    cql_types::compose(&as_written, &parts).ok()
}

fn counted(count: usize, parts: &[Option<&[u8]>]) -> Vec<u8> {
    let mut out = i32::try_from(count).expect("few entries").to_be_bytes().to_vec();
    parts.iter().for_each(|part| cql_types::push_field(*part, &mut out));
    out
}

/// A value as a constant. What is not the encoding of the constant that it shows has its bytes beside: a varint with a
/// superfluous zero before it is another answer.
pub fn show(ty: &CqlType, value: Option<&[u8]>) -> String {
    let Some(bytes) = value else { return "null".into() };
    let shown = cql_types::print(ty, bytes);
    match ty {
        CqlType::List { element, .. } | CqlType::Set { element, .. } => {
            let parts: Vec<String> =
                cql_types::parts_of_collection(ty, bytes).map(|part| show(element, Some(part))).collect();
            let (open, close) = if matches!(ty, CqlType::List { .. }) { ('[', ']') } else { ('{', '}') };
            format!("{open}{}{close}", parts.join(", "))
        }
        CqlType::Map { key, value, .. } => {
            let parts: Vec<&[u8]> = cql_types::parts_of_collection(ty, bytes).collect();
            let entry = |pair: &[&[u8]]| format!("{}: {}", show(key, Some(pair[0])), show(value, Some(pair[1])));
            format!("{{{}}}", parts.chunks_exact(2).map(entry).collect::<Vec<_>>().join(", "))
        }
        // Fields that are missing at the end are not the same as null.
        CqlType::Tuple(types) => {
            let parts = cql_types::fields_of(bytes).zip(types).map(|(field, ty)| show(ty, field));
            format!("({})", parts.collect::<Vec<_>>().join(", "))
        }
        CqlType::Udt { fields, .. } => {
            let parts = cql_types::fields_of(bytes).zip(fields);
            let parts = parts.map(|(part, field)| format!("{}: {}", field.name, show(&field.ty, part)));
            format!("{{{}}}", parts.collect::<Vec<_>>().join(", "))
        }
        CqlType::Ascii | CqlType::Text | CqlType::Blob | CqlType::Custom(_) | CqlType::Vector { .. } => shown,
        _ if bytes.is_empty() => "empty".into(),
        _ if constant(&shown, ty).as_deref() == Some(bytes) => shown,
        _ => format!("{shown} (0x{})", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_cut_at_commas_of_the_outermost_level() {
        assert_eq!(pieces("1, [2, 3], 'a, b', {4: (5, 6)}"), ["1", "[2, 3]", "'a, b'", "{4: (5, 6)}"]);
        assert!(pieces(" ").is_empty());
    }

    #[test]
    fn another_encoding_of_the_same_number_is_seen() {
        assert_eq!(show(&CqlType::Varint, Some(&[1])), "1");
        assert_eq!(show(&CqlType::Varint, Some(&[0, 1])), "1 (0x0001)");
        assert_eq!(show(&CqlType::Int, Some(&[])), "empty");
        assert_eq!(show(&CqlType::Int, None), "null");
    }
}
