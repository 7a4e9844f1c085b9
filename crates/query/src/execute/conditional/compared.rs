//! A condition on a column: its values, and the comparison with what a row holds.

use std::cmp::Ordering;

use cql_protocol::Value;
use cql_syntax::Operator;
use cql_types::{CqlType, compare, fields_of, parts_of_collection};
use stdx::Reader;

use super::CurrentRows;
use crate::error::{QueryError, invalid};
use crate::execute::filter::{check_count, contains};
use crate::plan::{Binds, ColumnCondition, Comparison, ConditionPart, InList, Operand};

/// A condition with one execution's values.
pub(super) struct BoundCondition<'a> {
    condition: &'a ColumnCondition,
    /// The index of a list's element, or the key of a map's.
    element: &'a [u8],
    /// One, but for IN. One that is not set is refused where it is compared with: it may never be.
    values: Vec<Value<'a>>,
}

impl<'a> BoundCondition<'a> {
    pub(super) fn new(condition: &'a ColumnCondition, binds: &Binds<'a>) -> Result<Self, QueryError> {
        let element = match &condition.part {
            ConditionPart::Whole | ConditionPart::Field(_) => &[][..],
            ConditionPart::Index(operand) => element(operand, "list", binds)?.ok_or_else(unset)?,
            // In Cassandra a key that is not set is an empty one.
            ConditionPart::Key(operand) => element(operand, "map", binds)?.unwrap_or_default(),
        };
        let values = match &condition.values {
            InList::Operands(operands) => of_operands(operands, condition.operator, binds)?,
            InList::Marker(operand) => of_list(operand, &condition.ty, binds)?,
        };
        Ok(BoundCondition { condition, element, values })
    }

    /// Of columns of several cells a value that is not set is refused whatever is compared before it.
    pub(super) fn check(&self) -> Result<(), QueryError> {
        let is_refused = self.condition.has_several_cells() && self.values.contains(&Value::Unset);
        if is_refused { Err(unset()) } else { Ok(()) }
    }

    /// Whether it holds for a row, or for one that is not there.
    pub(super) fn holds(&self, row: Option<&[u8]>, current: &CurrentRows<'_>) -> Result<bool, QueryError> {
        let condition = self.condition;
        let mut made = Vec::new();
        let whole = match row {
            Some(row) => current.value(row, &condition.column, &mut made),
            None => None,
        };
        let found = match &condition.part {
            // A collection of several cells without elements is none, also where it is compared with.
            ConditionPart::Whole if condition.has_several_cells() && condition.column_ty.is_collection() => {
                return self.holds_for_collection(whole);
            }
            ConditionPart::Whole => whole,
            ConditionPart::Index(_) => {
                let index = self.index()?;
                whole.and_then(|list| parts_of_collection(&condition.column_ty, list).nth(index))
            }
            ConditionPart::Key(operand) => whole.and_then(|map| {
                let mut parts = parts_of_collection(&condition.column_ty, map);
                while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
                    if compare(&operand.ty, key, self.element) == Ordering::Equal {
                        return Some(value);
                    }
                }
                None
            }),
            ConditionPart::Field(index) => whole.and_then(|value| fields_of(value).nth(usize::from(*index)).flatten()),
        };
        self.any(|wanted| self.compares(found, wanted))
    }

    fn holds_for_collection(&self, found: Option<&[u8]>) -> Result<bool, QueryError> {
        const EMPTY: &[u8] = &[0; 4];
        self.any(|wanted| match (self.condition.operator, wanted) {
            (Operator::Contains | Operator::ContainsKey, _) => self.compares(found, wanted),
            (operator, Value::Bytes(EMPTY)) if is_slice(operator) => {
                let kind = collection_kind(&self.condition.column_ty);
                Err(invalid(format!("Invalid comparison with an empty {kind} for operator \"{operator}\"")))
            }
            (_, Value::Bytes(EMPTY)) => self.compares(found, Value::Null),
            _ => self.compares(found, wanted),
        })
    }

    fn any(&self, holds: impl Fn(Value<'_>) -> Result<bool, QueryError>) -> Result<bool, QueryError> {
        for wanted in &self.values {
            if holds(*wanted)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn index(&self) -> Result<usize, QueryError> {
        let index = self.element.first_chunk().map_or(0, |bytes| i32::from_be_bytes(*bytes));
        usize::try_from(index).map_err(|_| invalid(format!("Invalid negative list index {index}")))
    }

    /// Whether what is there compares with a value as the operator says. Null is only equal, or not equal.
    fn compares(&self, found: Option<&[u8]>, wanted: Value<'_>) -> Result<bool, QueryError> {
        let operator = match self.condition.operator {
            Operator::In => Operator::Equal,
            operator => operator,
        };
        let wanted = match (wanted, operator) {
            (Value::Bytes(wanted), _) => wanted,
            (Value::Null, Operator::Equal) => return Ok(found.is_none()),
            (Value::Null, Operator::NotEqual) => return Ok(found.is_some()),
            (Value::Null, operator) => {
                return Err(invalid(format!("Invalid comparison with null for operator \"{operator}\"")));
            }
            (Value::Unset, _) => return Err(unset()),
        };
        let Some(found) = found else { return Ok(operator == Operator::NotEqual) };
        let ty = &self.condition.ty;
        Ok(match operator {
            Operator::Equal => compare(ty, found, wanted) == Ordering::Equal,
            Operator::NotEqual => compare(ty, found, wanted) != Ordering::Equal,
            Operator::Less => compare(ty, found, wanted) == Ordering::Less,
            Operator::LessOrEqual => compare(ty, found, wanted) != Ordering::Greater,
            Operator::Greater => compare(ty, found, wanted) == Ordering::Greater,
            Operator::GreaterOrEqual => compare(ty, found, wanted) != Ordering::Less,
            Operator::Contains => contains(Comparison::Contains, ty, found, wanted),
            Operator::ContainsKey => contains(Comparison::ContainsKey, ty, found, wanted),
            Operator::In | Operator::Like | Operator::IsNot => panic!("no condition has such an operator"),
        })
    }
}

/// Whether the operator asks for an order.
fn is_slice(operator: Operator) -> bool {
    matches!(operator, Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual)
}

/// What a collection is called.
fn collection_kind(ty: &CqlType) -> &'static str {
    match ty {
        CqlType::List { .. } => "list",
        CqlType::Set { .. } => "set",
        CqlType::Map { .. } => "map",
        other => panic!("{other} is no collection"),
    }
}

fn unset() -> QueryError {
    invalid("Invalid 'unset' value in condition")
}

/// An index or a key; `None` if it is not set.
fn element<'a>(operand: &'a Operand, what: &str, binds: &Binds<'a>) -> Result<Option<&'a [u8]>, QueryError> {
    match operand.value(binds)? {
        Value::Bytes(bytes) => Ok(Some(bytes)),
        Value::Null => Err(invalid(format!("Invalid null value for {what} element access"))),
        Value::Unset => Ok(None),
    }
}

fn of_operands<'a>(
    operands: &'a [Operand],
    operator: Operator,
    binds: &Binds<'a>,
) -> Result<Vec<Value<'a>>, QueryError> {
    let mut values = Vec::with_capacity(operands.len());
    for operand in operands {
        match operand.value(binds)? {
            // What is not set is not in the list.
            Value::Unset if operator == Operator::In => {}
            value => values.push(value),
        }
    }
    Ok(values)
}

/// The elements of a list that is bound to `IN ?`; null may be among them.
fn of_list<'a>(operand: &'a Operand, ty: &CqlType, binds: &Binds<'a>) -> Result<Vec<Value<'a>>, QueryError> {
    let bytes = match operand.given(binds)? {
        Value::Bytes(bytes) => bytes,
        Value::Null => return Err(invalid("Invalid null list in IN condition")),
        Value::Unset => return Err(unset()),
    };
    let malformed = |_: stdx::ReadError| invalid("Not enough bytes to read a list");
    let mut reader = Reader::new(bytes);
    let count = usize::try_from(reader.i32().map_err(malformed)?).unwrap_or(0);
    check_count(count)?;
    let mut values = Vec::new();
    for _ in 0..count {
        let length = reader.i32().map_err(malformed)?;
        let Ok(length) = usize::try_from(length) else {
            values.push(Value::Null);
            continue;
        };
        let value = reader.bytes(length).map_err(malformed)?;
        cql_types::validate(ty, value).map_err(|error| invalid(error.to_string()))?;
        values.push(Value::Bytes(value));
    }
    match reader.is_empty() {
        true => Ok(values),
        false => Err(invalid("Unexpected extraneous bytes after list value")),
    }
}
