//! The phases of an operation, and which half of a moving range counts in each.

use crate::consistency::ConsistencyLevel;

/// The phase of an operation. Each is an entry of the cluster's log, written before it is acted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// It waits for another operation, or for nodes to drop their leftovers.
    Queued,
    /// Its tokens are fixed and its ranges are locked.
    Planned,
    /// Pending replicas are written.
    WriteBoth,
    /// Receivers copy.
    Copy,
    /// The new replicas are read. There is no way back.
    ReadNew,
    /// The ranges have moved.
    Done,
    /// The ranges stay where they were.
    Aborted,
}

/// The sets of a moving range that count: a level that counts in both is met when it is met in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Halves {
    /// The replicas before.
    Old,
    /// The replicas after.
    New,
    /// Each of the two.
    Both,
}

impl Halves {
    /// True if the replicas before count.
    #[inline]
    pub fn has_old(self) -> bool {
        self != Halves::New
    }

    /// True if the replicas after count.
    #[inline]
    pub fn has_new(self) -> bool {
        self != Halves::Old
    }
}

/// The answer of a replica to a request of a coordinator that has another placement by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    /// It has a plain write.
    Written,
    /// The rows that it read, or their digest.
    Read,
    /// A promise or an acceptance of Paxos.
    Paxos,
}

impl Phase {
    /// Phases with their bytes.
    const BYTES: [(Phase, u8); 7] = [
        (Phase::Queued, 1),
        (Phase::Planned, 2),
        (Phase::WriteBoth, 3),
        (Phase::Copy, 4),
        (Phase::ReadNew, 5),
        (Phase::Done, 6),
        (Phase::Aborted, 7),
    ];

    /// The byte of the phase in a change.
    pub fn byte(self) -> u8 {
        let (_, byte) = Phase::BYTES.into_iter().find(|(phase, _)| *phase == self).expect("each phase has a byte");
        byte
    }

    /// The phase of that byte.
    pub fn of_byte(byte: u8) -> Option<Phase> {
        Phase::BYTES.into_iter().find(|(_, own)| *own == byte).map(|(phase, _)| phase)
    }

    /// The phase that follows if the operation is not aborted.
    pub fn next(self) -> Option<Phase> {
        match self {
            Phase::Queued => Some(Phase::Planned),
            Phase::Planned => Some(Phase::WriteBoth),
            Phase::WriteBoth => Some(Phase::Copy),
            Phase::Copy => Some(Phase::ReadNew),
            Phase::ReadNew => Some(Phase::Done),
            Phase::Done | Phase::Aborted => None,
        }
    }

    /// True while the operation may be aborted: up to Copy. Later the new replicas alone may have been read.
    pub fn may_abort(self) -> bool {
        self < Phase::ReadNew
    }

    /// True if an operation may pass from this phase to `next`.
    pub fn may_become(self, next: Phase) -> bool {
        self.next() == Some(next) || (next == Phase::Aborted && self.may_abort())
    }

    /// True while ranges are locked: planned, and neither done nor aborted.
    pub fn is_running(self) -> bool {
        (Phase::Planned..=Phase::ReadNew).contains(&self)
    }

    /// The half whose replicas hold all data.
    fn settled(self) -> Halves {
        match self {
            Phase::Queued | Phase::Planned | Phase::WriteBoth | Phase::Copy | Phase::Aborted => Halves::Old,
            Phase::ReadNew | Phase::Done => Halves::New,
        }
    }

    /// The sets that are written, and in which the level of a write counts.
    #[inline]
    pub fn writes(self) -> Halves {
        match self {
            Phase::WriteBoth | Phase::Copy | Phase::ReadNew => Halves::Both,
            Phase::Queued | Phase::Planned | Phase::Done | Phase::Aborted => self.settled(),
        }
    }

    /// The sets that promise and accept in Paxos: those that are written.
    #[inline]
    pub fn electorate(self) -> Halves {
        self.writes()
    }

    /// The sets that are read at `level`, and in which it counts.
    ///
    /// A read of a quorum or more counts in both sets until ReadNew. In the old one alone it could return a write that is not acknowledged and
    /// that no copy takes along, and a later read of the new set would miss it.
    #[inline]
    pub fn reads(self, level: ConsistencyLevel) -> Halves {
        match self {
            _ if level.is_serial() => self.electorate(),
            Phase::WriteBoth | Phase::Copy if level.is_of_a_quorum() => Halves::Both,
            _ => self.settled(),
        }
    }

    /// True if a replica that has applied this phase, and no later one, may serve copies: it refuses plans from before WriteBoth, so what it sends has
    /// whatever it has acknowledged to coordinators that do not write to the receiver.
    pub fn serves_copies(self) -> bool {
        matches!(self, Phase::WriteBoth | Phase::Copy)
    }

    /// True if both phases have the same read sets, write sets and electorate.
    pub fn places_as(self, other: Phase) -> bool {
        let (settled, written) = (self.settled(), self.writes());
        settled == other.settled() && written == other.writes()
    }

    /// True if an answer to a request that was planned in this phase counts for its coordinator in the phase `at`.
    ///
    /// An acknowledged write is kept, so it counts at any placement. A read's answer or a promise from before a copy says nothing of what the copy brought.
    pub fn carries_over(self, answer: Answer, at: Phase) -> bool {
        answer == Answer::Written || self.places_as(at)
    }
}

impl std::fmt::Display for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Phase::Queued => "queued",
            Phase::Planned => "planned",
            Phase::WriteBoth => "write both",
            Phase::Copy => "copy",
            Phase::ReadNew => "read new",
            Phase::Done => "done",
            Phase::Aborted => "aborted",
        })
    }
}

#[cfg(test)]
mod tests;
