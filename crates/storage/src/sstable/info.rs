//! What is known of an SSTable before it is written, and when it is.

use schema::ColumnId;
use sstable::Descriptor;
use topology::Token;

/// What is known of the data before it is written. The minima are the base that smaller numbers are encoded against: wrong ones
/// cost room, nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Estimates {
    /// About how many partitions there will be: the Bloom filter is made for so many.
    pub partitions: u64,
    /// The smallest timestamp, microseconds; `None`: not known.
    pub timestamp_min: Option<i64>,
    /// The earliest second at which something was deleted or expires.
    pub local_deletion_time_min: Option<u32>,
    /// The smallest time to live, seconds.
    pub ttl_min: Option<u32>,
    /// Columns that the table has no more and whose cells are to be kept. Those of others that it has no more are left out.
    pub dropped: Vec<ColumnId>,
    /// The level in leveled compaction.
    pub level: u32,
    /// When all that it is made of was repaired, milliseconds since 1970; 0: it was not.
    pub repaired_at: i64,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SstableInfo {
    /// Its files' names.
    pub descriptor: Descriptor,
    /// The tokens of the first and last partition.
    pub tokens: (Token, Token),
    /// How many partitions.
    pub partitions: u64,
    /// How many rows, static ones too.
    pub rows: u64,
    /// The data's length before compression, bytes.
    pub data_bytes: u64,
    /// The length of all files, bytes.
    pub disk_bytes: u64,
    /// The smallest and the greatest timestamp; of nothing (`i64::MAX`, `i64::MIN`).
    pub timestamps: (i64, i64),
}
