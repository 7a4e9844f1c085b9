//! The last truncation of each table, as a domain of the cluster's state: pure functions between its changes as bytes and the state.
//!
//! ```text
//! change of the domain, version 1: varint count · (u8 1 · 16 table · 16 mark | u8 2 · 16 table)*
//!                                                  truncate                   forget
//! ```
//!
//! A node that finds another mark of a table here than that of its own last truncation has not truncated yet. Where a table's marks end with the table, none
//! need ever be compared but for equality.

use std::collections::BTreeMap;

use stdx::{Reader, varint};

use crate::change::DecodeError;
use crate::ids::TableId;

/// The version of the domain's changes that this code writes, and the newest that it reads.
pub const VERSION: u8 = 1;

const TRUNCATE: u8 = 1;
const FORGET: u8 = 2;

/// Names one truncation: bytes that no other one has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark(pub [u8; 16]);

/// One change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruncationChange {
    /// All rows of the table so far are gone.
    Truncate(TableId, Mark),
    /// The table is gone, and with it what is remembered of its truncations.
    Forget(TableId),
}

/// The last truncation of each table that ever had one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableTruncations {
    marks: BTreeMap<TableId, Mark>,
}

impl TableTruncations {
    /// The last truncation of a table.
    pub fn mark(&self, table: TableId) -> Option<Mark> {
        self.marks.get(&table).copied()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (TableId, Mark)> + '_ {
        self.marks.iter().map(|(table, mark)| (*table, *mark))
    }

    /// The state after changes, in order.
    #[must_use]
    pub fn with_all(&self, changes: impl IntoIterator<Item = TruncationChange>) -> TableTruncations {
        let mut next = self.clone();
        for change in changes {
            match change {
                TruncationChange::Truncate(table, mark) => _ = next.marks.insert(table, mark),
                TruncationChange::Forget(table) => _ = next.marks.remove(&table),
            }
        }
        next
    }

    /// The bytes of the changes that make this state of an empty one; `None` if it is empty.
    pub fn snapshot(&self) -> Option<Vec<u8>> {
        let changes: Vec<_> = self.iter().map(|(table, mark)| TruncationChange::Truncate(table, mark)).collect();
        (!changes.is_empty()).then(|| encode(&changes))
    }
}

/// The bytes of changes that take effect together.
pub fn encode(changes: &[TruncationChange]) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint::encode(changes.len() as u64, &mut bytes);
    for change in changes {
        match change {
            TruncationChange::Truncate(table, mark) => {
                bytes.push(TRUNCATE);
                bytes.extend_from_slice(&table.0);
                bytes.extend_from_slice(&mark.0);
            }
            TruncationChange::Forget(table) => {
                bytes.push(FORGET);
                bytes.extend_from_slice(&table.0);
            }
        }
    }
    bytes
}

/// The changes that `bytes` are, all of them.
pub fn decode(bytes: &[u8]) -> Result<Vec<TruncationChange>, DecodeError> {
    let mut reader = Reader::new(bytes);
    let mut changes = Vec::new();
    for _ in 0..reader.varint()? {
        changes.push(match reader.u8()? {
            TRUNCATE => TruncationChange::Truncate(TableId(reader.array()?), Mark(reader.array()?)),
            FORGET => TruncationChange::Forget(TableId(reader.array()?)),
            kind => return Err(DecodeError::Invalid { problem: format!("unknown kind {kind} of a truncation") }),
        });
    }
    match reader.remaining() {
        0 => Ok(changes),
        rest => Err(DecodeError::Invalid { problem: format!("{rest} bytes follow the last truncation") }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn change() -> impl Strategy<Value = TruncationChange> {
        // Few tables, so that changes are of the same.
        let table = || (0..4u8).prop_map(|id| TableId([id; 16]));
        prop_oneof![
            (table(), any::<[u8; 16]>()).prop_map(|(table, mark)| TruncationChange::Truncate(table, Mark(mark))),
            table().prop_map(TruncationChange::Forget),
        ]
    }

    #[test]
    fn the_last_truncation_of_a_table_counts_until_it_is_forgotten() {
        let (one, other) = (TableId([1; 16]), TableId([2; 16]));
        let truncate = |table, mark| TruncationChange::Truncate(table, Mark([mark; 16]));
        let state = TableTruncations::default();
        let state = state.with_all([truncate(one, 1), truncate(other, 2), truncate(one, 3)]);
        assert_eq!((state.mark(one), state.mark(other)), (Some(Mark([3; 16])), Some(Mark([2; 16]))));
        let state = state.with_all([TruncationChange::Forget(one), TruncationChange::Forget(one)]);
        assert_eq!(state.iter().collect::<Vec<_>>(), [(other, Mark([2; 16]))]);
        assert_eq!(state.with_all([TruncationChange::Forget(other)]).snapshot(), None);
    }

    #[test]
    fn other_bytes_are_refused() {
        let bytes = encode(&[TruncationChange::Forget(TableId([1; 16]))]);
        let longer = [&bytes[..], &[0]].concat();
        assert!(decode(&longer).is_err() && decode(&bytes[..5]).is_err() && decode(&[1, 9]).is_err());
        // A count alone takes no memory.
        assert!(decode(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]).is_err());
    }

    proptest! {
        #[test]
        fn changes_come_back_and_a_snapshot_makes_the_state(changes in prop::collection::vec(change(), 0..20)) {
            prop_assert_eq!(decode(&encode(&changes)), Ok(changes.clone()));
            let state = TableTruncations::default().with_all(changes.iter().copied());
            let one_by_one = changes.iter().fold(TableTruncations::default(), |state, change| state.with_all([*change]));
            prop_assert_eq!(&one_by_one, &state);
            let again = state.snapshot().map(|bytes| decode(&bytes).expect("a snapshot is a change"));
            prop_assert_eq!(TableTruncations::default().with_all(again.into_iter().flatten()), state);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }
    }
}
