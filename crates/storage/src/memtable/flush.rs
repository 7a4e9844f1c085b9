//! A memtable's content in order, for a file: partitions, rows, and range deletions as markers.
//!
//! The memtable is frozen: nothing is written to it any more, so a walk keeps its cursors over any pause. What a deletion
//! from outside covers is left out here, where rows that `purge` has not come to still lie.

use std::rc::Rc;

use mutation::{ClusteringRef, Deletion, RowBuilder, RowRef, shadow_row};
use sstable::Marker;
use topology::Token;

use crate::memtable::arena::Handle;
use crate::memtable::partition::PartitionHead;
use crate::memtable::tree::{Cursor, unflip};
use crate::memtable::{Memtable, entry, ranges};

/// What comes next in a memtable.
#[derive(Debug, Clone, Copy)]
pub enum FlushItem<'a> {
    /// A partition begins.
    Partition {
        /// Its token.
        token: Token,
        /// Its key.
        key: &'a [u8],
        /// The deletion of all of it. Of a table without clustering columns, that of its row.
        deletion: Option<Deletion>,
        /// Its static row.
        static_row: Option<RowRef<'a>>,
    },
    /// A row of the partition.
    Row(ClusteringRef<'a>, RowRef<'a>),
    /// A place where another range deletion holds from.
    Marker(Marker<'a>),
    /// The partition ends.
    PartitionEnd,
}

/// A walk over a frozen memtable.
pub struct FlushWalk {
    memtable: Rc<Memtable>,
    partitions: Cursor,
    inside: Option<Inside>,
    /// The present row, if it is not as it lies in the memtable.
    rebuilt: Option<Vec<u8>>,
    spare: Vec<u8>,
}

/// Where the walk is in a partition.
struct Inside {
    /// In a table without clustering columns: the partition, whose row was not given yet.
    single: Option<Handle>,
    deletion: Option<Deletion>,
    rows: Cursor,
    boundaries: Cursor,
    /// The deletion of the range that the walk is in.
    open: Option<Deletion>,
}

/// What the walk gives next, found before anything of it is borrowed.
enum Found {
    Partition(Token, Handle),
    Single(Handle),
    Row(Handle),
    Boundary {
        handle: Handle,
        closes: Option<Deletion>,
        opens: Option<Deletion>,
    },
    /// A range that holds up to the partition's end.
    Rest(Deletion),
    End,
}

impl Memtable {
    /// Whether anything is said of the partition. Statements that change nothing leave one of which nothing is.
    fn holds_anything(&self, partition: Handle) -> bool {
        let arena = &self.arena;
        let body = entry::entry(arena, partition).body;
        let says = |handle: Handle| !RowRef::trusted(entry::entry(arena, handle).body).is_empty();
        if !self.shape.has_clustering() {
            return says(partition);
        }
        let head = PartitionHead::from_bytes(body);
        let is_static = !head.static_row.is_null() && says(head.static_row);
        if head.deletion.is_some() || is_static || !head.boundaries.is_empty() {
            return true;
        }
        let mut rows = head.rows.first(arena);
        while let Some((_, handle, next)) = rows.next(arena) {
            if says(handle) {
                return true;
            }
            rows = next;
        }
        false
    }
}

impl FlushWalk {
    /// A walk over all of `memtable`, to which nobody writes any more.
    pub fn over(memtable: Rc<Memtable>) -> Self {
        let partitions = memtable.partitions.tree().first(&memtable.arena);
        FlushWalk { memtable, partitions, inside: None, rebuilt: None, spare: Vec::new() }
    }

    /// What comes next; `None` at the end.
    pub fn next(&mut self) -> Option<FlushItem<'_>> {
        loop {
            let found = self.find()?;
            if let Some(row) = self.rebuilt.take() {
                self.spare = row;
            }
            // A row of which nothing is left is passed over.
            let is_kept = match found {
                Found::Single(handle) => self.strip(handle),
                Found::Row(handle) => self.shadow(handle),
                _ => true,
            };
            if is_kept {
                return Some(self.give(found));
            }
        }
    }

    fn find(&mut self) -> Option<Found> {
        let arena = &self.memtable.arena;
        let Some(inside) = &mut self.inside else {
            loop {
                let (prefix, handle, next) = self.partitions.next(arena)?;
                self.partitions = next;
                if self.memtable.holds_anything(handle) {
                    return Some(Found::Partition(Token(unflip(prefix)), handle));
                }
            }
        };
        if let Some(handle) = inside.single.take() {
            return Some(Found::Single(handle));
        }
        loop {
            let row = inside.rows.next(arena);
            let boundary = inside.boundaries.next(arena);
            // A boundary stands before the rows that it covers.
            let is_boundary_first = match (&row, &boundary) {
                (Some((_, row, _)), Some((_, boundary, _))) => entry::key(arena, *boundary) <= entry::key(arena, *row),
                (row, boundary) => row.is_none() && boundary.is_some(),
            };
            match (row, boundary) {
                (_, Some((_, handle, next))) if is_boundary_first => {
                    inside.boundaries = next;
                    let opens = ranges::deletion_of(&entry::entry(arena, handle));
                    let closes = std::mem::replace(&mut inside.open, opens);
                    if closes != opens {
                        return Some(Found::Boundary { handle, closes, opens });
                    }
                }
                (Some((_, handle, next)), _) => {
                    inside.rows = next;
                    return Some(Found::Row(handle));
                }
                _ => match inside.open.take() {
                    Some(open) => return Some(Found::Rest(open)),
                    None => {
                        self.inside = None;
                        return Some(Found::End);
                    }
                },
            }
        }
    }

    /// An empty buffer for a row that is rebuilt.
    fn buffer(&mut self) -> Vec<u8> {
        let mut buffer = std::mem::take(&mut self.spare);
        buffer.clear();
        buffer
    }

    /// Rebuilds a row that is covered by deletions, of what is left of it. False: nothing is left.
    fn shadow(&mut self, handle: Handle) -> bool {
        let inside = self.inside.as_ref().expect("a row is inside of a partition");
        let Some(deletion) = Deletion::max_of(inside.deletion, inside.open) else {
            // An empty body is the place of a row that was deleted from outside.
            return !RowRef::trusted(entry::entry(&self.memtable.arena, handle).body).is_empty();
        };
        let mut rebuilt = self.buffer();
        let row = RowRef::trusted(entry::entry(&self.memtable.arena, handle).body);
        let is_kept = shadow_row(&row, deletion, &mut rebuilt);
        self.rebuilt = Some(rebuilt);
        is_kept
    }

    /// Rebuilds the row of a table without clustering columns without its deletion, which is the partition's. False: there is
    /// nothing else.
    fn strip(&mut self, handle: Handle) -> bool {
        let row = RowRef::trusted(entry::entry(&self.memtable.arena, handle).body);
        if row.deletion().is_none() {
            return !row.is_empty();
        }
        let mut rebuilt = self.buffer();
        let row = RowRef::trusted(entry::entry(&self.memtable.arena, handle).body);
        let mut builder = RowBuilder::begin(&rebuilt);
        if let Some(liveness) = row.liveness() {
            builder.liveness(liveness);
        }
        for cell in row.cells() {
            builder.cell(&mut rebuilt, &cell);
        }
        builder.finish(&mut rebuilt);
        let is_kept = !RowRef::trusted(&rebuilt).is_empty();
        self.rebuilt = Some(rebuilt);
        is_kept
    }

    /// The present row.
    fn row(&self, handle: Handle) -> RowRef<'_> {
        let stored = || entry::entry(&self.memtable.arena, handle).body;
        RowRef::trusted(self.rebuilt.as_deref().unwrap_or_else(stored))
    }

    fn give(&mut self, found: Found) -> FlushItem<'_> {
        let arena = &self.memtable.arena;
        match found {
            Found::Partition(token, handle) => {
                let partition = entry::entry(arena, handle);
                let end = Cursor::END;
                let (inside, static_row) = if self.memtable.shape.has_clustering() {
                    let head = PartitionHead::from_bytes(partition.body);
                    let static_row = (!head.static_row.is_null()).then(|| entry::entry(arena, head.static_row).body);
                    let (rows, boundaries) = (head.rows.first(arena), head.boundaries.first(arena));
                    let deletion = head.deletion;
                    (Inside { single: None, deletion, rows, boundaries, open: None }, static_row)
                } else {
                    let deletion = RowRef::trusted(partition.body).deletion();
                    (Inside { single: Some(handle), deletion, rows: end, boundaries: end, open: None }, None)
                };
                let deletion = inside.deletion;
                self.inside = Some(inside);
                let static_row = static_row.map(RowRef::trusted).filter(|row| !row.is_empty());
                FlushItem::Partition { token, key: partition.key, deletion, static_row }
            }
            Found::Single(handle) => FlushItem::Row(ClusteringRef::EMPTY, self.row(handle)),
            Found::Row(handle) => {
                let clustering = ClusteringRef::trusted(entry::entry(arena, handle).side);
                FlushItem::Row(clustering, self.row(handle))
            }
            Found::Boundary { handle, closes, opens } => {
                let boundary = entry::entry(arena, handle);
                let (after, prefix) = ranges::made_of(&boundary);
                FlushItem::Marker(Marker { prefix, after, closes, opens })
            }
            Found::Rest(open) => {
                let prefix = ClusteringRef::EMPTY;
                FlushItem::Marker(Marker { prefix, after: true, closes: Some(open), opens: None })
            }
            Found::End => FlushItem::PartitionEnd,
        }
    }
}
