//! UUIDs as text.

use std::fmt;

/// Writes a UUID's 16 bytes in the usual five groups of hexadecimal digits.
pub fn write_uuid(bytes: &[u8; 16], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            f.write_str("-")?;
        }
        write!(f, "{byte:02x}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Id([u8; 16]);

    impl fmt::Display for Id {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write_uuid(&self.0, f)
        }
    }

    #[test]
    fn groups_are_of_8_4_4_4_and_12_digits() {
        let id = Id(0x0123_4567_89ab_cdef_0011_2233_4455_6677_u128.to_be_bytes());
        assert_eq!(id.to_string(), "01234567-89ab-cdef-0011-223344556677");
    }
}
