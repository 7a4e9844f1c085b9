//! Which shard of a node owns a token: ScyllaDB's `biased-token-round-robin`, so that its drivers can compute it.
//!
//! The most significant bits are ignored first: each node owns few contiguous ranges of the ring, and within one of them the high bits vary
//! little, so that a plain split would load the shards unevenly. (Source: ScyllaDB's documentation of the protocol
//! extension, and its shard-aware drivers.)

use crate::token::Token;

/// Maps tokens to the shards of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sharder {
    /// How many shards the node has; at least one.
    pub shards: u16,
    /// How many of the most significant bits do not count; below 64. [`Sharder::IGNORE_MSB`] unless told otherwise.
    pub ignore_msb: u8,
}

impl Sharder {
    /// ScyllaDB's default, and ours.
    pub const IGNORE_MSB: u8 = 12;

    /// A sharder over `shards` with the default ignored bits.
    pub fn new(shards: u16) -> Self {
        assert!(shards > 0, "a node has at least one shard");
        Sharder { shards, ignore_msb: Self::IGNORE_MSB }
    }

    /// The index of the shard that owns `token`, below `shards`.
    #[inline]
    pub fn shard_of(&self, token: Token) -> u16 {
        // Flipping the sign bit adds 2^63: the smallest token becomes 0.
        let biased = (token.0 as u64) ^ (1 << 63);
        let significant = biased << (self.ignore_msb & 63);
        ((u128::from(significant) * u128::from(self.shards)) >> 64) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_ignored_bits_the_ring_is_cut_into_equal_parts() {
        let sharder = Sharder { shards: 4, ignore_msb: 0 };
        assert_eq!(sharder.shard_of(Token(i64::MIN)), 0);
        assert_eq!(sharder.shard_of(Token(i64::MIN / 2 - 1)), 0);
        assert_eq!(sharder.shard_of(Token(i64::MIN / 2)), 1);
        assert_eq!(sharder.shard_of(Token(-1)), 1);
        assert_eq!(sharder.shard_of(Token(0)), 2);
        assert_eq!(sharder.shard_of(Token(i64::MAX)), 3);
    }

    /// Shards by the rule of ScyllaDB's documentation, worked out by hand with whole numbers.
    #[test]
    fn ignored_bits_repeat_the_cut() {
        let sharder = Sharder::new(3);
        // 2^52 tokens hold each shard once.
        let period = 1i64 << 52;
        for start in [i64::MIN, -period, 0, 5 * period] {
            assert_eq!(sharder.shard_of(Token(start)), 0);
            assert_eq!(sharder.shard_of(Token(start + period / 3)), 0);
            assert_eq!(sharder.shard_of(Token(start + period / 3 + 1)), 1);
            assert_eq!(sharder.shard_of(Token(start + period / 3 * 2 + 2)), 2);
            assert_eq!(sharder.shard_of(Token(start + (period - 1))), 2);
        }
    }

    #[test]
    fn one_shard_owns_everything() {
        let sharder = Sharder::new(1);
        for token in [i64::MIN, -1, 0, 1, i64::MAX] {
            assert_eq!(sharder.shard_of(Token(token)), 0);
        }
    }
}
