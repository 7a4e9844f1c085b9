//! An ordered map from (prefix, bytes) to entries: a B+tree whose nodes are blocks of the arena.
//!
//! Keys compare by a prefix of 64 bits, then by their bytes. For partitions the prefix is the token, for rows and
//! boundaries it is the first eight bytes of a byte-comparable key. Entries are never taken out: what is deleted stays
//! as a tombstone until the whole memtable goes, so nodes need not merge. A tree itself is three words, held by whoever
//! owns it.

use std::cmp::Ordering;

use stdx::prefetch;

use crate::memtable::arena::{Arena, Handle};
use crate::memtable::entry;
use crate::memtable::node::{self, INNER_MAX, Inner, LEAF_MAX, Leaf};
use crate::memtable::pool::ChunkPool;

/// Levels of inner nodes at most. A node is at least half full but at the right edge: twelve levels are never reached.
const HEIGHT_MAX: usize = 12;
/// Cache lines of a full leaf.
const LEAF_LINES: usize = 7;

/// What a tree is searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key<'a> {
    /// Compared first.
    pub prefix: u64,
    /// Compared next.
    pub bytes: &'a [u8],
}

impl<'a> Key<'a> {
    /// The key of a partition.
    #[inline]
    pub fn of_partition(token: topology::Token, key: &'a [u8]) -> Self {
        Key { prefix: flip(token.0), bytes: key }
    }

    /// The key of byte-comparable bytes. What is missing of the prefix is zero: two keys may then have one prefix, and
    /// the bytes decide.
    #[inline]
    pub fn of_comparable(bytes: &'a [u8]) -> Self {
        let prefix = match bytes.first_chunk::<8>() {
            Some(first) => u64::from_be_bytes(*first),
            None => {
                let mut padded = [0; 8];
                padded[..bytes.len()].copy_from_slice(bytes);
                u64::from_be_bytes(padded)
            }
        };
        Key { prefix, bytes }
    }
}

/// A token as a number that sorts without sign.
#[inline]
pub fn flip(token: i64) -> u64 {
    token as u64 ^ 1 << 63
}

/// The inverse of [`flip`].
#[inline]
pub fn unflip(prefix: u64) -> i64 {
    (prefix ^ 1 << 63) as i64
}

/// A tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tree {
    root: Handle,
    height: u32,
    count: u32,
}

/// A place in a leaf; after the last entry it is the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    leaf: Handle,
    index: usize,
}

/// On the way to where a key is, or would be; see [`Tree::prefetch_path`].
#[derive(Debug, Clone, Copy)]
pub struct Descent {
    tree: Tree,
    path: [(Handle, u16); HEIGHT_MAX],
    leaf: Handle,
    /// The places in the leaf whose prefixes are the key's.
    first: usize,
    end: usize,
}

/// Where a key is, or would be.
pub struct Place {
    path: [(Handle, u16); HEIGHT_MAX],
    cursor: Cursor,
    /// The entry with this very key.
    pub found: Option<Handle>,
}

impl Place {
    /// Has the tree name another entry for the key that was found.
    #[inline]
    pub fn set(&self, arena: &mut Arena, entry: Handle) {
        node::leaf_set_entry(arena, self.cursor.leaf, self.cursor.index, entry);
    }
}

impl Tree {
    /// The bytes of a tree that is held in an entry.
    pub const BYTES: usize = 12;

    /// A tree without entries or memory.
    pub const EMPTY: Tree = Tree { root: Handle::NULL, height: 0, count: 0 };

    /// How many entries there are.
    #[inline]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// For an entry to hold.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.root.to_bits().to_le_bytes());
        bytes[4..8].copy_from_slice(&self.height.to_le_bytes());
        bytes[8..].copy_from_slice(&self.count.to_le_bytes());
        bytes
    }

    /// From what [`Tree::to_bytes`] gave.
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = bytes;
        Tree {
            root: Handle::from_bits(u32::from_le_bytes([a, b, c, d])),
            height: u32::from_le_bytes([e, f, g, h]),
            count: u32::from_le_bytes([i, j, k, l]),
        }
    }

    /// The entry with `key`, and what of it is likely to be read next on its way.
    #[inline]
    pub fn get(&self, arena: &Arena, key: Key<'_>) -> Option<Handle> {
        if self.root.is_null() {
            return None;
        }
        let handle = self.leaf_of(arena, key);
        let (first, end) = search_leaf(arena, handle, key.prefix);
        let (_, found) = settle(arena, &Leaf::at(arena, handle), first, end, key.bytes);
        found
    }

    /// Has the tree name `new` where it names `old`, the entry with `key`. Neither is read: `old` may be freed by now.
    pub fn replace(&self, arena: &mut Arena, key: Key<'_>, old: Handle, new: Handle) {
        let handle = self.leaf_of(arena, key);
        let leaf = Leaf::at(arena, handle);
        let (first, end) = leaf.search(key.prefix);
        let index = (first..end).find(|&index| leaf.entry(index) == old).expect("what is replaced is in its leaf");
        node::leaf_set_entry(arena, handle, index, new);
    }

    /// The leaf in which `key` is or would be, of a tree that has one.
    #[inline]
    fn leaf_of(&self, arena: &Arena, key: Key<'_>) -> Handle {
        let mut handle = self.root;
        for _ in 0..self.height {
            let inner = Inner::at(arena, handle);
            handle = inner.child(child_index(arena, &inner, key));
        }
        handle
    }

    /// Asks for the leaf in which keys with `prefix` are or would be. A hint: of several leaves it is one.
    #[inline]
    pub fn prefetch_partition(&self, arena: &Arena, prefix: u64) {
        let mut handle = self.root;
        if handle.is_null() {
            return;
        }
        for _ in 0..self.height {
            let inner = Inner::at(arena, handle);
            let (_, behind) = inner.search(prefix);
            handle = inner.child(behind - 1);
        }
        prefetch(arena.block(handle), LEAF_LINES);
    }

    /// Where `key` is or would be, with the way there.
    #[inline]
    pub fn locate(&self, arena: &Arena, key: Key<'_>) -> Place {
        self.locate_from(arena, self.prefetch_path(arena, key), key)
    }

    /// The first part of [`Tree::locate`]: up to the leaf. The entry is not looked at yet, but asked for: with a million rows it is some
    /// 200 ns away, in which other work can be done.
    #[inline]
    pub fn prefetch_path(&self, arena: &Arena, key: Key<'_>) -> Descent {
        let mut path = [(Handle::NULL, 0); HEIGHT_MAX];
        let mut leaf = self.root;
        if leaf.is_null() {
            return Descent { tree: *self, path, leaf, first: 0, end: 0 };
        }
        for step in &mut path[..self.height as usize] {
            let inner = Inner::at(arena, leaf);
            let index = child_index(arena, &inner, key);
            *step = (leaf, index as u16);
            leaf = inner.child(index);
        }
        let (first, end) = search_leaf(arena, leaf, key.prefix);
        Descent { tree: *self, path, leaf, first, end }
    }

    /// The rest of [`Tree::locate`]. Nothing was inserted since.
    #[inline]
    pub fn locate_from(&self, arena: &Arena, prefetch_path: Descent, key: Key<'_>) -> Place {
        let Descent { tree, path, leaf, first, end } = prefetch_path;
        assert!(tree == *self, "a tree that is approached is left alone until the arrival");
        if leaf.is_null() {
            return Place { path, cursor: Cursor { leaf, index: 0 }, found: None };
        }
        let (index, found) = settle(arena, &Leaf::at(arena, leaf), first, end, key.bytes);
        Place { path, cursor: Cursor { leaf, index }, found }
    }

    /// Puts an entry where [`Tree::locate`] did not find its key. Any other change to the tree makes the place stale.
    #[inline]
    pub fn insert(&mut self, arena: &mut Arena, pool: &mut ChunkPool, place: &Place, key: Key<'_>, entry: Handle) {
        self.count += 1;
        if self.root.is_null() {
            self.root = node::create_first_leaf(arena, pool);
            node::leaf_insert(arena, self.root, 0, key.prefix, entry);
            return;
        }
        let Cursor { leaf, index } = place.cursor;
        let (count, capacity) = (Leaf::at(arena, leaf).count(), Leaf::at(arena, leaf).capacity());
        if count < capacity {
            node::leaf_insert(arena, leaf, index, key.prefix, entry);
        } else if capacity < LEAF_MAX {
            self.root = node::leaf_grow(arena, pool, leaf);
            node::leaf_insert(arena, self.root, index, key.prefix, entry);
        } else {
            self.split_and_insert(arena, pool, place, key, entry);
        }
    }

    #[cold]
    fn split_and_insert(
        &mut self,
        arena: &mut Arena,
        pool: &mut ChunkPool,
        place: &Place,
        key: Key<'_>,
        entry: Handle,
    ) {
        let Cursor { leaf, index } = place.cursor;
        // Keys that only grow leave full nodes behind; all others leave them half full.
        let is_append = index == LEAF_MAX && Leaf::at(arena, leaf).next().is_null();
        let at = if is_append { LEAF_MAX } else { LEAF_MAX / 2 };
        let right = node::leaf_split(arena, pool, leaf, at);
        match index.checked_sub(at) {
            Some(index) if is_append || index > 0 => node::leaf_insert(arena, right, index, key.prefix, entry),
            _ => node::leaf_insert(arena, leaf, index, key.prefix, entry),
        }
        let separator = separator_between(arena, pool, leaf, right);
        self.insert_child(arena, pool, place, separator, right, is_append);
    }

    /// Makes a new right neighbour known to the inner nodes above.
    fn insert_child(
        &mut self,
        arena: &mut Arena,
        pool: &mut ChunkPool,
        place: &Place,
        mut separator: (u64, Handle),
        mut right: Handle,
        is_append: bool,
    ) {
        for &(node, index) in place.path[..self.height as usize].iter().rev() {
            let index = usize::from(index) + 1;
            if Inner::at(arena, node).count() < INNER_MAX {
                node::inner_insert(arena, node, index, separator, right);
                return;
            }
            let at = if is_append { INNER_MAX - 1 } else { INNER_MAX / 2 };
            let (up, new) = node::inner_split(arena, pool, node, at);
            match index.checked_sub(at) {
                Some(index) if index > 0 => node::inner_insert(arena, new, index, separator, right),
                _ => node::inner_insert(arena, node, index, separator, right),
            }
            (separator, right) = (up, new);
        }
        self.root = node::create_root(arena, pool, self.root, separator, right);
        self.height += 1;
        assert!(self.height as usize <= HEIGHT_MAX, "a tree of 2^32 entries is lower than this");
    }

    /// The first entry whose key is not below `key`, or the end.
    pub fn seek(&self, arena: &Arena, key: Key<'_>) -> Cursor {
        self.locate(arena, key).cursor
    }

    /// The first entry, or the end.
    pub fn first(&self, arena: &Arena) -> Cursor {
        self.seek(arena, Key { prefix: 0, bytes: &[] })
    }

    /// After the last entry.
    pub fn end(&self, arena: &Arena) -> Cursor {
        let mut handle = self.root;
        if handle.is_null() {
            return Cursor { leaf: handle, index: 0 };
        }
        for _ in 0..self.height {
            let inner = Inner::at(arena, handle);
            handle = inner.child(inner.count() - 1);
        }
        Cursor { leaf: handle, index: Leaf::at(arena, handle).count() }
    }
}

impl Cursor {
    /// A place where nothing follows.
    pub const END: Cursor = Cursor { leaf: Handle::NULL, index: 0 };

    /// The entry here, with its prefix, and the cursor behind it. `None` at the end.
    #[inline]
    pub fn next(self, arena: &Arena) -> Option<(u64, Handle, Cursor)> {
        let Cursor { leaf: mut handle, mut index } = self;
        while !handle.is_null() {
            let leaf = Leaf::at(arena, handle);
            if index < leaf.count() {
                return Some((leaf.prefix(index), leaf.entry(index), Cursor { leaf: handle, index: index + 1 }));
            }
            (handle, index) = (leaf.next(), 0);
        }
        None
    }

    /// The entry before this place, with its prefix, and the cursor at it. `None` at the beginning.
    #[inline]
    pub fn previous(self, arena: &Arena) -> Option<(u64, Handle, Cursor)> {
        let Cursor { leaf: mut handle, mut index } = self;
        while !handle.is_null() {
            let leaf = Leaf::at(arena, handle);
            if let Some(before) = index.checked_sub(1) {
                return Some((leaf.prefix(before), leaf.entry(before), Cursor { leaf: handle, index: before }));
            }
            handle = leaf.previous();
            if !handle.is_null() {
                index = Leaf::at(arena, handle).count();
            }
        }
        None
    }

    /// Has the tree name another entry, with the same key, at the place where [`Cursor::next`] found one. `self` is the
    /// cursor that it gave.
    pub fn set_before(self, arena: &mut Arena, entry: Handle) {
        node::leaf_set_entry(arena, self.leaf, self.index - 1, entry);
    }
}

/// The places in a leaf whose prefixes are `prefix`, as [`Leaf::search`] gives them. What is likely to be read of the entry is asked for.
#[inline]
fn search_leaf(arena: &Arena, handle: Handle, prefix: u64) -> (usize, usize) {
    prefetch(arena.block(handle), LEAF_LINES);
    let leaf = Leaf::at(arena, handle);
    let (first, end) = leaf.search(prefix);
    if first < end {
        entry::prefetch_partition(arena, leaf.entry(first));
    }
    (first, end)
}

/// Among the entries in `[first, end)`, whose prefixes are the key's: where the key is or would be, and the entry.
#[inline]
fn settle(arena: &Arena, leaf: &Leaf<'_>, first: usize, end: usize, bytes: &[u8]) -> (usize, Option<Handle>) {
    // Nearly always there is one, and it is the one.
    if first < end && entry::key(arena, leaf.entry(first)) == bytes {
        return (first, Some(leaf.entry(first)));
    }
    let index = lower_bound(first, end, |index| entry::key(arena, leaf.entry(index)) < bytes);
    let found = (index < end).then(|| leaf.entry(index)).filter(|&found| entry::key(arena, found) == bytes);
    (index, found)
}

/// The child of `inner` in which `key` belongs: the last whose separator is not above it.
#[inline]
fn child_index(arena: &Arena, inner: &Inner<'_>, key: Key<'_>) -> usize {
    let (first, end) = inner.search(key.prefix);
    let above = lower_bound(first, end, |index| entry::key(arena, inner.separator(index)) <= key.bytes);
    // The first separator is (0, no bytes), which is not above any key.
    above - 1
}

/// The first place in `[first, end)` for which `is_below` is false.
#[inline]
fn lower_bound(mut first: usize, mut end: usize, is_below: impl Fn(usize) -> bool) -> usize {
    while first < end {
        let middle = first + (end - first) / 2;
        if is_below(middle) { first = middle + 1 } else { end = middle }
    }
    first
}

/// A separator between two neighbours: bytes are kept only where the prefix does not tell them apart.
fn separator_between(arena: &mut Arena, pool: &mut ChunkPool, left: Handle, right: Handle) -> (u64, Handle) {
    let left = Leaf::at(arena, left);
    let right = Leaf::at(arena, right);
    let prefix = right.prefix(0);
    if left.prefix(left.count() - 1).cmp(&prefix) == Ordering::Less {
        return (prefix, Handle::NULL);
    }
    let bytes = entry::key(arena, right.entry(0)).to_vec();
    (prefix, entry::create(arena, pool, &bytes, &[], &[]))
}

#[cfg(test)]
mod tests;
