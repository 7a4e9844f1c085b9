//! What clients are warned of beside their answer, in Cassandra's words.

use std::collections::BTreeSet;

use mutation::MutationRef;
use schema::{Table, TableId};
use topology::Token;

/// What a batch that is not logged is about: it is told if that is many partitions.
pub(crate) struct UnloggedBatch<'m> {
    /// Over more partitions a batch is worth a word.
    partitions_max: usize,
    /// The last partition's token.
    last: Option<Token>,
    /// How often the next mutation was another partition's.
    changes: usize,
    partitions: BTreeSet<&'m [u8]>,
    tables: Vec<TableId>,
}

impl<'m> UnloggedBatch<'m> {
    /// A batch without mutations yet.
    pub(crate) fn new(partitions_max: usize) -> Self {
        UnloggedBatch { partitions_max, last: None, changes: 0, partitions: BTreeSet::new(), tables: Vec::new() }
    }

    /// Whether neighbours are of more than some partitions. Mostly all are of one, and nothing more is to be done.
    #[inline]
    pub(crate) fn may_be_many(&mut self, mutation: &'m [u8]) -> bool {
        let token = MutationRef::token_in(mutation);
        self.changes += usize::from(token != self.last);
        self.last = token;
        self.changes > self.partitions_max
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
        if self.partitions.len() <= self.partitions_max {
            return None;
        }
        let names: Vec<String> = self.tables.iter().filter_map(|id| name_of(*id)).collect();
        let (count, plural) = (self.partitions.len(), if names.len() == 1 { "" } else { "s" });
        Some(format!(
            "Unlogged batch covering {count} partitions detected against table{plural} [{}]. You should use a logged batch for atomicity, \
             or asynchronous writes for performance.",
            in_order_of_buckets(names)
        ))
    }
}

/// The tables of a logged batch with `gc_grace_seconds = 0`: what a crash leaves of it is too old to be delivered.
#[derive(Default)]
pub(crate) struct WithoutGrace(Vec<TableId>);

impl WithoutGrace {
    /// Looks at the table of one of its statements.
    #[inline]
    pub(crate) fn look_at(&mut self, table: &Table) {
        if table.options.gc_grace_seconds == 0 && !self.0.contains(&table.id) {
            self.0.push(table.id);
        }
    }

    /// The warning, if there is one. `name_of` gives a table's keyspace and name.
    pub(crate) fn warning(&self, name_of: impl Fn(TableId) -> Option<String>) -> Option<String> {
        let names: Vec<String> = self.0.iter().filter_map(|id| name_of(*id)).collect();
        let plural = match names.len() {
            0 => return None,
            1 => "",
            _ => "s",
        };
        Some(format!(
            "Executing a LOGGED BATCH on table{plural} [{}], configured with a gc_grace_seconds of 0. The gc_grace_seconds is used to TTL batchlog \
             entries, so setting gc_grace_seconds too low on tables involved in an atomic batch might cause batchlog entries to expire before being \
             replayed.",
            in_order_of_buckets(names)
        ))
    }
}

/// Names as Cassandra lists them, whose come out of a hash set of sixteen buckets.
pub(crate) fn in_order_of_buckets(mut names: Vec<String>) -> String {
    names.sort_by_key(|name| bucket(name));
    names.join(", ")
}

/// Where Java puts a text among sixteen buckets.
fn bucket(text: &str) -> u32 {
    let hash = text.encode_utf16().fold(0_u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(u32::from(unit)));
    (hash ^ (hash >> 16)) & 15
}

/// Where Java puts bytes in a hash map that has grown to so many entries.
pub(crate) fn bytes_bucket(bytes: &[u8], entries: usize) -> u32 {
    let hash = bytes
        .iter()
        .rev()
        .fold(1_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(byte.cast_signed()).cast_unsigned()));
    // A map has 16 buckets, and twice as many whenever three quarters are not enough.
    let mut buckets = 16_u32;
    while usize::try_from(buckets / 4 * 3).unwrap_or(usize::MAX) < entries {
        buckets = buckets.saturating_mul(2);
    }
    (hash ^ (hash >> 16)) & (buckets - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_where_java_puts_them() {
        // A table of 4 columns, whose `name` a Cassandra listed before `age`, and one of 13.
        assert_eq!((bytes_bucket(b"name", 4), bytes_bucket(b"age", 4)), (11, 15));
        assert_eq!((bytes_bucket(b"n", 13), bytes_bucket(b"s", 13)), (13, 18));
    }
}
