//! A table: its columns and options. Immutable once built; a change builds another.

use std::collections::BTreeMap;

use cql_types::CqlType;

use crate::column::{Column, ColumnKind};
use crate::ids::{ColumnId, TableId};
use crate::options::TableOptions;
use crate::user_type::{UserTypes, filled, recorded, spelt_out};

/// A column that a table had: values written before `dropped_at_micros` must not reappear when the name is used again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedColumn {
    /// The column as it was, with tuples for user-defined types. Older logs may have one of a user-defined type that is not
    /// frozen.
    pub column: Column,
    /// When it was dropped, microseconds since 1970.
    pub dropped_at_micros: i64,
}

impl DroppedColumn {
    /// The column as statements and the schema's tables show it: no user-defined type is named.
    pub fn shown(&self) -> Column {
        Column { ty: spelt_out(self.column.ty.clone()), ..self.column.clone() }
    }
}

/// A table.
///
/// Its columns are listed as Cassandra lists them: partition key, clustering columns, then static columns by name, then regular ones
/// by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its identity.
    pub id: TableId,
    /// Its keyspace's name.
    pub keyspace: String,
    /// Its name.
    pub name: String,
    /// Its options.
    pub options: TableOptions,
    /// Columns that were dropped, by name.
    pub dropped: BTreeMap<String, DroppedColumn>,
    /// The id that the next added column gets.
    pub next_column_id: u32,
    columns: Vec<Column>,
    partition_key_count: usize,
    clustering_count: usize,
    static_count: usize,
    /// Indexes into `columns`, by name.
    by_name: Vec<u16>,
    /// Indexes into `columns`, by id.
    by_id: Vec<u16>,
}

impl Table {
    /// A table of `columns` in any order; their kinds and positions decide.
    ///
    /// Panics without a partition key, with a name or an id used twice, or with gaps in the positions: DDL planning and
    /// the decoder refuse those first.
    pub fn new(
        id: TableId,
        keyspace: impl Into<String>,
        name: impl Into<String>,
        mut columns: Vec<Column>,
        options: TableOptions,
    ) -> Self {
        sort_columns(&mut columns);
        if let Err(problem) = check_columns(&columns) {
            panic!("a table's columns are checked before it is built: {problem}");
        }
        let count = |kind| columns.iter().filter(|column| column.kind == kind).count();
        let mut by_name: Vec<u16> = (0u16..).take(columns.len()).collect();
        let mut by_id = by_name.clone();
        by_name.sort_by(|&a, &b| columns[usize::from(a)].name.cmp(&columns[usize::from(b)].name));
        by_id.sort_by_key(|&index| columns[usize::from(index)].id);
        let next_column_id = columns.iter().map(|column| u32::from(column.id.0) + 1).max().unwrap_or(0);
        Table {
            id,
            keyspace: keyspace.into(),
            name: name.into(),
            options,
            dropped: BTreeMap::new(),
            next_column_id,
            partition_key_count: count(ColumnKind::PartitionKey),
            clustering_count: count(ColumnKind::Clustering),
            static_count: count(ColumnKind::Static),
            columns,
            by_name,
            by_id,
        }
    }

    /// The same table with `change` done to the types of its columns, the dropped ones too.
    pub(crate) fn with_types(&self, change: impl Fn(CqlType) -> CqlType) -> Self {
        let mut table = self.clone();
        let dropped = table.dropped.values_mut().map(|dropped| &mut dropped.column);
        for column in table.columns.iter_mut().chain(dropped) {
            let ty = std::mem::replace(&mut column.ty, CqlType::Blob);
            column.ty = change(ty);
            column.mask = column.mask.take().map(|mask| Box::new(mask.with_types(&change)));
        }
        table
    }

    /// The same table with the fields of all user-defined types. Those of dropped columns are spelt out, as logs may still name them: from
    /// `before`, the table as it was, if that has the column, since its types may be gone.
    pub(crate) fn filled(&self, types: &UserTypes, before: Option<&Table>) -> Self {
        let mut table = self.with_types(|ty| filled(ty, &self.keyspace, types));
        for (name, dropped) in &mut table.dropped {
            let column = &mut dropped.column;
            let known = before.and_then(|before| before.dropped.get(name));
            column.ty = match known.filter(|known| known.column.id == column.id) {
                Some(known) if known.dropped_at_micros == dropped.dropped_at_micros => known.column.ty.clone(),
                _ => recorded(std::mem::replace(&mut column.ty, CqlType::Blob)),
            };
        }
        table
    }

    /// All columns in Cassandra's order: the order of `SELECT *`.
    #[inline]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The partition key's columns, by position.
    #[inline]
    pub fn partition_key(&self) -> &[Column] {
        &self.columns[..self.partition_key_count]
    }

    /// The clustering columns, by position.
    #[inline]
    pub fn clustering(&self) -> &[Column] {
        &self.columns[self.partition_key_count..][..self.clustering_count]
    }

    /// The static columns, by name.
    #[inline]
    pub fn statics(&self) -> &[Column] {
        &self.columns[self.partition_key_count + self.clustering_count..][..self.static_count]
    }

    /// The regular columns, by name.
    #[inline]
    pub fn regulars(&self) -> &[Column] {
        &self.columns[self.partition_key_count + self.clustering_count + self.static_count..]
    }

    /// The column called `name`.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.column_index(name).map(|index| &self.columns[index])
    }

    /// The index in [`Table::columns`] of the column called `name`.
    pub fn column_index(&self, name: &str) -> Option<usize> {
        let found = self.by_name.binary_search_by(|&index| self.columns[usize::from(index)].name.as_str().cmp(name));
        found.ok().map(|place| usize::from(self.by_name[place]))
    }

    /// The index in [`Table::columns`] of the column with `id`; `None` for one that was dropped.
    #[inline]
    pub fn column_index_by_id(&self, id: ColumnId) -> Option<usize> {
        let found = self.by_id.binary_search_by_key(&id, |&index| self.columns[usize::from(index)].id);
        found.ok().map(|place| usize::from(self.by_id[place]))
    }

    /// The column with `id`; `None` for one that was dropped.
    #[inline]
    pub fn column_by_id(&self, id: ColumnId) -> Option<&Column> {
        self.column_index_by_id(id).map(|index| &self.columns[index])
    }

    /// Whether a cell of the column with `id`, written at `timestamp`, belongs to a column that was dropped since. One that came
    /// back shows what was written after it was dropped.
    pub fn hides(&self, id: ColumnId, timestamp: i64) -> bool {
        let Some(column) = self.column_by_id(id) else { return true };
        let dropped = self.dropped.get(&column.name).filter(|dropped| dropped.column.id == id);
        dropped.is_some_and(|dropped| timestamp <= dropped.dropped_at_micros)
    }

    /// True if any of its columns has a mask.
    pub fn has_masks(&self) -> bool {
        self.columns.iter().any(|column| column.mask.is_some())
    }

    /// Whether the table's regular columns are counters.
    pub fn is_counter(&self) -> bool {
        self.columns.iter().any(|column| column.ty == cql_types::CqlType::Counter)
    }
}

/// The order of columns' names: by their bytes, but those that begin with a character outside of ASCII come first, as in Cassandra, whose
/// comparison turns the first bit over. Its files have columns in this order.
pub fn compare_names(a: &str, b: &str) -> std::cmp::Ordering {
    let turned = |name: &str| name.bytes().next().map(|byte| byte ^ 0x80);
    turned(a).cmp(&turned(b)).then_with(|| a.cmp(b))
}

/// Brings columns into a table's order.
fn sort_columns(columns: &mut [Column]) {
    columns.sort_by(|a, b| {
        a.kind.cmp(&b.kind).then_with(|| match a.kind.is_key() {
            true => a.position.cmp(&b.position),
            false => compare_names(&a.name, &b.name),
        })
    });
}

/// Why `columns`, in a table's order, cannot make one.
pub(crate) fn check_columns(columns: &[Column]) -> Result<(), &'static str> {
    if columns.len() > usize::from(u16::MAX) {
        return Err("too many columns");
    }
    let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("a column's name is used twice");
    }
    let mut ids: Vec<ColumnId> = columns.iter().map(|column| column.id).collect();
    ids.sort_unstable();
    if ids.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("a column's id is used twice");
    }
    for kind in [ColumnKind::PartitionKey, ColumnKind::Clustering] {
        let mut positions: Vec<u16> =
            columns.iter().filter(|column| column.kind == kind).map(|column| column.position).collect();
        positions.sort_unstable();
        if positions.iter().enumerate().any(|(place, &position)| place != usize::from(position)) {
            return Err("the positions of key columns have gaps");
        }
        if kind == ColumnKind::PartitionKey && positions.is_empty() {
            return Err("there is no partition key");
        }
    }
    Ok(())
}
