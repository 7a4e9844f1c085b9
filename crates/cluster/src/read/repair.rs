//! Blocking read repair: what a reader lacks of what a read came to is written to it before the client is answered, so that a
//! later read that asks another replica does not take back what this one gave.
//!
//! It is done for reads of one partition, row by row: where a range is deleted on one replica and rows in it live on
//! another, those rows are deleted there one by one. What does not fit one mutation goes in several: a row that is left out would
//! let the next read at a quorum take back what this one gave.

use mutation::{ClusteringRef, Deletion, MutationEncoder, RowBuilder, RowRef, merge_rows, shadow_row};
use planted::{Bug, Planted};
use schema::TableId;
use storage::reader::Comparison;
use topology::Token;

/// Bytes of repairs of one read that are written, as many as a page of results holds: memory is bounded. What is found beyond, which
/// takes deleted rows without end, is left for the next read.
const BYTES_MAX: usize = 16 << 20;
/// What a mutation of one row may have beside row, key and clustering.
const OVERHEAD: usize = 256;
/// What stands around one of many rows in a mutation: its lengths.
const ROW_OVERHEAD: usize = 32;

/// One row of what is to be written to a reader.
struct Row {
    /// `None`: the static row.
    clustering: Option<Vec<u8>>,
    row: Vec<u8>,
}

impl Row {
    fn bytes(&self) -> usize {
        self.row.len() + self.clustering.as_ref().map_or(0, Vec::len)
    }
}

#[derive(Default)]
struct Lacking {
    deletion: Option<Deletion>,
    rows: Vec<Row>,
}

/// What each reader of one partition lacks.
pub(super) struct Repairs {
    table: TableId,
    token: Token,
    key: Vec<u8>,
    lanes: Vec<Lacking>,
    bytes: usize,
    /// The longest mutation that is taken.
    mutation_bytes_max: usize,
    planted: Planted,
}

impl Repairs {
    /// Nothing is found yet; each of the lanes is one reader's.
    pub(super) fn new(
        table: TableId,
        token: Token,
        key: &[u8],
        lanes: usize,
        mutation_bytes_max: usize,
        planted: Planted,
    ) -> Self {
        let lanes = (0..lanes).map(|_| Lacking::default()).collect();
        Repairs { table, token, key: key.to_vec(), lanes, bytes: 0, mutation_bytes_max, planted }
    }

    /// True if one more row is written. A mutation that no log takes would fail this read and every later one.
    fn has_room(&self, row: usize) -> bool {
        row + self.key.len() + OVERHEAD <= self.mutation_bytes_max && self.bytes + row <= BYTES_MAX
    }

    /// The mutations for each lane that lacks something.
    pub(super) fn into_mutations(self) -> Vec<(usize, Vec<u8>)> {
        let mut mutations = Vec::new();
        for (lane, lacking) in self.lanes.iter().enumerate() {
            let mut deletion = lacking.deletion;
            let mut rows = lacking.rows.as_slice();
            while deletion.is_some() || !rows.is_empty() {
                let (some, rest) = rows.split_at(self.count_for_one(rows));
                mutations.push((lane, self.mutation(deletion.take(), some)));
                rows = rest;
            }
        }
        mutations
    }

    /// How many of the rows one mutation takes: at least one, and more up to half of what is allowed, for what stands around each.
    fn count_for_one(&self, rows: &[Row]) -> usize {
        let mut bytes = 0;
        let fitting = rows.iter().take_while(|row| {
            bytes += row.bytes() + ROW_OVERHEAD;
            bytes <= self.mutation_bytes_max / 2
        });
        fitting.count().max(rows.len().min(1))
    }

    fn mutation(&self, deletion: Option<Deletion>, rows: &[Row]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut encoder = MutationEncoder::begin(&mut out, self.table, self.token, &self.key);
        if let Some(deletion) = deletion {
            encoder.partition_deletion(deletion);
        }
        for Row { clustering, row } in rows {
            match clustering {
                Some(clustering) => encoder.row_blob(ClusteringRef::trusted(clustering), RowRef::trusted(row)),
                None => encoder.static_row_blob(RowRef::trusted(row)),
            }
        }
        encoder.finish();
        out
    }
}

impl Comparison for Repairs {
    fn deletion(&mut self, lane: usize, has: Option<Deletion>, holds: Option<Deletion>) {
        if has != holds {
            self.lanes[lane].deletion = holds;
        }
    }

    fn row(
        &mut self,
        lane: usize,
        clustering: Option<&[u8]>,
        (row, has): (&[u8], Option<Deletion>),
        (merged, holds): (&[u8], Option<Deletion>),
    ) {
        let (seen, right) = (shadowed(row, has), shadowed(merged, holds));
        if is_same(&seen, &right) {
            return;
        }
        let right = if self.planted.is(Bug::RepairWritesOwnRow) { trusted(&seen).bytes().to_vec() } else { right };
        let mut repaired = Vec::with_capacity(right.len() + 16);
        match holds.filter(|_| has != holds) {
            None => repaired = right,
            Some(deletion) => {
                // What hides the lane's row lies outside of the row: here it becomes the row's own.
                let mut only = Vec::new();
                let mut builder = RowBuilder::begin(&only);
                builder.deletion(deletion);
                builder.finish(&mut only);
                merge_rows(&trusted(&right), &RowRef::trusted(&only), &mut repaired);
            }
        }
        let row = Row { clustering: clustering.map(<[u8]>::to_vec), row: repaired };
        if self.has_room(row.bytes()) {
            self.bytes += row.bytes();
            self.lanes[lane].rows.push(row);
        }
    }
}

/// What is left of a row under a deletion; empty if nothing is.
fn shadowed(row: &[u8], deletion: Option<Deletion>) -> Vec<u8> {
    match deletion {
        Some(deletion) if !row.is_empty() => {
            let mut out = Vec::with_capacity(row.len());
            shadow_row(&RowRef::trusted(row), deletion, &mut out);
            out
        }
        _ => row.to_vec(),
    }
}

/// A row of bytes that may be none: then it is a row that says nothing.
fn trusted(row: &[u8]) -> RowRef<'_> {
    RowRef::trusted(if row.is_empty() { &[0] } else { row })
}

/// True if two rows say the same, however they are laid down.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    let (a, b) = (trusted(a), trusted(b));
    (a.liveness(), a.deletion()) == (b.liveness(), b.deletion()) && a.cells().eq(b.cells())
}

#[cfg(test)]
mod tests {
    use mutation::{CellRef, MutationRef};
    use schema::ColumnId;

    use super::*;

    fn row(bytes: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let mut builder = RowBuilder::begin(&out);
        let value = vec![7; bytes];
        let cell = CellRef {
            column: ColumnId(2),
            timestamp: 1,
            expiry: None,
            tombstone: None,
            path: &[],
            value: &value,
            is_counter: false,
        };
        builder.cell(&mut out, &cell);
        builder.finish(&mut out);
        out
    }

    /// The repairs of a lane that has none of the rows.
    fn repaired(lengths: &[usize], mutation_bytes_max: usize) -> Vec<Vec<u8>> {
        let mut repairs = Repairs::new(TableId([1; 16]), Token(1), b"key", 2, mutation_bytes_max, Planted::NONE);
        for (number, &length) in (0u32..).zip(lengths) {
            let clustering = [&[1, 4][..], &number.to_be_bytes()].concat();
            let row = row(length);
            repairs.row(0, Some(&clustering), (&row, None), (&row, None));
            repairs.row(1, Some(&clustering), (&[], None), (&row, None));
        }
        let mutations = repairs.into_mutations();
        assert!(mutations.iter().all(|(lane, _)| *lane == 1), "the other lane lacks nothing");
        mutations.into_iter().map(|(_, mutation)| mutation).collect()
    }

    fn rows_of(mutation: &[u8]) -> usize {
        MutationRef::decode(mutation).expect("it is a mutation").items().count()
    }

    #[test]
    fn a_repair_is_never_longer_than_a_mutation_may_be_and_leaves_out_nothing_that_fits() {
        const MIB: usize = 1 << 20;
        for (lengths, mutation_bytes_max, rows_each) in [
            (&[MIB, MIB, MIB][..], 16 * MIB, &[3][..]),
            (&[3 * MIB, 6 * MIB, 100][..], 16 * MIB, &[1, 2][..]),
            (&[15 * MIB, 100][..], 16 * MIB, &[1, 1][..]),
            // No log takes the first of these.
            (&[17 * MIB, 100][..], 16 * MIB, &[1][..]),
            (&[1000; 100][..], 64 << 10, &[31, 31, 31, 7][..]),
        ] {
            let mutations = repaired(lengths, mutation_bytes_max);
            assert!(mutations.iter().all(|mutation| mutation.len() <= mutation_bytes_max), "{}", lengths.len());
            let rows: Vec<usize> = mutations.iter().map(|mutation| rows_of(mutation)).collect();
            assert_eq!(rows, rows_each, "{} rows", lengths.len());
        }
    }
}
