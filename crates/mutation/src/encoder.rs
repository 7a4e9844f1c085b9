//! Writes a mutation into a buffer, once; the bytes then go everywhere as they are.

use schema::{ColumnId, TableId};
use stdx::varint;
use topology::Token;

use crate::clustering::{self, ClusteringBound, ClusteringRef};
use crate::counter::{self, CounterId, CounterPart, PartKind};
use crate::life::{Deletion, Expiry, Liveness};
use crate::row::{CellRef, RowBuilder, RowRef};
use crate::{VERSION, VERSION_WITH_ELEMENTS};

/// Flags in a mutation's second byte.
pub(crate) mod mutation_flag {
    /// The whole partition is deleted, and the deletion follows the key.
    pub const PARTITION_DELETION: u8 = 0x01;
    /// What this version knows.
    pub const ALL: u8 = PARTITION_DELETION;
}

/// The first byte of each of a mutation's items.
pub(crate) mod item_kind {
    pub const STATIC_ROW: u8 = 1;
    pub const ROW: u8 = 2;
    pub const RANGE_TOMBSTONE: u8 = 3;
}

const FLAGS_AT: usize = 1;

/// Appends one mutation to a buffer: begin, partition deletion if any, rows and range tombstones in any order, finish.
#[derive(Debug)]
#[must_use = "a mutation is complete when `finish` is called"]
pub struct MutationEncoder<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    has_items: bool,
    open: Option<OpenRow>,
}

/// The row that is being written.
#[derive(Debug)]
struct OpenRow {
    /// Where its item begins.
    item_at: usize,
    /// Where its length goes.
    length_at: usize,
    row: RowBuilder,
}

impl<'o> MutationEncoder<'o> {
    /// Begins the mutation of the partition `key` of `table` at the end of `out`.
    pub fn begin(out: &'o mut Vec<u8>, table: TableId, token: Token, key: &[u8]) -> Self {
        let start = out.len();
        out.extend_from_slice(&[VERSION, 0]);
        out.extend_from_slice(&table.0);
        out.extend_from_slice(&token.0.to_be_bytes());
        varint::encode(key.len() as u64, out);
        out.extend_from_slice(key);
        MutationEncoder { out, start, has_items: false, open: None }
    }

    /// Deletes what the partition held. Before any row.
    pub fn partition_deletion(&mut self, deletion: Deletion) {
        assert!(!self.has_items, "a partition's deletion comes before its rows");
        self.out[self.start + FLAGS_AT] |= mutation_flag::PARTITION_DELETION;
        self.out.extend_from_slice(&deletion.to_bytes());
        self.has_items = true;
    }

    /// Begins the partition's static row.
    pub fn static_row(&mut self) -> RowEncoder<'_, 'o> {
        self.close_row();
        let item_at = self.out.len();
        self.out.push(item_kind::STATIC_ROW);
        self.open_row(item_at)
    }

    /// Begins the row with this clustering: the values of all clustering columns, none in a table without.
    pub fn row<'c>(&mut self, clustering: impl IntoIterator<Item = &'c [u8]>) -> RowEncoder<'_, 'o> {
        self.close_row();
        let item_at = self.out.len();
        self.out.push(item_kind::ROW);
        clustering::encode(clustering, self.out);
        self.open_row(item_at)
    }

    /// Adds a row as a blob.
    pub fn row_blob(&mut self, clustering: ClusteringRef<'_>, row: RowRef<'_>) {
        self.close_row();
        self.out.push(item_kind::ROW);
        self.out.extend_from_slice(clustering.bytes());
        self.push_blob(row);
    }

    /// Adds the static row as a blob.
    pub fn static_row_blob(&mut self, row: RowRef<'_>) {
        self.close_row();
        self.out.push(item_kind::STATIC_ROW);
        self.push_blob(row);
    }

    fn push_blob(&mut self, row: RowRef<'_>) {
        self.has_items = true;
        if row.has_elements() {
            self.out[self.start] = VERSION_WITH_ELEMENTS;
        }
        let length = u32::try_from(row.bytes().len()).expect("a row is smaller than a request, which is below 4 GiB");
        self.out.extend_from_slice(&length.to_be_bytes());
        self.out.extend_from_slice(row.bytes());
    }

    /// Deletes the rows between two bounds.
    pub fn range_tombstone(&mut self, start: ClusteringBound<'_>, end: ClusteringBound<'_>, deletion: Deletion) {
        self.close_row();
        self.has_items = true;
        self.out.push(item_kind::RANGE_TOMBSTONE);
        for bound in [start, end] {
            self.out.push(u8::from(bound.inclusive));
            clustering::encode(bound.prefix.iter().copied(), self.out);
        }
        self.out.extend_from_slice(&deletion.to_bytes());
    }

    /// Completes the mutation and gives its length.
    pub fn finish(mut self) -> usize {
        self.close_row();
        self.out.len() - self.start
    }

    fn open_row(&mut self, item_at: usize) -> RowEncoder<'_, 'o> {
        self.has_items = true;
        let length_at = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        self.open = Some(OpenRow { item_at, length_at, row: RowBuilder::begin(self.out) });
        RowEncoder { mutation: self }
    }

    /// Completes the open row. One that says nothing is not written: it would tell no more than how its key was spelled.
    fn close_row(&mut self) {
        let Some(OpenRow { item_at, length_at, row }) = self.open.take() else { return };
        if row.is_empty() {
            self.out.truncate(item_at);
            return;
        }
        row.finish(self.out);
        let length = self.out.len() - length_at - 4;
        let length = u32::try_from(length).expect("a row is smaller than a request, which is below 4 GiB");
        self.out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
    }
}

/// Writes one row of a mutation. Liveness and deletion come first, then cells, best in the order of their columns. The
/// row is complete when the next one begins or the mutation is finished, and left out if nothing was said of it.
#[derive(Debug)]
pub struct RowEncoder<'m, 'o> {
    mutation: &'m mut MutationEncoder<'o>,
}

impl RowEncoder<'_, '_> {
    #[inline]
    fn row(&mut self) -> (&mut RowBuilder, &mut Vec<u8>) {
        let open = self.mutation.open.as_mut().expect("a row's encoder exists while the row is open");
        (&mut open.row, self.mutation.out)
    }

    /// The row is inserted: it lives without any cell.
    pub fn liveness(&mut self, timestamp: i64, expiry: Option<Expiry>) -> &mut Self {
        self.row().0.liveness(Liveness { timestamp, expiry });
        self
    }

    /// What the row held is deleted.
    pub fn deletion(&mut self, deletion: Deletion) -> &mut Self {
        self.row().0.deletion(deletion);
        self
    }

    /// Sets a column.
    #[inline]
    pub fn cell(&mut self, column: ColumnId, timestamp: i64, expiry: Option<Expiry>, value: &[u8]) -> &mut Self {
        let (row, out) = self.row();
        row.cell(out, &CellRef { column, timestamp, expiry, tombstone: None, path: &[], value, is_counter: false });
        self
    }

    /// Sets a counter's part: what the node `id` has added to it by now.
    pub fn counter(&mut self, column: ColumnId, timestamp: i64, id: CounterId, clock: i64, count: i64) -> &mut Self {
        let mut value = Vec::with_capacity(64);
        counter::write(&[CounterPart { id, clock, count, kind: PartKind::Global }], &mut value);
        let (row, out) = self.row();
        let (expiry, tombstone, path) = (None, None, &[][..]);
        row.cell(out, &CellRef { column, timestamp, expiry, tombstone, path, value: &value, is_counter: true });
        self
    }

    /// Deletes a column's value; of a column of several cells, its elements.
    pub fn tombstone(&mut self, column: ColumnId, timestamp: i64, local_deletion_time: u32) -> &mut Self {
        let tombstone = Some(local_deletion_time);
        let (row, out) = self.row();
        row.cell(
            out,
            &CellRef { column, timestamp, expiry: None, tombstone, path: &[], value: &[], is_counter: false },
        );
        self
    }

    /// Sets an element of a column of several cells. `path` says which, and is not empty.
    pub fn element(
        &mut self,
        column: ColumnId,
        path: &[u8],
        timestamp: i64,
        expiry: Option<Expiry>,
        value: &[u8],
    ) -> &mut Self {
        self.element_cell(&CellRef { column, timestamp, expiry, tombstone: None, path, value, is_counter: false })
    }

    /// Deletes an element of a column of several cells.
    pub fn element_tombstone(
        &mut self,
        column: ColumnId,
        path: &[u8],
        timestamp: i64,
        local_deletion_time: u32,
    ) -> &mut Self {
        let tombstone = Some(local_deletion_time);
        self.element_cell(&CellRef { column, timestamp, expiry: None, tombstone, path, value: &[], is_counter: false })
    }

    fn element_cell(&mut self, cell: &CellRef<'_>) -> &mut Self {
        assert!(!cell.path.is_empty(), "an element has a path");
        self.mutation.out[self.mutation.start] = VERSION_WITH_ELEMENTS;
        let (row, out) = self.row();
        row.cell(out, cell);
        self
    }
}
