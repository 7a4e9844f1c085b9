//! Filter.db: a Bloom filter of the partition keys.
//!
//! ```text
//! hashes: u32 │ words: u32 │ words × 8 bytes: bit n is bit n % 8 of byte n / 8
//! ```
//!
//! Before version `na` each eight bytes stand in reverse order. A key's bits are `second`, `second + first`, `second + 2 first`, … of its hash's halves,
//! each the absolute value of the signed remainder by the count of bits. (Source: Cassandra 5.0's `BloomFilter`, `BloomFilterSerializer`,
//! `OffHeapBitSet`, `BloomCalculations`.)

use stdx::Reader;
use topology::murmur3;

use crate::{Corrupt, Format, Version};

const WORD_LENGTH: usize = 8;
/// Hashes and words.
const HEAD_LENGTH: usize = 8;
/// What of a filter lies together. Memory is taken so much at a time: the kernel takes some 4 µs for each page of fresh memory, so that
/// a filter of 8 MiB in one piece would hold the core for 8 ms.
const PIECE_BYTES: usize = 256 << 10;

/// The bits that a filter has beside those of its keys.
const BITS_MORE: u64 = 20;

/// Both halves of a key's hash, from which its token, its bits in a Bloom filter and its byte in a trie come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHash {
    first: i64,
    second: i64,
}

impl KeyHash {
    /// The hash of a partition key.
    #[inline]
    pub fn of(key: &[u8]) -> KeyHash {
        let [first, second] = murmur3::hash_both(key);
        KeyHash { first, second }
    }

    /// The byte that stands beside the key's place in Partitions.db.
    #[inline]
    pub fn low_byte(self) -> u8 {
        self.second as u8
    }

    /// Its bits in a filter of `capacity` bits.
    #[inline]
    fn bits(self, hashes: u32, capacity: u64) -> impl Iterator<Item = u64> {
        let mut at = self.second;
        (0..hashes).map(move |_| {
            let bit = (at % capacity as i64).unsigned_abs();
            at = at.wrapping_add(self.first);
            bit
        })
    }
}

/// A filter. Keys that were added are found in it always, others seldom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    hashes: u32,
    /// A whole number of words, at least one.
    length: u64,
    /// The bits: all pieces are [`PIECE_BYTES`] long but the last.
    pieces: Vec<Box<[u8]>>,
}

impl Filter {
    fn new(hashes: u32, words: u32) -> Filter {
        let length = u64::from(words) * WORD_LENGTH as u64;
        let pieces = vec![Box::default(); length.div_ceil(PIECE_BYTES as u64) as usize];
        Filter { hashes, length, pieces }
    }

    /// Whether the key may be among those that were added. `false`: it is not.
    #[inline]
    pub fn may_contain(&self, hash: KeyHash) -> bool {
        hash.bits(self.hashes, self.length * 8).all(|bit| {
            let (piece, byte, bit) = place(bit);
            self.pieces[piece][byte] >> bit & 1 != 0
        })
    }

    /// How long a piece is.
    fn piece_length(&self, piece: usize) -> usize {
        (self.length - (piece * PIECE_BYTES) as u64).min(PIECE_BYTES as u64) as usize
    }

    /// The bytes of memory that it holds.
    pub fn memory_bytes(&self) -> usize {
        self.length as usize
    }

    /// From all bytes of Filter.db.
    pub fn decode(bytes: &[u8], version: Version) -> Result<Filter, Corrupt> {
        let mut decoder = FilterDecoder::new(bytes.len() as u64, version);
        decoder.push(bytes)?;
        decoder.finish()
    }

    /// The bytes of Filter.db before [`Filter::pieces`].
    pub fn head(&self) -> [u8; HEAD_LENGTH] {
        let words = (self.length / WORD_LENGTH as u64) as u32;
        let mut head = [0; HEAD_LENGTH];
        head[..4].copy_from_slice(&self.hashes.to_be_bytes());
        head[4..].copy_from_slice(&words.to_be_bytes());
        head
    }

    /// The bytes of Filter.db behind its head, as versions from `na` on have them: as they lie in memory, in steps.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter().map(|piece| &**piece)
    }

    /// Appends the bytes of Filter.db, as versions from `na` on have them.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head());
        self.pieces().for_each(|piece| out.extend_from_slice(piece));
    }
}

/// The piece of a bit, its byte there, and its place in the byte.
#[inline]
fn place(bit: u64) -> (usize, usize, u32) {
    let byte = bit / 8;
    ((byte / PIECE_BYTES as u64) as usize, (byte % PIECE_BYTES as u64) as usize, (bit % 8) as u32)
}

/// Takes Filter.db in steps of any length.
#[derive(Debug)]
pub struct FilterDecoder {
    /// The file's length, and how much of it has come.
    length: u64,
    taken: u64,
    is_reversed: bool,
    head: Vec<u8>,
    /// Once the head is there.
    filter: Option<Filter>,
    /// The piece that comes.
    piece: Vec<u8>,
    whole: usize,
}

impl FilterDecoder {
    /// Of a file of this length.
    pub fn new(length: u64, version: Version) -> FilterDecoder {
        FilterDecoder {
            length,
            taken: 0,
            is_reversed: version.format() == Format::Big && version < Version::NA,
            head: Vec::new(),
            filter: None,
            piece: Vec::new(),
            whole: 0,
        }
    }

    /// Takes the next bytes of the file.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), Corrupt> {
        self.taken += bytes.len() as u64;
        if self.filter.is_none() {
            let (head, rest) = bytes.split_at(bytes.len().min(HEAD_LENGTH - self.head.len()));
            self.head.extend_from_slice(head);
            bytes = rest;
            if self.head.len() < HEAD_LENGTH {
                return Ok(());
            }
            self.filter = Some(self.begin()?);
        }
        let filter = self.filter.as_mut().expect("it was just made");
        while !bytes.is_empty() {
            if self.whole == filter.pieces.len() {
                return Err(Corrupt::new(self.taken - bytes.len() as u64, "trailing bytes after the filter"));
            }
            let needed = filter.piece_length(self.whole);
            if self.piece.capacity() == 0 {
                self.piece.reserve_exact(needed);
            }
            let (now, rest) = bytes.split_at(bytes.len().min(needed - self.piece.len()));
            self.piece.extend_from_slice(now);
            bytes = rest;
            if self.piece.len() == needed {
                if self.is_reversed {
                    self.piece.as_chunks_mut::<WORD_LENGTH>().0.iter_mut().for_each(|word| word.reverse());
                }
                filter.pieces[self.whole] = std::mem::take(&mut self.piece).into_boxed_slice();
                self.whole += 1;
            }
        }
        Ok(())
    }

    fn begin(&self) -> Result<Filter, Corrupt> {
        let mut reader = Reader::new(&self.head);
        let (Ok(hashes), Ok(words)) = (reader.u32(), reader.u32()) else {
            return Err(Corrupt::new(self.taken, "the filter's head ends here"));
        };
        // More than any chance asks for would only take time.
        if hashes == 0 || hashes as usize > CHANCES.len() {
            return Err(Corrupt::new(0, format!("a filter of {hashes} hashes")));
        }
        // What is there bounds the memory, not what the head claims.
        let there = self.length.saturating_sub(HEAD_LENGTH as u64);
        if words == 0 || there != u64::from(words) * WORD_LENGTH as u64 {
            return Err(Corrupt::new(4, format!("{words} words in {there} bytes")));
        }
        Ok(Filter::new(hashes, words))
    }

    /// The filter, if the whole file has come.
    pub fn finish(self) -> Result<Filter, Corrupt> {
        match self.filter {
            Some(filter) if self.whole == filter.pieces.len() => Ok(filter),
            Some(_) => Err(Corrupt::new(self.taken, "the filter ends here")),
            None => Err(Corrupt::new(self.taken, "the filter's head ends here")),
        }
    }
}

/// Makes a [`Filter`].
#[derive(Debug)]
pub struct FilterBuilder {
    /// Pieces without a bit are not made yet.
    filter: Filter,
}

impl FilterBuilder {
    /// A filter for about `keys` keys. One that was not added is let through with a chance of `false_positive_chance`, if that lies between
    /// 0.00007 and 0.4.
    ///
    /// # Panics
    ///
    /// If the filter would be longer than 16 GiB.
    pub fn new(keys: u64, false_positive_chance: f64) -> FilterBuilder {
        let (hashes, bits_per_key) = sizes(false_positive_chance);
        let words = (keys.checked_mul(bits_per_key)).map(|bits| (bits + BITS_MORE).div_ceil(64));
        let words = words.filter(|&words| words <= i32::MAX as u64).expect("a Bloom filter is at most 16 GiB long");
        FilterBuilder { filter: Filter::new(hashes, words as u32) }
    }

    /// Adds a key.
    #[inline]
    pub fn add(&mut self, hash: KeyHash) {
        for bit in hash.bits(self.filter.hashes, self.filter.length * 8) {
            let (piece, byte, bit) = place(bit);
            if self.filter.pieces[piece].is_empty() {
                self.make(piece);
            }
            self.filter.pieces[piece][byte] |= 1 << bit;
        }
    }

    #[cold]
    fn make(&mut self, piece: usize) {
        self.filter.pieces[piece] = vec![0; self.filter.piece_length(piece)].into_boxed_slice();
    }

    /// The filter.
    pub fn finish(mut self) -> Filter {
        for piece in 0..self.filter.pieces.len() {
            if self.filter.pieces[piece].is_empty() {
                self.make(piece);
            }
        }
        self.filter
    }
}

/// The chance that a key which was not added is let through: the row of *n* has *n* + 2 bits for each key, its columns are 1, 2, … hashes. The
/// smallest of a row is where more hashes stop to help. These are Cassandra's numbers, so that the filters are as long as its own.
const CHANCES: [&[f64]; 19] = [
    &[0.393, 0.400],
    &[0.283, 0.237, 0.253],
    &[0.221, 0.155, 0.147, 0.160],
    &[0.181, 0.109, 0.092, 0.092, 0.101],
    &[0.154, 0.0804, 0.0609, 0.0561, 0.0578, 0.0638],
    &[0.133, 0.0618, 0.0423, 0.0359, 0.0347, 0.0364],
    &[0.118, 0.0489, 0.0306, 0.024, 0.0217, 0.0216, 0.0229],
    &[0.105, 0.0397, 0.0228, 0.0166, 0.0141, 0.0133, 0.0135, 0.0145],
    &[0.0952, 0.0329, 0.0174, 0.0118, 0.00943, 0.00844, 0.00819, 0.00846],
    &[0.0869, 0.0276, 0.0136, 0.00864, 0.0065, 0.00552, 0.00513, 0.00509],
    &[0.08, 0.0236, 0.0108, 0.00646, 0.00459, 0.00371, 0.00329, 0.00314],
    &[0.074, 0.0203, 0.00875, 0.00492, 0.00332, 0.00255, 0.00217, 0.00199, 0.00194],
    &[0.0689, 0.0177, 0.00718, 0.00381, 0.00244, 0.00179, 0.00146, 0.00129, 0.00121, 0.0012],
    &[0.0645, 0.0156, 0.00596, 0.003, 0.00183, 0.00128, 0.001, 0.000852, 0.000775, 0.000744],
    &[0.0606, 0.0138, 0.005, 0.00239, 0.00139, 0.000935, 0.000702, 0.000574, 0.000505, 0.00047, 0.000459],
    &[0.0571, 0.0123, 0.00423, 0.00193, 0.00107, 0.000692, 0.000499, 0.000394, 0.000335, 0.000302, 0.000287, 0.000284],
    &[0.054, 0.0111, 0.00362, 0.00158, 0.000839, 0.000519, 0.00036, 0.000275, 0.000226, 0.000198, 0.000183, 0.000176],
    &[
        0.0513, 0.00998, 0.00312, 0.0013, 0.000663, 0.000394, 0.000264, 0.000194, 0.000155, 0.000132, 0.000118,
        0.000111, 0.000109,
    ],
    &[
        0.0488, 0.00906, 0.0027, 0.00108, 0.00053, 0.000303, 0.000196, 0.00014, 0.000108, 8.89e-05, 7.77e-05, 7.12e-05,
        6.79e-05, 6.71e-05,
    ],
];

/// How many hashes and bits a key gets: the fewest bits for the chance, then the fewest hashes.
fn sizes(chance: f64) -> (u32, u64) {
    if chance >= CHANCES[0][0] {
        return (2, 1);
    }
    let best = |row: &[f64]| row.iter().copied().fold(f64::MAX, f64::min);
    let row = CHANCES.iter().position(|row| best(row) <= chance).unwrap_or(CHANCES.len() - 1);
    let chances = CHANCES[row];
    let hashes = chances.iter().position(|&reached| reached <= chance.max(best(chances))).expect("the row reaches it");
    (hashes as u32 + 1, row as u64 + 2)
}

#[cfg(test)]
mod tests;
