//! The checksums of segments: CRC-24 over a header, CRC-32 over a payload. (Source of polynomial, initial value and
//! initial bytes: Cassandra's `net/Crc.java`; the polynomial is Philip Koopman's 0x974F0B.)

use crc32fast::Hasher;

const CRC24_INITIAL: u32 = 0x0087_5060;
const CRC24_POLYNOMIAL: u32 = 0x0197_4f0b;

/// The CRC-32 of FA 2D 55 CA, which Cassandra feeds before each payload so that zeros do not checksum to zero.
const CRC32_OF_INITIAL_BYTES: u32 = crc32_of(&[0xfa, 0x2d, 0x55, 0xca]);

/// What each value of the highest byte adds: eight steps of the shift register at once.
const CRC24_TABLE: [u32; 256] = crc24_table();

const fn crc24_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let mut crc = (byte as u32) << 16;
        let mut bit = 0;
        while bit < 8 {
            crc <<= 1;
            if crc & 0x0100_0000 != 0 {
                crc ^= CRC24_POLYNOMIAL;
            }
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

/// CRC-32 bit by bit, for the one constant.
const fn crc32_of(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    let mut index = 0;
    while index < bytes.len() {
        crc ^= bytes[index] as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 != 0 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        index += 1;
    }
    !crc
}

/// The CRC-24 of a header's bytes, in the order of the wire.
#[inline]
pub(crate) fn crc24(bytes: &[u8]) -> u32 {
    let mut crc = CRC24_INITIAL;
    for byte in bytes {
        let index = ((crc >> 16) as u8) ^ byte;
        crc = ((crc << 8) & 0x00ff_ffff) ^ CRC24_TABLE[usize::from(index)];
    }
    crc
}

/// The CRC-32 of a payload.
#[inline]
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let mut hasher = Hasher::new_with_initial(CRC32_OF_INITIAL_BYTES);
    hasher.update(bytes);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CRC-24 as its source defines it, bit by bit.
    fn crc24_by_bits(bytes: &[u8]) -> u32 {
        let mut crc = CRC24_INITIAL;
        for byte in bytes {
            crc ^= u32::from(*byte) << 16;
            for _ in 0..8 {
                crc <<= 1;
                if crc & 0x0100_0000 != 0 {
                    crc ^= CRC24_POLYNOMIAL;
                }
            }
        }
        crc
    }

    #[test]
    fn the_table_is_the_shift_register() {
        for bytes in [&[][..], &[0; 3], &[0xff; 5], &[1, 2, 3], &[0x80, 0x7f, 0, 0xaa, 0x55]] {
            assert_eq!(crc24(bytes), crc24_by_bits(bytes), "{bytes:?}");
        }
    }

    #[test]
    fn the_payload_follows_the_initial_bytes() {
        let mut bytes = vec![0xfa, 0x2d, 0x55, 0xca];
        assert_eq!(crc32(&[]), crc32fast::hash(&bytes));
        bytes.extend_from_slice(b"payload");
        assert_eq!(crc32(b"payload"), crc32fast::hash(&bytes));
    }
}
