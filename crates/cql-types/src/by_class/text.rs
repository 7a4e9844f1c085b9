//! Values of types that go by their classes from the text of constants. Errors are in Cassandra's words.
//!
//! A composite's components have colons between them, and `\:` is a colon in one; `!` or `_` at the end is the place after or before all that
//! begin so. A dynamic composite's component is `alias@value` or `class@value`.

use super::values::{ALIAS, push_value};
use super::{ByClass, Component};
use crate::error::cut;
use crate::literal::{blob_of_digits, of_text};
use crate::{CqlType, NESTING_DEPTH_MAX, ValueError, class_name};

/// The value that a text stands for.
pub(crate) fn value(of: &ByClass, text: &str) -> Result<Vec<u8>, ValueError> {
    value_at(of, text, 0)
}

fn value_at(of: &ByClass, text: &str, depth: usize) -> Result<Vec<u8>, ValueError> {
    if depth > NESTING_DEPTH_MAX {
        return Err(ValueError::TooDeep);
    }
    match of {
        ByClass::LexicalUuid if text.is_empty() => Ok(Vec::new()),
        ByClass::LexicalUuid => uuid(text).map(|bytes| bytes.to_vec()),
        _ => composite(of, text, depth),
    }
}

/// A UUID as Java reads one: five hexadecimal numbers, of which as many digits count as there is room for.
fn uuid(text: &str) -> Result<[u8; 16], ValueError> {
    let refused = || ValueError::text("unable to make UUID from", text);
    let groups: Vec<&str> = text.split('-').collect();
    let [time_low, time_mid, time_high, clock, node] = groups[..] else { return Err(refused()) };
    let number = |group: &str| i64::from_str_radix(group, 16).map(i64::cast_unsigned).map_err(|_| refused());
    if text.len() > 36 {
        return Err(refused());
    }
    let high =
        (number(time_low)? & 0xffff_ffff) << 32 | (number(time_mid)? & 0xffff) << 16 | number(time_high)? & 0xffff;
    let low = (number(clock)? & 0xffff) << 48 | number(node)? & 0xffff_ffff_ffff;
    Ok((u128::from(high) << 64 | u128::from(low)).to_be_bytes())
}

fn composite(of: &ByClass, text: &str, depth: usize) -> Result<Vec<u8>, ValueError> {
    let mut out = Vec::new();
    for (index, part) in parts(text).into_iter().enumerate() {
        if let Some(end) = match part {
            "!" => Some(1),
            "_" => Some(0xff),
            _ => None,
        } {
            // It takes the place of the end of the component before it.
            let last = out.last_mut().ok_or_else(|| refused(format!("A composite may not begin with '{part}'")))?;
            *last = end;
            return Ok(out);
        }
        match of {
            ByClass::Composite(components) => {
                let component = components.get(index).ok_or_else(|| {
                    refused(format!(
                        "A composite of {} components may not have another: '{}'",
                        components.len(),
                        cut(part)
                    ))
                })?;
                push_component(component, part, &mut out, depth)?;
            }
            ByClass::DynamicComposite(aliases) => push_named_component(aliases, part, &mut out, depth)?,
            ByClass::LexicalUuid => return Err(refused("A UUID has no components".to_owned())),
        }
    }
    Ok(out)
}

fn refused(reason: String) -> ValueError {
    ValueError::Text { reason }
}

/// Appends the component of a dynamic composite with what names its type: the alias or the class's name, as the text has it.
fn push_named_component(
    aliases: &[(u8, Component)],
    part: &str,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), ValueError> {
    let odd = || refused(format!("Invalid component representation: {}", cut(part)));
    // As Java splits: what is empty at the end does not count.
    let pieces: Vec<&str> = part.trim_end_matches('@').split('@').collect();
    let (name, value) = match (&pieces[..], part) {
        (_, part) if !part.is_empty() && part.bytes().all(|byte| byte == b'@') => return Err(odd()),
        ([name], _) => (*name, ""),
        ([name, value], _) => (*name, *value),
        _ => return Err(odd()),
    };
    let mut letters = name.chars();
    let alias = match (letters.next(), letters.next()) {
        // A character's lower byte, as in Java.
        (Some(letter), None) => Some((letter as u32).to_be_bytes()[3]),
        _ => None,
    };
    let known = alias.and_then(|alias| aliases.iter().find(|(known, _)| *known == alias));
    if let Some((alias, component)) = known {
        out.extend_from_slice(&(ALIAS | u16::from(*alias)).to_be_bytes());
        return push_component(component, value, out, depth);
    }
    let component = class_name::component(name).map_err(|error| refused(error.to_string()))?;
    let length = u16::try_from(name.len()).ok().filter(|length| length & ALIAS == 0).ok_or_else(odd)?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(name.as_bytes());
    push_component(&component, value, out, depth)
}

fn push_component(component: &Component, text: &str, out: &mut Vec<u8>, depth: usize) -> Result<(), ValueError> {
    let text = text.replace("\\:", ":");
    let text = text.strip_suffix('!').unwrap_or(&text);
    let value = component_value(&component.ty, text, depth)?;
    push_value(&value, out).ok_or_else(|| {
        refused(format!("A composite's component has at most {} bytes, but has {}", u16::MAX, value.len()))
    })?;
    out.push(0);
    Ok(())
}

/// The value that Java's types make of a component's text: more of them than of a constant's know the empty one.
fn component_value(ty: &CqlType, text: &str, depth: usize) -> Result<Vec<u8>, ValueError> {
    match ty {
        CqlType::ByClass(of) => value_at(of, text, depth + 1),
        CqlType::Boolean if !matches!(text.to_ascii_lowercase().as_str(), "" | "true" | "false") => {
            Err(ValueError::text("Unable to make boolean from", text))
        }
        CqlType::Boolean if text.is_empty() => Ok(vec![0]),
        CqlType::Blob | CqlType::List { .. } | CqlType::Set { .. } | CqlType::Map { .. } | CqlType::Vector { .. } => {
            blob_of_digits(text)
        }
        CqlType::Date | CqlType::Time => of_text(ty, text),
        CqlType::Empty if text.is_empty() => Ok(Vec::new()),
        CqlType::Empty => Err(refused(format!("'{}' is not empty", cut(text)))),
        _ if text.is_empty() => Ok(Vec::new()),
        other => of_text(other, text),
    }
}

/// The pieces between the colons that have no backslash before them.
fn parts(text: &str) -> Vec<&str> {
    if text.is_empty() {
        return Vec::new();
    }
    let bytes = text.as_bytes();
    let is_separator = |at: &usize| bytes[*at] == b':' && (*at == 0 || bytes[*at - 1] != b'\\');
    let mut parts = Vec::new();
    let mut start = 0;
    for at in (0..bytes.len()).filter(is_separator) {
        parts.push(&text[start..at]);
        start = at + 1;
    }
    parts.push(&text[start..]);
    parts
}
