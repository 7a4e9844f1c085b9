//! Tombstones that a SELECT's reads meet. Each read of one partition, and each page of a scan, is judged by itself, as in Cassandra.

use mutation::{LiveRow, TombstoneRule};
use topology::Token;

use crate::guardrails::TombstoneLimits;

/// Counts what one read after the other meets.
pub(crate) struct TombstoneCount<'e> {
    rule: TombstoneRule<'e>,
    limits: TombstoneLimits,
    /// After so many rows a read that goes on counts as the next.
    rows_max: u32,
    live_rows: u32,
    tombstones: u32,
    /// The partition's that was met last.
    token: Token,
    found: Vec<ManyTombstones>,
}

/// A read that met many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManyTombstones {
    /// Rows that live.
    pub(crate) live_rows: u32,
    /// Tombstones.
    pub(crate) tombstones: u32,
    /// The token of the partition that was met last.
    pub(crate) token: Token,
    /// The key, if it was a read of one partition.
    pub(crate) key: Vec<u8>,
}

impl<'e> TombstoneCount<'e> {
    /// A count by `rule`, against `limits`.
    #[inline]
    pub(crate) fn new(rule: TombstoneRule<'e>, limits: TombstoneLimits) -> Self {
        TombstoneCount {
            rule,
            limits,
            rows_max: u32::MAX,
            live_rows: 0,
            tombstones: 0,
            token: Token::MIN,
            found: Vec::new(),
        }
    }

    /// Says how many rows a read takes.
    pub(crate) fn set_rows_max(&mut self, rows_max: u32) {
        self.rows_max = rows_max;
    }

    /// Counts a row that lives, and what in it does not.
    #[inline]
    pub(crate) fn add_row(&mut self, row: &LiveRow<'_>) {
        self.tombstones = self.tombstones.saturating_add(self.rule.of_row(row));
        self.live_rows += u32::from(!self.are_too_many());
    }

    /// Counts a static row that lives, if it is read.
    pub(crate) fn add_static(&mut self, row: &LiveRow<'_>) {
        if self.rule.counts_statics() {
            self.add_row(row);
        }
    }

    /// A partition begins.
    #[inline]
    pub(crate) fn enter(&mut self, token: Token) {
        self.token = token;
    }

    /// Counts what was passed over. False: they are too many.
    pub(crate) fn add(&mut self, token: Token, count: impl FnOnce(&TombstoneRule<'_>) -> u32) -> bool {
        self.token = token;
        self.tombstones = self.tombstones.saturating_add(count(&self.rule));
        !self.are_too_many()
    }

    /// Whether there are so many that the read is to fail.
    #[inline]
    pub(crate) fn are_too_many(&self) -> bool {
        self.tombstones > self.limits.fail
    }

    /// Whether the client is to be told of tombstones.
    #[inline]
    pub(crate) fn are_many(&self) -> bool {
        self.tombstones > self.limits.warn.min(self.limits.fail) || !self.found.is_empty()
    }

    /// Whether the read has taken its rows.
    #[inline]
    pub(crate) fn is_read_over(&self) -> bool {
        self.live_rows >= self.rows_max
    }

    /// A read is over: the next counts anew. `key` is the partition's, if it was of one.
    #[inline]
    pub(crate) fn end_read(&mut self, key: &[u8]) {
        if self.tombstones > self.limits.warn {
            // The one too many is the last that is looked at.
            let tombstones = self.tombstones.min(self.limits.fail.saturating_add(1));
            let (live_rows, token) = (self.live_rows, self.token);
            self.found.push(ManyTombstones { live_rows, tombstones, token, key: key.to_vec() });
        }
        (self.live_rows, self.tombstones) = (0, 0);
    }

    /// The reads that met many.
    pub(crate) fn take_found(&mut self) -> Vec<ManyTombstones> {
        std::mem::take(&mut self.found)
    }
}
