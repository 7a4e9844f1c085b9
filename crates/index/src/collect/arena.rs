//! Bytes of terms, in chunks that never move.

/// The bytes of a chunk: two of the longest terms fit.
pub(super) const CHUNK_BYTES: usize = 1 << CHUNK_BITS;
const CHUNK_BITS: u32 = 17;
const LENGTH_BYTES: usize = 2;

const _: () = assert!(super::TERM_BYTES_MAX + LENGTH_BYTES <= CHUNK_BYTES);

/// Byte strings with their lengths.
#[derive(Debug, Default)]
pub(super) struct Arena {
    chunks: Vec<Vec<u8>>,
}

impl Arena {
    /// Keeps `bytes` and returns where they are: the chunk's number, then the offset in it.
    ///
    /// # Panics
    ///
    /// If they are more than 65,535, or the arena has 2 GiB.
    pub(super) fn push(&mut self, bytes: &[u8]) -> u32 {
        let length = u16::try_from(bytes.len()).expect("a term has at most 65,535 bytes");
        let needed = LENGTH_BYTES + bytes.len();
        if self.chunks.last().is_none_or(|chunk| chunk.len() + needed > CHUNK_BYTES) {
            assert!(self.chunks.len() < 1 << (31 - CHUNK_BITS), "a segment is written long before it has 2 GiB");
            self.chunks.push(Vec::with_capacity(CHUNK_BYTES));
        }
        let number = self.chunks.len() - 1;
        let chunk = &mut self.chunks[number];
        let at = (number as u32) << CHUNK_BITS | chunk.len() as u32;
        chunk.extend_from_slice(&length.to_le_bytes());
        chunk.extend_from_slice(bytes);
        at
    }

    /// The bytes that [`Arena::push`] put there.
    #[inline]
    pub(super) fn get(&self, at: u32) -> &[u8] {
        let chunk = &self.chunks[(at >> CHUNK_BITS) as usize];
        let at = at as usize & (CHUNK_BYTES - 1);
        let length = usize::from(u16::from_le_bytes([chunk[at], chunk[at + 1]]));
        &chunk[at + LENGTH_BYTES..][..length]
    }

    /// The bytes that were allocated.
    pub(super) fn memory_bytes(&self) -> usize {
        self.chunks.len() * CHUNK_BYTES
    }
}
