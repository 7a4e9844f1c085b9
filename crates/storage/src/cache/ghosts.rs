//! Fingerprints of keys that were here lately, or were asked for and not taken in.
//!
//! Four to a bucket, the oldest first to go: about the last so many as there is room for.

use crate::cache::pieced::PiecedTable;

const WAYS: usize = 4;

/// Why there is a ghost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ghost {
    /// The key's entry left for want of room.
    Left,
    /// The key was asked for, and no entry was made.
    Asked,
}

/// The ghosts.
#[derive(Debug)]
pub struct Ghosts {
    /// Empty: there are none. A fingerprint is 31 bits, and one that says why; 0 is none.
    buckets: PiecedTable<[u32; WAYS]>,
}

impl Ghosts {
    /// Room for about so many; the memory is touched as they come.
    pub fn new(count: usize) -> Self {
        let buckets = if count == 0 { 0 } else { (count / WAYS).max(1).next_power_of_two() };
        Ghosts { buckets: PiecedTable::new(buckets) }
    }

    /// Their memory, bytes.
    pub fn bytes(&self) -> usize {
        self.buckets.bytes()
    }

    fn place(&self, hash: u64) -> (usize, u32) {
        // Chains of the index are chosen by the low bits.
        let bucket = (hash >> 16) as usize & (self.buckets.len() - 1);
        (bucket, ((hash >> 33) as u32) << 1 | 2)
    }

    /// Notes a key.
    pub fn note(&mut self, hash: u64, why: Ghost) {
        if self.buckets.len() == 0 {
            return;
        }
        self.take(hash);
        let (bucket, fingerprint) = self.place(hash);
        let bucket = self.buckets.get_mut(bucket);
        bucket.rotate_right(1);
        bucket[0] = fingerprint | u32::from(why == Ghost::Left);
    }

    /// Takes a key's ghost away, if it has one.
    pub fn take(&mut self, hash: u64) -> Option<Ghost> {
        if self.buckets.len() == 0 {
            return None;
        }
        let (bucket, fingerprint) = self.place(hash);
        let at = self.buckets.get(bucket).iter().position(|known| *known != 0 && known & !1 == fingerprint)?;
        let bucket = self.buckets.get_mut(bucket);
        let found = bucket[at];
        bucket[at..].rotate_left(1);
        bucket[WAYS - 1] = 0;
        Some(if found & 1 == 1 { Ghost::Left } else { Ghost::Asked })
    }
}
