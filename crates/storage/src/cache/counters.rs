//! What the cache counts.

/// Counts of a shard's row cache since the start, and what it holds now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// Reads that an entry answered in the files' stead.
    pub hits: u64,
    /// Reads of one partition of a table that is cached which went to files, for there was no entry.
    pub misses: u64,
    /// Entries that were put in.
    pub inserts: u64,
    /// Entries evicted to make room.
    pub evictions: u64,
    /// Fills that came to nothing: the files changed meanwhile, or there was no room.
    pub refused: u64,
    /// Entries that a flush brought up to date.
    pub merged: u64,
    /// Entries that are there, those that do not count any more among them.
    pub entries: u64,
    /// The memory that the cache takes, bytes.
    pub bytes: u64,
    /// The most that it may ever take, bytes; 0: there is no cache.
    pub bytes_max: u64,
}
