//! Bytes and letters that values consist of.
//!
//! A value begins with eight bytes that are its own, and goes on with a slice of a pool of random bytes, which is cheap and does not
//! compress.

use crate::random::{below, mix, next_random};

/// Bytes of the pool.
const POOL_BYTES: usize = 64 << 10;

/// What values are made of.
#[derive(Debug)]
pub(crate) struct Filler {
    pool: Vec<u8>,
    /// Whether all bytes are letters of ASCII.
    is_text: bool,
}

impl Filler {
    /// Makes values of any bytes.
    pub(crate) fn bytes() -> Filler {
        let mut state = 0x6865_6c65_6e75_7300;
        let mut pool = Vec::with_capacity(POOL_BYTES);
        while pool.len() < POOL_BYTES {
            pool.extend_from_slice(&next_random(&mut state).to_le_bytes());
        }
        Filler { pool, is_text: false }
    }

    /// Makes values of letters, six bits in each.
    pub(crate) fn text() -> Filler {
        let bytes = Filler::bytes();
        Filler { pool: bytes.pool.into_iter().map(letter).collect(), is_text: true }
    }

    /// Lays down a value of so many bytes, which follow from `own`, over another.
    pub(crate) fn fill(&self, own: u64, size: usize, value: &mut Vec<u8>) {
        let first = if self.is_text { own.to_le_bytes().map(letter) } else { own.to_le_bytes() };
        value.clear();
        value.extend_from_slice(&first[..size.min(8)]);
        let mut start = below(mix(own), POOL_BYTES as u64) as usize;
        while value.len() < size {
            let end = self.pool.len().min(start + size - value.len());
            value.extend_from_slice(&self.pool[start..end]);
            start = 0;
        }
    }

    /// The same as a text.
    pub(crate) fn string(&self, own: u64, size: usize) -> String {
        let mut value = Vec::with_capacity(size);
        self.fill(own, size, &mut value);
        String::from_utf8(value).expect("it is made of letters of ASCII")
    }
}

/// One of 64 characters, from `0` on, none of which is a quotation mark.
fn letter(byte: u8) -> u8 {
    b'0' + (byte & 63)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_printable_and_of_their_size() {
        let filler = Filler::text();
        for size in [0, 1, 7, 8, 9, 100, 200_000] {
            let text = filler.string(mix(size as u64), size);
            assert_eq!(text.len(), size);
            assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{text}");
        }
        assert_ne!(filler.string(1, 40), filler.string(2, 40));
        assert_eq!(filler.string(1, 40), filler.string(1, 40));
    }
}
