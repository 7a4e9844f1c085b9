//! The truncations that a shard knows, and which writes they take along.

use std::collections::BTreeMap;

use schema::TableId;

use crate::options::{ReplayPosition, Truncations};

/// The truncations that a shard knows.
#[derive(Debug, Default)]
pub(crate) struct TruncationHistory {
    /// The last ones of this process that are durable.
    pub(crate) durable: BTreeMap<TableId, ReplayPosition>,
    /// Those that the start was given, of all shards, and those that have begun on this one since.
    decided: Truncations,
}

impl TruncationHistory {
    /// With those that the start was given.
    pub(crate) fn new(decided: &Truncations) -> TruncationHistory {
        TruncationHistory { durable: BTreeMap::new(), decided: decided.clone() }
    }

    /// A truncation has begun.
    pub(crate) fn begin(&mut self, table: TableId, position: ReplayPosition) {
        let positions = self.decided.entry(table).or_default();
        positions.retain(|other| (other.boot, other.shard) != (position.boot, position.shard));
        positions.push(position);
    }

    /// True if a truncation of the table takes along what a write has written that began at `start`.
    pub(crate) fn takes_along(&self, table: TableId, start: &ReplayPosition) -> bool {
        let positions = self.decided.get(&table).map(Vec::as_slice).unwrap_or_default();
        positions.iter().any(|position| position.takes_along(start))
    }
}

impl ReplayPosition {
    /// True if a truncation at this position comes after a write that began at `start`. Positions of one start of the process compare by the log of
    /// their shard; a truncation of a later start comes after all writes of earlier ones, of whichever shard.
    fn takes_along(&self, start: &ReplayPosition) -> bool {
        let is_of_all = self.sequence == u64::MAX;
        let is_later = is_of_all || (self.shard == start.shard && start.sequence <= self.sequence);
        start.boot < self.boot || (start.boot == self.boot && is_later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(boot: u64, shard: u16, sequence: u64) -> ReplayPosition {
        ReplayPosition { boot, shard, sequence }
    }

    #[test]
    fn a_truncation_takes_along_what_began_before_it() {
        let truncation = at(3, 1, 500);
        assert!(truncation.takes_along(&at(3, 1, 500)) && truncation.takes_along(&at(3, 1, 0)));
        assert!(!truncation.takes_along(&at(3, 1, 501)), "it began after");
        assert!(!truncation.takes_along(&at(3, 0, 100)), "another shard's log says nothing");
        assert!(truncation.takes_along(&at(2, 7, u64::MAX)), "an earlier start, under another shard count");
        assert!(!truncation.takes_along(&at(4, 1, 0)));
        let at_start = ReplayPosition::before_boot(4, 0);
        assert!(at_start.takes_along(&at(3, 5, 1 << 40)) && !at_start.takes_along(&at(4, 0, 0)));
    }

    #[test]
    fn the_last_truncation_of_a_shard_counts_beside_those_of_others() {
        let table = TableId([1; 16]);
        let mut history = TruncationHistory::new(&[(table, vec![at(2, 0, 10), at(2, 1, 20)])].into());
        assert!(history.takes_along(table, &at(2, 1, 20)) && !history.takes_along(table, &at(2, 0, 11)));
        history.begin(table, at(3, 0, 5));
        history.begin(table, at(3, 0, 9));
        assert!(history.takes_along(table, &at(3, 0, 9)) && !history.takes_along(table, &at(3, 0, 10)));
        assert!(history.takes_along(table, &at(2, 0, 11)), "it is of an earlier start");
        assert!(!history.takes_along(TableId([2; 16]), &at(1, 0, 0)));
    }
}
