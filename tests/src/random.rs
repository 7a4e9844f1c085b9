//! Seeded random numbers: a failure's seed makes the same inputs again.

/// SplitMix64, by Steele, Lea and Flood: small, good enough for inputs, and the same on every platform.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of that seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A seed from HELENUS_SEED or else the default, printed so that a failure can be repeated.
    pub fn from_environment(default: u64) -> Random {
        let seed = std::env::var("HELENUS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(default);
        println!("seed: HELENUS_SEED={seed}");
        Random(seed)
    }

    /// Any number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which is at least 1.
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).expect("a usize fits 64 bits");
        usize::try_from(self.next_u64() % limit).expect("below a usize")
    }

    /// One of them.
    pub fn choose<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// That many bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next_u64().to_le_bytes()[0]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let (mut one, mut two) = (Random::new(7), Random::new(7));
        assert_eq!(one.bytes(32), two.bytes(32));
        assert_ne!(Random::new(8).next_u64(), Random::new(7).next_u64());
    }
}
