//! The memtable: what was written to one table on one shard, ordered, in an arena of its own.
//!
//! See `docs/internals/memtable.md`.

mod arena;
mod entry;
mod flush;
mod hash;
mod keys;
mod least;
mod node;
mod partition;
mod partitions;
mod pool;
mod purge;
mod ranges;
mod read;
mod read_data;
mod shape;
mod tree;
mod walk;
mod write;

use std::collections::VecDeque;
use std::rc::Rc;

pub use flush::{FlushItem, FlushWalk};
pub(crate) use keys::KeyWalk;
pub use pool::ChunkPool;
pub(crate) use ranges::successor;
pub(crate) use read::{COST_BYTES, is_above, is_below};
pub use shape::TableShape;
pub use write::Merge;

use crate::memtable::arena::Arena;
use crate::memtable::partitions::Partitions;
use crate::memtable::purge::Purge;

/// Buffers of one shard that its memtables write rows in, so that merging takes no memory.
#[derive(Debug, Default)]
pub struct Scratch {
    key: Vec<u8>,
    row: Vec<u8>,
    shadowed: Vec<u8>,
    deletion: Vec<u8>,
}

/// One table's memtable.
#[derive(Debug)]
pub struct Memtable {
    shape: Rc<TableShape>,
    arena: Arena,
    partitions: Partitions,
    purges: VecDeque<Purge>,
}

impl Memtable {
    /// An empty memtable, which takes no chunk.
    pub fn new(shape: TableShape) -> Self {
        Memtable { shape: Rc::new(shape), arena: Arena::new(), partitions: Partitions::new(), purges: VecDeque::new() }
    }

    /// The table's shape.
    pub fn shape(&self) -> &Rc<TableShape> {
        &self.shape
    }

    /// Takes over the shape of the table as it is now. User-defined types among its clustering columns may have other fields: new
    /// ones stand behind the others and are null in the rows that are here, whose places stay the same
    /// (`cql_types::comparable` leaves no trace of nulls at the end).
    pub fn take_shape(&mut self, shape: TableShape) {
        let directions = |shape: &TableShape| shape.clustering.iter().map(|column| column.1).collect::<Vec<_>>();
        assert_eq!(directions(&shape), directions(&self.shape), "a table's clustering columns stay as they are");
        self.shape = Rc::new(shape);
    }

    /// A request about a partition is to come: asks for what it will read first, and has the index get on if it is being made.
    #[inline]
    pub fn prefetch_partition(&mut self, pool: &mut ChunkPool, token: topology::Token) {
        if self.partitions.is_to_be_indexed() {
            self.partitions.index_some(&mut self.arena, pool);
        }
        self.partitions.prefetch_partition(&self.arena, tree::flip(token.0));
    }

    /// Asks for what a read of a partition will read next. A hint, for when what [`Memtable::prefetch_partition`] asked for is there.
    #[inline]
    pub fn prefetch_entry(&self, token: topology::Token) {
        self.partitions.prefetch_entry(&self.arena, tree::flip(token.0));
    }

    /// How many partitions there are, deleted ones among them.
    pub fn partition_count(&self) -> u32 {
        self.partitions.tree().count()
    }

    /// Whether nothing was written to it.
    pub fn is_empty(&self) -> bool {
        self.partitions.tree().is_empty()
    }

    /// The memory that it has, bytes.
    pub fn bytes(&self) -> usize {
        self.arena.bytes()
    }

    /// Whether `bytes` in small blocks surely fit without another chunk.
    #[inline]
    pub fn has_room(&self, bytes: usize) -> bool {
        self.arena.has_room(bytes)
    }

    /// Drops everything; the chunks go back to the pool as they are.
    pub fn clear(&mut self, pool: &mut ChunkPool) {
        let arena = std::mem::replace(&mut self.arena, Arena::new());
        pool.put_all(arena.into_chunks());
        self.partitions = Partitions::new();
        self.purges.clear();
    }
}

#[cfg(test)]
pub(crate) mod tests;
