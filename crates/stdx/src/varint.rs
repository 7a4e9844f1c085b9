//! Cassandra's unsigned varint: the count of leading one bits in the first byte is the count of bytes that follow,
//! and the value is big-endian in what remains. Nine bytes at most. (Source: Cassandra's `VIntCoding`, as its SSTables
//! and its internode messages hold it.)

use crate::reader::ReadError;

/// The most bytes that one varint takes.
pub const LENGTH_MAX: usize = 9;

/// How many bytes [`encode`] writes for `value`.
#[inline]
pub fn encoded_len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    // Seven bits of payload a byte, until nine bytes hold all 64.
    bits.div_ceil(7).min(LENGTH_MAX)
}

/// Appends `value` to `out`.
#[inline]
pub fn encode(value: u64, out: &mut Vec<u8>) {
    if value < 0x80 {
        out.push(value as u8);
        return;
    }
    let length = encoded_len(value);
    let mut bytes = [0u8; LENGTH_MAX];
    if length == LENGTH_MAX {
        bytes[0] = 0xff;
        bytes[1..].copy_from_slice(&value.to_be_bytes());
    } else {
        bytes[..length].copy_from_slice(&value.to_be_bytes()[8 - length..]);
        bytes[0] |= !(0xff_u8 >> (length - 1));
    }
    out.extend_from_slice(&bytes[..length]);
}

/// The value at the start of `bytes` and how many bytes it took.
#[inline]
pub fn decode(bytes: &[u8]) -> Result<(u64, usize), ReadError> {
    let Some(&first) = bytes.first() else {
        return Err(ReadError::Truncated { wanted: 1, left: 0 });
    };
    if first < 0x80 {
        return Ok((u64::from(first), 1));
    }
    let extra = first.leading_ones() as usize;
    let Some(rest) = bytes.get(1..=extra) else {
        return Err(ReadError::Truncated { wanted: extra + 1, left: bytes.len() });
    };
    let mut value = if extra >= 7 { 0 } else { u64::from(first & (0xff >> (extra + 1))) };
    for &byte in rest {
        value = (value << 8) | u64::from(byte);
    }
    Ok((value, extra + 1))
}

/// Maps small magnitudes of either sign to small unsigned values (zigzag), for [`encode`].
#[inline]
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
#[inline]
pub fn unzigzag(value: u64) -> i64 {
    ((value >> 1) as i64) ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_round_trips() {
        let mut values = vec![0, 1, 127, 128, 255, 256, u64::MAX, u64::MAX - 1];
        for bit in 0..64 {
            values.extend([1u64 << bit, (1u64 << bit) - 1, (1u64 << bit) | 1]);
        }
        for value in values {
            let mut bytes = Vec::new();
            encode(value, &mut bytes);
            assert_eq!(bytes.len(), encoded_len(value), "{value:#x}");
            assert_eq!(decode(&bytes), Ok((value, bytes.len())), "{value:#x}");
            for cut in 0..bytes.len() {
                assert!(decode(&bytes[..cut]).is_err(), "{value:#x} cut at {cut}");
            }
        }
    }

    #[test]
    fn bytes_are_cassandras() {
        let mut bytes = Vec::new();
        encode(128, &mut bytes);
        assert_eq!(bytes, [0x80, 0x80]);
        bytes.clear();
        encode(0x3fff, &mut bytes);
        assert_eq!(bytes, [0xbf, 0xff]);
        bytes.clear();
        encode(0x4000, &mut bytes);
        assert_eq!(bytes, [0xc0, 0x40, 0x00]);
    }

    #[test]
    fn zigzag_is_its_own_way_back() {
        for value in [0, 1, -1, 2, -2, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!(zigzag(-1), 1);
    }
}
