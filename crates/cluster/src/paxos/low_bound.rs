//! The low bound of all attempts, as a part of the cluster's state: up to it no replica promises or accepts, and then none remembers. Pure functions between its
//! changes as bytes and the state. See `docs/internals/paxos.md`.
//!
//! ```text
//! change, version 1: varint count · (u8 1 · i64 below · u64 placement | u8 2 · 16 host id | u8 3)*
//!                                    refuse                             finished           close
//! ```

use std::collections::BTreeSet;

use stdx::{ReadError, Reader, varint};
use topology::HostId;

/// The version of changes that this code writes, and the newest that it reads.
pub const LOW_BOUND_VERSION: u8 = 1;

const REFUSE: u8 = 1;
const FINISHED: u8 = 2;
const CLOSE: u8 = 3;

/// The low bound. Times are microseconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LowBound {
    refused: i64,
    closed: i64,
    finished: BTreeSet<HostId>,
    placement: u64,
}

/// The times of a low bound, as a shard applies them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bound {
    /// Ballots up to it are refused.
    pub refused: i64,
    /// Registers up to it are ignored.
    pub closed: i64,
}

/// One change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LowBoundChange {
    /// No ballot up to this time takes part any more.
    Refuse {
        /// The time.
        below: i64,
        /// A hash of all that decides who is a replica of what.
        placement: u64,
    },
    /// A node has finished what it has up to the time that is refused.
    Finished(HostId),
    /// Nothing up to the time that is refused is remembered.
    Close,
}

impl LowBound {
    /// Its times.
    pub fn times(&self) -> Bound {
        Bound { refused: self.refused, closed: self.closed }
    }

    /// True if a node is to finish what it has up to the time that is refused.
    pub fn is_awaited(&self, node: HostId) -> bool {
        self.refused > self.closed && !self.finished.contains(&node)
    }

    /// The change that has ballots up to `below` refused; `None` if they are, if it is less than `apart` microseconds later than the last one, or if that one may be
    /// closed yet, however long it takes.
    pub fn plan_refuse(
        &self,
        (below, apart): (i64, i64),
        placement: u64,
        is_majority: impl Fn(&BTreeSet<HostId>) -> bool,
    ) -> Option<LowBoundChange> {
        let is_due = below >= self.refused.saturating_add(apart.max(1));
        match self.refused > self.closed && placement == self.placement {
            // It was no majority when the last one finished: a node was regressed.
            true if is_majority(&self.finished) => Some(LowBoundChange::Close),
            true => None,
            false => is_due.then_some(LowBoundChange::Refuse { below, placement }),
        }
    }

    /// The changes once a node has finished what it has up to `below`, beside `placement` now. `is_majority` says of nodes if they are a majority in each
    /// datacenter of the replicas of each range.
    pub fn plan_finished(
        &self,
        (node, below): (HostId, i64),
        placement: u64,
        is_majority: impl Fn(&BTreeSet<HostId>) -> bool,
    ) -> Vec<LowBoundChange> {
        // By another placement it has asked other replicas. The next bound is for those.
        if below != self.refused || !self.is_awaited(node) || placement != self.placement {
            return Vec::new();
        }
        let mut finished = self.finished.clone();
        finished.insert(node);
        let mut changes = vec![LowBoundChange::Finished(node)];
        if is_majority(&finished) {
            changes.push(LowBoundChange::Close);
        }
        changes
    }

    /// The state after changes, in order.
    #[must_use]
    pub fn with_all(&self, changes: impl IntoIterator<Item = LowBoundChange>) -> LowBound {
        let mut next = self.clone();
        for change in changes {
            match change {
                LowBoundChange::Refuse { below, placement } if below > next.refused => {
                    next = LowBound { refused: below, closed: next.closed, finished: BTreeSet::new(), placement };
                }
                LowBoundChange::Refuse { .. } => {}
                LowBoundChange::Finished(node) => _ = next.finished.insert(node),
                LowBoundChange::Close => {
                    next = LowBound { closed: next.refused, finished: BTreeSet::new(), placement: 0, ..next };
                }
            }
            assert!(next.closed <= next.refused, "what is ignored was refused before");
            assert!(next.closed >= self.closed && next.refused >= self.refused, "the low bound never falls");
        }
        next
    }

    /// The bytes of the changes that make this state of the first one; `None` if it is that.
    pub fn snapshot(&self) -> Option<Vec<u8>> {
        let mut changes = Vec::new();
        if self.closed > 0 {
            changes.extend([LowBoundChange::Refuse { below: self.closed, placement: 0 }, LowBoundChange::Close]);
        }
        if self.refused > self.closed {
            changes.push(LowBoundChange::Refuse { below: self.refused, placement: self.placement });
            changes.extend(self.finished.iter().copied().map(LowBoundChange::Finished));
        }
        (!changes.is_empty()).then(|| encode_low_bound(&changes))
    }
}

/// The bytes of changes that take effect together.
pub fn encode_low_bound(changes: &[LowBoundChange]) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint::encode(changes.len() as u64, &mut bytes);
    for change in changes {
        match change {
            LowBoundChange::Refuse { below, placement } => {
                bytes.push(REFUSE);
                bytes.extend_from_slice(&below.to_be_bytes());
                bytes.extend_from_slice(&placement.to_be_bytes());
            }
            LowBoundChange::Finished(node) => {
                bytes.push(FINISHED);
                bytes.extend_from_slice(&node.0);
            }
            LowBoundChange::Close => bytes.push(CLOSE),
        }
    }
    bytes
}

/// Bytes are no change of the low bound.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LowBoundError {
    /// They end early.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A kind that there is not.
    #[error("unknown kind {0} of a change of the low bound")]
    Kind(u8),
    /// More bytes than changes.
    #[error("{0} bytes follow the last change of the low bound")]
    Trailing(usize),
}

/// The changes that `bytes` are, all of them.
pub fn decode_low_bound(bytes: &[u8]) -> Result<Vec<LowBoundChange>, LowBoundError> {
    let mut reader = Reader::new(bytes);
    let mut changes = Vec::new();
    for _ in 0..reader.varint()? {
        changes.push(match reader.u8()? {
            REFUSE => LowBoundChange::Refuse { below: reader.i64()?, placement: u64::from_be_bytes(reader.array()?) },
            FINISHED => LowBoundChange::Finished(HostId(reader.array()?)),
            CLOSE => LowBoundChange::Close,
            kind => return Err(LowBoundError::Kind(kind)),
        });
    }
    match reader.remaining() {
        0 => Ok(changes),
        rest => Err(LowBoundError::Trailing(rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: HostId = HostId([1; 16]);
    const B: HostId = HostId([2; 16]);

    fn refusing(below: i64) -> LowBound {
        let refuse = LowBound::default().plan_refuse((below, 10), 7, both).expect("it is later");
        LowBound::default().with_all([refuse])
    }

    fn both(finished: &BTreeSet<HostId>) -> bool {
        finished.len() == 2
    }

    #[test]
    fn it_is_closed_once_a_majority_has_finished() {
        let bound = refusing(100);
        assert!(bound.is_awaited(A) && bound.is_awaited(B));
        let bound = bound.with_all(bound.plan_finished((A, 100), 7, both));
        assert_eq!(bound.times(), Bound { refused: 100, closed: 0 });
        assert!(!bound.is_awaited(A), "once is enough");
        assert_eq!(bound.plan_finished((A, 100), 7, both), []);
        assert_eq!(bound.plan_finished((B, 90), 7, both), [], "it has finished what was refused before");
        let bound = bound.with_all(bound.plan_finished((B, 100), 7, both));
        assert_eq!(bound.times(), Bound { refused: 100, closed: 100 });
        assert!(!bound.is_awaited(A) && !bound.is_awaited(B));
    }

    #[test]
    fn it_stays_open_where_ranges_have_other_replicas_meanwhile() {
        let bound = refusing(100);
        assert_eq!(bound.plan_finished((A, 100), 8, both), [], "it has asked other replicas");
        assert_eq!(bound.plan_refuse((109, 10), 8, both), None, "it is hardly later");
        assert_eq!(bound.plan_refuse((900, 10), 7, both), None, "it may be closed yet");
        let next = bound.with_all(bound.plan_refuse((110, 10), 8, both));
        assert!(next.is_awaited(A) && next.is_awaited(B) && next.times().refused == 110);
    }

    #[test]
    fn it_is_closed_late_where_those_that_have_finished_were_no_majority_then() {
        let none = |_: &BTreeSet<HostId>| false;
        let bound = refusing(100);
        let bound = bound.with_all(bound.plan_finished((A, 100), 7, none));
        let bound = bound.with_all(bound.plan_finished((B, 100), 7, none));
        assert_eq!(bound.times().closed, 0);
        let bound = bound.with_all(bound.plan_refuse((500, 10), 7, both));
        assert_eq!(bound.times(), Bound { refused: 100, closed: 100 });
    }

    #[test]
    fn its_changes_and_states_are_the_same_after_their_way() {
        let refuse = |below| LowBoundChange::Refuse { below, placement: 5 };
        let all =
            [refuse(3), LowBoundChange::Finished(A), LowBoundChange::Close, refuse(9), LowBoundChange::Finished(B)];
        for count in 0..=all.len() {
            let bytes = encode_low_bound(&all[..count]);
            assert_eq!(decode_low_bound(&bytes).as_deref(), Ok(&all[..count]));
            (0..bytes.len()).for_each(|length| assert!(decode_low_bound(&bytes[..length]).is_err()));
            assert_eq!(decode_low_bound(&[&bytes[..], &[0]].concat()), Err(LowBoundError::Trailing(1)));
            let state = LowBound::default().with_all(all[..count].iter().copied());
            let again = state.snapshot().map(|bytes| decode_low_bound(&bytes).unwrap()).unwrap_or_default();
            assert_eq!(LowBound::default().with_all(again), state);
        }
        assert_eq!(decode_low_bound(&[1, 4]), Err(LowBoundError::Kind(4)));
    }
}
