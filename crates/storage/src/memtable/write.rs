//! Merging a mutation into the memtable.

use mutation::{
    ClusteringRef, Deletion, Item, Items, MutationRef, RangeTombstoneRef, RowBuilder, RowRef, merge_rows, shadow_row,
    supersedes,
};

use crate::memtable::arena::{Arena, Handle};
use crate::memtable::partition::PartitionHead;
use crate::memtable::partitions::{Descent, Place};
use crate::memtable::pool::ChunkPool;
use crate::memtable::purge::Purge;
use crate::memtable::tree::Key;
use crate::memtable::{Memtable, Scratch, entry, ranges};

/// Bytes of nodes and entries' heads that one row or boundary may add, from above.
const ITEM_OVERHEAD: usize = 256;
/// What splits all the way up a tree and a slab of the index may take once.
const SPLIT_OVERHEAD: usize = 56 << 10;

/// A mutation on its way into a memtable, at once or in steps.
pub struct Merge<'m> {
    mutation: &'m MutationRef<'m>,
    items: Items<'m>,
    is_begun: bool,
    /// On the way to its partition.
    prefetch_path: Option<Descent>,
}

impl<'m> Merge<'m> {
    /// Nothing of `mutation` is merged yet.
    #[inline]
    pub fn of(mutation: &'m MutationRef<'m>) -> Self {
        Merge { mutation, items: mutation.items(), is_begun: false, prefetch_path: None }
    }

    /// Whether there is anything left.
    pub fn has_more(&self) -> bool {
        !self.is_begun || self.items.clone().next().is_some()
    }

    /// The deletion of the partition, which comes first.
    #[inline]
    fn deletion(&self) -> Option<Deletion> {
        self.mutation.partition_deletion().filter(|_| !self.is_begun)
    }
}

impl Memtable {
    /// How many bytes of new blocks `mutation` may take, from above for all but merges with much larger rows.
    #[inline]
    pub fn bytes_needed(mutation: &MutationRef<'_>) -> usize {
        Self::bytes_needed_among_others(mutation) + SPLIT_OVERHEAD
    }

    /// The same for one of many. [`ITEM_OVERHEAD`] covers a new leaf for each item; inner nodes split once in tens of leaves,
    /// so that a batch needs [`Memtable::bytes_needed_once`] and this for each of its mutations, not a whole split for each.
    #[inline]
    pub fn bytes_needed_among_others(mutation: &MutationRef<'_>) -> usize {
        2 * mutation.bytes().len() + ITEM_OVERHEAD * (1 + mutation.item_count())
    }

    /// What a batch needs beside its mutations.
    pub fn bytes_needed_once() -> usize {
        SPLIT_OVERHEAD
    }

    /// Merges `mutation`, which [`crate::memtable::TableShape::check`] found to fit.
    #[inline]
    pub fn apply(&mut self, pool: &mut ChunkPool, scratch: &mut Scratch, mutation: &MutationRef<'_>) {
        self.merge_some(pool, scratch, &mut Merge::of(mutation), usize::MAX);
    }

    /// A merge of `mutation` that is soon to come, before any other: the partition's entry is asked for.
    #[inline]
    pub fn prefetch_path<'m>(&self, mutation: &'m MutationRef<'m>) -> Merge<'m> {
        let key = Key::of_partition(mutation.token(), mutation.key());
        Merge { prefetch_path: Some(self.partitions.prefetch_path(&self.arena, key)), ..Merge::of(mutation) }
    }

    /// Where a partition is or would be, to which there may be an prefetch_path already.
    #[inline]
    fn locate_from(&self, key: Key<'_>, prefetch_path: &mut Option<Descent>) -> Place {
        match prefetch_path.take() {
            Some(prefetch_path) => self.partitions.locate_from(&self.arena, prefetch_path, key),
            None => self.partitions.locate(&self.arena, key),
        }
    }

    /// Merges the next `items_max` items of a mutation, and what comes before them. Between two calls other mutations may be
    /// merged, and reads see a part of this one.
    pub fn merge_some(&mut self, pool: &mut ChunkPool, scratch: &mut Scratch, merge: &mut Merge<'_>, items_max: usize) {
        if self.shape.has_clustering() {
            self.apply_to_partition(pool, scratch, merge, items_max);
        } else {
            self.apply_to_row(pool, scratch, merge, items_max);
        }
        merge.is_begun = true;
        if !self.purges.is_empty() {
            self.purge_some(pool, scratch);
        }
    }

    /// Without clustering columns a partition is one row, which lies in the partition's entry. The deletion of the
    /// partition is that row's.
    fn apply_to_row(&mut self, pool: &mut ChunkPool, scratch: &mut Scratch, merge: &mut Merge<'_>, items_max: usize) {
        let mutation = merge.mutation;
        let key = Key::of_partition(mutation.token(), mutation.key());
        if let Some(deletion) = merge.deletion() {
            scratch.deletion.clear();
            let mut builder = RowBuilder::begin(&scratch.deletion);
            builder.deletion(deletion);
            builder.finish(&mut scratch.deletion);
            let place = self.locate_from(key, &mut merge.prefetch_path);
            put_row(self, pool, &mut scratch.row, place, key, &RowRef::trusted(&scratch.deletion));
        }
        for item in merge.items.by_ref().take(items_max) {
            if let Item::Row(_, row) = item {
                let place = self.locate_from(key, &mut merge.prefetch_path);
                put_row(self, pool, &mut scratch.row, place, key, &row);
            }
        }
    }

    fn apply_to_partition(
        &mut self,
        pool: &mut ChunkPool,
        scratch: &mut Scratch,
        merge: &mut Merge<'_>,
        items_max: usize,
    ) {
        let mutation = merge.mutation;
        let key = Key::of_partition(mutation.token(), mutation.key());
        let place = self.locate_from(key, &mut merge.prefetch_path);
        let partition = match place.found() {
            Some(partition) => partition,
            // A mutation that says nothing makes no partition, as in a table without clustering columns.
            None if mutation.is_empty() => return,
            None => {
                let head = PartitionHead::EMPTY.to_bytes();
                let partition = entry::create(&mut self.arena, pool, key.bytes, &[], &head);
                self.partitions.insert(&mut self.arena, pool, &place, key, partition);
                partition
            }
        };
        let before = PartitionHead::from_bytes(entry::entry(&self.arena, partition).body);
        let mut head = before;
        if let Some(deletion) = merge.deletion() {
            self.delete_partition(pool, scratch, &mut head, deletion);
            self.begin_purge(Purge::of_partition(mutation, deletion));
        }
        for item in merge.items.by_ref().take(items_max) {
            match item {
                Item::Row(clustering, row) => self.put_clustered(pool, scratch, &mut head, clustering, row),
                Item::StaticRow(row) => self.put_static(pool, scratch, &mut head, row),
                Item::RangeTombstone(range) => self.delete_range(pool, mutation, &mut head, &range),
            }
        }
        if head != before {
            entry::overwrite_body(&mut self.arena, partition, &head.to_bytes());
        }
    }

    fn delete_partition(
        &mut self,
        pool: &mut ChunkPool,
        scratch: &mut Scratch,
        head: &mut PartitionHead,
        deletion: Deletion,
    ) {
        head.deletion = Deletion::max_of(head.deletion, Some(deletion));
        if !head.static_row.is_null() {
            scratch.row.clear();
            let row = RowRef::trusted(entry::entry(&self.arena, head.static_row).body);
            shadow_row(&row, deletion, &mut scratch.row);
            head.static_row = entry::replace_body(&mut self.arena, pool, head.static_row, &scratch.row);
        }
    }

    fn put_static(&mut self, pool: &mut ChunkPool, scratch: &mut Scratch, head: &mut PartitionHead, row: RowRef<'_>) {
        let Some(row) = shadowed(&row, head.deletion, &mut scratch.shadowed) else { return };
        if head.static_row.is_null() {
            head.static_row = entry::create(&mut self.arena, pool, &[], &[], row.bytes());
            return;
        }
        scratch.row.clear();
        let old = RowRef::trusted(entry::entry(&self.arena, head.static_row).body);
        merge_rows(&old, &row, &mut scratch.row);
        head.static_row = entry::replace_body(&mut self.arena, pool, head.static_row, &scratch.row);
    }

    fn put_clustered(
        &mut self,
        pool: &mut ChunkPool,
        scratch: &mut Scratch,
        head: &mut PartitionHead,
        clustering: ClusteringRef<'_>,
        row: RowRef<'_>,
    ) {
        scratch.key.clear();
        self.shape.comparable(clustering, &mut scratch.key);
        let mut deletion = head.deletion;
        if !head.boundaries.is_empty() {
            let of_range = ranges::deletion_at(&self.arena, &head.boundaries, &scratch.key);
            deletion = Deletion::max_of(deletion, of_range);
        }
        let Some(row) = shadowed(&row, deletion, &mut scratch.shadowed) else { return };
        let key = Key::of_comparable(&scratch.key);
        let place = head.rows.locate(&self.arena, key);
        match place.found {
            None => {
                let handle = entry::create(&mut self.arena, pool, key.bytes, clustering.bytes(), row.bytes());
                head.rows.insert(&mut self.arena, pool, &place, key, handle);
            }
            Some(found) => {
                let moved = merge_into(&mut self.arena, pool, &mut scratch.row, found, &row);
                if moved != found {
                    place.set(&mut self.arena, moved);
                }
            }
        }
    }

    fn delete_range(
        &mut self,
        pool: &mut ChunkPool,
        mutation: &MutationRef<'_>,
        head: &mut PartitionHead,
        range: &RangeTombstoneRef<'_>,
    ) {
        let Some(start) = ranges::start_of(&self.shape, &range.start) else { return };
        let end = ranges::end_of(&self.shape, &range.end);
        ranges::add(&mut self.arena, pool, &mut head.boundaries, &start, end.as_ref(), range.deletion);
        self.begin_purge(Purge::of_range(mutation, start.at, end.map(|end| end.at), range.deletion));
    }
}

/// What is left of `row` under a deletion that covers it; `None` if nothing is.
fn shadowed<'r>(row: &RowRef<'r>, deletion: Option<Deletion>, buffer: &'r mut Vec<u8>) -> Option<RowRef<'r>> {
    let Some(deletion) = deletion else { return Some(*row) };
    buffer.clear();
    shadow_row(row, deletion, buffer).then(|| RowRef::trusted(buffer))
}

/// Puts the row of a table without clustering columns.
#[inline]
fn put_row(
    table: &mut Memtable,
    pool: &mut ChunkPool,
    merged: &mut Vec<u8>,
    place: Place,
    key: Key<'_>,
    row: &RowRef<'_>,
) {
    match place.found() {
        None => {
            let handle = entry::create(&mut table.arena, pool, key.bytes, &[], row.bytes());
            table.partitions.insert(&mut table.arena, pool, &place, key, handle);
        }
        Some(found) => {
            let moved = merge_into(&mut table.arena, pool, merged, found, row);
            if moved != found {
                table.partitions.replace(&mut table.arena, &place, key, moved);
            }
        }
    }
}

/// Merges `row` into the one that is there. Gives the entry's handle, which is another one if it had to move.
#[inline]
fn merge_into(
    arena: &mut Arena,
    pool: &mut ChunkPool,
    merged: &mut Vec<u8>,
    found: Handle,
    row: &RowRef<'_>,
) -> Handle {
    let body = entry::entry(arena, found).body;
    let old = RowRef::trusted(body);
    // An empty body is the place of a row that was deleted from outside.
    if body.is_empty() || supersedes(row, &old) {
        return entry::replace_body(arena, pool, found, row.bytes());
    }
    merged.clear();
    merge_rows(&old, row, merged);
    entry::replace_body(arena, pool, found, merged)
}
