//! The tree's nodes as bytes of the arena.
//!
//! ```text
//! leaf      0       2          4          8          12   16              16 + 8·capacity
//!           ├───────┼──────────┼──────────┼──────────┼────┼───────────────┼─────────────────┐
//!           │ count │ capacity │ next     │ previous │    │ prefixes: u64 │ entries: u32    │
//!           └───────┴──────────┴──────────┴──────────┴────┴───────────────┴─────────────────┘
//! inner     0       2                                     16              528               784
//!           ├───────┼─────────────────────────────────────┼───────────────┼─────────────────┼───────────────┐
//!           │ count │                                     │ prefixes: u64 │ separators: u32 │ children: u32 │
//!           └───────┴─────────────────────────────────────┴───────────────┴─────────────────┴───────────────┘
//! ```
//!
//! Prefixes lie together, so that a search touches few cache lines and follows no handle unless prefixes are equal.
//! Those not in use are all ones. A separator is a block of its own with the key's bytes, or none if the prefix alone
//! tells its two sides apart, which between tokens is nearly always so.

use crate::memtable::arena::{Arena, Handle};
use crate::memtable::pool::ChunkPool;

/// Entries in a full leaf.
pub const LEAF_MAX: usize = 32;
/// Entries in the leaf of a tree that was just begun: partitions of one row are common.
const LEAF_MIN: usize = 4;
/// Children of a full inner node.
pub const INNER_MAX: usize = 64;

const HEAD: usize = 16;
const SEPARATORS_AT: usize = HEAD + 8 * INNER_MAX;
const CHILDREN_AT: usize = SEPARATORS_AT + 4 * INNER_MAX;
const INNER_BYTES: usize = CHILDREN_AT + 4 * INNER_MAX;
const UNUSED: u64 = u64::MAX;

#[inline]
fn read_u16(block: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes([block[at], block[at + 1]]))
}

#[inline]
fn read_handle(block: &[u8], at: usize) -> Handle {
    let bytes: [u8; 4] = *block[at..].first_chunk().expect("a handle's four bytes");
    Handle::from_bits(u32::from_le_bytes(bytes))
}

#[inline]
fn write_handle(block: &mut [u8], at: usize, handle: Handle) {
    block[at..at + 4].copy_from_slice(&handle.to_bits().to_le_bytes());
}

#[inline]
fn write_u16(block: &mut [u8], at: usize, value: usize) {
    block[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes());
}

#[inline]
fn write_prefix(block: &mut [u8], index: usize, prefix: u64) {
    block[HEAD + 8 * index..][..8].copy_from_slice(&prefix.to_le_bytes());
}

/// How many of a node's prefixes are below `prefix`. Counts all of them: without a branch to mispredict, and with
/// all cache lines asked for at once.
#[inline]
fn count_below(prefixes: &[u8], prefix: u64) -> usize {
    let (prefixes, _) = prefixes.as_chunks::<8>();
    prefixes.iter().map(|bytes| usize::from(u64::from_le_bytes(*bytes) < prefix)).sum()
}

#[inline]
fn prefix_at(block: &[u8], index: usize) -> u64 {
    let bytes: [u8; 8] = *block[HEAD + 8 * index..].first_chunk().expect("a prefix's eight bytes");
    u64::from_le_bytes(bytes)
}

/// The places in `[first, count)`, of equal prefixes from `first` on, that the other bytes of a key decide between.
#[inline]
fn equal_run(block: &[u8], first: usize, count: usize, prefix: u64) -> usize {
    let mut end = first;
    while end < count && prefix_at(block, end) == prefix {
        end += 1;
    }
    end
}

/// A leaf, to read.
#[derive(Clone, Copy)]
pub struct Leaf<'a> {
    block: &'a [u8],
}

impl<'a> Leaf<'a> {
    /// The leaf that `handle` names.
    #[inline]
    pub fn at(arena: &'a Arena, handle: Handle) -> Self {
        let block = arena.block(handle);
        let capacity = read_u16(block, 2);
        Leaf { block: &block[..leaf_bytes(capacity)] }
    }

    #[inline]
    pub fn count(&self) -> usize {
        read_u16(self.block, 0)
    }

    #[inline]
    pub fn capacity(&self) -> usize {
        read_u16(self.block, 2)
    }

    #[inline]
    pub fn next(&self) -> Handle {
        read_handle(self.block, 4)
    }

    #[inline]
    pub fn previous(&self) -> Handle {
        read_handle(self.block, 8)
    }

    #[inline]
    pub fn prefix(&self, index: usize) -> u64 {
        prefix_at(self.block, index)
    }

    #[inline]
    pub fn entry(&self, index: usize) -> Handle {
        read_handle(self.block, HEAD + 8 * self.capacity() + 4 * index)
    }

    /// The first place whose prefix is not below `prefix`, and the first after it whose prefix is greater.
    #[inline]
    pub fn search(&self, prefix: u64) -> (usize, usize) {
        let prefixes = &self.block[HEAD..HEAD + 8 * self.capacity()];
        let first = count_below(prefixes, prefix).min(self.count());
        (first, equal_run(self.block, first, self.count(), prefix))
    }
}

#[inline]
fn leaf_bytes(capacity: usize) -> usize {
    HEAD + 12 * capacity
}

/// Makes an empty leaf.
pub fn create_leaf(arena: &mut Arena, pool: &mut ChunkPool, capacity: usize) -> Handle {
    let (handle, _) = arena.allocate(pool, leaf_bytes(capacity));
    let block = arena.block_mut(handle);
    block[..HEAD].fill(0);
    write_u16(block, 2, capacity);
    block[HEAD..HEAD + 8 * capacity].fill(0xff);
    handle
}

/// Makes the first leaf of a tree.
pub fn create_first_leaf(arena: &mut Arena, pool: &mut ChunkPool) -> Handle {
    create_leaf(arena, pool, LEAF_MIN)
}

/// Puts an entry at `index` of a leaf that is not full.
#[inline]
pub fn leaf_insert(arena: &mut Arena, leaf: Handle, index: usize, prefix: u64, entry: Handle) {
    let block = arena.block_mut(leaf);
    let (count, capacity) = (read_u16(block, 0), read_u16(block, 2));
    assert!(index <= count && count < capacity, "a leaf is split before it overflows");
    let prefixes = HEAD;
    block.copy_within(prefixes + 8 * index..prefixes + 8 * count, prefixes + 8 * (index + 1));
    let entries = HEAD + 8 * capacity;
    block.copy_within(entries + 4 * index..entries + 4 * count, entries + 4 * (index + 1));
    write_prefix(block, index, prefix);
    write_handle(block, entries + 4 * index, entry);
    write_u16(block, 0, count + 1);
}

/// Has `index` name another entry with the same key.
#[inline]
pub fn leaf_set_entry(arena: &mut Arena, leaf: Handle, index: usize, entry: Handle) {
    let block = arena.block_mut(leaf);
    let capacity = read_u16(block, 2);
    write_handle(block, HEAD + 8 * capacity + 4 * index, entry);
}

/// Replaces the only leaf of a small tree by one of twice the capacity.
pub fn leaf_grow(arena: &mut Arena, pool: &mut ChunkPool, leaf: Handle) -> Handle {
    let old = Leaf::at(arena, leaf);
    let (count, capacity) = (old.count(), old.capacity());
    assert!(old.next().is_null() && old.previous().is_null() && capacity < LEAF_MAX);
    let grown = create_leaf(arena, pool, capacity * 2);
    move_entries(arena, leaf, 0, count, grown);
    let units = crate::memtable::arena::block_units(leaf_bytes(capacity));
    arena.free(pool, leaf, units);
    grown
}

/// Splits a full leaf: what stands from `at` on moves to a new right neighbour, which is given.
pub fn leaf_split(arena: &mut Arena, pool: &mut ChunkPool, leaf: Handle, at: usize) -> Handle {
    let right = create_leaf(arena, pool, LEAF_MAX);
    let old = Leaf::at(arena, leaf);
    let (count, next) = (old.count(), old.next());
    move_entries(arena, leaf, at, count, right);
    let block = arena.block_mut(right);
    write_handle(block, 4, next);
    write_handle(block, 8, leaf);
    write_handle(arena.block_mut(leaf), 4, right);
    if !next.is_null() {
        write_handle(arena.block_mut(next), 8, right);
    }
    right
}

/// Moves the entries in `[from, to)`, the last of their leaf, to an empty one.
fn move_entries(arena: &mut Arena, source: Handle, from: usize, to: usize, target: Handle) {
    for index in from..to {
        let leaf = Leaf::at(arena, source);
        let (prefix, entry) = (leaf.prefix(index), leaf.entry(index));
        leaf_insert(arena, target, index - from, prefix, entry);
    }
    let block = arena.block_mut(source);
    write_u16(block, 0, from);
    block[HEAD + 8 * from..HEAD + 8 * to].copy_from_slice(&[0xff; 8 * LEAF_MAX][..8 * (to - from)]);
}

/// An inner node, to read. Child `i` holds the keys from separator `i` on; the first separator is below all keys.
#[derive(Clone, Copy)]
pub struct Inner<'a> {
    block: &'a [u8],
}

impl<'a> Inner<'a> {
    /// The inner node that `handle` names.
    #[inline]
    pub fn at(arena: &'a Arena, handle: Handle) -> Self {
        Inner { block: &arena.block(handle)[..INNER_BYTES] }
    }

    #[inline]
    pub fn count(&self) -> usize {
        read_u16(self.block, 0)
    }

    #[inline]
    pub fn prefix(&self, index: usize) -> u64 {
        prefix_at(self.block, index)
    }

    #[inline]
    pub fn separator(&self, index: usize) -> Handle {
        read_handle(self.block, SEPARATORS_AT + 4 * index)
    }

    #[inline]
    pub fn child(&self, index: usize) -> Handle {
        read_handle(self.block, CHILDREN_AT + 4 * index)
    }

    /// As [`Leaf::search`], among the separators.
    #[inline]
    pub fn search(&self, prefix: u64) -> (usize, usize) {
        let first = count_below(&self.block[HEAD..SEPARATORS_AT], prefix).min(self.count());
        (first, equal_run(self.block, first, self.count(), prefix))
    }
}

/// Makes an inner node over `left` and, from the separator on, `right`.
pub fn create_root(
    arena: &mut Arena,
    pool: &mut ChunkPool,
    left: Handle,
    separator: (u64, Handle),
    right: Handle,
) -> Handle {
    let root = create_inner(arena, pool);
    inner_insert(arena, root, 0, (0, Handle::NULL), left);
    inner_insert(arena, root, 1, separator, right);
    root
}

fn create_inner(arena: &mut Arena, pool: &mut ChunkPool) -> Handle {
    let (handle, _) = arena.allocate(pool, INNER_BYTES);
    let block = arena.block_mut(handle);
    block[..HEAD].fill(0);
    for index in 0..INNER_MAX {
        write_prefix(block, index, UNUSED);
    }
    handle
}

/// Puts a child at `index` of an inner node that is not full.
pub fn inner_insert(arena: &mut Arena, node: Handle, index: usize, separator: (u64, Handle), child: Handle) {
    let block = arena.block_mut(node);
    let count = read_u16(block, 0);
    assert!(index <= count && count < INNER_MAX, "an inner node is split before it overflows");
    for (at, width) in [(HEAD, 8), (SEPARATORS_AT, 4), (CHILDREN_AT, 4)] {
        block.copy_within(at + width * index..at + width * count, at + width * (index + 1));
    }
    write_prefix(block, index, separator.0);
    write_handle(block, SEPARATORS_AT + 4 * index, separator.1);
    write_handle(block, CHILDREN_AT + 4 * index, child);
    write_u16(block, 0, count + 1);
}

/// Splits a full inner node: the children from `at` on move to a new node. Gives the separator between the two, and the
/// new node.
pub fn inner_split(arena: &mut Arena, pool: &mut ChunkPool, node: Handle, at: usize) -> ((u64, Handle), Handle) {
    let right = create_inner(arena, pool);
    let count = Inner::at(arena, node).count();
    assert!(at > 0 && at < count, "both sides of a split have children");
    let up = (Inner::at(arena, node).prefix(at), Inner::at(arena, node).separator(at));
    for index in at..count {
        let inner = Inner::at(arena, node);
        // The separator before the first child moves up; in the node itself that place is below all keys.
        let separator = if index == at { (0, Handle::NULL) } else { (inner.prefix(index), inner.separator(index)) };
        let child = inner.child(index);
        inner_insert(arena, right, index - at, separator, child);
    }
    let block = arena.block_mut(node);
    write_u16(block, 0, at);
    for index in at..count {
        write_prefix(block, index, UNUSED);
    }
    (up, right)
}
