//! The least timestamp of a partition: whether a tombstone in a file may hide something that is in memory.

use mutation::RowRef;
use topology::Token;

use crate::memtable::partition::PartitionHead;
use crate::memtable::tree::{Key, Tree};
use crate::memtable::{Memtable, entry, ranges};

impl Memtable {
    /// The least timestamp of anything in the partition; `i64::MAX` if it is not there, `i64::MIN` if it has more than `items_max` rows and
    /// boundaries, which are too many to look at.
    pub fn timestamp_min_of(&self, token: Token, key: &[u8], items_max: usize) -> i64 {
        let arena = &self.arena;
        let Some(partition) = self.partitions.get(arena, Key::of_partition(token, key)) else { return i64::MAX };
        let body = entry::entry(arena, partition).body;
        if !self.shape.has_clustering() {
            return least_of_row(&RowRef::trusted(body));
        }
        let head = PartitionHead::from_bytes(body);
        let mut least = head.deletion.map_or(i64::MAX, |deletion| deletion.timestamp);
        if !head.static_row.is_null() {
            least = least.min(least_of_row(&RowRef::trusted(entry::entry(arena, head.static_row).body)));
        }
        let mut items = 0;
        let mut visit = |tree: &Tree, least_of: &dyn Fn(&entry::Entry<'_>) -> i64| {
            let mut cursor = tree.first(arena);
            while let Some((_, handle, next)) = cursor.next(arena) {
                items += 1;
                if items > items_max {
                    return i64::MIN;
                }
                least = least.min(least_of(&entry::entry(arena, handle)));
                cursor = next;
            }
            least
        };
        let of_boundaries = visit(&head.boundaries, &|boundary| {
            ranges::deletion_of(boundary).map_or(i64::MAX, |deletion| deletion.timestamp)
        });
        of_boundaries.min(visit(&head.rows, &|row| least_of_row(&RowRef::trusted(row.body))))
    }
}

fn least_of_row(row: &RowRef<'_>) -> i64 {
    let of_deletion = row.deletion().map_or(i64::MAX, |deletion| deletion.timestamp);
    let of_liveness = row.liveness().map_or(i64::MAX, |liveness| liveness.timestamp);
    row.cells().fold(of_deletion.min(of_liveness), |least, cell| least.min(cell.timestamp))
}
