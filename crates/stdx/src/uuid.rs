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

/// The bytes of a UUID's text, in groups of 8, 4, 4, 4 and 12 hexadecimal digits; `None` for any other text.
pub fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let groups: Vec<&str> = text.split('-').collect();
    if !groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12]) {
        return None;
    }
    let digits: Vec<u8> =
        groups.concat().chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let mut bytes = [0; 16];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    Some(bytes)
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
    fn a_uuid_comes_back_from_its_text() {
        let bytes: [u8; 16] = std::array::from_fn(|index| index as u8 * 17);
        let text = Id(bytes).to_string();
        assert_eq!(parse_uuid(&text), Some(bytes));
        assert_eq!(parse_uuid(&text.to_uppercase()), Some(bytes));
        let shifted = format!("{}-{}", &text[..7], text[7..].replacen('-', "", 1));
        for other in
            [&text[1..], &text.replace('-', ""), &text.replacen('0', "é", 1), &text.replacen('0', "g", 1), "", &shifted]
        {
            assert_eq!(parse_uuid(other), None, "{other}");
        }
    }

    #[test]
    fn groups_are_of_8_4_4_4_and_12_digits() {
        let id = Id(0x0123_4567_89ab_cdef_0011_2233_4455_6677_u128.to_be_bytes());
        assert_eq!(id.to_string(), "01234567-89ab-cdef-0011-223344556677");
    }
}
