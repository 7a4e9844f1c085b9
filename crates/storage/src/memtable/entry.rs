//! What a leaf's handle names: a block with a key, and what belongs to it.
//!
//! ```text
//! 0            4           8           12           16
//! ├────────────┼───────────┼───────────┼────────────┼─────┬──────┬──────┐
//! │ units: u32 │ key: u32  │ side: u32 │ body: u32  │ key │ side │ body │
//! └────────────┴───────────┴───────────┴────────────┴─────┴──────┴──────┘
//!   of the block  lengths in bytes
//! ```
//!
//! A partition: the partition key; nothing; its one row's blob, or its head if the table has clustering columns. A row:
//! its byte-comparable clustering; its clustering as it was given; its blob. A range's boundary: a byte-comparable
//! prefix; what it was made of (see `ranges`); a deletion. Lying together, a read finds all of a row in neighbouring cache lines.

use stdx::prefetch;

use crate::memtable::arena::{Arena, Handle, UNIT, block_units};
use crate::memtable::pool::ChunkPool;

const HEAD: usize = 16;
/// Cache lines of an entry of some 350 bytes; of a smaller one these are its neighbours', which costs little.
const LINES: usize = 6;

/// A borrowed entry.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// What orders it.
    pub key: &'a [u8],
    /// What is kept beside the key.
    pub side: &'a [u8],
    /// What it holds.
    pub body: &'a [u8],
}

#[derive(Clone, Copy)]
struct Lengths {
    units: u32,
    key: u32,
    side: u32,
    body: u32,
}

#[inline]
fn lengths(block: &[u8]) -> Lengths {
    let head: &[u8; HEAD] = block.first_chunk().expect("an entry has a head");
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    Lengths { units: word(0), key: word(4), side: word(8), body: word(12) }
}

/// The entry that `handle` names.
#[inline]
pub fn entry(arena: &Arena, handle: Handle) -> Entry<'_> {
    let block = arena.block(handle);
    let lengths = lengths(block);
    let (key, rest) = block[HEAD..].split_at(lengths.key as usize);
    let (side, rest) = rest.split_at(lengths.side as usize);
    Entry { key, side, body: &rest[..lengths.body as usize] }
}

/// Asks for what is likely to be read of the entry that `handle` names. A hint.
#[inline]
pub fn prefetch_partition(arena: &Arena, handle: Handle) {
    prefetch(arena.block(handle), LINES);
}

/// The key of the entry that `handle` names; no key at all for none.
#[inline]
pub fn key(arena: &Arena, handle: Handle) -> &[u8] {
    if handle.is_null() {
        return &[];
    }
    let block = arena.block(handle);
    &block[HEAD..][..lengths(block).key as usize]
}

/// Makes an entry.
#[inline]
pub fn create(arena: &mut Arena, pool: &mut ChunkPool, key: &[u8], side: &[u8], body: &[u8]) -> Handle {
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).expect("an entry's parts are below 4 GiB");
    let (handle, units) = arena.allocate(pool, HEAD + key.len() + side.len() + body.len());
    let block = arena.block_mut(handle);
    for (place, word) in [units, length(key), length(side), length(body)].into_iter().enumerate() {
        block[4 * place..][..4].copy_from_slice(&word.to_le_bytes());
    }
    let (for_key, rest) = block[HEAD..].split_at_mut(key.len());
    let (for_side, rest) = rest.split_at_mut(side.len());
    for_key.copy_from_slice(key);
    for_side.copy_from_slice(side);
    rest[..body.len()].copy_from_slice(body);
    handle
}

/// Gives the entry another body: in place where it fits and does not waste most of the block, else in another block.
/// Gives the entry's handle, which its leaf must then hold.
#[inline]
pub fn replace_body(arena: &mut Arena, pool: &mut ChunkPool, handle: Handle, body: &[u8]) -> Handle {
    let block = arena.block_mut(handle);
    let old = lengths(block);
    let body_at = HEAD + old.key as usize + old.side as usize;
    let needed = body_at + body.len();
    let capacity = old.units as usize * UNIT;
    if needed <= capacity && (block_units(needed) * 2 > old.units) {
        block[12..16].copy_from_slice(&(body.len() as u32).to_le_bytes());
        block[body_at..needed].copy_from_slice(body);
        return handle;
    }
    let (moved, units) = arena.allocate(pool, needed);
    arena.copy(handle, moved, body_at);
    let block = arena.block_mut(moved);
    block[..4].copy_from_slice(&units.to_le_bytes());
    block[12..16].copy_from_slice(&u32::try_from(body.len()).expect("a body is below 4 GiB").to_le_bytes());
    block[body_at..needed].copy_from_slice(body);
    arena.free(pool, handle, old.units);
    moved
}

/// Gives the entry another body of the same length.
#[inline]
pub fn overwrite_body(arena: &mut Arena, handle: Handle, body: &[u8]) {
    let block = arena.block_mut(handle);
    let lengths = lengths(block);
    assert_eq!(lengths.body as usize, body.len(), "an overwritten body keeps its length");
    block[HEAD + lengths.key as usize + lengths.side as usize..][..body.len()].copy_from_slice(body);
}
