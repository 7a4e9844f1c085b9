//! Range tombstones as SSTables have them: places among a partition's rows where the deletion that holds changes.

use mutation::{ClusteringRef, Deletion};

/// A place where a deleted range ends, begins, or one gives way to another.
///
/// Cassandra's kinds of bounds follow from it: what only opens is a start, what only closes an end, what does both a
/// boundary; and the side of the rows that begin with `prefix` says which of them is inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker<'a> {
    /// The first components of a clustering; none of them is an end of the partition.
    pub prefix: ClusteringRef<'a>,
    /// Whether the place is behind all rows that begin with `prefix`, or before them.
    pub after: bool,
    /// The deletion that holds up to here.
    pub closes: Option<Deletion>,
    /// The deletion that holds from here on.
    pub opens: Option<Deletion>,
}
