//! Integers of one width, packed bit after bit from the least significant one on; whole bytes are written.

/// The widest integer, bits.
pub(super) const WIDTH_MAX: u32 = 64;

/// The bits that `value` takes.
#[inline]
pub(super) fn width_of(value: u64) -> u32 {
    64 - value.leading_zeros()
}

/// The bytes that `count` integers of `width` bits take.
#[inline]
pub(super) fn packed_len(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends `values`, each of which has at most `width` bits.
pub(super) fn pack(values: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    let (mut held, mut filled) = (0_u128, 0);
    for value in values {
        held |= u128::from(value) << filled;
        filled += width;
        while filled >= 8 {
            out.push(held as u8);
            held >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        out.push(held as u8);
    }
}

/// The integer at `index` of those that [`pack`] wrote. `bytes` holds at least that many.
#[inline]
pub(super) fn get(bytes: &[u8], index: usize, width: u32) -> u64 {
    let bit = index * width as usize;
    let (byte, shift) = (bit / 8, (bit % 8) as u32);
    let rest = bytes.get(byte..).unwrap_or_default();
    // With the shift, 57 bits lie in eight bytes.
    if width <= 57
        && let Some(eight) = rest.first_chunk::<8>()
    {
        return u64::from_le_bytes(*eight) >> shift & mask(width);
    }
    let mut sixteen = [0; 16];
    let taken = rest.len().min(16);
    sixteen[..taken].copy_from_slice(&rest[..taken]);
    (u128::from_le_bytes(sixteen) >> shift) as u64 & mask(width)
}

#[inline]
fn mask(width: u32) -> u64 {
    u64::MAX.checked_shr(WIDTH_MAX - width).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_width_round_trip() {
        for width in 0..=WIDTH_MAX {
            let most = mask(width);
            let values: Vec<u64> = (0..40_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) & most).collect();
            let mut bytes = Vec::new();
            pack(values.iter().copied(), width, &mut bytes);
            assert_eq!(bytes.len(), packed_len(values.len(), width));
            for (index, value) in values.iter().enumerate() {
                assert_eq!(get(&bytes, index, width), *value, "{width} {index}");
            }
        }
        assert_eq!([0, 1, 255, 256, u64::MAX].map(width_of), [0, 1, 8, 9, 64]);
    }
}
