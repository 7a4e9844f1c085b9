//! The forms of types that go by their classes.

use stdx::Reader;

use super::decode::{decode_at, unescape};
use super::{EMPTY, FIELD, NULL_FIELD, PRESENT, encode_at, escaped, turn};
use crate::by_class::values::{Parts, STATIC, push_class, push_value};
use crate::{ByClass, Component, class_name};

/// Stands before the components of what is not static.
const PLAIN: u8 = 1;
const STATIC_FLAG: u8 = 0;

/// A dynamic composite's component whose class is reversed: then that of its type follows.
const REVERSED: &[u8] = b"ReversedType";

pub(super) fn encode(of: &ByClass, value: &[u8], out: &mut Vec<u8>, depth: usize) {
    if value.is_empty() {
        return out.push(EMPTY);
    }
    out.push(PRESENT);
    if *of == ByClass::LexicalUuid {
        let start = out.len();
        out.extend_from_slice(value);
        return turn_signs(&mut out[start..]);
    }
    let mut parts = Parts::new(of, value);
    out.push(if parts.is_static { STATIC_FLAG } else { PLAIN });
    loop {
        let rest = parts.rest();
        match parts.read() {
            Ok(None) => return out.push(EMPTY),
            Ok(Some((component, value))) => {
                let start = out.len();
                out.push(FIELD);
                push_classes(of, &component, out);
                push_form(&component, value, out, depth);
                match parts.end() {
                    Ok(end) => out.push(end ^ 0x80),
                    Err(_) => {
                        out.truncate(start);
                        return push_odd(rest, out);
                    }
                }
            }
            Err(_) => return push_odd(rest, out),
        }
    }
}

/// Bytes that are no component.
fn push_odd(rest: &[u8], out: &mut Vec<u8>) {
    out.push(NULL_FIELD);
    escaped(rest, out);
}

fn push_form(component: &Component, value: &[u8], out: &mut Vec<u8>, depth: usize) {
    let start = out.len();
    encode_at(&component.ty, value, out, depth + 1);
    if component.is_reversed {
        turn(&mut out[start..]);
    }
}

/// The names by which components of different classes are ordered.
fn push_classes(of: &ByClass, component: &Component, out: &mut Vec<u8>) {
    if !matches!(of, ByClass::DynamicComposite(_)) {
        return;
    }
    if component.is_reversed {
        escaped(REVERSED, out);
    }
    let simple = component.simple_class_name();
    escaped(simple.as_bytes(), out);
    if of_simple_class(&simple).is_none() {
        escaped(Component { is_reversed: false, ..component.clone() }.class_name().as_bytes(), out);
    }
}

/// The component that a simple class name says all of.
fn of_simple_class(simple: &str) -> Option<Component> {
    class_name::component(simple).ok().filter(|component| component.class_name().ends_with(&format!(".{simple}")))
}

fn turn_signs(uuid: &mut [u8]) {
    for at in [0, 8] {
        if let Some(byte) = uuid.get_mut(at) {
            *byte ^= 0x80;
        }
    }
}

pub(super) fn decode(of: &ByClass, reader: &mut Reader<'_>, out: &mut Vec<u8>, depth: usize) -> Option<()> {
    match reader.u8().ok()? {
        EMPTY => return Some(()),
        PRESENT => {}
        _ => return None,
    }
    let components = match of {
        ByClass::LexicalUuid => {
            let mut uuid = reader.array::<16>().ok()?;
            turn_signs(&mut uuid);
            out.extend_from_slice(&uuid);
            return Some(());
        }
        ByClass::Composite(components) => Some(components),
        ByClass::DynamicComposite(_) => None,
    };
    match reader.u8().ok()? {
        STATIC_FLAG => out.extend_from_slice(&STATIC),
        PLAIN => {}
        _ => return None,
    }
    let mut value = Vec::new();
    for index in 0.. {
        match reader.u8().ok()? {
            EMPTY => break,
            FIELD => {}
            _ => return None,
        }
        let named;
        let component = match components {
            Some(components) => components.get(index)?,
            None => {
                named = read_classes(reader)?;
                push_class(of, &named, out)?;
                &named
            }
        };
        value.clear();
        read_form(component, reader, &mut value, depth)?;
        push_value(&value, out)?;
        out.push(reader.u8().ok()? ^ 0x80);
    }
    Some(())
}

fn read_form(component: &Component, reader: &mut Reader<'_>, out: &mut Vec<u8>, depth: usize) -> Option<()> {
    if !component.is_reversed {
        return decode_at(&component.ty, reader, out, depth + 1);
    }
    let mut turned = reader.peek().to_vec();
    turn(&mut turned);
    let mut inner = Reader::new(&turned);
    decode_at(&component.ty, &mut inner, out, depth + 1)?;
    reader.bytes(turned.len() - inner.remaining()).ok()?;
    Some(())
}

fn read_classes(reader: &mut Reader<'_>) -> Option<Component> {
    let text = |reader: &mut Reader<'_>| {
        let mut text = Vec::new();
        unescape(reader, &mut text)?;
        String::from_utf8(text).ok()
    };
    let mut simple = text(reader)?;
    let is_reversed = simple.as_bytes() == REVERSED;
    if is_reversed {
        simple = text(reader)?;
    }
    let component = match of_simple_class(&simple) {
        Some(component) => component,
        None => class_name::component(&text(reader)?).ok()?,
    };
    Some(Component { is_reversed, ..component })
}
