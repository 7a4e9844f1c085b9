//! User-defined types: a keyspace's, by name, and what becomes of a column's type that names one.
//!
//! A type that travels or is stored names user-defined types, as text does; what their fields are, the keyspace says. In a
//! snapshot every column's type has been filled in, so that whoever reads values need not ask.

use std::collections::BTreeMap;

use cql_types::{CqlType, Field, NESTING_DEPTH_MAX};

use crate::SchemaError;

/// User-defined types by name.
pub type UserTypes = BTreeMap<String, UserType>;

/// How many types one type may come to when all fields are filled in: a type of two fields of a type of two fields and so
/// on doubles with each step. DDL refuses what comes to more; of what was stored the fields beyond stay away.
pub const TYPE_PARTS_MAX: usize = 10_000;

/// A user-defined type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserType {
    /// Its keyspace's name.
    pub keyspace: String,
    /// Its name.
    pub name: String,
    /// Its fields, in order. Their types are as they were declared, and name user-defined types.
    pub fields: Vec<Field>,
}

/// The type without what the keyspace says of it: user-defined types are only named.
pub(crate) fn named(ty: CqlType) -> CqlType {
    match ty {
        CqlType::Udt { name, frozen, .. } => CqlType::Udt { keyspace: String::new(), name, fields: Vec::new(), frozen },
        other => map_inner(other, &mut named),
    }
}

/// The type with the fields of all user-defined types in it.
pub(crate) fn filled(ty: CqlType, keyspace: &str, types: &UserTypes) -> CqlType {
    let mut parts_left = TYPE_PARTS_MAX;
    fill(ty, keyspace, types, 0, &mut parts_left)
}

/// The type as a statement on the keyspace means it, with the fields of all user-defined types in it.
pub fn meant(ty: CqlType, keyspace: &str, types: &UserTypes) -> Result<CqlType, SchemaError> {
    let mut unknown = None;
    let mut look = |ty: &CqlType| {
        if let CqlType::Udt { keyspace: given, name, .. } = ty
            && ((!given.is_empty() && given != keyspace) || !types.contains_key(name))
        {
            unknown.get_or_insert(format!("{}.{name}", if given.is_empty() { keyspace } else { given }));
        }
    };
    look(&ty);
    for_each_nested(&ty, &mut look);
    match unknown {
        Some(name) => Err(SchemaError::invalid(format!("Unknown type {name}"))),
        None => Ok(filled(ty, keyspace, types)),
    }
}

/// Looks at all types inside of the type, however deep.
fn for_each_nested(ty: &CqlType, look: &mut dyn FnMut(&CqlType)) {
    for_each_inner(ty, &mut |inner| {
        look(inner);
        for_each_nested(inner, look);
    });
}

/// Whether the type, filled in, is within [`TYPE_PARTS_MAX`] and not too deep.
pub(crate) fn fits(ty: &CqlType, keyspace: &str, types: &UserTypes) -> bool {
    let mut parts_left = TYPE_PARTS_MAX;
    let filled = fill(ty.clone(), keyspace, types, 0, &mut parts_left);
    parts_left > 0 && depth(&filled) < NESTING_DEPTH_MAX
}

fn depth(ty: &CqlType) -> usize {
    let mut inner = 0;
    for_each_inner(ty, &mut |ty| inner = inner.max(depth(ty)));
    inner + 1
}

fn fill(ty: CqlType, keyspace: &str, types: &UserTypes, depth: usize, parts_left: &mut usize) -> CqlType {
    *parts_left = parts_left.saturating_sub(1);
    if depth > NESTING_DEPTH_MAX || *parts_left == 0 {
        return named_alone(ty);
    }
    match ty {
        CqlType::Udt { name, frozen, .. } => {
            let declared = types.get(&name).map_or(&[][..], |known| &known.fields);
            let mut fields = Vec::with_capacity(declared.len());
            for field in declared {
                let ty = fill(field.ty.clone(), keyspace, types, depth + 1, parts_left);
                fields.push(Field { name: field.name.clone(), ty: if frozen { freeze(ty) } else { ty } });
            }
            CqlType::Udt { keyspace: keyspace.to_owned(), name, fields, frozen }
        }
        other => map_inner(other, &mut |ty| fill(ty, keyspace, types, depth + 1, parts_left)),
    }
}

/// A user-defined type without fields; other types as they are.
fn named_alone(ty: CqlType) -> CqlType {
    if matches!(ty, CqlType::Udt { .. }) { named(ty) } else { ty }
}

/// The type with all that can be frozen in it frozen, itself too. A vector's elements stay as they are, as in Cassandra.
pub(crate) fn freeze(ty: CqlType) -> CqlType {
    match ty {
        CqlType::Vector { .. } => ty,
        other => map_inner(other.into_frozen(), &mut freeze),
    }
}

/// The type that a dropped column is recorded with: user-defined types, filled in, are spelt out as tuples, so that they may be
/// dropped. One that is not frozen stays, as no tuple has several cells: DROP refuses it, but older logs have such columns.
pub(crate) fn recorded(ty: CqlType) -> CqlType {
    match ty {
        CqlType::Udt { frozen: false, .. } => map_inner(ty, &mut spelt_out),
        other => spelt_out(other),
    }
}

/// The type with tuples for user-defined types, and `blob` for those of which nothing is known any more.
pub(crate) fn spelt_out(ty: CqlType) -> CqlType {
    match ty {
        CqlType::Udt { fields, .. } if fields.is_empty() => CqlType::Blob,
        CqlType::Udt { fields, .. } => {
            CqlType::Tuple(fields.into_iter().map(|field| freeze(spelt_out(field.ty))).collect())
        }
        other => map_inner(other, &mut spelt_out),
    }
}

/// The type with `change` done to the types directly inside of it.
pub(crate) fn map_inner(ty: CqlType, change: &mut dyn FnMut(CqlType) -> CqlType) -> CqlType {
    match ty {
        CqlType::List { element, frozen } => CqlType::List { element: Box::new(change(*element)), frozen },
        CqlType::Set { element, frozen } => CqlType::Set { element: Box::new(change(*element)), frozen },
        CqlType::Map { key, value, frozen } => {
            CqlType::Map { key: Box::new(change(*key)), value: Box::new(change(*value)), frozen }
        }
        CqlType::Tuple(elements) => CqlType::Tuple(elements.into_iter().map(change).collect()),
        CqlType::Vector { element, dimension } => CqlType::Vector { element: Box::new(change(*element)), dimension },
        CqlType::Udt { keyspace, name, fields, frozen } => {
            let fields = fields.into_iter().map(|field| Field { name: field.name, ty: change(field.ty) }).collect();
            CqlType::Udt { keyspace, name, fields, frozen }
        }
        other => other,
    }
}

/// Calls `look` with each type directly inside.
pub(crate) fn for_each_inner<'t>(ty: &'t CqlType, look: &mut dyn FnMut(&'t CqlType)) {
    match ty {
        CqlType::List { element, .. } | CqlType::Set { element, .. } | CqlType::Vector { element, .. } => look(element),
        CqlType::Map { key, value, .. } => {
            look(key);
            look(value);
        }
        CqlType::Tuple(elements) => elements.iter().for_each(look),
        CqlType::Udt { fields, .. } => fields.iter().for_each(|field| look(&field.ty)),
        _ => {}
    }
}

/// Whether the user-defined type `name` stands anywhere in `ty`.
pub(crate) fn refers_to(ty: &CqlType, name: &str) -> bool {
    let mut found = matches!(ty, CqlType::Udt { name: other, .. } if other == name);
    for_each_inner(ty, &mut |inner| found = found || refers_to(inner, name));
    found
}

/// A keyspace's types such that each stands behind those that it refers to.
pub fn in_order_of_use(types: &UserTypes) -> Vec<&UserType> {
    let mut ordered: Vec<&UserType> = Vec::with_capacity(types.len());
    let mut waiting: Vec<&UserType> = types.values().collect();
    while !waiting.is_empty() {
        let (later, now): (Vec<_>, Vec<_>) = waiting.iter().partition(|ty| {
            let refers = |other: &UserType| ty.fields.iter().any(|field| refers_to(&field.ty, &other.name));
            waiting.iter().any(|other| other.name != ty.name && refers(other))
        });
        // Stored types that refer to each other in a circle stand as they come.
        let is_circle = now.is_empty();
        ordered.extend(if is_circle { &later } else { &now });
        waiting = if is_circle { Vec::new() } else { later };
    }
    ordered
}
