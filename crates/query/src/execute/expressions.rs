//! Values that are worked out for a row, or for a group of rows.

use cql_protocol::Value;

use super::bind::Surroundings;
use super::parts::BoundParts;
use crate::clock::TimestampClock;
use crate::error::{QueryError, invalid};
use crate::plan::{Binds, Expression, Selected};

/// Calls of so many arguments take no memory but their values'.
const FEW: usize = 4;

/// Where the values that expressions begin with come from.
pub(crate) trait Leaves {
    /// Appends what a row has; false: it is null.
    fn selected(&mut self, selected: &Selected, out: &mut Vec<u8>) -> bool;

    /// The value of a column, if it lies in the row as it is shown; it may be null.
    fn lying(&mut self, selected: &Selected) -> Option<Option<&[u8]>> {
        let _ = selected;
        None
    }

    /// Appends what was kept of a group's first row.
    fn first(&mut self, index: u16, out: &mut Vec<u8>) -> bool {
        let _ = (index, out);
        panic!("a row has no group's values")
    }

    /// Appends an aggregate's value.
    fn aggregate(&mut self, index: u16, out: &mut Vec<u8>) -> Result<bool, QueryError> {
        let _ = (index, out);
        panic!("a row has no group's values")
    }
}

/// What constants take from rows: nothing.
pub(crate) struct NoRow;

impl Leaves for NoRow {
    fn selected(&mut self, _: &Selected, _: &mut Vec<u8>) -> bool {
        panic!("a constant has no row's values")
    }
}

/// Buffers for arguments, used again from row to row.
#[derive(Debug, Default)]
pub(crate) struct Spare(Vec<Vec<u8>>);

/// What evaluating takes beside a row.
pub(crate) struct Evaluator<'v, 'e> {
    pub(crate) binds: &'v Binds<'e>,
    pub(crate) clock: &'v TimestampClock,
    /// The parts that the statement takes, bound; there if it takes any.
    pub(crate) parts: Option<&'v BoundParts<'e>>,
    pub(crate) spare: &'v mut Spare,
}

impl Evaluator<'_, '_> {
    /// Appends an expression's value; false: it is null, and nothing was appended.
    pub(crate) fn evaluate(
        &mut self,
        expression: &Expression,
        leaves: &mut dyn Leaves,
        out: &mut Vec<u8>,
    ) -> Result<bool, QueryError> {
        match expression {
            Expression::Selected(selected) => Ok(leaves.selected(selected, out)),
            Expression::First(index) => Ok(leaves.first(*index, out)),
            Expression::Aggregate(index) => leaves.aggregate(*index, out),
            Expression::Operand(operand) => Ok(append(operand.value(self.binds)?, out)),
            Expression::Call { call, arguments } => {
                for argument in arguments {
                    if let Expression::Operand(operand) = argument
                        && matches!(operand.given(self.binds)?, Value::Unset)
                    {
                        return Err(call.unset().into());
                    }
                }
                let clock = self.clock;
                self.with_values(arguments, leaves, |values| {
                    Ok(call.evaluate(values, &mut Surroundings(clock), out)?)
                })
            }
            Expression::Part { of, index } => {
                let mut value = self.take();
                let is_there = self.evaluate(of, leaves, &mut value)?;
                let part = match (is_there, self.parts) {
                    (true, Some(parts)) => parts.value(*index, &value),
                    _ => None,
                };
                let has_part = part.is_some();
                part.iter().for_each(|part| out.extend_from_slice(part));
                drop(part);
                self.put_back(value);
                Ok(has_part)
            }
            Expression::Composed { ty, parts } => self.with_values(parts, leaves, |values| {
                let value = cql_types::compose(ty, values).map_err(|error| invalid(error.to_string()))?;
                out.extend_from_slice(&value);
                Ok(true)
            }),
        }
    }

    /// Calls `run` with the values of some expressions.
    pub(crate) fn with_values<R>(
        &mut self,
        expressions: &[Expression],
        leaves: &mut dyn Leaves,
        run: impl FnOnce(&[Option<&[u8]>]) -> Result<R, QueryError>,
    ) -> Result<R, QueryError> {
        let mut bytes = self.take();
        let (mut few, mut many) = ([(0, false); FEW], Vec::new());
        let ends: &mut [(usize, bool)] = match expressions.len() {
            count if count <= FEW => &mut few[..count],
            count => {
                many.resize(count, (0, false));
                &mut many
            }
        };
        for (end, expression) in ends.iter_mut().zip(expressions) {
            let is_there = self.evaluate(expression, leaves, &mut bytes)?;
            *end = (bytes.len(), is_there);
        }
        let mut start = 0;
        let mut next = |&mut (end, is_there): &mut (usize, bool)| {
            let value = is_there.then_some(&bytes[start..end]);
            start = end;
            value
        };
        let result = match expressions.len() {
            count if count <= FEW => {
                let mut values = [None; FEW];
                for (value, end) in values.iter_mut().zip(ends) {
                    *value = next(end);
                }
                run(&values[..count])
            }
            _ => run(&ends.iter_mut().map(next).collect::<Vec<_>>()),
        };
        self.put_back(bytes);
        result
    }

    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.spare.0.pop().unwrap_or_default()
    }

    pub(crate) fn put_back(&mut self, mut buffer: Vec<u8>) {
        /// A longer one is let go.
        const KEPT_MAX: usize = 64 << 10;
        if buffer.capacity() <= KEPT_MAX {
            buffer.clear();
            self.spare.0.push(buffer);
        }
    }
}

/// Appends a value as JSON. An empty one is an empty string, whatever its type, but for a blob.
pub(crate) fn write_json(ty: &cql_types::CqlType, value: &[u8], out: &mut Vec<u8>) {
    match value.is_empty() && *ty != cql_types::CqlType::Blob {
        true => out.extend_from_slice(b"\"\""),
        false => cql_types::json::to_json(ty, value, out),
    }
}

/// Appends an operand's value; false: it is null. One that is not set is shown as an empty value, as Cassandra does.
fn append(value: Value<'_>, out: &mut Vec<u8>) -> bool {
    match value {
        Value::Bytes(bytes) => {
            out.extend_from_slice(bytes);
            true
        }
        Value::Unset => true,
        Value::Null => false,
    }
}
