//! The bytes of one file, in chunks that forks share until one of them writes. A chunk that is not there is zeros.

use std::collections::BTreeMap;
use std::sync::Arc;

/// What a disk writes whole or not at all.
pub(crate) const SECTOR: usize = 512;
const CHUNK: usize = 4096;
const ZEROS: [u8; CHUNK] = [0; CHUNK];

/// The bytes of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Content {
    chunks: Arc<BTreeMap<u64, Arc<[u8; CHUNK]>>>,
    length: u64,
}

impl Content {
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Puts the bytes in place; the file grows as far as they reach.
    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let chunks = Arc::make_mut(&mut self.chunks);
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let (index, start) = (at / CHUNK as u64, (at % CHUNK as u64) as usize);
            let piece = &bytes[done..bytes.len().min(done + CHUNK - start)];
            done += piece.len();
            if piece.len() == CHUNK && piece == ZEROS {
                chunks.remove(&index);
                continue;
            }
            let chunk = chunks.entry(index).or_insert_with(|| Arc::new(ZEROS));
            Arc::make_mut(chunk)[start..start + piece.len()].copy_from_slice(piece);
        }
        self.length = self.length.max(offset + bytes.len() as u64);
    }

    /// At most `count` bytes from `offset` on; fewer where the file ends.
    pub(crate) fn read(&self, offset: u64, count: usize) -> Vec<u8> {
        let end = self.length.min(offset.saturating_add(count as u64));
        let mut bytes = Vec::with_capacity(end.saturating_sub(offset) as usize);
        let mut at = offset;
        while at < end {
            let (index, start) = (at / CHUNK as u64, (at % CHUNK as u64) as usize);
            let piece = (end - at).min((CHUNK - start) as u64) as usize;
            let chunk = self.chunks.get(&index).map_or(&ZEROS, |chunk| chunk);
            bytes.extend_from_slice(&chunk[start..start + piece]);
            at += piece as u64;
        }
        bytes
    }

    /// Cuts the file, or extends it with zeros.
    pub(crate) fn set_length(&mut self, length: u64) {
        if length < self.length {
            let chunks = Arc::make_mut(&mut self.chunks);
            let (index, start) = (length / CHUNK as u64, (length % CHUNK as u64) as usize);
            chunks.split_off(&(index + u64::from(start > 0)));
            if let Some(chunk) = chunks.get_mut(&index) {
                Arc::make_mut(chunk)[start..].fill(0);
            }
        }
        self.length = length;
    }

    /// Turns one bit over.
    pub(crate) fn flip(&mut self, bit: u64) {
        let byte = self.read(bit / 8, 1);
        if let Some(byte) = byte.first() {
            self.write(bit / 8, &[byte ^ (1 << (bit % 8))]);
        }
    }

    /// A number that differs between contents that differ.
    pub(crate) fn digest(&self) -> u64 {
        let mut hash = super::super::trace::Trace::default();
        hash.note(self.length);
        for (index, chunk) in &*self.chunks {
            if **chunk != ZEROS {
                hash.note(*index);
                hash.bytes(&chunk[..]);
            }
        }
        hash.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_cuts_and_reads() {
        let mut content = Content::default();
        content.write(4090, b"0123456789");
        assert_eq!((content.length(), content.read(4088, 100)), (4100, b"\0\x000123456789".to_vec()));
        let fork = content.clone();
        content.set_length(4095);
        content.set_length(5000);
        assert_eq!(content.read(4090, 8), b"01234\0\0\0");
        assert_eq!(fork.read(4090, 8), b"01234567", "a fork keeps what it had");
        content.write(0, &ZEROS);
        assert_eq!(content.read(4090, 6), [0; 6]);
        assert!(content.read(5000, 10).is_empty() && content.read(9000, 10).is_empty());
    }

    #[test]
    fn a_flipped_bit_is_one_bit() {
        let mut content = Content::default();
        content.write(0, &[0xff; 600]);
        content.flip(513 * 8 + 3);
        assert_eq!(content.read(512, 3), [0xff, 0xf7, 0xff]);
    }
}
