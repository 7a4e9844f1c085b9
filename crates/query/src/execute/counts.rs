//! The cells of a statement about counters: what is to be added, and tombstones. See `docs/internals/counters.md`.

use cql_protocol::Value;
use mutation::RowEncoder;

use super::modify::WriteTime;
use crate::error::{QueryError, invalid};
use crate::plan::{Assignment, Binds, Change};

/// Writes a row's assignments, which are in the order of their columns. What is added to one column several times is added up. `times`: a
/// static column is added to once for each row that the statement names, as in Cassandra.
pub(super) fn encode(
    assignments: &[Assignment],
    times: usize,
    binds: &Binds<'_>,
    time: WriteTime,
    row: &mut RowEncoder<'_, '_>,
) -> Result<(), QueryError> {
    for of_column in assignments.chunk_by(|a, b| a.column == b.column) {
        let mut sum: Option<i64> = None;
        for assignment in of_column {
            let Change::Count { is_negated } = assignment.change else {
                row.tombstone(assignment.column, time.timestamp, time.seconds);
                continue;
            };
            if let Some(delta) = delta(assignment, is_negated, binds)? {
                sum = Some(sum.unwrap_or_default().wrapping_add(delta));
            }
        }
        if let (Some(sum), [first, ..]) = (sum, of_column) {
            let sum = sum.wrapping_mul(i64::try_from(times).unwrap_or(i64::MAX));
            row.cell(first.column, time.timestamp, None, &sum.to_be_bytes());
        }
    }
    Ok(())
}

/// What one assignment adds; `None`: its value was left unset.
fn delta(assignment: &Assignment, is_negated: bool, binds: &Binds<'_>) -> Result<Option<i64>, QueryError> {
    let bytes = match assignment.operand.value(binds)? {
        Value::Unset => return Ok(None),
        Value::Null => return Err(invalid("Invalid null value for counter increment")),
        Value::Bytes(bytes) => bytes,
    };
    let Ok(bytes) = bytes.try_into() else { return Err(invalid("Invalid empty value for counter increment")) };
    let delta = i64::from_be_bytes(bytes);
    match is_negated {
        false => Ok(Some(delta)),
        true => delta.checked_neg().map(Some).ok_or_else(|| {
            invalid(format!("The negation of {delta} overflows supported counter precision (signed 8 bytes integer)"))
        }),
    }
}
