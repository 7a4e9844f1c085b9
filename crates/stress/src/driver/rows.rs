//! What a row consists of: its key and its values follow from its number, so that who reads it knows what it must be.
//!
//! The shape is cassandra-stress's (a key of ten bytes, so many blobs of sizes from a distribution), the bytes are our own: a row that
//! cassandra-stress wrote is not found, or found to be wrong.

use super::filler::Filler;
use crate::distribution::Distribution;
use crate::random::mix;

/// Digits of a key at least.
const KEY_DIGITS: usize = 10;

/// All rows.
#[derive(Debug)]
pub(crate) struct Rows {
    filler: Filler,
    size: Distribution,
    column_count: usize,
}

impl Rows {
    /// Rows of so many values, each of as many bytes as `size` draws for it.
    pub(crate) fn new(column_count: usize, size: Distribution) -> Rows {
        Rows { filler: Filler::bytes(), size, column_count }
    }

    /// The same, of letters.
    pub(crate) fn of_text(column_count: usize, size: Distribution) -> Rows {
        Rows { filler: Filler::text(), size, column_count }
    }

    /// A row's key: its number in decimal digits, ten or as many as it needs.
    pub(crate) fn key(row: u64) -> Vec<u8> {
        format!("{row:0KEY_DIGITS$}").into_bytes()
    }

    pub(crate) fn column_count(&self) -> usize {
        self.column_count
    }

    /// Lays a row's values down, over those of another.
    pub(crate) fn fill(&self, row: u64, values: &mut Vec<Vec<u8>>) {
        values.resize_with(self.column_count, Vec::new);
        for (column, value) in values.iter_mut().enumerate() {
            let own = mix(mix(row) ^ column as u64);
            self.filler.fill(own, self.size.draw(own) as usize, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(rows: &Rows, row: u64) -> Vec<Vec<u8>> {
        let mut values = Vec::new();
        rows.fill(row, &mut values);
        values
    }

    #[test]
    fn keys_have_ten_digits_or_more() {
        assert_eq!(Rows::key(17), b"0000000017");
        assert_eq!(Rows::key(12_345_678_901), b"12345678901");
    }

    #[test]
    fn rows_differ_and_stay_the_same() {
        let rows = Rows::new(5, "FIXED(34)".parse().unwrap());
        let again = Rows::new(5, "FIXED(34)".parse().unwrap());
        for row in 0..1_000 {
            assert_eq!(values(&rows, row), values(&again, row));
            assert!(values(&rows, row).iter().all(|value| value.len() == 34));
            let (one, other) = (values(&rows, row), values(&rows, row + 1));
            assert!(one.iter().all(|value| !other.contains(value)));
        }
        let mut reused = values(&rows, 3);
        rows.fill(4, &mut reused);
        assert_eq!(reused, values(&rows, 4));
    }

    #[test]
    fn sizes_are_drawn_and_may_be_none_or_large() {
        let rows = Rows::new(3, "UNIFORM(0..200000)".parse().unwrap());
        let sizes: Vec<usize> = (0..50).flat_map(|row| values(&rows, row)).map(|value| value.len()).collect();
        assert!(sizes.iter().any(|size| *size > 64 << 10) && sizes.iter().any(|size| *size < 50_000));
        let empty = Rows::new(1, "FIXED(0)".parse().unwrap());
        assert_eq!(values(&empty, 1), [Vec::<u8>::new()]);
    }
}
