//! A hash index from a token to its partition's entry, past the tree.
//!
//! A request names one partition. In a tree of some hundred thousand it passes three inner nodes and a leaf on its way, and none of them
//! can be asked for before the one above is there. Here it looks at one bucket, whose place the token alone tells.
//!
//! It is linear hashing (W. Litwin, VLDB 1980): buckets are split one at a time, in the order of their numbers, as entries come, so that
//! no insertion moves more than one bucket's. Tokens are hashes already; the lower half of one is its tag, whose lowest bits
//! are the bucket's number. A bucket is a cache line:
//!
//! ```text
//! 0               28                 56         60           64
//! ├───────────────┼──────────────────┼──────────┼────────────┤
//! │ tags: u32 × 7 │ entries: u32 × 7 │ more: u32│ left out   │
//! └───────────────┴──────────────────┴──────────┴────────────┘
//! ```
//!
//! A full one goes on in another block, up to [`CHAIN_MAX`]. Whoever makes up keys whose tags are all the same fills them too: the rest
//! is left out, the first bucket says so, and is looked up in the tree. So the tree is what holds partitions, and this is a way to them.

use stdx::prefetch;

use crate::memtable::arena::{Arena, Handle, UNIT, block_units};
use crate::memtable::entry;
use crate::memtable::pool::ChunkPool;
use crate::memtable::tree::Key;

const SLOTS: usize = 7;
const ENTRIES_AT: usize = 4 * SLOTS;
const MORE_AT: usize = 8 * SLOTS;
const LEFT_OUT_AT: usize = MORE_AT + 4;
/// A cache line.
const BUCKET_BYTES: usize = LEFT_OUT_AT + 4;
const _: () = assert!(BUCKET_BYTES == 64);

/// Buckets that are made at a time.
const SLAB_BUCKETS: u32 = 512;
/// Room to move a slab to where a cache line begins.
const SLAB_BYTES: usize = SLAB_BUCKETS as usize * BUCKET_BYTES + BUCKET_BYTES - UNIT;

/// Entries for each two buckets, from which on another one is split. Those that are not split yet in a round have up to twice as many as
/// the others: with 7 slots, one in thirty entries is in a second block then.
const LOAD_PER_TWO: u32 = 9;
/// Blocks of one bucket.
const CHAIN_MAX: usize = 4;

/// What is said of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// Its entry.
    Found(Handle),
    /// There is none.
    Absent,
    /// It is not here, but others of its bucket were left out.
    NotKnown,
}

/// The index of one memtable's partitions.
#[derive(Debug)]
pub struct HashIndex {
    slabs: Vec<Handle>,
    bucket_count: u32,
    entry_count: u32,
}

impl HashIndex {
    /// An index of nothing.
    pub fn new(arena: &mut Arena, pool: &mut ChunkPool) -> Self {
        let slabs = vec![create_slab(arena, pool)];
        HashIndex { slabs, bucket_count: SLAB_BUCKETS, entry_count: 0 }
    }

    /// Asks for the bucket of a token.
    #[inline]
    pub fn prefetch_partition(&self, arena: &Arena, prefix: u64) {
        prefetch(arena.block(self.bucket(tag_of(prefix))), 1);
    }

    /// An entry that is likely to be the one with `prefix`.
    #[inline]
    pub fn candidate(&self, arena: &Arena, prefix: u64) -> Option<Handle> {
        let tag = tag_of(prefix);
        let bucket = Bucket::at(arena, self.bucket(tag));
        let entry = bucket.entry(bucket.slots_with(tag).next()?);
        (!entry.is_null()).then_some(entry)
    }

    /// The entry with `key`.
    #[inline]
    pub fn get(&self, arena: &Arena, key: Key<'_>) -> Lookup {
        let tag = tag_of(key.prefix);
        let first = self.bucket(tag);
        let mut handle = first;
        while !handle.is_null() {
            let bucket = Bucket::at(arena, handle);
            for slot in bucket.slots_with(tag) {
                let entry = bucket.entry(slot);
                if !entry.is_null() && entry::key(arena, entry) == key.bytes {
                    return Lookup::Found(entry);
                }
            }
            handle = bucket.more();
        }
        if Bucket::at(arena, first).has_left_out() { Lookup::NotKnown } else { Lookup::Absent }
    }

    /// Adds an entry that is not here.
    pub fn insert(&mut self, arena: &mut Arena, pool: &mut ChunkPool, prefix: u64, entry: Handle) {
        self.put(arena, pool, tag_of(prefix), entry);
        self.entry_count += 1;
        if u64::from(self.entry_count) * 2 > u64::from(self.bucket_count) * u64::from(LOAD_PER_TWO) {
            self.split(arena, pool);
        }
    }

    /// Has `new` be found where `old` was, an entry with the same key.
    pub fn replace(&mut self, arena: &mut Arena, prefix: u64, old: Handle, new: Handle) {
        let tag = tag_of(prefix);
        let mut handle = self.bucket(tag);
        while !handle.is_null() {
            let bucket = Bucket::at(arena, handle);
            let found = bucket.slots_with(tag).find(|&slot| bucket.entry(slot) == old);
            let more = bucket.more();
            if let Some(slot) = found {
                write(arena.block_mut(handle), ENTRIES_AT + 4 * slot, new.to_bits());
                return;
            }
            handle = more;
        }
    }

    /// The bucket that entries with `tag` are in: the last bits of it, as many as there are buckets for.
    #[inline]
    fn bucket(&self, tag: u32) -> Handle {
        let mask = self.bucket_count.next_power_of_two() - 1;
        let number = if tag & mask < self.bucket_count { tag & mask } else { tag & mask >> 1 };
        self.numbered(number)
    }

    #[inline]
    fn numbered(&self, number: u32) -> Handle {
        self.slabs[(number / SLAB_BUCKETS) as usize].behind((number % SLAB_BUCKETS) as usize * (BUCKET_BYTES / UNIT))
    }

    fn put(&self, arena: &mut Arena, pool: &mut ChunkPool, tag: u32, entry: Handle) {
        let first = self.bucket(tag);
        let mut handle = first;
        for blocks in 1.. {
            let bucket = Bucket::at(arena, handle);
            let slot = bucket.count();
            if slot < SLOTS {
                let block = arena.block_mut(handle);
                write(block, 4 * slot, tag);
                write(block, ENTRIES_AT + 4 * slot, entry.to_bits());
                return;
            }
            let mut more = bucket.more();
            if more.is_null() {
                if blocks == CHAIN_MAX {
                    break;
                }
                (more, _) = arena.allocate(pool, BUCKET_BYTES);
                clear(arena, more);
                write(arena.block_mut(handle), MORE_AT, more.to_bits());
            }
            handle = more;
        }
        write(arena.block_mut(first), LEFT_OUT_AT, 1);
    }

    /// Makes one more bucket, of what now belongs there of the one that had it until now.
    fn split(&mut self, arena: &mut Arena, pool: &mut ChunkPool) {
        let number = self.bucket_count;
        if number.is_multiple_of(SLAB_BUCKETS) {
            self.slabs.push(create_slab(arena, pool));
        }
        let (old, new) = (self.numbered(number ^ 1 << number.ilog2()), self.numbered(number));
        self.bucket_count += 1;
        let has_left_out = Bucket::at(arena, old).has_left_out();
        let mut taken = [(0, Handle::NULL); SLOTS * CHAIN_MAX];
        let mut count = 0;
        let mut handle = old;
        while !handle.is_null() {
            let bucket = Bucket::at(arena, handle);
            for slot in 0..bucket.count() {
                taken[count] = (bucket.tag(slot), bucket.entry(slot));
                count += 1;
            }
            let more = bucket.more();
            if handle != old {
                arena.free(pool, handle, block_units(BUCKET_BYTES));
            }
            handle = more;
        }
        clear(arena, old);
        if has_left_out {
            // To which of the two it would belong is not known.
            for handle in [old, new] {
                write(arena.block_mut(handle), LEFT_OUT_AT, 1);
            }
        }
        for &(tag, entry) in &taken[..count] {
            self.put(arena, pool, tag, entry);
        }
        // The two of the next split, at which nobody else may have looked for long.
        let number = self.bucket_count;
        prefetch(arena.block(self.numbered(number ^ 1 << number.ilog2())), 1);
        if !number.is_multiple_of(SLAB_BUCKETS) {
            prefetch(arena.block(self.numbered(number)), 1);
        }
    }
}

/// The part of a token that is looked for.
#[inline]
fn tag_of(prefix: u64) -> u32 {
    prefix as u32
}

/// A bucket, or what it goes on in, to read.
#[derive(Clone, Copy)]
struct Bucket<'a> {
    block: &'a [u8; BUCKET_BYTES],
}

impl<'a> Bucket<'a> {
    #[inline]
    fn at(arena: &'a Arena, handle: Handle) -> Self {
        Bucket { block: arena.block(handle).first_chunk().expect("a bucket is whole") }
    }

    #[inline]
    fn word(self, at: usize) -> u32 {
        u32::from_le_bytes(*self.block[at..].first_chunk().expect("a word of a bucket"))
    }

    #[inline]
    fn tag(self, slot: usize) -> u32 {
        self.word(4 * slot)
    }

    #[inline]
    fn entry(self, slot: usize) -> Handle {
        Handle::from_bits(self.word(ENTRIES_AT + 4 * slot))
    }

    /// How many slots are in use, the first ones.
    #[inline]
    fn count(self) -> usize {
        (0..SLOTS).map(|slot| usize::from(!self.entry(slot).is_null())).sum()
    }

    #[inline]
    fn more(self) -> Handle {
        Handle::from_bits(self.word(MORE_AT))
    }

    #[inline]
    fn has_left_out(self) -> bool {
        self.word(LEFT_OUT_AT) != 0
    }

    /// The slots whose tag it is, free ones among them. All are compared, without a branch to mispredict.
    #[inline]
    fn slots_with(self, tag: u32) -> impl Iterator<Item = usize> {
        let mut mask = (0..SLOTS).map(|slot| u32::from(self.tag(slot) == tag) << slot).sum::<u32>();
        std::iter::from_fn(move || {
            let slot = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
            mask &= mask - 1;
            Some(slot)
        })
    }
}

#[inline]
fn write(block: &mut [u8], at: usize, word: u32) {
    block[at..at + 4].copy_from_slice(&word.to_le_bytes());
}

fn clear(arena: &mut Arena, bucket: Handle) {
    arena.block_mut(bucket)[..BUCKET_BYTES].fill(0);
}

/// Empty buckets, each of them a cache line.
fn create_slab(arena: &mut Arena, pool: &mut ChunkPool) -> Handle {
    let (block, _) = arena.allocate(pool, SLAB_BYTES);
    let skipped = arena.block(block).as_ptr().addr().wrapping_neg() % BUCKET_BYTES;
    let start = block.behind(skipped / UNIT);
    arena.block_mut(start)[..SLAB_BUCKETS as usize * BUCKET_BYTES].fill(0);
    start
}

#[cfg(test)]
mod tests;
