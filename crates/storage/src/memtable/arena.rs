//! A memtable's memory: blocks inside of chunks, named by handles of 32 bits.
//!
//! A handle counts units of 16 bytes: the chunk is in its upper half and the place inside the chunk in its lower half,
//! so that a table can grow to 64 GiB. A freed block joins the list of its size class, its first bytes hold the next of
//! the list, and the next block of that class takes it. Sizes are exact up to 1 KiB and within an eighth above, so that
//! a workload that overwrites rows with others of like size comes to rest. What is bigger than half a chunk gets a
//! chunk of its own.

use crate::memtable::pool::{CHUNK_BYTES, ChunkPool};

/// The unit of handles and block sizes, bytes.
pub const UNIT: usize = 16;

const CHUNK_UNITS: u32 = (CHUNK_BYTES / UNIT) as u32;
/// The first chunks of a memtable, so that a table with little in it costs little.
const CHUNK_BYTES_FIRST: usize = 4 << 10;
/// Each chunk is this much bigger than the one before, up to [`CHUNK_BYTES`].
const CHUNK_GROWTH: usize = 4;

const UNITS_EXACT: u32 = 64;
/// The largest block in a shared chunk, units.
const UNITS_SHARED_MAX: u32 = CHUNK_UNITS / 2;
const CLASS_COUNT: usize = 64 + 9 * 8;

/// Names a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handle(u32);

impl Handle {
    /// No block.
    pub const NULL: Handle = Handle(0);

    /// Whether it names no block.
    #[inline]
    pub fn is_null(self) -> bool {
        self.0 == 0
    }

    /// As a number, for a node to hold.
    #[inline]
    pub fn to_bits(self) -> u32 {
        self.0
    }

    /// From what [`Handle::to_bits`] gave.
    #[inline]
    pub fn from_bits(bits: u32) -> Self {
        Handle(bits)
    }

    /// The place so many units further on in the block.
    #[inline]
    pub fn behind(self, units: usize) -> Self {
        Handle(self.0 + units as u32)
    }

    #[inline]
    fn of(chunk: usize, unit: u32) -> Self {
        Handle((chunk as u32) << 16 | unit)
    }

    #[inline]
    fn chunk(self) -> usize {
        (self.0 >> 16) as usize
    }

    #[inline]
    fn offset(self) -> usize {
        (self.0 & 0xffff) as usize * UNIT
    }
}

/// The memory of one memtable.
#[derive(Debug)]
pub struct Arena {
    chunks: Vec<Box<[u8]>>,
    /// Places in `chunks` whose chunk was given back.
    vacant: Vec<usize>,
    /// The chunk that is being filled, and the units of it that are left.
    fill_chunk: usize,
    fill_next: u32,
    fill_end: u32,
    /// The first free block of each class; empty until something is freed.
    free: Vec<Handle>,
    chunk_bytes_next: usize,
}

impl Arena {
    /// An arena without memory.
    pub fn new() -> Self {
        Arena {
            chunks: Vec::new(),
            vacant: Vec::new(),
            fill_chunk: 0,
            fill_next: 0,
            fill_end: 0,
            free: Vec::new(),
            chunk_bytes_next: CHUNK_BYTES_FIRST,
        }
    }

    /// Whether `bytes` in small blocks surely fit in what is left of the chunk that is being filled.
    #[inline]
    pub fn has_room(&self, bytes: usize) -> bool {
        (self.fill_end - self.fill_next) as usize * UNIT >= bytes
    }

    /// The bytes of its chunks.
    pub fn bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len()).sum()
    }

    /// All chunks, for the pool; the arena is gone.
    pub fn into_chunks(self) -> Vec<Box<[u8]>> {
        self.chunks
    }

    /// From the block's first byte to its chunk's end.
    #[inline]
    pub fn block(&self, handle: Handle) -> &[u8] {
        &self.chunks[handle.chunk()][handle.offset()..]
    }

    /// From the block's first byte to its chunk's end, to write.
    #[inline]
    pub fn block_mut(&mut self, handle: Handle) -> &mut [u8] {
        &mut self.chunks[handle.chunk()][handle.offset()..]
    }

    /// Copies the first `length` bytes of one block to another.
    pub fn copy(&mut self, from: Handle, to: Handle, length: usize) {
        if from.chunk() == to.chunk() {
            let start = from.offset();
            self.chunks[to.chunk()].copy_within(start..start + length, to.offset());
            return;
        }
        let [from_chunk, to_chunk] =
            self.chunks.get_disjoint_mut([from.chunk(), to.chunk()]).expect("two chunks of this arena");
        to_chunk[to.offset()..][..length].copy_from_slice(&from_chunk[from.offset()..][..length]);
    }

    /// A block of at least `bytes`, and how many units it really has. Its content is whatever it was.
    #[inline]
    pub fn allocate(&mut self, pool: &mut ChunkPool, bytes: usize) -> (Handle, u32) {
        let units = units_of(bytes);
        if units > UNITS_SHARED_MAX {
            return (self.allocate_own_chunk(pool, units), units);
        }
        let class = Class::up(units);
        if let Some(&first) = self.free.get(class.index)
            && !first.is_null()
        {
            self.free[class.index] = self.next_free(first);
            return (first, class.units);
        }
        if self.fill_end - self.fill_next < class.units {
            if let Some(found) = self.allocate_from_larger(class) {
                return (found, class.units);
            }
            self.begin_chunk(pool, class.units);
        }
        let handle = Handle::of(self.fill_chunk, self.fill_next);
        self.fill_next += class.units;
        (handle, class.units)
    }

    /// Takes back a block of `units`, as [`Arena::allocate`] gave them.
    pub fn free(&mut self, pool: &mut ChunkPool, handle: Handle, units: u32) {
        if units > UNITS_SHARED_MAX {
            pool.put(std::mem::take(&mut self.chunks[handle.chunk()]));
            self.vacant.push(handle.chunk());
            return;
        }
        let class = Class::up(units);
        assert_eq!(class.units, units, "a block has the size of a class");
        self.push_free(handle, class);
    }

    #[inline]
    fn next_free(&self, handle: Handle) -> Handle {
        let bytes = self.block(handle).first_chunk::<4>().expect("a block has at least one unit");
        Handle::from_bits(u32::from_le_bytes(*bytes))
    }

    fn push_free(&mut self, handle: Handle, class: Class) {
        if self.free.is_empty() {
            self.free = vec![Handle::NULL; CLASS_COUNT];
        }
        let next = std::mem::replace(&mut self.free[class.index], handle);
        self.block_mut(handle)[..4].copy_from_slice(&next.to_bits().to_le_bytes());
    }

    /// Before a new chunk is taken: cuts a larger free block, and puts the rest back in pieces.
    fn allocate_from_larger(&mut self, class: Class) -> Option<Handle> {
        let index = (class.index + 1..self.free.len()).find(|&index| !self.free[index].is_null())?;
        let found = self.free[index];
        self.free[index] = self.next_free(found);
        self.put_rest(Handle(found.0 + class.units), Class::at(index).units - class.units);
        Some(found)
    }

    /// Puts `units` from `handle` on in the free lists, in pieces as large as they come.
    fn put_rest(&mut self, mut handle: Handle, mut units: u32) {
        while units > 0 {
            let class = Class::down(units);
            self.push_free(handle, class);
            units -= class.units;
            // The last piece may end with its chunk, beyond which there is no handle.
            handle = Handle(handle.0.wrapping_add(class.units));
        }
    }

    #[cold]
    fn begin_chunk(&mut self, pool: &mut ChunkPool, units: u32) {
        let rest = Handle::of(self.fill_chunk, self.fill_next);
        self.put_rest(rest, self.fill_end - self.fill_next);
        let mut bytes = self.chunk_bytes_next;
        // Unit 0 of the first chunk is never handed out: its handle means none.
        while bytes < (units as usize + 1) * UNIT {
            bytes *= CHUNK_GROWTH;
        }
        let bytes = bytes.min(CHUNK_BYTES);
        self.chunk_bytes_next = (bytes * CHUNK_GROWTH).min(CHUNK_BYTES);
        let chunk = pool.take(bytes);
        self.fill_chunk = self.add_chunk(chunk);
        self.fill_next = u32::from(self.fill_chunk == 0);
        self.fill_end = (bytes / UNIT) as u32;
    }

    #[cold]
    fn allocate_own_chunk(&mut self, pool: &mut ChunkPool, units: u32) -> Handle {
        if self.chunks.is_empty() {
            // The handle of the first chunk's first unit means none.
            self.begin_chunk(pool, 1);
        }
        let chunk = pool.take(units as usize * UNIT);
        Handle::of(self.add_chunk(chunk), 0)
    }

    fn add_chunk(&mut self, chunk: Box<[u8]>) -> usize {
        if let Some(place) = self.vacant.pop() {
            self.chunks[place] = chunk;
            return place;
        }
        assert!(self.chunks.len() <= 0xffff, "a memtable has at most 65,536 chunks");
        self.chunks.push(chunk);
        self.chunks.len() - 1
    }
}

/// How many units `bytes` take.
#[inline]
pub fn units_of(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).expect("a block is smaller than 64 GiB").max(1)
}

/// How many units a block for `bytes` would have.
#[inline]
pub fn block_units(bytes: usize) -> u32 {
    let units = units_of(bytes);
    if units > UNITS_SHARED_MAX { units } else { Class::up(units).units }
}

/// A size class of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Class {
    index: usize,
    units: u32,
}

impl Class {
    /// The smallest class of at least `units`.
    #[inline]
    fn up(units: u32) -> Class {
        if units <= UNITS_EXACT {
            return Class { index: units as usize - 1, units };
        }
        // Eight classes to each doubling: nine to sixteen times a power of two.
        let shift = 32 - (units - 1).leading_zeros() - 4;
        let count = ((units - 1) >> shift) + 1;
        Class { index: 64 + (shift as usize - 3) * 8 + (count as usize - 9), units: count << shift }
    }

    fn at(index: usize) -> Class {
        if index < 64 {
            return Class { index, units: index as u32 + 1 };
        }
        let shift = (index - 64) / 8 + 3;
        let count = (index - 64) % 8 + 9;
        Class { index, units: (count as u32) << shift }
    }

    /// The largest class of at most `units`.
    fn down(units: u32) -> Class {
        let up = Class::up(units.min(UNITS_SHARED_MAX));
        if up.units <= units { up } else { Class::at(up.index - 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_cover_every_size_closely() {
        for units in 1..=UNITS_SHARED_MAX {
            let up = Class::up(units);
            assert!(up.units >= units && up.units - units <= units / 8, "{units} → {up:?}");
            assert_eq!(Class::at(up.index), up);
            let down = Class::down(units);
            assert!(down.units <= units && Class::up(down.units) == down, "{units} → {down:?}");
        }
        assert_eq!(Class::up(UNITS_SHARED_MAX).index, CLASS_COUNT - 1);
    }

    #[test]
    fn a_freed_block_is_used_again() {
        let mut pool = ChunkPool::new(1 << 30);
        let mut arena = Arena::new();
        let (first, units) = arena.allocate(&mut pool, 100);
        let (second, _) = arena.allocate(&mut pool, 100);
        assert_ne!(first, second);
        arena.free(&mut pool, first, units);
        assert_eq!(arena.allocate(&mut pool, 100).0, first);
    }

    #[test]
    fn blocks_do_not_overlap_and_freeing_all_stops_growth() {
        let mut pool = ChunkPool::new(1 << 30);
        let mut arena = Arena::new();
        let mut used_after_first_round = 0;
        for round in 0..4u8 {
            let mut blocks = Vec::new();
            for size in (1..3000).chain([400_000, 600_000, 3_000_000]) {
                let (handle, units) = arena.allocate(&mut pool, size);
                arena.block_mut(handle)[..size].fill(size as u8 ^ round);
                blocks.push((handle, units, size));
            }
            for &(handle, units, size) in &blocks {
                assert!(arena.block(handle)[..size].iter().all(|&byte| byte == size as u8 ^ round), "{size}");
                assert!(units as usize * UNIT >= size);
            }
            for (handle, units, _) in blocks {
                arena.free(&mut pool, handle, units);
            }
            if round == 0 {
                used_after_first_round = pool.used();
            }
        }
        assert_eq!(pool.used(), used_after_first_round);
        pool.put_all(arena.into_chunks());
        assert_eq!(pool.used(), 0);
    }

    #[test]
    fn an_idle_table_costs_little() {
        let mut pool = ChunkPool::new(1 << 30);
        let mut arena = Arena::new();
        assert_eq!(pool.used(), 0);
        arena.allocate(&mut pool, 100);
        assert!(pool.used() <= 4 << 10);
    }
}
