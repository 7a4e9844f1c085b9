//! Dropping rows that a later deletion covers.
//!
//! Reads do not see them from the moment of the deletion on, so this is only for the memory. A large partition has more
//! such rows than one call may visit: each write to the table takes a few steps of what is left to do.

use mutation::{Deletion, MutationRef, RowRef, shadow_row};
use topology::Token;

use crate::memtable::partition::PartitionHead;
use crate::memtable::pool::ChunkPool;
use crate::memtable::tree::Key;
use crate::memtable::{Memtable, Scratch, entry};

/// Rows visited per write.
const ROWS_PER_STEP: usize = 64;
/// Deletions remembered. Of one too many the rows stay, unseen, until the memtable goes.
const PURGES_MAX: usize = 256;

/// Rows that are still to be visited.
#[derive(Debug)]
pub struct Purge {
    token: Token,
    key: Vec<u8>,
    next: Vec<u8>,
    end: Option<Vec<u8>>,
    deletion: Deletion,
}

impl Purge {
    /// All rows of the mutation's partition.
    pub fn of_partition(mutation: &MutationRef<'_>, deletion: Deletion) -> Self {
        Self::of_range(mutation, Vec::new(), None, deletion)
    }

    /// The rows from `start` up to `end`.
    pub fn of_range(mutation: &MutationRef<'_>, start: Vec<u8>, end: Option<Vec<u8>>, deletion: Deletion) -> Self {
        Purge { token: mutation.token(), key: mutation.key().to_vec(), next: start, end, deletion }
    }
}

impl Memtable {
    /// Remembers rows to visit.
    pub(super) fn begin_purge(&mut self, purge: Purge) {
        if self.purges.len() < PURGES_MAX {
            self.purges.push_back(purge);
        }
    }

    /// Visits some of the rows of the oldest purge.
    pub(super) fn purge_some(&mut self, pool: &mut ChunkPool, scratch: &mut Scratch) {
        let Some(mut purge) = self.purges.pop_front() else { return };
        let partition = self.partitions.get(&self.arena, Key::of_partition(purge.token, &purge.key));
        let Some(partition) = partition else { return };
        let head = PartitionHead::from_bytes(entry::entry(&self.arena, partition).body);
        let mut cursor = head.rows.seek(&self.arena, Key::of_comparable(&purge.next));
        for _ in 0..ROWS_PER_STEP {
            let Some((_, handle, next)) = cursor.next(&self.arena) else { return };
            let row = entry::entry(&self.arena, handle);
            if purge.end.as_deref().is_some_and(|end| row.key >= end) {
                return;
            }
            scratch.row.clear();
            shadow_row(&RowRef::trusted(row.body), purge.deletion, &mut scratch.row);
            if scratch.row.len() < row.body.len() {
                let moved = entry::replace_body(&mut self.arena, pool, handle, &scratch.row);
                next.set_before(&mut self.arena, moved);
            }
            cursor = next;
        }
        if let Some((_, handle, _)) = cursor.next(&self.arena) {
            purge.next.clear();
            purge.next.extend_from_slice(entry::key(&self.arena, handle));
            self.purges.push_front(purge);
        }
    }
}
