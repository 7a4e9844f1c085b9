//! The forms of types that go by their Java classes. (Source: `asComparableBytes` of `LexicalUUIDType`, `CompositeType` and
//! `DynamicCompositeType`.)

use cql_types::by_class::values::Parts;
use cql_types::class_name::PACKAGE;
use cql_types::{ByClass, Component, CqlType};

use super::{COMPONENT, END, NULL, escaped, is_in_order as is_type_in_order, turn, value_at};

/// True if the empty value has a form, which only dynamic composites have of these.
pub(super) fn has_empty_form(ty: &CqlType) -> bool {
    matches!(ty, CqlType::ByClass(class) if matches!(**class, ByClass::DynamicComposite(_)))
}

/// Appends the form of a dynamic composite without components.
pub(super) fn empty(out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(&[COMPONENT, END]);
    true
}

/// Appends the form of a value that is not empty.
pub(super) fn value(of: &ByClass, value: &[u8], out: &mut Vec<u8>, depth: usize) {
    if *of == ByClass::LexicalUuid {
        let start = out.len();
        out.extend_from_slice(value);
        for at in [0, 8] {
            if let Some(byte) = out.get_mut(start + at) {
                *byte ^= 0x80;
            }
        }
        return;
    }
    let mut parts = Parts::new(of, value);
    out.push(if parts.is_static { NULL } else { COMPONENT });
    // What is no component ends the form.
    while let Ok(Some((component, value))) = parts.read() {
        if matches!(of, ByClass::DynamicComposite(_)) {
            classes(&component, out);
        }
        let start = out.len();
        out.push(COMPONENT);
        if !value_at(&component.ty, value, out, depth + 1) {
            out[start] = NULL;
        } else if component.is_reversed {
            turn(&mut out[start + 1..]);
        }
        let Ok(end) = parts.end() else { break };
        out.extend_from_slice(&[COMPONENT, end ^ 0x80]);
    }
    out.push(END);
}

/// The names by which components of different classes are ordered.
fn classes(component: &Component, out: &mut Vec<u8>) {
    let mut name = |text: &str| {
        out.push(COMPONENT);
        escaped(text.as_bytes(), out);
    };
    if component.is_reversed {
        name("ReversedType");
    }
    let simple = component.simple_class_name();
    name(&simple);
    name(&format!("{PACKAGE}{simple}"));
}

/// True if the forms of all values are in the values' order. An empty value of a reversed component is last, but its form is first; what components
/// a dynamic composite has is not known.
pub(super) fn is_in_order(of: &ByClass) -> bool {
    match of {
        ByClass::LexicalUuid => true,
        ByClass::Composite(components) => {
            components.iter().all(|component| !component.is_reversed && is_type_in_order(&component.ty))
        }
        ByClass::DynamicComposite(_) => false,
    }
}
