//! What clients are warned of beside their answer, in Cassandra's words.

use std::collections::BTreeSet;

use mutation::MutationRef;
use schema::TableId;
use topology::Token;

/// An unlogged batch over more partitions is worth a word. Cassandra's `unlogged_batch_across_partitions_warn_threshold`.
pub(crate) const UNLOGGED_PARTITIONS_MAX: usize = 10;

/// What a batch that is not logged is about: it is told if that is many partitions.
#[derive(Default)]
pub(crate) struct UnloggedBatch<'m> {
    /// The last partition's token.
    last: Option<Token>,
    /// How often the next mutation was another partition's.
    changes: usize,
    partitions: BTreeSet<&'m [u8]>,
    tables: Vec<TableId>,
}

impl<'m> UnloggedBatch<'m> {
    /// Whether neighbours are of more than some partitions. Mostly all are of one, and nothing more is to be done.
    #[inline]
    pub(crate) fn may_be_many(&mut self, mutation: &'m [u8]) -> bool {
        let token = MutationRef::token_in(mutation);
        self.changes += usize::from(token != self.last);
        self.last = token;
        self.changes > UNLOGGED_PARTITIONS_MAX
    }

    /// Counts a mutation's partition.
    pub(crate) fn add(&mut self, mutation: &'m [u8]) {
        let Ok(mutation) = MutationRef::decode(mutation) else { return };
        self.partitions.insert(mutation.key());
        if !self.tables.contains(&mutation.table()) {
            self.tables.push(mutation.table());
        }
    }

    /// The warning, if there is one. `name_of` gives a table's keyspace and name.
    pub(crate) fn warning(&self, name_of: impl Fn(TableId) -> Option<String>) -> Option<String> {
        if self.partitions.len() <= UNLOGGED_PARTITIONS_MAX {
            return None;
        }
        let mut names: Vec<String> = self.tables.iter().filter_map(|id| name_of(*id)).collect();
        // Cassandra's come out of a hash set of sixteen buckets.
        names.sort_by_key(|name| bucket(name));
        let (count, plural) = (self.partitions.len(), if names.len() == 1 { "" } else { "s" });
        Some(format!(
            "Unlogged batch covering {count} partitions detected against table{plural} [{}]. You should use a logged batch for atomicity, \
             or asynchronous writes for performance.",
            names.join(", ")
        ))
    }
}

/// Where Java puts a text among sixteen buckets.
fn bucket(text: &str) -> u32 {
    let hash = text.encode_utf16().fold(0_u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(u32::from(unit)));
    (hash ^ (hash >> 16)) & 15
}
