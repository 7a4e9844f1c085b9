//! Writes a row's blob as a row's body.
//!
//! The blob's cells come by the table's column ids, the body has them by the header's columns: each column's cells are
//! written to a buffer first, and copied from there in the header's order. The buffers are kept from row to row.

use std::ops::Range;

use cql_types::{CqlType, fields_of, parts_of_collection, timeuuid};
use mutation::{CellRef, CounterRef, Deletion, Liveness, RowBuilder, RowRef};
use stdx::varint;

use crate::data::cell::{Layout, RawCell, Times};
use crate::data::columns::{Columns, DataColumn, Elements, Form, is_whole};
use crate::data::element::{self, Scratch};
use crate::data::flags::{COLUMNS_BY_NUMBER_MIN, unfiltered};
use crate::statistics::StatisticsCollector;

/// What is known of a column of the header in the row at hand.
#[derive(Debug, Clone, Default)]
struct Pending {
    is_present: bool,
    /// Where its cells stand in the buffer.
    cells: Range<usize>,
    count: u64,
    deletion: Option<Deletion>,
}

/// Buffers that are used for every row.
#[derive(Debug, Default)]
pub(super) struct RowWriter {
    pending: Vec<Pending>,
    cells: Vec<u8>,
    body: Vec<u8>,
    scratch: Scratch,
    /// Whether any counter had parts of kinds that are made no more.
    has_legacy_counters: bool,
}

/// A value of a column of several cells that was written as one: by versions before elements.
struct WrittenAsOne;

impl RowWriter {
    /// The longest row for which no buffer grows.
    pub(super) fn room(&self) -> usize {
        self.cells.capacity().min(self.body.capacity())
    }

    pub(super) fn take_room(&mut self, cells: Vec<u8>, body: Vec<u8>) {
        (self.cells, self.body) = (cells, body);
    }

    /// The flags and the body of a row.
    pub(super) fn write(
        &mut self,
        row: &RowRef<'_>,
        columns: &Columns,
        times: &Times,
        collector: &mut StatisticsCollector,
    ) -> (u8, &[u8]) {
        if let Err(WrittenAsOne) = self.collect_cells(row, columns, times) {
            let elements = elements_of(row, columns);
            let row = RowRef::trusted(&elements);
            let written = self.collect_cells(&row, columns, times);
            assert!(written.is_ok(), "a value that was taken apart is elements");
            return self.assemble(&row, columns, times, collector);
        }
        self.assemble(row, columns, times, collector)
    }

    /// Writes the cells of each column to the buffer.
    fn collect_cells(&mut self, row: &RowRef<'_>, columns: &Columns, times: &Times) -> Result<(), WrittenAsOne> {
        self.pending.clear();
        self.pending.resize(columns.all.len(), Pending::default());
        self.cells.clear();
        let liveness = row.liveness();
        for cell in row.cells() {
            let Some(index) = columns.index_of(cell.column) else { continue };
            let column = &columns.all[index];
            let pending = &mut self.pending[index];
            if !pending.is_present {
                *pending =
                    Pending { is_present: true, cells: self.cells.len()..self.cells.len(), ..Pending::default() };
            }
            if column.is_complex() && is_whole(&cell) {
                let local_deletion_time = cell.tombstone.ok_or(WrittenAsOne)?;
                pending.deletion = Some(Deletion { timestamp: cell.timestamp, local_deletion_time });
                continue;
            }
            pending.count += 1;
            self.write_cell(&cell, column, times, liveness);
            self.pending[index].cells.end = self.cells.len();
        }
        Ok(())
    }

    fn write_cell(&mut self, cell: &CellRef<'_>, column: &DataColumn, times: &Times, liveness: Option<Liveness>) {
        let (mut layout, mut path, mut value) = (Layout { has_path: false, fixed_length: None }, cell.path, cell.value);
        match &column.form {
            Form::Simple { fixed_length } => layout.fixed_length = *fixed_length,
            Form::Counter if cell.is_tombstone() => {}
            Form::Counter => {
                assert!(cell.is_counter, "in a column of counters a value is a counter's state");
                let counter = CounterRef::trusted(value);
                self.has_legacy_counters |= counter.has_legacy_parts();
                value = counter.context();
            }
            Form::Complex(elements) => {
                layout.has_path = true;
                let given = (!cell.is_tombstone()).then_some(value);
                (path, value) = element::write(elements, path, given, &mut self.scratch);
            }
        }
        let CellRef { timestamp, expiry, tombstone, .. } = *cell;
        RawCell { timestamp, expiry, tombstone, path, value }.write(times, liveness, layout, &mut self.cells);
    }

    /// Puts the body together from the columns' cells.
    fn assemble(
        &mut self,
        row: &RowRef<'_>,
        columns: &Columns,
        times: &Times,
        collector: &mut StatisticsCollector,
    ) -> (u8, &[u8]) {
        let mut flags = 0;
        self.body.clear();
        if let Some(liveness) = row.liveness() {
            flags |= unfiltered::HAS_TIMESTAMP;
            times.write_timestamp(liveness.timestamp, &mut self.body);
            if let Some(expiry) = liveness.expiry {
                flags |= unfiltered::HAS_TTL;
                times.write_ttl(expiry.ttl, &mut self.body);
                times.write_local_deletion_time(expiry.local_deletion_time, &mut self.body);
            }
        }
        if let Some(deletion) = row.deletion() {
            flags |= unfiltered::HAS_DELETION;
            times.write_deletion(Some(deletion), &mut self.body);
        }
        let present = self.pending.iter().filter(|pending| pending.is_present).count();
        if present == self.pending.len() {
            flags |= unfiltered::HAS_ALL_COLUMNS;
        } else {
            self.write_present(present);
        }
        let has_complex_deletion = self.pending.iter().any(|pending| pending.deletion.is_some());
        if has_complex_deletion {
            flags |= unfiltered::HAS_COMPLEX_DELETION;
        }
        for (pending, column) in self.pending.iter().zip(&columns.all).filter(|(pending, _)| pending.is_present) {
            if column.is_complex() {
                if has_complex_deletion {
                    times.write_deletion(pending.deletion, &mut self.body);
                }
                varint::encode(pending.count, &mut self.body);
            }
            self.body.extend_from_slice(&self.cells[pending.cells.clone()]);
        }
        // Cassandra does not count a column of which there is a deletion alone.
        let columns_set = self.pending.iter().filter(|pending| pending.count > 0).count();
        if std::mem::take(&mut self.has_legacy_counters) {
            collector.legacy_counter();
        }
        collector.row(row, columns_set as u64, |cell| {
            let index = columns.index_of(cell.column)?;
            Some(columns.all[index].is_complex() && is_whole(cell))
        });
        (flags, &self.body)
    }

    /// Says which of the header's columns the row has.
    fn write_present(&mut self, present: usize) {
        let count = self.pending.len();
        let indexes = |is_present: bool| {
            let each = self.pending.iter().enumerate();
            each.filter(move |(_, pending)| pending.is_present == is_present).map(|(index, _)| index as u64)
        };
        if count < COLUMNS_BY_NUMBER_MIN {
            let missing = indexes(false).fold(0_u64, |bits, index| bits | 1 << index);
            varint::encode(missing, &mut self.body);
            return;
        }
        varint::encode((count - present) as u64, &mut self.body);
        for index in indexes(present < count / 2) {
            varint::encode(index, &mut self.body);
        }
    }
}

/// The row with the elements of values that were written as one, and a deletion a microsecond before them.
fn elements_of(row: &RowRef<'_>, columns: &Columns) -> Vec<u8> {
    let mut out = Vec::with_capacity(row.bytes().len() * 2);
    let mut builder = RowBuilder::begin(&out);
    if let Some(deletion) = row.deletion() {
        builder.deletion(deletion);
    }
    if let Some(liveness) = row.liveness() {
        builder.liveness(liveness);
    }
    for cell in row.cells() {
        let column = columns.index_of(cell.column).map(|index| &columns.all[index]);
        match column.map(|column| (&column.form, &column.ty)) {
            Some((Form::Complex(elements), ty)) if is_whole(&cell) && !cell.is_tombstone() => {
                take_apart(&cell, elements, ty, &mut builder, &mut out);
            }
            _ => builder.cell(&mut out, &cell),
        }
    }
    builder.finish(&mut out);
    out
}

fn take_apart(cell: &CellRef<'_>, elements: &Elements, ty: &CqlType, builder: &mut RowBuilder, out: &mut Vec<u8>) {
    let before = cell.timestamp.saturating_sub(1);
    let made = u32::try_from(cell.timestamp / 1_000_000).unwrap_or(0);
    let tombstone = CellRef { timestamp: before, tombstone: Some(made), expiry: None, value: &[], ..*cell };
    builder.cell(out, &tombstone);
    let mut scratch = Scratch::default();
    let mut element = |path: &[u8], value: &[u8]| {
        // What cannot be a path in Cassandra cannot have been accepted as an element either.
        if let Ok((path, value)) = element::read(elements, path, value, false, &mut scratch) {
            builder.cell(out, &CellRef { path, value, ..*cell });
        }
    };
    match elements {
        Elements::List => {
            let steps = timeuuid::steps_from_unix_millis(cell.timestamp / 1000).unwrap_or(timeuuid::UNIX_EPOCH_STEPS);
            for (index, value) in parts_of_collection(ty, cell.value).enumerate() {
                let [.., a, b, c, d, e, f] = (index as u64).to_be_bytes();
                // In timeuuids these bytes compare with their signs turned.
                let node = [a, b, c, d, e, f].map(|byte| byte ^ 0x80);
                element(&timeuuid::build(steps, 0, node), value);
            }
        }
        Elements::Set(_) => parts_of_collection(ty, cell.value).for_each(|value| element(value, &[])),
        Elements::Map(_) => {
            let mut parts = parts_of_collection(ty, cell.value);
            while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
                element(key, value);
            }
        }
        Elements::Fields => {
            for (index, field) in (0_u16..).zip(fields_of(cell.value)) {
                if let Some(value) = field {
                    element(&index.to_be_bytes(), value);
                }
            }
        }
    }
}
