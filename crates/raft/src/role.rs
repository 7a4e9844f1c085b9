//! The role of a voter, and the state that belongs to it alone.
//!
//! A follower has none, a candidate counts votes, a leader has its view of the group: a change of the role drops what belonged to the one before.
//! The transitions are the state machine's.

use crate::leading::Leading;
use crate::tally::Tally;

/// A role by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RoleName {
    /// It follows a leader, or waits for one.
    Follower,
    /// It asks whether it would be voted for.
    PreCandidate,
    /// It stands for election.
    Candidate,
    /// It leads.
    Leader,
}

/// A voter's present role.
#[derive(Debug, Clone)]
pub(crate) enum Role {
    Follower,
    /// With the answers so far.
    PreCandidate(Tally),
    Candidate(Tally),
    Leader(Leading),
}

impl Role {
    pub(crate) fn name(&self) -> RoleName {
        match self {
            Role::Follower => RoleName::Follower,
            Role::PreCandidate(_) => RoleName::PreCandidate,
            Role::Candidate(_) => RoleName::Candidate,
            Role::Leader(_) => RoleName::Leader,
        }
    }

    pub(crate) fn is_leader(&self) -> bool {
        matches!(self, Role::Leader(_))
    }
}
