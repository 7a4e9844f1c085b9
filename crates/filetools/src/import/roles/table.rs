//! The rows of a small table's folder, as a reader sees them at this moment.

use std::collections::BTreeMap;
use std::path::Path;

use cql_types::CqlType;
use mutation::{ClusteringRef, Deletion, LiveRow, RowRef};
use runtime::Runtime;
use schema::Table;
use stdx::Reader;

use crate::error::ToolError;
use crate::files::table_of;
use crate::import::lane::{Bound, Lane, Lanes, Piece};
use crate::import::with_columns_of;
use crate::verify::{Sstables, sstables_at, verify};

/// A row: the first values of its key, and its cells by column.
#[derive(Debug, Default)]
pub(super) struct Row {
    key: Vec<u8>,
    clustering: Vec<u8>,
    /// The value of a column, or the elements of a collection.
    cells: BTreeMap<String, Vec<Vec<u8>>>,
}

impl Row {
    pub(super) fn key_text(&self) -> String {
        text(&self.key)
    }

    /// The first clustering value.
    pub(super) fn clustering_text(&self) -> String {
        text(&self.clustering)
    }

    /// The values of a column; none if it is null.
    pub(super) fn values(&self, column: &str) -> &[Vec<u8>] {
        self.cells.get(column).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn text(&self, column: &str) -> Option<String> {
        self.values(column).first().map(|value| text(value))
    }

    pub(super) fn texts(&self, column: &str) -> Vec<String> {
        self.values(column).iter().map(|value| text(value)).collect()
    }

    pub(super) fn flag(&self, column: &str) -> bool {
        self.values(column).first().is_some_and(|value| **value == [1])
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The rows of a folder; none if it has no SSTables. Each is verified first: a damaged one could say less than it did.
pub(super) async fn rows_of(runtime: &Runtime, folder: &Path) -> Result<Vec<Row>, ToolError> {
    let found = match sstables_at(runtime, folder).await {
        Ok(Sstables { found, unreadable }) if unreadable.is_empty() => found,
        Ok(Sstables { mut unreadable, .. }) => return Err(unreadable.remove(0)),
        Err(ToolError::NoSstable { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut table: Option<Table> = None;
    for files in &found {
        verify(runtime, files).await?;
        let of_header = table_of(&files.statistics().await?.header);
        // A file has the columns that its rows have values of.
        table = Some(with_columns_of(table.as_ref().unwrap_or(&of_header), &of_header));
    }
    let Some(table) = table else { return Ok(Vec::new()) };
    let mut lanes = Vec::new();
    for files in found {
        let reader = files.reader(&files.statistics().await?.header, &table)?;
        let path = files.path(sstable::Component::Data);
        lanes.push(Lane::new(files.data().await?, reader, path, &table).await?);
    }
    let now_in_seconds = u32::try_from(runtime.wall_clock_micros() / 1_000_000).unwrap_or(u32::MAX);
    let (mut lanes, mut rows, mut partition) = (Lanes::new(lanes), Vec::new(), Partition::default());
    while let Some(piece) = lanes.next(&table).await? {
        match piece {
            Piece::Partition { key, deletion, .. } => {
                std::mem::take(&mut partition).end(&table, now_in_seconds, &mut rows);
                partition = Partition { key, deletion, ..Partition::default() };
            }
            Piece::Row { clustering, row } => partition.rows.push((clustering, row)),
            Piece::Range { start, end, deletion } => partition.ranges.push((start, end, deletion)),
        }
    }
    partition.end(&table, now_in_seconds, &mut rows);
    Ok(rows)
}

/// A partition while it is read: what deletes a row may stand behind it.
#[derive(Default)]
struct Partition {
    key: Vec<u8>,
    deletion: Option<Deletion>,
    rows: Vec<(Vec<u8>, Vec<u8>)>,
    ranges: Vec<(Bound, Bound, Deletion)>,
}

impl Partition {
    fn end(self, table: &Table, now_in_seconds: u32, rows: &mut Vec<Row>) {
        for (clustering, row) in &self.rows {
            let clustering = ClusteringRef::trusted(clustering).components().next().unwrap_or_default();
            let over = self.ranges.iter().filter(|(start, end, _)| is_in(clustering, start, end));
            let shadow = over.fold(self.deletion, |all, (_, _, deletion)| Deletion::max_of(all, Some(*deletion)));
            let live = LiveRow::new(RowRef::trusted(row), shadow, now_in_seconds);
            if live.is_live() {
                let cells = cells(table, &live);
                rows.push(Row { key: self.key.clone(), clustering: clustering.to_vec(), cells });
            }
        }
    }
}

/// True if a row with this first clustering value is in the range. These tables have one clustering column at most.
fn is_in(value: &[u8], start: &Bound, end: &Bound) -> bool {
    let first = |bound: &Bound| ClusteringRef::trusted(&bound.prefix).components().next().map(<[u8]>::to_vec);
    let begins = first(start).is_none_or(|of| if start.after { value > &of[..] } else { value >= &of[..] });
    let ends = first(end).is_none_or(|of| if end.after { value <= &of[..] } else { value < &of[..] });
    begins && ends
}

fn cells(table: &Table, live: &LiveRow<'_>) -> BTreeMap<String, Vec<Vec<u8>>> {
    let mut cells: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    for cell in live.cells() {
        let Some(column) = table.column_by_id(cell.column) else { continue };
        let values = cells.entry(column.name.clone()).or_default();
        match &column.ty {
            CqlType::Set { .. } if column.ty.is_multi_cell() => {
                values.extend(sstable::data::element_path(&column.ty, &cell));
            }
            CqlType::Set { .. } => values.extend(elements(cell.shown()).unwrap_or_default()),
            _ => values.push(cell.shown().to_vec()),
        }
    }
    cells
}

/// The elements of a frozen set: a count, then each with its length.
fn elements(value: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut reader = Reader::new(value);
    let count = reader.i32().ok()?;
    let mut element = || {
        let length = usize::try_from(reader.i32().ok()?).ok()?;
        Some(reader.bytes(length).ok()?.to_vec())
    };
    (0..count).map(|_| element()).collect()
}
