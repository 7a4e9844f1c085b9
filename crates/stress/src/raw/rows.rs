//! The rows: which key and values a row's number stands for.
//!
//! Values are slices of a pool of random bytes, found by a hash of the row's number. So a row costs a few copies to write
//! and a few comparisons to check, and the pool stays in the CPU's cache.

use crate::random::{mix, next_random};

/// Digits of a key.
pub(crate) const KEY_DIGITS: usize = 10;
/// Values of a row.
pub(crate) const COLUMN_COUNT: usize = 5;
/// Bytes of the pool.
pub(crate) const POOL_BYTES: usize = 64 << 10;

/// All rows.
#[derive(Debug)]
pub(crate) struct Rows {
    pool: Vec<u8>,
    seed: u64,
    value_bytes: usize,
}

impl Rows {
    pub(crate) fn new(seed: u64, value_bytes: usize) -> Rows {
        let mut state = seed;
        let mut pool = Vec::with_capacity(POOL_BYTES);
        while pool.len() < POOL_BYTES {
            pool.extend_from_slice(&next_random(&mut state).to_le_bytes());
        }
        Rows { pool, seed, value_bytes }
    }

    pub(crate) fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    /// A row's key: its number in decimal digits.
    #[inline]
    pub(crate) fn key(row: u64) -> [u8; KEY_DIGITS] {
        let mut digits = [b'0'; KEY_DIGITS];
        let mut rest = row;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        digits
    }

    /// A row's values.
    #[inline]
    pub(crate) fn values(&self, row: u64) -> [&[u8]; COLUMN_COUNT] {
        let hash = mix(row ^ self.seed);
        let starts = (self.pool.len() - self.value_bytes) as u64;
        std::array::from_fn(|column| {
            let high = hash.rotate_left(13 * column as u32) >> 32;
            let start = ((high * starts) >> 32) as usize;
            &self.pool[start..start + self.value_bytes]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_ten_digits() {
        assert_eq!(&Rows::key(0), b"0000000000");
        assert_eq!(&Rows::key(1_234_567), b"0001234567");
        assert_eq!(&Rows::key(9_999_999_999), b"9999999999");
    }

    #[test]
    fn rows_differ_and_stay_the_same() {
        let (rows, again, other) = (Rows::new(1, 60), Rows::new(1, 60), Rows::new(2, 60));
        for row in 0..1_000 {
            assert_eq!(rows.values(row), again.values(row));
            assert_ne!(rows.values(row), rows.values(row + 1));
            assert_ne!(rows.values(row), other.values(row));
            assert!(rows.values(row).iter().all(|value| value.len() == 60));
        }
        let [a, b, ..] = rows.values(7);
        assert_ne!(a, b);
    }

    #[test]
    fn the_largest_and_smallest_values_fit() {
        for value_bytes in [0, POOL_BYTES / 2] {
            let rows = Rows::new(3, value_bytes);
            assert!((0..1_000).all(|row| rows.values(row)[4].len() == value_bytes));
        }
    }
}
