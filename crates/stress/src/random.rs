//! Numbers that look random and follow from a seed.

/// The next number of a sequence that `state` stands in (splitmix64).
#[inline]
pub(crate) fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mix(*state)
}

/// A number below `bound`, from a random one.
#[inline]
pub(crate) fn below(random: u64, bound: u64) -> u64 {
    ((u128::from(random) * u128::from(bound)) >> 64) as u64
}

/// A number that looks random, from any other.
#[inline]
pub(crate) fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A number from 0 to 1, 1 excluded, from a random one: its upper 53 bits, all that such a number can hold.
#[inline]
pub(crate) fn fraction(random: u64) -> f64 {
    (random >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_and_bounded_numbers_cover_their_range() {
        assert_eq!(fraction(0), 0.0);
        assert!(fraction(u64::MAX) < 1.0);
        assert_eq!((below(0, 10), below(u64::MAX, 10)), (0, 9));
        let mut state = 1;
        let mean = (0..100_000).map(|_| fraction(next_random(&mut state))).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
    }
}
