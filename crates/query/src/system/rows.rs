//! Rows of system tables while they are collected: filled by column name, put out in the table's order.

use cql_types::CqlType;
use schema::{Table, system_keyspaces};
use topology::token_of;

use super::value::Value;
use crate::execute::key::component;

/// A row's values in the order of [`Table::columns`]; `None` is null.
pub type VirtualRow = Vec<Option<Vec<u8>>>;

/// The rows of one table, in the making.
pub(super) struct Rows<'a> {
    table: &'a Table,
    rows: Vec<VirtualRow>,
}

impl<'a> Rows<'a> {
    pub(super) fn of(table: &'a Table) -> Self {
        Rows { table, rows: Vec::new() }
    }

    /// Adds a row of the named values; the other columns are null.
    pub(super) fn push<const N: usize>(&mut self, values: [(&str, Value); N]) {
        let mut row = vec![None; self.table.columns().len()];
        for (name, value) in values {
            let index = self.table.column_index(name);
            row[index.unwrap_or_else(|| panic!("{} has a column {name}", self.table.name))] = value;
        }
        self.rows.push(row);
    }

    /// The rows as a table holds them: partitions in their order, within them by clustering key.
    pub(super) fn finish(self) -> Vec<VirtualRow> {
        let Rows { table, rows } = self;
        let order = PartitionOrder::of(table);
        let mut placed: Vec<(Vec<u8>, VirtualRow)> =
            rows.into_iter().map(|row| (order.place(table, &partition_key(table, &row)), row)).collect();
        placed.sort_by(|(a_place, a), (b_place, b)| a_place.cmp(b_place).then_with(|| compare_clustering(table, a, b)));
        placed.into_iter().map(|(_, row)| row).collect()
    }
}

/// In which order partitions come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartitionOrder {
    /// By their keys' tokens.
    Tokens,
    /// By their keys' values.
    Keys,
}

impl PartitionOrder {
    /// The order of all of a table's partitions. Each of Cassandra's virtual tables has a partitioner for itself
    /// (`LocalPartitioner`), whose tokens are the keys.
    pub(crate) fn of(table: &Table) -> Self {
        match system_keyspaces::is_virtual(&table.keyspace) {
            true => PartitionOrder::Keys,
            false => PartitionOrder::Tokens,
        }
    }

    /// The place of a partition with this stored key: places are in the order of their bytes.
    pub(crate) fn place(self, table: &Table, key: &[u8]) -> Vec<u8> {
        let mut place = Vec::new();
        match (self, table.partition_key()) {
            (PartitionOrder::Tokens, _) => {
                cql_types::comparable::encode(&CqlType::Bigint, &token_of(key).0.to_be_bytes(), false, &mut place);
                place.extend_from_slice(key);
            }
            (PartitionOrder::Keys, [column]) => cql_types::comparable::encode(&column.ty, key, false, &mut place),
            (PartitionOrder::Keys, columns) => {
                for (position, column) in columns.iter().enumerate() {
                    let value = component(key, position).unwrap_or_default();
                    cql_types::comparable::encode(&column.ty, value, false, &mut place);
                }
            }
        }
        place
    }
}

/// The key as a partition's key is stored: one column's value, or the composite of several.
pub(crate) fn partition_key(table: &Table, row: &[Option<Vec<u8>>]) -> Vec<u8> {
    let count = table.partition_key().len();
    let mut values = row.iter().take(count).map(|value| value.as_deref().unwrap_or_default());
    if count == 1 {
        return values.next().unwrap_or_default().to_vec();
    }
    let mut key = Vec::new();
    for value in values {
        let length = u16::try_from(value.len()).expect("a system table's keys are short");
        key.extend_from_slice(&length.to_be_bytes());
        key.extend_from_slice(value);
        key.push(0);
    }
    key
}

fn compare_clustering(table: &Table, a: &VirtualRow, b: &VirtualRow) -> std::cmp::Ordering {
    let first = table.partition_key().len();
    for (column, index) in table.clustering().iter().zip(first..) {
        let a = a[index].as_deref().unwrap_or_default();
        let b = b[index].as_deref().unwrap_or_default();
        let order = cql_types::compare(&column.ty, a, b);
        if order.is_ne() {
            return if column.is_reversed() { order.reverse() } else { order };
        }
    }
    std::cmp::Ordering::Equal
}
