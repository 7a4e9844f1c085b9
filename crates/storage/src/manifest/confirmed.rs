//! The ranges that copies for operations have brought whole: a manifest remembers them, so that a start does not have them copied again.

use std::collections::BTreeMap;

use topology::operations::OperationId;
use topology::{TokenRange, TokenRanges};

/// Ranges of one record.
const RANGES_MAX: usize = 200;
/// Ranges that a shard remembers: 256 KiB. Beyond, units are listed and not remembered.
const ALL_MAX: usize = 16_384;

/// A copy that outlives its process: what an operation has this node copy of one table, and, where these make a difference, from the same sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CopyName {
    /// The operation, whose number no other has.
    pub operation: OperationId,
    /// Its copy.
    pub copy: [u8; 16],
}

/// Ranges of a copy that are in live files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmedRecord {
    /// The copy.
    pub name: CopyName,
    /// The ranges, none of which wraps.
    pub ranges: Vec<TokenRange>,
}

/// The confirmed ranges of all copies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfirmedCopies {
    by_name: BTreeMap<CopyName, TokenRanges>,
}

impl ConfirmedCopies {
    /// Ranges of a copy are in live files.
    pub fn add(&mut self, confirmed: ConfirmedRecord) {
        let known = self.by_name.entry(confirmed.name).or_default();
        *known = known.or(&TokenRanges::of(confirmed.ranges));
    }

    /// The confirmed ranges of a copy.
    pub fn of(&self, name: CopyName) -> TokenRanges {
        self.by_name.get(&name).cloned().unwrap_or_default()
    }

    /// True if one range more may be remembered.
    pub fn has_room(&self) -> bool {
        self.by_name.values().map(TokenRanges::count).sum::<usize>() < ALL_MAX
    }

    /// The operations of which something is remembered, ascending.
    pub fn operations(&self) -> Vec<OperationId> {
        let mut operations: Vec<OperationId> = self.by_name.keys().map(|name| name.operation).collect();
        operations.dedup();
        operations
    }

    /// An operation is over.
    pub fn forget(&mut self, operation: OperationId) {
        self.by_name.retain(|name, _| name.operation != operation);
    }

    /// How many [`ConfirmedCopies::records`] gives.
    pub fn record_count(&self) -> usize {
        self.by_name.values().map(|ranges| ranges.count().div_ceil(RANGES_MAX)).sum()
    }

    /// The fewest records with all of this.
    pub fn records(&self) -> impl Iterator<Item = ConfirmedRecord> {
        self.by_name.iter().flat_map(|(name, ranges)| {
            let ranges: Vec<TokenRange> = ranges.ranges().collect();
            let of = |ranges: &[TokenRange]| ConfirmedRecord { name: *name, ranges: ranges.to_vec() };
            ranges.chunks(RANGES_MAX).map(of).collect::<Vec<_>>()
        })
    }
}

#[cfg(test)]
mod tests {
    use topology::Token;

    use super::*;

    fn name(operation: u64, copy: u8) -> CopyName {
        CopyName { operation: OperationId(operation), copy: [copy; 16] }
    }

    fn ranges(ranges: &[(i64, i64)]) -> Vec<TokenRange> {
        ranges.iter().map(|&(after, end)| TokenRange { after: Token(after), end: Token(end) }).collect()
    }

    #[test]
    fn units_that_touch_are_one_range_and_an_operation_that_is_over_is_forgotten() {
        let mut copies = ConfirmedCopies::default();
        for (operation, copy, unit) in [(1, 1, (0, 5)), (1, 1, (9, 12)), (1, 1, (5, 9)), (1, 2, (3, 4)), (2, 1, (7, 8))]
        {
            copies.add(ConfirmedRecord { name: name(operation, copy), ranges: ranges(&[unit]) });
        }
        assert_eq!(copies.of(name(1, 1)), TokenRanges::of(ranges(&[(0, 12)])));
        assert!(copies.of(name(2, 2)).is_none(), "the same copy of another operation is another");
        assert_eq!(copies.operations(), [OperationId(1), OperationId(2)]);
        copies.forget(OperationId(1));
        assert_eq!((copies.operations(), copies.records().count()), (vec![OperationId(2)], 1));
    }

    #[test]
    fn records_have_all_ranges_and_each_fits_in_a_block() {
        let mut copies = ConfirmedCopies::default();
        let all: Vec<(i64, i64)> = (0..ALL_MAX as i64).map(|number| (10 * number, 10 * number + 5)).collect();
        copies.add(ConfirmedRecord { name: name(1, 1), ranges: ranges(&all) });
        assert!(!copies.has_room());
        assert_eq!(copies.records().count(), copies.record_count());
        let mut again = ConfirmedCopies::default();
        for record in copies.records() {
            let payload = crate::manifest::Record::Confirmed(record.clone()).encode();
            assert!(payload.len() <= crate::manifest::layout::PAYLOAD_MAX, "{} bytes", payload.len());
            again.add(record);
        }
        assert_eq!(again, copies);
    }
}
