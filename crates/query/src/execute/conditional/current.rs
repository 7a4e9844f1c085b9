//! What a conditional statement reads of its partition: copies of a few rows as they are when their conditions are judged.

use std::collections::BTreeMap;

use mutation::{CellRef, ClusteringRef, LiveRow, RowBuilder, RowRef};
use schema::{ColumnId, Table};
use storage::{Flow, RowSink};
use topology::Token;

use crate::error::QueryError;
use crate::execute::lists::place;
use crate::execute::modify::{MUTATION_BYTES_MAX, too_large};
use crate::execute::row_source::Cells;
use crate::plan::Selected;

/// The rows, each as a blob of what lives in it.
pub(crate) struct CurrentRows<'t> {
    table: &'t Table,
    /// The static columns that are read; `None`: all.
    statics_read: Option<Vec<ColumnId>>,
    /// Whether rows are read with their columns.
    reads_columns: bool,
    /// Whether one row is enough.
    first_only: bool,
    now_in_seconds: u32,
    static_row: Option<Vec<u8>>,
    /// By their clustering in byte-comparable form.
    rows: BTreeMap<Vec<u8>, CurrentRow>,
    bytes: usize,
}

/// A row that lives.
pub(super) struct CurrentRow {
    /// Its clustering.
    pub(super) clustering: Vec<u8>,
    /// Its blob.
    pub(super) row: Vec<u8>,
}

impl<'t> CurrentRows<'t> {
    pub(super) fn new(
        table: &'t Table,
        statics_read: Option<Vec<ColumnId>>,
        reads_columns: bool,
        first_only: bool,
        now_in_seconds: u32,
    ) -> Self {
        let (static_row, rows) = (None, BTreeMap::new());
        CurrentRows { table, statics_read, reads_columns, first_only, now_in_seconds, static_row, rows, bytes: 0 }
    }

    /// Refuses what was more than memory should hold.
    pub(crate) fn check_length(&self) -> Result<(), QueryError> {
        if self.is_too_long() { Err(too_large()) } else { Ok(()) }
    }

    fn is_too_long(&self) -> bool {
        self.bytes > MUTATION_BYTES_MAX
    }

    /// The static row, if anything that is read of it lives.
    pub(super) fn static_row(&self) -> Option<&[u8]> {
        self.static_row.as_deref()
    }

    /// The row with this clustering, if it is there.
    pub(super) fn row_at(&self, place: &[u8]) -> Option<&[u8]> {
        self.rows.get(place).map(|row| row.row.as_slice())
    }

    /// All rows, in order.
    pub(super) fn rows(&self) -> impl ExactSizeIterator<Item = &CurrentRow> {
        self.rows.values()
    }

    /// The moment of the read.
    pub(super) fn now_in_seconds(&self) -> u32 {
        self.now_in_seconds
    }

    /// A blob's cells.
    pub(super) fn cells<'a>(&'a self, row: Option<&'a [u8]>) -> Cells<'a> {
        let hiding = (!self.table.dropped.is_empty()).then_some(self.table);
        Cells::of_static(row.unwrap_or_default(), row.is_some(), self.now_in_seconds, hiding)
    }

    /// The value of a regular or static column in a row; `made` has room for one of several cells.
    pub(super) fn value<'v>(&'v self, row: &'v [u8], column: &Selected, made: &'v mut Vec<u8>) -> Option<&'v [u8]> {
        let mut cells = self.cells(Some(row));
        match column {
            Selected::Regular(column) | Selected::Static(column) => cells.get(*column).map(|cell| cell.value),
            Selected::Elements { column, shape, .. } => {
                cells.assemble(*column, *shape, self.table, made).then_some(made.as_slice())
            }
            other => panic!("a condition is on a column that is stored, not on {other:?}"),
        }
    }

    /// Gives the rows to another sink.
    pub(super) fn give(&self, token: Token, key: &[u8], sink: &mut impl RowSink) {
        let live = |row| LiveRow::new(RowRef::trusted(row), None, self.now_in_seconds);
        let _ = sink.partition(token, key, self.static_row().map(live));
        for row in self.rows() {
            let _ = sink.row(ClusteringRef::trusted(&row.clustering), live(&row.row));
        }
    }

    /// Whether a row that lives is there without what belongs to dropped columns.
    fn is_shown(&self, row: &LiveRow<'_>) -> bool {
        self.table.dropped.is_empty()
            || row.liveness().is_some()
            || row.cells().any(|cell| !self.table.hides(cell.column, cell.timestamp))
    }
}

/// A blob of the live cells that are wanted. Gives also whether there are any.
fn copy(row: LiveRow<'_>, is_wanted: impl Fn(ColumnId) -> bool) -> (Vec<u8>, bool) {
    let mut blob = Vec::with_capacity(row.stored_length());
    let mut builder = RowBuilder::begin(&blob);
    if let Some(liveness) = row.liveness() {
        builder.liveness(liveness);
    }
    let mut has_any = false;
    for cell in row.cells().filter(|cell| is_wanted(cell.column)) {
        has_any = true;
        builder.cell(&mut blob, &CellRef { tombstone: None, ..cell });
    }
    builder.finish(&mut blob);
    (blob, has_any)
}

impl RowSink for CurrentRows<'_> {
    fn partition(&mut self, _token: Token, _key: &[u8], static_row: Option<LiveRow<'_>>) -> Flow {
        if let Some(row) = static_row.filter(|row| self.is_shown(row)) {
            let (blob, has_any) =
                copy(row, |column| self.statics_read.as_ref().is_none_or(|wanted| wanted.contains(&column)));
            self.bytes += blob.len();
            self.static_row = has_any.then_some(blob);
        }
        if self.is_too_long() { Flow::Stop } else { Flow::Continue }
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        // Without its columns a row is there by its mark alone.
        if !self.is_shown(&row) || (!self.reads_columns && row.liveness().is_none()) {
            return Flow::Continue;
        }
        let (blob, _) = copy(row, |_| self.reads_columns);
        self.bytes += blob.len();
        let at = place(self.table, clustering.components());
        self.rows.insert(at, CurrentRow { clustering: clustering.bytes().to_vec(), row: blob });
        if self.first_only || self.is_too_long() { Flow::Stop } else { Flow::Continue }
    }
}
