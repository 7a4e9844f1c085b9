//! What a memtable knows of its table: how rows are ordered.

use cql_types::CqlType;
use mutation::{ClusteringRef, Item, MutationRef};

/// The types and directions of a table's clustering columns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableShape {
    /// For each clustering column its type, and whether it orders largest first.
    pub clustering: Vec<(CqlType, bool)>,
}

impl TableShape {
    /// The shape of `table`.
    pub fn of(table: &schema::Table) -> Self {
        let clustering = table.clustering().iter().map(|column| (column.ty.clone(), column.is_reversed()));
        TableShape { clustering: clustering.collect() }
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

    /// Why `mutation` is not one of such a table's.
    #[inline]
    pub fn check(&self, mutation: &MutationRef<'_>) -> Result<(), &'static str> {
        let count = self.clustering.len();
        for item in mutation.items() {
            match item {
                Item::Row(clustering, _) if clustering.len() != count => {
                    return Err("a row's clustering has another count of components than the table");
                }
                Item::StaticRow(_) if count == 0 => return Err("a table without clustering columns has no static row"),
                Item::RangeTombstone(_) if count == 0 => {
                    return Err("a table without clustering columns has no ranges of rows");
                }
                Item::RangeTombstone(range) if range.start.prefix.len().max(range.end.prefix.len()) > count => {
                    return Err("a range's bound has more components than the table");
                }
                _ => {}
            }
        }
        Ok(())
    }
}
