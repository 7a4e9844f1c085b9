//! ALLOW FILTERING: conditions that are looked at row by row.

use std::cmp::Ordering;

use cql_protocol::Value;
use cql_types::CqlType;

use crate::error::{QueryError, invalid};
use crate::plan::{Binds, Comparison, Filter, InList, Select, Selected};

/// Whether a row, whose values `value` gives, meets all conditions. A null meets none.
pub(crate) fn passes<'a>(
    select: &Select,
    binds: &Binds<'_>,
    mut value: impl FnMut(&Selected) -> Option<&'a [u8]>,
) -> Result<bool, QueryError> {
    for filter in &select.filters {
        let meets = match value(&filter.column) {
            Some(bytes) => meets(filter, bytes, binds)?,
            None => false,
        };
        if !meets {
            return Ok(false);
        }
    }
    Ok(true)
}

fn meets(filter: &Filter, bytes: &[u8], binds: &Binds<'_>) -> Result<bool, QueryError> {
    let ty = &filter.ty;
    match &filter.operands {
        InList::Operands(operands) => {
            for operand in operands {
                if compares(filter.comparison, ty, bytes, operand.key_value(&filter.name, binds)?) {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        InList::Marker(operand) => match operand.value(binds)? {
            Value::Bytes(list) => Ok(list_contains(list, ty, bytes)),
            Value::Null => Err(invalid("Invalid null value for IN restriction")),
            Value::Unset => Err(invalid(format!("Invalid unset value for column {}", filter.name))),
        },
    }
}

fn compares(comparison: Comparison, ty: &CqlType, a: &[u8], b: &[u8]) -> bool {
    let order = cql_types::compare(ty, a, b);
    match comparison {
        Comparison::EqualToAny => order == Ordering::Equal,
        Comparison::Less => order == Ordering::Less,
        Comparison::LessOrEqual => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        Comparison::GreaterOrEqual => order != Ordering::Less,
    }
}

/// Whether a bound list holds a value. The list was checked against its type.
fn list_contains(list: &[u8], ty: &CqlType, value: &[u8]) -> bool {
    let mut reader = stdx::Reader::new(list);
    let count = reader.i32().unwrap_or(0);
    let next = |_| {
        let length = usize::try_from(reader.i32().ok()?).ok()?;
        reader.bytes(length).ok()
    };
    (0..count).map_while(next).any(|element| cql_types::compare(ty, element, value) == Ordering::Equal)
}
