//! The partitions of a memtable: a tree in the order of tokens and, where many requests name partitions, a hash index beside it. A key
//! has one token, so the index looks at the key alone.
//!
//! The index makes finding a partition cheaper and inserting a new one dearer. So there is none until the requests that it would have
//! served are more than the partitions: a memtable that is only filled never has one. Then it is made in the order of tokens, some
//! partitions with each request, and is asked for tokens below those that are still to come.

use std::cell::Cell;

use crate::memtable::arena::{Arena, Handle};
use crate::memtable::entry;
use crate::memtable::hash::{HashIndex, Lookup};
use crate::memtable::pool::{CHUNK_BYTES, ChunkPool};
use crate::memtable::tree::{self, Key, Tree};

/// Partitions from which on there may be an index. Of fewer the tree is in the nearest caches, and a memtable of none, which no flush would
/// free of an index, is read whenever its table is.
const INDEXED_MIN: u32 = 1024;
/// Partitions that one request adds to the index while it is made: some 3 µs, which 128 requests behind each other all wait for.
const INDEXED_PER_STEP: usize = 32;

/// All partitions.
#[derive(Debug)]
pub struct Partitions {
    tree: Tree,
    index: Index,
}

/// How much of the tree is indexed.
#[derive(Debug)]
enum Index {
    /// Nothing, but so many requests would have been served.
    Nothing {
        lookups: Cell<u32>,
    },
    /// All tokens below the prefix.
    Below(u64, HashIndex),
    All(HashIndex),
    /// Nothing, and it stays so: more keys than one step takes have the same token.
    Never,
}

/// On the way to where a partition is, or would be; see [`Partitions::prefetch_path`].
#[derive(Debug)]
pub enum Descent {
    /// Probably this one.
    Entry(Handle),
    /// Through the tree.
    Tree(tree::Descent),
}

/// Where a partition is, or would be.
pub enum Place {
    /// Found by the index.
    Entry(Handle),
    /// In the tree.
    Tree(tree::Place),
}

impl Place {
    /// The partition's entry.
    #[inline]
    pub fn found(&self) -> Option<Handle> {
        match self {
            Place::Entry(entry) => Some(*entry),
            Place::Tree(place) => place.found,
        }
    }
}

impl Partitions {
    /// No partitions.
    pub fn new() -> Self {
        Partitions { tree: Tree::EMPTY, index: Index::Nothing { lookups: Cell::new(0) } }
    }

    /// All of them in order.
    #[inline]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The index, if all keys with `prefix` are in it.
    #[inline]
    fn index_of(&self, prefix: u64) -> Option<&HashIndex> {
        match &self.index {
            Index::All(index) => Some(index),
            Index::Below(end, index) if prefix < *end => Some(index),
            _ => None,
        }
    }

    /// Asks for what [`Partitions::prefetch_entry`], or whatever looks for the partition, will read. A hint.
    #[inline]
    pub fn prefetch_partition(&self, arena: &Arena, prefix: u64) {
        match self.index_of(prefix) {
            Some(index) => index.prefetch_partition(arena, prefix),
            None => self.tree.prefetch_partition(arena, prefix),
        }
    }

    /// Asks for what [`Partitions::get`] will read once it has found the partition. A hint.
    #[inline]
    pub fn prefetch_entry(&self, arena: &Arena, prefix: u64) {
        if let Some(entry) = self.index_of(prefix).and_then(|index| index.candidate(arena, prefix)) {
            entry::prefetch_partition(arena, entry);
        }
    }

    /// The partition with `key`.
    #[inline]
    pub fn get(&self, arena: &Arena, key: Key<'_>) -> Option<Handle> {
        let Some(index) = self.index_of(key.prefix) else {
            self.count_lookup();
            return self.tree.get(arena, key);
        };
        match index.get(arena, key) {
            Lookup::Found(entry) => Some(entry),
            Lookup::Absent => None,
            Lookup::NotKnown => self.tree.get(arena, key),
        }
    }

    /// The first part of the way to `key`. What is read next is not looked at yet, but asked for: with a million rows it is some 200 ns
    /// away, in which other work can be done.
    #[inline]
    pub fn prefetch_path(&self, arena: &Arena, key: Key<'_>) -> Descent {
        if let Some(entry) = self.index_of(key.prefix).and_then(|index| index.candidate(arena, key.prefix)) {
            entry::prefetch_partition(arena, entry);
            return Descent::Entry(entry);
        }
        Descent::Tree(self.tree.prefetch_path(arena, key))
    }

    /// The rest of the way. Nothing was inserted since.
    #[inline]
    pub fn locate_from(&self, arena: &Arena, prefetch_path: Descent, key: Key<'_>) -> Place {
        let place = match prefetch_path {
            Descent::Entry(entry) if entry::key(arena, entry) == key.bytes => return Place::Entry(entry),
            Descent::Entry(_) => self.tree.locate(arena, key),
            Descent::Tree(prefetch_path) => self.tree.locate_from(arena, prefetch_path, key),
        };
        if place.found.is_some() {
            self.count_lookup();
        }
        Place::Tree(place)
    }

    /// Where `key` is or would be.
    #[inline]
    pub fn locate(&self, arena: &Arena, key: Key<'_>) -> Place {
        self.locate_from(arena, self.prefetch_path(arena, key), key)
    }

    /// Puts a partition where [`Partitions::locate_from`] did not find its key.
    #[inline]
    pub fn insert(&mut self, arena: &mut Arena, pool: &mut ChunkPool, place: &Place, key: Key<'_>, entry: Handle) {
        let Place::Tree(place) = place else { panic!("a partition is inserted where there is none") };
        self.tree.insert(arena, pool, place, key, entry);
        match &mut self.index {
            Index::All(index) => index.insert(arena, pool, key.prefix, entry),
            Index::Below(end, index) if key.prefix < *end => index.insert(arena, pool, key.prefix, entry),
            _ => {}
        }
    }

    /// Has another entry be the partition with `key`, which was found at `place`. The one that was there is not read: it may be freed by
    /// now.
    #[cold]
    pub fn replace(&mut self, arena: &mut Arena, place: &Place, key: Key<'_>, new: Handle) {
        match place {
            Place::Entry(old) => self.tree.replace(arena, key, *old, new),
            Place::Tree(place) => place.set(arena, new),
        }
        if let (Index::All(index) | Index::Below(_, index), Some(old)) = (&mut self.index, place.found()) {
            index.replace(arena, key.prefix, old, new);
        }
    }

    #[inline]
    fn count_lookup(&self) {
        if let Index::Nothing { lookups } = &self.index {
            lookups.set(lookups.get().saturating_add(1));
        }
    }

    /// Whether [`Partitions::index_some`] has something to do.
    #[inline]
    pub fn is_to_be_indexed(&self) -> bool {
        match &self.index {
            Index::Nothing { lookups } => {
                let partitions = self.tree.count();
                partitions >= INDEXED_MIN && lookups.get() > partitions
            }
            Index::Below(..) => true,
            Index::All(_) | Index::Never => false,
        }
    }

    /// Adds some partitions to the index, where the pool has room for it.
    #[cold]
    pub fn index_some(&mut self, arena: &mut Arena, pool: &mut ChunkPool) {
        if !pool.has_room(CHUNK_BYTES) {
            return;
        }
        let (start, mut index) = match std::mem::replace(&mut self.index, Index::Never) {
            Index::Nothing { .. } => (0, HashIndex::new(arena, pool)),
            Index::Below(start, index) => (start, index),
            Index::All(_) | Index::Never => panic!("there is something left to be indexed"),
        };
        let mut cursor = self.tree.seek(arena, Key { prefix: start, bytes: &[] });
        let mut entries = Vec::with_capacity(INDEXED_PER_STEP);
        let mut end = None;
        while let Some((prefix, entry, next)) = cursor.next(arena) {
            if entries.len() == INDEXED_PER_STEP {
                end = Some(prefix);
                break;
            }
            entries.push((prefix, entry));
            cursor = next;
        }
        // Those with the first prefix of the next step are left to it, since a step begins with a prefix.
        if let Some(end) = end {
            entries.truncate(entries.partition_point(|(prefix, _)| *prefix < end));
            if entries.is_empty() {
                return;
            }
        }
        for (prefix, entry) in entries {
            index.insert(arena, pool, prefix, entry);
        }
        self.index = match end {
            Some(end) => Index::Below(end, index),
            None => Index::All(index),
        };
    }
}

#[cfg(test)]
mod tests;
