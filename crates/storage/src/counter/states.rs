//! Mutations with states, made of those with deltas.

use mutation::counter::COUNT_LENGTH;
use mutation::{CellRef, ClusteringBound, CounterId, Item, MutationEncoder, RangeTombstoneRef, RowEncoder, RowRef};

use super::Piece;
use super::current::{Current, Row};
use crate::error::ApplyError;

/// Appends the mutation that says what the piece's counters come to. `now`: microseconds, for clocks.
pub(super) fn write_state(
    piece: &Piece<'_>,
    id: CounterId,
    current: &mut Current,
    now: i64,
    out: &mut Vec<u8>,
) -> Result<(), ApplyError> {
    let of = &piece.mutation;
    let mut mutation = MutationEncoder::begin(out, of.table(), of.token(), of.key());
    if let Some(deletion) = of.partition_deletion().filter(|_| piece.is_first) {
        mutation.partition_deletion(deletion);
    }
    for item in &piece.items {
        match item {
            Item::StaticRow(row) => {
                let place = current.static_row(of);
                write_row(row, id, current, place, now, &mut mutation.static_row())?;
            }
            Item::Row(clustering, row) => {
                let place = current.row(of, *clustering);
                write_row(row, id, current, place, now, &mut mutation.row(clustering.components()))?;
            }
            Item::RangeTombstone(range) => write_range(range, &mut mutation),
        }
    }
    mutation.finish();
    Ok(())
}

fn write_range(range: &RangeTombstoneRef<'_>, mutation: &mut MutationEncoder<'_>) {
    let start: Vec<&[u8]> = range.start.prefix.components().collect();
    let end: Vec<&[u8]> = range.end.prefix.components().collect();
    mutation.range_tombstone(
        ClusteringBound { prefix: &start, inclusive: range.start.inclusive },
        ClusteringBound { prefix: &end, inclusive: range.end.inclusive },
        range.deletion,
    );
}

fn write_row(
    row: &RowRef<'_>,
    id: CounterId,
    current: &mut Current,
    place: Row,
    now: i64,
    out: &mut RowEncoder<'_, '_>,
) -> Result<(), ApplyError> {
    if row.liveness().is_some() {
        return Err(ApplyError::Mismatch("a row of counters is not inserted"));
    }
    if let Some(deletion) = row.deletion() {
        out.deletion(deletion);
    }
    for cell in row.cells() {
        match cell.tombstone {
            Some(local_deletion_time) => {
                out.tombstone(cell.column, cell.timestamp, local_deletion_time);
            }
            None => {
                let part = current.count(&place, (cell.column, id), delta(&cell)?, now);
                out.counter(cell.column, cell.timestamp, id, part.clock, part.count);
            }
        }
    }
    Ok(())
}

/// What is to be added.
fn delta(cell: &CellRef<'_>) -> Result<i64, ApplyError> {
    let is_delta = !cell.is_counter && cell.path.is_empty() && cell.expiry.is_none();
    let bytes: Option<[u8; COUNT_LENGTH]> = cell.value.try_into().ok().filter(|_| is_delta);
    bytes.map(i64::from_be_bytes).ok_or(ApplyError::Mismatch("a counter is changed by what is no number"))
}
