//! Relations on elements of collections: CONTAINS, CONTAINS KEY and `m[key] = value`.

use cql_syntax::{Operator, Term};
use cql_types::CqlType;
use schema::{Column, Table};

use super::StatementKind;
use crate::error::{QueryError, invalid};
use crate::plan::terms::{Markers, Receiver};
use crate::plan::{Comparison, Operand, shown};

/// CONTAINS and CONTAINS KEY.
pub(super) fn contains(
    column: &Column,
    table: &Table,
    operator: Operator,
    term: &Term,
    kind: StatementKind,
    markers: &mut Markers,
) -> Result<(Comparison, Operand), QueryError> {
    if kind != StatementKind::Select {
        return Err(invalid(format!("Cannot use {} with CONTAINS", kind.name())));
    }
    let name = &column.name;
    // A reversed column's type is no collection to Cassandra, whatever it is the reverse of.
    let (comparison, part, ty) = match (operator, &column.ty) {
        (Operator::Contains, _) if column.is_reversed() => {
            return Err(invalid(format!("Cannot use CONTAINS on non-collection column {name}")));
        }
        (Operator::ContainsKey, _) if column.is_reversed() => {
            return Err(invalid(format!("Cannot use CONTAINS KEY on non-map column {name}")));
        }
        (Operator::ContainsKey, CqlType::Map { key, .. }) => (Comparison::ContainsKey, "key", key),
        (Operator::ContainsKey, _) => {
            return Err(invalid(format!("Cannot use CONTAINS KEY on non-map column {name}")));
        }
        (_, CqlType::List { element, .. } | CqlType::Set { element, .. } | CqlType::Map { value: element, .. }) => {
            (Comparison::Contains, "value", element)
        }
        _ => return Err(invalid(format!("Cannot use CONTAINS on non-collection column {name}"))),
    };
    let receiver = Receiver::new(table, format!("{part}({name})"), (**ty).clone());
    Ok((comparison, markers.operand(term, &receiver)?))
}

/// The key and the value of `m[key] = value`.
pub(super) fn entry(
    column: &Column,
    table: &Table,
    key: &Term,
    operator: Operator,
    term: &Term,
    markers: &mut Markers,
) -> Result<Vec<Operand>, QueryError> {
    let name = &column.name;
    if operator == Operator::NotEqual {
        let (key, value) = (shown::term(key), shown::term(term));
        return Err(invalid(format!("Unsupported \"!=\" relation: {name}[{key}] != {value}")));
    }
    let (keys, values) = match &column.ty {
        CqlType::Map { key, value, frozen: false } => (key, value),
        // In Cassandra a reversed type is neither a list nor a map.
        _ if column.is_reversed() => return Err(invalid(format!("Column {name} cannot be used as a map"))),
        CqlType::Map { .. } => {
            return Err(invalid(format!(
                "Map-entry equality predicates on frozen map column {name} are not supported"
            )));
        }
        CqlType::List { .. } => {
            return Err(invalid(format!(
                "Indexes on list entries ({name}[index] = value) are not currently supported."
            )));
        }
        _ => return Err(invalid(format!("Column {name} cannot be used as a map"))),
    };
    if operator != Operator::Equal {
        return Err(invalid("Only EQ relations are supported on map entries"));
    }
    let key = markers.operand(key, &Receiver::new(table, format!("key({name})"), (**keys).clone()))?;
    let value = markers.operand(term, &Receiver::new(table, format!("value({name})"), (**values).clone()))?;
    Ok(vec![key, value])
}
