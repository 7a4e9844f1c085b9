//! The rows: which name and value a row's number stands for.

/// What a value may have at most: the column is a `varchar(100)`.
pub const VALUE_BYTES_MAX: usize = 100;

/// Digits of a name.
const NAME_DIGITS: usize = 10;

/// A row's name: its number in decimal digits.
pub fn name(row: u64) -> String {
    format!("{row:0NAME_DIGITS$}")
}

/// A row's value: letters that follow from its number.
pub fn value(row: u64, bytes: usize) -> Vec<u8> {
    let mut value = Vec::with_capacity(bytes);
    let mut word = row;
    while value.len() < bytes {
        word = next(word);
        let letters = word.to_le_bytes().map(|byte| b'a' + byte % 26);
        value.extend_from_slice(&letters[..letters.len().min(bytes - value.len())]);
    }
    value
}

/// The number that follows a number, as SplitMix64 has it: of consecutive ones the results have nothing in common.
pub fn next(number: u64) -> u64 {
    let sum = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let once = (sum ^ (sum >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let twice = (once ^ (once >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    twice ^ (twice >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_ten_digits() {
        assert_eq!((name(0), name(1_234_567)), ("0000000000".to_owned(), "0001234567".to_owned()));
    }

    #[test]
    fn values_are_letters_that_follow_from_the_row() {
        for bytes in [0, 1, 8, 60, VALUE_BYTES_MAX] {
            assert_eq!(value(7, bytes).len(), bytes);
        }
        assert!(value(7, 60).iter().all(u8::is_ascii_lowercase));
        assert_eq!(value(7, 60), value(7, 60));
        assert_ne!(value(7, 60), value(8, 60));
        assert_ne!(value(7, 16)[..8], value(7, 16)[8..]);
    }
}
