//! The shard's prepared statements, bounded by bytes; the least recently used goes first.
//!
//! Looking one up costs a hash of nothing (the id is an MD5 already) and one store for the recency. Eviction sorts all
//! entries and lets a part of them go: it is as rare as PREPAREs beyond the bound, and a list threaded through the entries
//! would cost each EXECUTE several stores to save that.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use super::StatementId;
use crate::plan::Plan;

/// A prepared statement. Its plan is that of one version of the schema; the text makes it again.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The id it is called by.
    pub(crate) id: StatementId,
    /// The session's keyspace when it was prepared.
    pub(crate) keyspace: Option<String>,
    /// The statement.
    pub(crate) text: String,
    /// The schema's epoch that the plan was made in.
    pub(crate) epoch: u64,
    /// The plan.
    pub(crate) plan: Plan,
    /// The plan for clients that read masked columns through their masks, of a SELECT of a table with masks, once such a client has run it.
    pub(crate) masked: OnceCell<Plan>,
}

impl Prepared {
    /// About what it takes in memory.
    fn bytes(&self) -> usize {
        // The second plan is counted from the start, since it comes later.
        let plans = if self.plan.has_masks { 2 } else { 1 };
        size_of::<Prepared>() + self.text.len() + self.plan.bytes(&self.text) * plans
    }
}

struct Entry {
    prepared: Rc<Prepared>,
    bytes: usize,
    last_used: u64,
}

/// The store.
pub(crate) struct PreparedCache {
    entries: HashMap<[u8; 16], Entry, BuildHasherDefault<IdHasher>>,
    bytes: usize,
    bytes_max: usize,
    clock: u64,
    evictions: u64,
}

impl PreparedCache {
    /// An empty store that holds at most `bytes_max`, or one statement.
    pub(crate) fn new(bytes_max: usize) -> Self {
        PreparedCache { entries: HashMap::default(), bytes: 0, bytes_max, clock: 0, evictions: 0 }
    }

    /// The statement with `id`, which is now the most recently used.
    #[inline]
    pub(crate) fn get(&mut self, id: &[u8; 16]) -> Option<&Rc<Prepared>> {
        let entry = self.entries.get_mut(id)?;
        self.clock += 1;
        entry.last_used = self.clock;
        Some(&entry.prepared)
    }

    /// Puts a statement in, in place of one with its id, and evicts others until it fits.
    pub(crate) fn put(&mut self, prepared: Rc<Prepared>) {
        self.remove(&prepared.id);
        let bytes = prepared.bytes();
        self.evict(bytes);
        self.clock += 1;
        self.bytes += bytes;
        let id = prepared.id.0;
        self.entries.insert(id, Entry { prepared, bytes, last_used: self.clock });
    }

    /// Takes a statement out.
    pub(crate) fn remove(&mut self, id: &StatementId) {
        if let Some(entry) = self.entries.remove(&id.0) {
            self.bytes -= entry.bytes;
        }
    }

    /// Makes room for a statement of so many bytes, or all the room there is.
    fn evict(&mut self, bytes: usize) {
        let room = self.bytes_max.saturating_sub(bytes);
        if self.bytes <= room {
            return;
        }
        // Sorted once, since a large statement takes the place of thousands; and a part more goes than must, so that not
        // each PREPARE of a flood sorts.
        let room = room.saturating_sub(self.bytes_max / 32);
        let mut by_use: Vec<_> = self.entries.values().map(|entry| (entry.last_used, entry.prepared.id)).collect();
        by_use.sort_unstable_by_key(|(last_used, _)| *last_used);
        for (_, id) in by_use {
            if self.bytes <= room {
                break;
            }
            self.remove(&id);
            self.evictions += 1;
        }
    }

    /// How many statements there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many statements had to go for others.
    pub(crate) fn evictions(&self) -> u64 {
        self.evictions
    }
}

/// Takes the first bytes of an MD5 for its hash. The map's owner decides which statements there are, not a stranger: an
/// id comes from the server's own digest of a text.
#[derive(Default)]
struct IdHasher {
    hash: u64,
}

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.hash
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        // The array's length prefix comes by `write_usize`; only the id itself has eight bytes or more.
        if let Some(first) = bytes.first_chunk() {
            self.hash = u64::from_le_bytes(*first);
        }
    }

    #[inline]
    fn write_usize(&mut self, _: usize) {}
}
