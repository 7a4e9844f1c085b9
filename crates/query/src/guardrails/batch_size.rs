//! How large a batch is in Cassandra's eyes: what its partition updates would take there. So a threshold means the same, and a warning
//! names the same size. (Source of the figures: `PartitionUpdate.dataSize` of Cassandra 5.0, and what it adds up.)

use std::collections::BTreeMap;

use cql_types::{CqlType, comparable};
use mutation::{CellRef, ClusteringRef, Item, MutationRef, RowRef, merge_rows};
use schema::{Schema, Table, TableId};
use stdx::Reader;

/// The deletion of a partition, of which an update always has one.
const PARTITION_DELETION: u64 = 8;
/// A row without cells: its liveness and its deletion. A static row is always there.
const EMPTY_ROW: u64 = 8 + 13;
/// What a liveness that expires has beside its timestamp.
const EXPIRY: u64 = 4 + 8;
/// A cell beside its path and its value.
pub(crate) const CELL: u64 = 8 + 4 + 8;
/// The deletion of a column of several cells, which each such column has.
const COLUMN_DELETION: u64 = 12;
/// What is added to a counter, as its state.
const COUNTER_UPDATE: u64 = 2 + 2 + 32;
/// The place of a list's element.
pub(crate) const LIST_PATH: u64 = 16;
/// The place of a field.
pub(crate) const FIELD_PATH: u64 = 2;
/// The count of an update's range tombstones, if it has any.
const RANGE_COUNT: u64 = 4;
/// A range tombstone beside its bounds.
const RANGE: u64 = 8 + 4;

/// A batch has no more than this many of these bytes for each byte of our encoding: a cell of two bytes is one of twenty there.
pub(crate) const GROWTH_MAX: u64 = 10;

/// Of a partition whose changes are more, in bytes of our encoding, these bytes are its size: nothing else is looked at in one step.
const MEASURED_BYTES_MAX: usize = 1 << 20;
/// Rows that are written twice are merged, up to so many bytes of a partition; those behind count once for each time.
const MERGED_BYTES_MAX: usize = 1 << 20;

/// Behind version and flags an encoding has the table's id and the token.
const PLACE: std::ops::Range<usize> = 2..26;

/// Whether all mutations are of one table and one token, as far as a look can tell. Then the batch is about one partition, and its size is
/// nobody's concern.
#[inline]
pub(crate) fn is_of_one_place<'m>(mut mutations: impl Iterator<Item = &'m [u8]>) -> bool {
    let place = |mutation: &'m [u8]| mutation.get(PLACE);
    let Some(first) = mutations.next().map(place) else { return true };
    mutations.all(|mutation| place(mutation) == first)
}

/// A batch that is being measured: first each mutation is added, then partition after partition is measured.
#[derive(Default)]
pub(crate) struct BatchSize<'m> {
    partitions: BTreeMap<(TableId, &'m [u8]), Updates<'m>>,
    bytes: u64,
    tables: Vec<TableId>,
    /// The keyspace and key of the partition that was measured first.
    first: Option<(String, &'m [u8])>,
    is_of_several: bool,
}

/// The updates of one partition.
#[derive(Default)]
struct Updates<'m> {
    mutations: Vec<MutationRef<'m>>,
    encoded_bytes: usize,
}

impl<'m> BatchSize<'m> {
    /// Adds a mutation.
    pub(crate) fn add(&mut self, mutation: &'m [u8]) {
        let encoded_bytes = mutation.len();
        let Ok(mutation) = MutationRef::decode(mutation) else { return };
        let updates = self.partitions.entry((mutation.table(), mutation.key())).or_default();
        updates.mutations.push(mutation);
        updates.encoded_bytes += encoded_bytes;
    }

    /// Measures one of the partitions; false: there is none left.
    pub(crate) fn measure_one(&mut self, schema: &Schema) -> bool {
        let Some(((id, key), updates)) = self.partitions.pop_first() else { return false };
        let Some(table) = schema.table_by_id(id) else { return true };
        self.bytes += match updates.encoded_bytes > MEASURED_BYTES_MAX {
            true => updates.encoded_bytes as u64,
            false => update_size(table, &updates.mutations),
        };
        if self.tables.last() != Some(&id) {
            self.tables.push(id);
        }
        match &self.first {
            None => self.first = Some((table.keyspace.clone(), key)),
            Some(first) => self.is_of_several |= first.0 != table.keyspace || first.1 != key,
        }
        true
    }

    /// The size that counts: of a batch about one partition, whatever its tables, none does.
    pub(crate) fn bytes(&self) -> u64 {
        if self.is_of_several { self.bytes } else { 0 }
    }

    /// The tables that it is about.
    pub(crate) fn tables(&self) -> &[TableId] {
        &self.tables
    }
}

/// What the updates of one partition come to.
fn update_size(table: &Table, updates: &[MutationRef<'_>]) -> u64 {
    let (mut ranges, mut range_count) = (0, 0);
    let mut statics = Rows::default();
    let mut rows = Rows::default();
    for update in updates {
        for item in update.items() {
            match item {
                Item::StaticRow(row) => statics.add(&[], row),
                Item::Row(clustering, row) => rows.add(clustering.bytes(), row),
                Item::RangeTombstone(range) => {
                    ranges += RANGE + values_size(range.start.prefix) + values_size(range.end.prefix);
                    range_count = RANGE_COUNT;
                }
            }
        }
    }
    let of_statics = if statics.merged.is_empty() { EMPTY_ROW } else { statics.size(table) };
    PARTITION_DELETION + of_statics + rows.size(table) + ranges + range_count
}

/// The rows of an update, by their clusterings: what is written twice is there once, if merging is not too much.
#[derive(Default)]
struct Rows<'m> {
    merged: BTreeMap<&'m [u8], Merged<'m>>,
    merged_bytes: usize,
    /// Rows that are there already, and were not merged.
    others: Vec<(&'m [u8], RowRef<'m>)>,
}

/// A row as one statement wrote it, or what several came to.
enum Merged<'m> {
    One(RowRef<'m>),
    Several(Vec<u8>),
}

impl Merged<'_> {
    fn row(&self) -> RowRef<'_> {
        match self {
            Merged::One(row) => *row,
            Merged::Several(bytes) => RowRef::trusted(bytes),
        }
    }
}

impl<'m> Rows<'m> {
    fn add(&mut self, clustering: &'m [u8], row: RowRef<'m>) {
        let merged = match self.merged.get(clustering) {
            None => Merged::One(row),
            Some(_) if self.merged_bytes > MERGED_BYTES_MAX => {
                self.others.push((clustering, row));
                return;
            }
            Some(there) => {
                let mut bytes = Vec::new();
                merge_rows(&there.row(), &row, &mut bytes);
                self.merged_bytes += bytes.len();
                Merged::Several(bytes)
            }
        };
        self.merged.insert(clustering, merged);
    }

    fn size(&self, table: &Table) -> u64 {
        let of_row = |(clustering, row): (&[u8], RowRef<'_>)| {
            let clustering = if clustering.is_empty() { 0 } else { values_size(ClusteringRef::trusted(clustering)) };
            clustering + row_size(table, &row)
        };
        let merged = self.merged.iter().map(|(clustering, merged)| of_row((clustering, merged.row())));
        merged.sum::<u64>() + self.others.iter().copied().map(of_row).sum::<u64>()
    }
}

fn values_size(clustering: ClusteringRef<'_>) -> u64 {
    clustering.components().map(|value| value.len() as u64).sum()
}

fn row_size(table: &Table, row: &RowRef<'_>) -> u64 {
    let expires = row.liveness().is_some_and(|liveness| liveness.expiry.is_some());
    let mut size = EMPTY_ROW + if expires { EXPIRY } else { 0 };
    let mut column = None;
    for cell in row.cells() {
        let ty = table.column_by_id(cell.column).map(|column| &column.ty);
        size += match ty.filter(|ty| ty.is_multi_cell()) {
            Some(ty) => {
                let is_next = column != Some(cell.column);
                element_size(ty, &cell) + if is_next { COLUMN_DELETION } else { 0 }
            }
            None if ty == Some(&CqlType::Counter) && !cell.is_tombstone() => CELL + COUNTER_UPDATE,
            None => CELL + cell.value.len() as u64,
        };
        column = Some(cell.column);
    }
    size
}

/// A cell of a column of several. The one without a path is the column's deletion, which is counted once for each column.
fn element_size(ty: &CqlType, cell: &CellRef<'_>) -> u64 {
    if cell.path.is_empty() {
        return 0;
    }
    let value = cell.value.len() as u64;
    CELL + match ty {
        CqlType::List { .. } => LIST_PATH + value,
        CqlType::Set { element, .. } if cell.is_tombstone() => path_size(element, cell.path),
        CqlType::Map { key, .. } if cell.is_tombstone() => path_size(key, cell.path),
        CqlType::Set { .. } => value,
        // Before the key stands its length.
        CqlType::Map { .. } => {
            let mut reader = Reader::new(cell.value);
            reader.varint().map_or(value, |_| reader.remaining() as u64)
        }
        _ => FIELD_PATH + value,
    }
}

/// How long the element or key is that a path stands for.
fn path_size(ty: &CqlType, path: &[u8]) -> u64 {
    let mut value = Vec::new();
    comparable::decode(ty, path, false, &mut value);
    value.len() as u64
}
