//! Filter.db: a Bloom filter of the partition keys. (Source: Cassandra 5.0's `BloomFilter`, `BloomFilterSerializer`, `OffHeapBitSet`
//! and `BloomCalculations`.)

use topology::murmur3;

use crate::{Corrupt, Version};

/// Both halves of a key's hash, from which its token, its places in a Bloom filter and its byte in a trie come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHash {
    first: i64,
    second: i64,
}

impl KeyHash {
    /// The hash of a partition key.
    #[inline]
    pub fn of(key: &[u8]) -> KeyHash {
        let [first, second] = murmur3::hash_both(key);
        KeyHash { first, second }
    }

    /// The byte that stands beside the key's place in Partitions.db.
    #[inline]
    pub fn low_byte(self) -> u8 {
        self.second as u8
    }
}

/// A filter as Filter.db holds it.
pub struct Filter {}

impl Filter {
    /// From all bytes of Filter.db.
    pub fn decode(_bytes: &[u8], _version: Version) -> Result<Filter, Corrupt> {
        todo!()
    }

    /// The bytes of Filter.db, as version `da` has them.
    pub fn encode(&self, _out: &mut Vec<u8>) {
        todo!()
    }

    /// Whether the key may be among those that were added. `false`: it is not.
    pub fn may_contain(&self, _hash: KeyHash) -> bool {
        todo!()
    }

    /// The bytes of memory that it holds.
    pub fn memory_bytes(&self) -> usize {
        todo!()
    }
}

/// Makes a [`Filter`].
pub struct FilterBuilder {}

impl FilterBuilder {
    /// A filter for about `keys` keys of which absent ones are let through with a chance of `false_positive_chance`.
    pub fn new(_keys: u64, _false_positive_chance: f64) -> FilterBuilder {
        todo!()
    }

    /// Adds a key.
    pub fn add(&mut self, _hash: KeyHash) {
        todo!()
    }

    /// The filter.
    pub fn finish(self) -> Filter {
        todo!()
    }
}
