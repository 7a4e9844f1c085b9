//! What a memtable knows of its table: how rows are ordered, and what they must be.

use cql_types::CqlType;
use mutation::{ClusteringRef, Item, MutationRef};
use sstable::data::WritableCheck;

/// The longest partition key, bytes: files write its length in sixteen bits.
const KEY_LENGTH_MAX: usize = u16::MAX as usize;

/// The types and directions of a table's clustering columns, and what its rows must be to be written to files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableShape {
    /// For each clustering column its type, and whether it orders largest first.
    pub clustering: Vec<(CqlType, bool)>,
    /// What the files' format asks of its rows.
    pub fit: WritableCheck,
}

impl TableShape {
    /// The shape of `table`.
    pub fn of(table: &schema::Table) -> Self {
        let clustering = table.clustering().iter().map(|column| (column.ty.clone(), column.is_reversed()));
        TableShape { clustering: clustering.collect(), fit: WritableCheck::of(table) }
    }

    /// Whether partitions have more than one row.
    #[inline]
    pub fn has_clustering(&self) -> bool {
        !self.clustering.is_empty()
    }

    /// Appends the byte-comparable form of a clustering, or of its first components.
    #[inline]
    pub fn comparable(&self, clustering: ClusteringRef<'_>, out: &mut Vec<u8>) {
        for ((ty, is_reversed), value) in self.clustering.iter().zip(clustering.components()) {
            cql_types::comparable::encode(ty, value, *is_reversed, out);
        }
    }

    /// Why `mutation` is not one of such a table's. What passes can be merged, and be flushed later: a flush has nobody to refuse.
    #[inline]
    pub fn check(&self, mutation: &MutationRef<'_>) -> Result<(), &'static str> {
        self.check_head(mutation)?;
        mutation.items().try_for_each(|item| self.check_item(&item))
    }

    /// The same of a mutation's key alone; its items are for [`TableShape::check_item`].
    #[inline]
    pub fn check_head(&self, mutation: &MutationRef<'_>) -> Result<(), &'static str> {
        match mutation.key().len() {
            0..=KEY_LENGTH_MAX => Ok(()),
            _ => Err("a partition key is longer than 65,535 bytes"),
        }
    }

    /// Why an item is not one of such a table's mutations'.
    #[inline]
    pub fn check_item(&self, item: &Item<'_>) -> Result<(), &'static str> {
        self.check_place(item)?;
        match item {
            Item::Row(_, row) | Item::StaticRow(row) => self.fit.check_row(row),
            Item::RangeTombstone(_) => Ok(()),
        }
    }

    /// The same of where an item is alone.
    #[inline]
    pub fn check_place(&self, item: &Item<'_>) -> Result<(), &'static str> {
        match item {
            Item::Row(clustering, _) => self.fit.check_clustering(*clustering),
            Item::StaticRow(_) if !self.has_clustering() => Err("a table without clustering columns has no static row"),
            Item::StaticRow(_) => Ok(()),
            Item::RangeTombstone(_) if !self.has_clustering() => {
                Err("a table without clustering columns has no ranges of rows")
            }
            Item::RangeTombstone(range) => {
                self.fit.check_prefix(range.start.prefix).and_then(|()| self.fit.check_prefix(range.end.prefix))
            }
        }
    }
}
