//! Where the values of a result's row come from: its key, its cells, and what is made of them.

use cql_types::CqlType;
use mutation::{CellRef, ClusteringRef, Expiry, LiveCells, LiveRow, RowRef};
use schema::{ColumnId, Table};
use topology::Token;

use super::elements;
use super::expressions::Leaves;
use super::key::component;
use super::parts::{BoundParts, Times, Written};
use crate::plan::{PartOf, Select, Selected, Shape};

/// The cells of one row, asked for by column, best in ascending order.
pub(super) struct Cells<'a> {
    row: Option<LiveRow<'a>>,
    cells: Option<LiveCells<'a>>,
    ahead: Option<CellRef<'a>>,
    last: ColumnId,
    /// The table, if columns of it were dropped, whose cells may still be there.
    hiding: Option<&'a Table>,
}

impl<'a> Cells<'a> {
    #[inline]
    fn new(row: Option<LiveRow<'a>>, hiding: Option<&'a Table>) -> Self {
        Cells { row, cells: None, ahead: None, last: ColumnId(0), hiding }
    }

    /// The next cell that is shown.
    #[inline]
    fn advance(&mut self) -> Option<CellRef<'a>> {
        let cells = self.cells.as_mut()?;
        match self.hiding {
            None => cells.next(),
            Some(table) => cells.find(|cell| !table.hides(cell.column, cell.timestamp)),
        }
    }

    #[inline]
    pub(super) fn of_static(blob: &'a [u8], has_static: bool, now_in_seconds: u32, hiding: Option<&'a Table>) -> Self {
        Cells::new(has_static.then(|| LiveRow::new(RowRef::trusted(blob), None, now_in_seconds)), hiding)
    }

    #[inline]
    pub(super) fn get(&mut self, column: ColumnId) -> Option<CellRef<'a>> {
        if self.cells.is_none() || column < self.last {
            self.cells = Some(self.row?.cells());
            self.ahead = self.advance();
        }
        self.last = column;
        while self.ahead.is_some_and(|cell| cell.column < column) {
            self.ahead = self.advance();
        }
        self.ahead.filter(|cell| cell.column == column)
    }

    /// The cells of a column of several cells.
    fn several(&mut self, column: ColumnId) -> Vec<CellRef<'a>> {
        let mut cells = Vec::new();
        let mut next = self.get(column);
        while let Some(cell) = next {
            cells.push(cell);
            self.ahead = self.advance();
            next = self.ahead.filter(|cell| cell.column == column);
        }
        // The column's cells are passed: asked for again, they are looked for from the start.
        self.last = ColumnId(column.0.saturating_add(1));
        cells
    }

    /// Appends the value that the cells of a column of several cells come to; false: it is null.
    pub(super) fn assemble(&mut self, column: ColumnId, shape: Shape, table: &Table, out: &mut Vec<u8>) -> bool {
        let cells = self.several(column);
        let ty = || table.columns().iter().find(|known| known.id == column).map(|known| &known.ty);
        elements::assemble(shape, &cells, ty, out)
    }
}

/// Where the values of one row of the result are taken from.
pub(super) struct RowSource<'a> {
    key: &'a [u8],
    clustering: Option<ClusteringRef<'a>>,
    regulars: Cells<'a>,
    statics: Cells<'a>,
}

impl<'a> RowSource<'a> {
    #[inline]
    pub(super) fn new(key: &'a [u8], row: Option<(ClusteringRef<'a>, LiveRow<'a>)>, statics: Cells<'a>) -> Self {
        let (clustering, row) = row.unzip();
        let regulars = Cells::new(row, statics.hiding);
        RowSource { key, clustering, regulars, statics }
    }

    #[inline]
    pub(super) fn cells(&mut self, is_static: bool) -> &mut Cells<'a> {
        if is_static { &mut self.statics } else { &mut self.regulars }
    }

    /// The value of a column.
    #[inline]
    pub(super) fn bytes(&mut self, selected: &Selected, key_columns: usize) -> Option<&'a [u8]> {
        match selected {
            Selected::PartitionKey(_) if key_columns == 1 => Some(self.key),
            Selected::PartitionKey(position) => component(self.key, usize::from(*position)),
            Selected::Clustering(position) => self.clustering?.components().nth(usize::from(*position)),
            Selected::Regular(column) => self.regulars.get(*column).map(|cell| cell.value),
            Selected::Static(column) => self.statics.get(*column).map(|cell| cell.value),
            Selected::Elements { .. }
            | Selected::Part { .. }
            | Selected::WriteTime { .. }
            | Selected::Ttl { .. }
            | Selected::Token
            | Selected::Computed(_) => None,
        }
    }
}

/// Makes the values that do not lie in the row as they are shown.
pub(super) struct Maker<'m, 'e> {
    pub(super) select: &'m Select,
    pub(super) parts: Option<&'m BoundParts<'e>>,
    pub(super) now_in_seconds: u32,
}

impl Maker<'_, '_> {
    /// Appends the value of a column of several cells, or of a part of a column; false: it is null.
    pub(super) fn make(&self, selected: &Selected, source: &mut RowSource<'_>, out: &mut Vec<u8>) -> bool {
        let table = &self.select.table;
        match selected {
            Selected::Elements { column, is_static, shape } => {
                source.cells(*is_static).assemble(*column, *shape, table, out)
            }
            Selected::Part { index, .. } => self.part(*index, source, out),
            _ => false,
        }
    }

    fn part(&self, index: u16, source: &mut RowSource<'_>, out: &mut Vec<u8>) -> bool {
        let (Some(parts), Some(part)) = (self.parts, self.select.parts.get(usize::from(index))) else { return false };
        let Some(column) = part.column else { return false };
        let key_columns = self.select.table.partition_key().len();
        let mut made = Vec::new();
        let (value, times) = match column {
            Selected::Elements { column, is_static, shape } => {
                let cells = source.cells(is_static).several(column);
                if !elements::assemble(shape, &cells, || Some(&part.ty), &mut made) {
                    return false;
                }
                let times = (part.what != PartOf::Value).then(|| self.times(shape, &cells, &part.ty));
                (made.as_slice(), times)
            }
            selected => {
                let Some(value) = source.bytes(&selected, key_columns) else { return false };
                let times = (part.what != PartOf::Value).then(|| {
                    let is_static = selected.is_static();
                    let (Selected::Regular(column) | Selected::Static(column)) = selected else {
                        return Times::One(None);
                    };
                    Times::One(source.cells(is_static).get(column).map(|cell| self.written(&cell)))
                });
                (value, times)
            }
        };
        match times {
            Some(times) => parts.times(index, value, times).write(part.what, out),
            None => match parts.value(index, value) {
                Some(value) => {
                    out.extend_from_slice(&value);
                    true
                }
                None => false,
            },
        }
    }

    fn times(&self, shape: Shape, cells: &[CellRef<'_>], ty: &CqlType) -> Times {
        let written = elements::places(cells, ty).map(|(path, cell)| (path, self.written(cell)));
        let Shape::Fields(count) = shape else {
            return Times::Many(written.map(|(_, written)| Some(written)).collect());
        };
        let mut times = vec![None; usize::from(count)];
        for (path, written) in written {
            let index = path.first_chunk().map(|index| usize::from(u16::from_be_bytes(*index)));
            if let Some(place) = index.and_then(|index| times.get_mut(index)) {
                *place = Some(written);
            }
        }
        Times::Many(times)
    }

    fn written(&self, cell: &CellRef<'_>) -> Written {
        let left = |expiry: Expiry| expiry.local_deletion_time.saturating_sub(self.now_in_seconds);
        Written { timestamp: cell.timestamp, seconds_left: cell.expiry.map(left) }
    }
}

/// A row's values as the result has them.
pub(super) struct RowValues<'v, 'a, 'e> {
    pub(super) maker: Maker<'v, 'e>,
    pub(super) source: RowSource<'a>,
    pub(super) token: Token,
    pub(super) number: Number,
}

impl RowValues<'_, '_, '_> {
    /// The value of what is no expression; what does not lie in the row as it is shown is made in `scratch`.
    #[inline]
    pub(super) fn value<'s>(&'s mut self, selected: &Selected, scratch: &'s mut Vec<u8>) -> Option<&'s [u8]> {
        match selected {
            Selected::Elements { .. } | Selected::Part { .. } => {
                scratch.clear();
                let is_there = self.maker.make(selected, &mut self.source, scratch);
                is_there.then_some(scratch.as_slice())
            }
            Selected::WriteTime { .. } | Selected::Ttl { .. } => {
                self.number.of_cell(&mut self.source, selected, self.maker.now_in_seconds)
            }
            Selected::Token => Some(self.number.of_i64(self.token.0)),
            selected => self.source.bytes(selected, self.maker.select.table.partition_key().len()),
        }
    }
}

impl Leaves for RowValues<'_, '_, '_> {
    #[inline]
    fn lying(&mut self, selected: &Selected) -> Option<Option<&[u8]>> {
        match selected {
            Selected::PartitionKey(_) | Selected::Clustering(_) | Selected::Regular(_) | Selected::Static(_) => {
                Some(self.source.bytes(selected, self.maker.select.table.partition_key().len()))
            }
            _ => None,
        }
    }

    fn selected(&mut self, selected: &Selected, out: &mut Vec<u8>) -> bool {
        if matches!(selected, Selected::Elements { .. } | Selected::Part { .. }) {
            return self.maker.make(selected, &mut self.source, out);
        }
        match self.value(selected, &mut Vec::new()) {
            Some(value) => {
                out.extend_from_slice(value);
                true
            }
            None => false,
        }
    }
}

/// A number that is made for a row, in the bytes of its type.
#[derive(Default)]
pub(super) struct Number {
    bytes: [u8; 8],
}

impl Number {
    pub(super) fn of_i64(&mut self, number: i64) -> &[u8] {
        self.bytes = number.to_be_bytes();
        &self.bytes
    }

    /// writetime() or ttl() of a cell.
    pub(super) fn of_cell(
        &mut self,
        source: &mut RowSource<'_>,
        selected: &Selected,
        now_in_seconds: u32,
    ) -> Option<&[u8]> {
        match selected {
            Selected::WriteTime { column, is_static } => {
                let timestamp = source.cells(*is_static).get(*column)?.timestamp;
                Some(self.of_i64(timestamp))
            }
            Selected::Ttl { column, is_static } => {
                let left =
                    source.cells(*is_static).get(*column)?.expiry?.local_deletion_time.saturating_sub(now_in_seconds);
                self.bytes[..4].copy_from_slice(&left.to_be_bytes());
                Some(&self.bytes[..4])
            }
            _ => None,
        }
    }
}
