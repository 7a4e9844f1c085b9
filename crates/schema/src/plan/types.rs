//! What a type may be in a column.

use cql_types::{CqlType, class_name};

use crate::error::SchemaError;
use crate::keyspace::Keyspace;
use crate::user_type::{TYPE_PARTS_MAX, UserTypes, filled, fits, freeze, map_inner};

/// The type as a column has it: what is inside a frozen type or a tuple is frozen too, and the fields of user-defined types are
/// filled in. What no table can have is refused. A column that is added is named then, one of a new table is not, as in Cassandra.
pub(super) fn of_column(
    keyspace: &str,
    types: &UserTypes,
    added: Option<&str>,
    ty: CqlType,
) -> Result<CqlType, SchemaError> {
    let ty = checked(keyspace, types, ty)?;
    let ty = filled(if ty.is_multi_cell() { map_inner(ty, &mut freeze) } else { freeze(ty) }, keyspace, types);
    if let CqlType::Udt { fields, frozen: false, .. } = &ty
        && fields.iter().any(|field| field.ty.is_multi_cell())
    {
        let named = added.map_or_else(String::new, |name| format!(" for column {name}"));
        return Err(SchemaError::invalid(format!(
            "Non-frozen UDTs with nested non-frozen collections are not supported{named}"
        )));
    }
    Ok(ty)
}

/// The type as a field of a user-defined type has it, with the fields of those in it. It is frozen only where it says so: the column
/// decides.
pub(super) fn of_field(keyspace: &Keyspace, name: &str, ty: CqlType) -> Result<CqlType, SchemaError> {
    let ty = checked(name, &keyspace.types, ty)?;
    let ty = if ty.is_multi_cell() { map_inner(ty, &mut freeze) } else { freeze(ty) };
    Ok(filled(ty, name, &keyspace.types))
}

/// The type as an argument of a function has it. It is frozen anyway, and says so nowhere.
pub(super) fn of_argument(keyspace: &str, types: &UserTypes, ty: &CqlType) -> Result<CqlType, SchemaError> {
    if ty.is_frozen() {
        return Err(SchemaError::invalid(format!(
            "Argument '{ty}' cannot be frozen; remove frozen<> modifier from '{ty}'"
        )));
    }
    checked(keyspace, types, ty.clone())
}

fn checked(keyspace: &str, types: &UserTypes, ty: CqlType) -> Result<CqlType, SchemaError> {
    let ty = known(ty);
    check(keyspace, types, &ty)?;
    if !fits(&ty, keyspace, types) {
        return Err(too_large(&ty));
    }
    Ok(ty)
}

/// Refuses `types`, a keyspace's with a new or altered one among them, if any of them, or a column of one of its tables, would come
/// to too much.
pub(super) fn check_sizes(keyspace: &Keyspace, types: &UserTypes) -> Result<(), SchemaError> {
    let fields = types.values().flat_map(|ty| &ty.fields).map(|field| &field.ty);
    let columns = keyspace.tables.values().flat_map(|table| table.columns()).map(|column| &column.ty);
    match fields.chain(columns).find(|ty| !fits(ty, keyspace.name(), types)) {
        Some(ty) => Err(too_large(ty)),
        None => Ok(()),
    }
}

fn too_large(ty: &CqlType) -> SchemaError {
    SchemaError::invalid(format!("The type {ty} comes to more than {TYPE_PARTS_MAX} types, or nests too deep"))
}

/// Refuses what Cassandra refuses in any place of a type.
fn check(keyspace: &str, types: &UserTypes, ty: &CqlType) -> Result<(), SchemaError> {
    match ty {
        CqlType::List { element, .. } => {
            check_inner(keyspace, types, ty, element)?;
        }
        CqlType::Set { element, .. } => {
            check_inner(keyspace, types, ty, element)?;
            if **element == CqlType::Duration {
                return Err(SchemaError::invalid(format!("Durations are not allowed inside sets: {ty}")));
            }
        }
        CqlType::Map { key, value, .. } => {
            check_inner(keyspace, types, ty, key)?;
            check_inner(keyspace, types, ty, value)?;
            if **key == CqlType::Duration {
                return Err(SchemaError::invalid(format!("Durations are not allowed as map keys: {ty}")));
            }
        }
        CqlType::Tuple(elements) => {
            for element in elements {
                if *element == CqlType::Counter {
                    return Err(SchemaError::invalid("Counters are not allowed inside tuples"));
                }
                check(keyspace, types, element)?;
            }
        }
        CqlType::Vector { element, dimension } => {
            if *dimension == 0 {
                return Err(SchemaError::invalid(format!(
                    "vectors may only have positive dimensions; given {dimension}"
                )));
            }
            if **element == CqlType::Counter {
                return Err(SchemaError::invalid(format!("Counters are not allowed inside vectors: {ty}")));
            }
            check(keyspace, types, element)?;
        }
        CqlType::Udt { keyspace: given, name, .. } => {
            if !given.is_empty() && given != keyspace {
                return Err(SchemaError::invalid(format!(
                    "Statement on keyspace {keyspace} cannot refer to a user type in keyspace {given}; \
                     user types can only be used in the keyspace they are defined in"
                )));
            }
            if !types.contains_key(name) {
                return Err(SchemaError::invalid(format!("Unknown type {keyspace}.{name}")));
            }
        }
        CqlType::Custom(class) => {
            // A name without a package is one of Cassandra's own.
            let package = if class.contains('.') { "" } else { "org.apache.cassandra.db.marshal." };
            return Err(SchemaError::syntax(format!(
                "Error setting type {class}: Unable to find abstract-type class '{package}{class}'"
            )));
        }
        _ => {}
    }
    Ok(())
}

/// The type as messages name it: user-defined types with their keyspace, and without quotes.
pub fn qualified(ty: &CqlType, keyspace: &str) -> String {
    let of = |ty: &CqlType| qualified(ty, keyspace);
    let (name, is_frozen) = match ty {
        CqlType::List { element, frozen } => (format!("list<{}>", of(element)), *frozen),
        CqlType::Set { element, frozen } => (format!("set<{}>", of(element)), *frozen),
        CqlType::Map { key, value, frozen } => (format!("map<{}, {}>", of(key), of(value)), *frozen),
        CqlType::Tuple(elements) => {
            let elements: Vec<String> = elements.iter().map(of).collect();
            (format!("tuple<{}>", elements.join(", ")), false)
        }
        CqlType::Vector { element, dimension } => (format!("vector<{}, {dimension}>", of(element)), false),
        CqlType::Udt { name, frozen, .. } => (format!("{keyspace}.{name}"), *frozen),
        other => (other.to_string(), false),
    };
    if is_frozen { format!("frozen<{name}>") } else { name }
}

/// Checks a collection's element.
fn check_inner(keyspace: &str, types: &UserTypes, outer: &CqlType, inner: &CqlType) -> Result<(), SchemaError> {
    let outer_is_frozen = !outer.is_multi_cell();
    match inner {
        CqlType::Counter => {
            return Err(SchemaError::invalid(format!("Counters are not allowed inside collections: {outer}")));
        }
        CqlType::Udt { .. } if inner.is_multi_cell() && !outer_is_frozen => {
            return Err(SchemaError::invalid(format!("Non-frozen UDTs are not allowed inside collections: {outer}")));
        }
        _ if inner.is_multi_cell() && !outer_is_frozen => {
            return Err(SchemaError::invalid(format!(
                "Non-frozen collections are not allowed inside collections: {outer}"
            )));
        }
        _ => {}
    }
    match outer_is_frozen {
        // All that is in it is frozen too.
        true => check(keyspace, types, &inner.clone().into_frozen()),
        false => check(keyspace, types, inner),
    }
}

/// The type with all classes in it that were kept as they were written.
fn known(ty: CqlType) -> CqlType {
    match ty {
        CqlType::Custom(class) => match class_name::of_statement(&class) {
            Ok((ty, _)) => ty,
            Err(_) => CqlType::Custom(class),
        },
        other => map_inner(other, &mut known),
    }
}

/// True if a column's type says by its class that the greatest value comes first.
pub(super) fn is_reversed(ty: &CqlType) -> bool {
    matches!(ty, CqlType::Custom(class) if matches!(class_name::of_statement(class), Ok((_, true))))
}
