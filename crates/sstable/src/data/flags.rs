//! The bits and numbers that say what follows. (Source: Cassandra's `UnfilteredSerializer`, `Cell.Serializer`,
//! `ClusteringPrefix.Kind`.)

/// The first byte of what stands in a partition.
pub mod unfiltered {
    /// Nothing follows: the partition ends.
    pub const END_OF_PARTITION: u8 = 0x01;
    /// A range tombstone's marker, else a row.
    pub const IS_MARKER: u8 = 0x02;
    /// The row has a liveness.
    pub const HAS_TIMESTAMP: u8 = 0x04;
    /// The liveness expires.
    pub const HAS_TTL: u8 = 0x08;
    /// The row has a deletion.
    pub const HAS_DELETION: u8 = 0x10;
    /// The row has all of the header's columns, and does not list them.
    pub const HAS_ALL_COLUMNS: u8 = 0x20;
    /// A deletion stands before the cells of each column of several.
    pub const HAS_COMPLEX_DELETION: u8 = 0x40;
    /// Another byte of flags follows.
    pub const EXTENSION: u8 = 0x80;
}

/// The second byte, if there is one.
pub mod extended {
    /// The static row.
    pub const IS_STATIC: u8 = 0x01;
    /// The row's deletion gives way to a later liveness: of materialized views.
    pub const HAS_SHADOWABLE_DELETION: u8 = 0x02;
    /// What is known.
    pub const ALL: u8 = IS_STATIC | HAS_SHADOWABLE_DELETION;
}

/// A cell's first byte.
pub mod cell {
    /// A tombstone.
    pub const IS_DELETED: u8 = 0x01;
    /// It has a ttl.
    pub const IS_EXPIRING: u8 = 0x02;
    /// The value is empty, and no bytes are written for it.
    pub const HAS_EMPTY_VALUE: u8 = 0x04;
    /// Its timestamp is the row's liveness'.
    pub const USE_ROW_TIMESTAMP: u8 = 0x08;
    /// Its ttl and expiry are the row's liveness'.
    pub const USE_ROW_TTL: u8 = 0x10;
    /// What is known.
    pub const ALL: u8 = IS_DELETED | IS_EXPIRING | HAS_EMPTY_VALUE | USE_ROW_TIMESTAMP | USE_ROW_TTL;
}

/// A bound's kind.
pub mod bound {
    /// A range ends before its prefix.
    pub const EXCLUSIVE_END: u8 = 0;
    /// A range begins with its prefix.
    pub const INCLUSIVE_START: u8 = 1;
    /// A range ends before the prefix, another begins with it.
    pub const EXCLUSIVE_END_INCLUSIVE_START: u8 = 2;
    /// A range ends with the prefix, another begins behind it.
    pub const INCLUSIVE_END_EXCLUSIVE_START: u8 = 5;
    /// A range ends with its prefix.
    pub const INCLUSIVE_END: u8 = 6;
    /// A range begins behind its prefix.
    pub const EXCLUSIVE_START: u8 = 7;
}

/// The timestamp of "not deleted", where a deletion is written in any case.
pub const LIVE_TIMESTAMP: i64 = i64::MIN;
/// Its local deletion time.
pub const LIVE_LOCAL_DELETION_TIME: u32 = u32::MAX;
/// From this many columns on, those present are listed by number; with fewer, by a bit each.
pub const COLUMNS_BY_NUMBER_MIN: usize = 64;
