//! The counters of a table that this shard has counted since its memtable was begun: of these the memtable has the newest own part.
//!
//! An own part that is in the memtable for another reason proves nothing. A coordinator sends a leader's states to all replicas, the leader among them, and a read
//! repairs the leader by what others have: both may bring an older part when the newest has just left for a file.

use std::collections::BTreeSet;

use mutation::CounterId;
use schema::ColumnId;
use topology::murmur3;

/// So many are known at most, some 25 bytes each. Those beyond are read through files once more.
const COUNTED_MAX: usize = 16_384;

/// Counters by a hash of 128 bits of what tells them apart within a table.
#[derive(Debug, Default)]
pub struct Counted {
    hashes: BTreeSet<[i64; 2]>,
}

impl Counted {
    /// Takes note of a counter whose newest own part is now in the memtable. A row is its partition's key and its place there, byte-comparable; `None`: the static row.
    pub fn note(&mut self, row: (&[u8], Option<&[u8]>), column: ColumnId, id: CounterId) {
        if self.hashes.len() >= COUNTED_MAX {
            self.hashes.clear();
        }
        self.hashes.insert(hash(row, column, id));
    }

    /// True if the newest own part of a counter is in the memtable.
    pub fn has(&self, row: (&[u8], Option<&[u8]>), column: ColumnId, id: CounterId) -> bool {
        self.hashes.contains(&hash(row, column, id))
    }

    /// The memtable is another one, or files came from elsewhere.
    pub fn clear(&mut self) {
        self.hashes = BTreeSet::new();
    }
}

fn hash((key, place): (&[u8], Option<&[u8]>), column: ColumnId, id: CounterId) -> [i64; 2] {
    let length = place.map_or(u32::MAX, |place| u32::try_from(place.len()).unwrap_or(u32::MAX));
    let bytes = [&id.0[..], &column.0.to_be_bytes(), &length.to_be_bytes(), place.unwrap_or_default(), key];
    murmur3::hash_both(&bytes.concat())
}
