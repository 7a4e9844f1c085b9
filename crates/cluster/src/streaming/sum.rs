//! The sum of a unit's mutations, which both ends make and compare.

use mutation::MutationRef;
use topology::murmur3;

use super::message::Sum;

impl Sum {
    /// Adds the next mutation.
    pub(super) fn add(&mut self, mutation: &MutationRef<'_>) {
        self.rows += mutation.item_count() as u64 + u64::from(mutation.partition_deletion().is_some());
        let mut chain = [0; 32];
        chain[..16].copy_from_slice(&self.hash);
        chain[16..].copy_from_slice(&hash_of(mutation.bytes()));
        self.hash = hash_of(&chain);
    }

    /// The source's sum is the one that was made of what came. The error says how they differ.
    pub(super) fn compare(self, source: Sum) -> Result<(), String> {
        match self == source {
            true => Ok(()),
            false => Err(format!("rows and hash are {self:?} here and {source:?} there")),
        }
    }
}

fn hash_of(bytes: &[u8]) -> [u8; 16] {
    let [first, second] = murmur3::hash_both(bytes);
    let mut hash = [0; 16];
    hash[..8].copy_from_slice(&first.to_be_bytes());
    hash[8..].copy_from_slice(&second.to_be_bytes());
    hash
}
