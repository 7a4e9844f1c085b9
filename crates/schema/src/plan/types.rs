//! What a type may be in a column.

use cql_types::CqlType;

use crate::error::SchemaError;

/// The type as a column has it: what is inside a frozen type or a tuple is frozen too. What no table can have is
/// refused.
pub(super) fn of_column(keyspace: &str, ty: CqlType) -> Result<CqlType, SchemaError> {
    let ty = match &ty {
        CqlType::Custom(class) => by_class(class).unwrap_or(ty),
        _ => ty,
    };
    check(keyspace, &ty)?;
    Ok(match ty.is_multi_cell() {
        // The outermost collection stays as it is; its elements are frozen or native, as just checked.
        true => map_inner(ty, freeze),
        false => freeze(ty),
    })
}

/// Refuses what Cassandra refuses in any place of a type.
fn check(keyspace: &str, ty: &CqlType) -> Result<(), SchemaError> {
    match ty {
        CqlType::List { element, .. } => {
            check_inner(keyspace, ty, element)?;
        }
        CqlType::Set { element, .. } => {
            check_inner(keyspace, ty, element)?;
            if **element == CqlType::Duration {
                return Err(SchemaError::invalid(format!("Durations are not allowed inside sets: {ty}")));
            }
        }
        CqlType::Map { key, value, .. } => {
            check_inner(keyspace, ty, key)?;
            check_inner(keyspace, ty, value)?;
            if **key == CqlType::Duration {
                return Err(SchemaError::invalid(format!("Durations are not allowed as map keys: {ty}")));
            }
        }
        CqlType::Tuple(elements) => {
            for element in elements {
                if *element == CqlType::Counter {
                    return Err(SchemaError::invalid("Counters are not allowed inside tuples"));
                }
                check(keyspace, element)?;
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
            check(keyspace, element)?;
        }
        CqlType::Udt { keyspace: given, name, .. } => {
            if !given.is_empty() && given != keyspace {
                return Err(SchemaError::invalid(format!(
                    "Statement on keyspace {keyspace} cannot refer to a user type in keyspace {given}; \
                     user types can only be used in the keyspace they are defined in"
                )));
            }
            return Err(SchemaError::invalid(format!("Unknown type {keyspace}.{name}")));
        }
        CqlType::Custom(class) => {
            return Err(SchemaError::syntax(format!(
                "Error setting type {class}: Unable to find abstract-type class '{class}'"
            )));
        }
        _ => {}
    }
    Ok(())
}

/// Checks a collection's element.
fn check_inner(keyspace: &str, outer: &CqlType, inner: &CqlType) -> Result<(), SchemaError> {
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
    check(keyspace, inner)
}

/// The type with all that can be frozen in it frozen, itself too.
fn freeze(ty: CqlType) -> CqlType {
    map_inner(ty.into_frozen(), freeze)
}

/// The type with `change` done to the types directly inside of it.
fn map_inner(ty: CqlType, change: fn(CqlType) -> CqlType) -> CqlType {
    match ty {
        CqlType::List { element, frozen } => CqlType::List { element: Box::new(change(*element)), frozen },
        CqlType::Set { element, frozen } => CqlType::Set { element: Box::new(change(*element)), frozen },
        CqlType::Map { key, value, frozen } => {
            CqlType::Map { key: Box::new(change(*key)), value: Box::new(change(*value)), frozen }
        }
        CqlType::Tuple(elements) => CqlType::Tuple(elements.into_iter().map(change).collect()),
        other => other,
    }
}

/// Whether the type is a duration or holds one: it has no order, so that no key can have it.
pub(super) fn refers_to_duration(ty: &CqlType) -> bool {
    match ty {
        CqlType::Duration => true,
        CqlType::List { element, .. } | CqlType::Set { element, .. } | CqlType::Vector { element, .. } => {
            refers_to_duration(element)
        }
        CqlType::Map { key, value, .. } => refers_to_duration(key) || refers_to_duration(value),
        CqlType::Tuple(elements) => elements.iter().any(refers_to_duration),
        _ => false,
    }
}

/// The native type that a class of Cassandra's implements, by its short or full name.
fn by_class(class: &str) -> Option<CqlType> {
    Some(match class.strip_prefix("org.apache.cassandra.db.marshal.").unwrap_or(class) {
        "AsciiType" => CqlType::Ascii,
        "BooleanType" => CqlType::Boolean,
        "ByteType" => CqlType::Tinyint,
        "BytesType" => CqlType::Blob,
        "CounterColumnType" => CqlType::Counter,
        "DecimalType" => CqlType::Decimal,
        "DoubleType" => CqlType::Double,
        "DurationType" => CqlType::Duration,
        "FloatType" => CqlType::Float,
        "InetAddressType" => CqlType::Inet,
        "Int32Type" => CqlType::Int,
        "IntegerType" => CqlType::Varint,
        "LongType" => CqlType::Bigint,
        "ShortType" => CqlType::Smallint,
        "SimpleDateType" => CqlType::Date,
        "TimeType" => CqlType::Time,
        "TimeUUIDType" => CqlType::Timeuuid,
        "TimestampType" => CqlType::Timestamp,
        "UTF8Type" => CqlType::Text,
        "UUIDType" => CqlType::Uuid,
        _ => return None,
    })
}
