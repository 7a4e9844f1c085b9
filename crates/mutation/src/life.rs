//! When data lives and when it is gone: liveness, expiry, deletion. Timestamps are microseconds and decide between
//! writes; local deletion times are seconds since 1970, unsigned, and decide when something is over.

use std::cmp::{Ordering, Reverse};

/// Everything older than, or as old as, `timestamp` is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Deletion {
    /// The deletion's own timestamp, microseconds.
    pub timestamp: i64,
    /// When it was made, seconds since 1970: grace runs from here.
    pub local_deletion_time: u32,
}

impl Deletion {
    /// The bytes of a deletion in every encoding.
    pub const LENGTH: usize = 12;

    /// Whether what was written at `timestamp` is gone.
    #[inline]
    pub fn deletes(&self, timestamp: i64) -> bool {
        timestamp <= self.timestamp
    }

    /// The one that prevails: the later, then the one that was made later.
    #[inline]
    pub fn max(self, other: Deletion) -> Deletion {
        let key = |d: &Deletion| (d.timestamp, d.local_deletion_time);
        if key(&other) > key(&self) { other } else { self }
    }

    /// The one of the two that prevails, if there is any.
    #[inline]
    pub fn max_of(a: Option<Deletion>, b: Option<Deletion>) -> Option<Deletion> {
        match (a, b) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        }
    }

    /// The encoded form.
    #[inline]
    pub fn to_bytes(self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..8].copy_from_slice(&self.timestamp.to_be_bytes());
        bytes[8..].copy_from_slice(&self.local_deletion_time.to_be_bytes());
        bytes
    }

    /// From the encoded form.
    #[inline]
    pub fn from_bytes(bytes: [u8; Self::LENGTH]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = bytes;
        Deletion {
            timestamp: i64::from_be_bytes([a, b, c, d, e, f, g, h]),
            local_deletion_time: u32::from_be_bytes([i, j, k, l]),
        }
    }
}

/// A time to live, and when it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Expiry {
    /// The time to live as it was given, seconds; not 0.
    pub ttl: u32,
    /// When it is over, seconds since 1970.
    pub local_deletion_time: u32,
}

impl Expiry {
    /// Whether it is not yet over. As Cassandra has it, at its very second it is.
    #[inline]
    pub fn is_live(&self, now_in_seconds: u32) -> bool {
        now_in_seconds < self.local_deletion_time
    }

    /// Which of two prevails among writes with one timestamp: the one that is over later, then the smaller ttl: it was written later.
    pub(crate) fn order(a: Option<Expiry>, b: Option<Expiry>) -> Ordering {
        let key = |expiry: Option<Expiry>| expiry.map(|e| (e.local_deletion_time, Reverse(e.ttl)));
        key(a).cmp(&key(b))
    }
}

/// That a row was inserted: it lives even without any cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Liveness {
    /// The insert's timestamp, microseconds.
    pub timestamp: i64,
    /// When it ends, if it does.
    pub expiry: Option<Expiry>,
}

impl Liveness {
    /// Whether the row lives by this at `now_in_seconds`.
    #[inline]
    pub fn is_live(&self, now_in_seconds: u32) -> bool {
        self.expiry.is_none_or(|expiry| expiry.is_live(now_in_seconds))
    }

    /// The one that prevails: the later; at a tie one that expires, then the one that expires later. (Source:
    /// Cassandra's `LivenessInfo.supersedes`.)
    pub fn max(self, other: Liveness) -> Liveness {
        let order = self.timestamp.cmp(&other.timestamp).then_with(|| Expiry::order(self.expiry, other.expiry));
        if order == Ordering::Less { other } else { self }
    }
}
