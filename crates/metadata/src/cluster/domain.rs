//! A domain: one owner's part of the cluster's state, as pure functions.

use std::collections::BTreeSet;
use std::fmt;

use crate::error::DecodeError;
use crate::local::TableKey;

/// Number of a domain in an entry. Numbers are assigned here so that no two domains share one; the owners alone know what they mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainId(pub u8);

impl DomainId {
    /// Nodes, tokens and placements. No record has it yet.
    pub const TOPOLOGY: DomainId = DomainId(1);
    /// Keyspaces, tables and types.
    pub const SCHEMA: DomainId = DomainId(2);
    /// The last truncation of each table.
    pub const TRUNCATIONS: DomainId = DomainId(3);
    /// The low bound of attempts of conditional statements.
    pub const LOW_BOUND: DomainId = DomainId(4);
    /// Operations, which move token ranges.
    pub const OPERATIONS: DomainId = DomainId(5);
    /// Roles, permissions, identities and CIDR groups.
    pub const ACCESS: DomainId = DomainId(6);
}

impl fmt::Display for DomainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Pure functions of a domain: from its changes to its state, and back to the one change that makes the state.
///
/// Nodes with equal logs have equal states, so none of them may read a clock, a file or a setting. There is no `plan` among them: it needs the
/// settings of the leader, and the owners of several domains may have a part in it ([`crate::group::Planner`]).
pub trait Domain: 'static {
    /// Its number in entries.
    const ID: DomainId;
    /// Its name in messages.
    const NAME: &'static str;
    /// The version of changes that this code writes, and the newest that it reads. At least 1.
    const VERSION: u8;
    /// The state. The default is that of a new cluster.
    type State: Default + 'static;
    /// A decoded change.
    type Change: 'static;

    /// The change that `bytes` are, all of them. Of `version`, 1 to [`Domain::VERSION`] occur.
    fn decode(version: u8, bytes: &[u8]) -> Result<Self::Change, DecodeError>;

    /// The state after `changes`, in order. Never fails: a change of what is not there is no change.
    fn apply(state: &Self::State, changes: Vec<Self::Change>) -> Self::State;

    /// The change, in the newest version, that makes `state` of the default state; `None` if they are the same.
    fn snapshot(state: &Self::State) -> Option<Vec<u8>>;

    /// True if the change only gives room back: a full disk must take it.
    fn gives_room_back(_change: &Self::Change) -> bool {
        false
    }

    /// The tables that exist. Truncations of all others are forgotten by compaction.
    fn live_tables(_state: &Self::State) -> BTreeSet<TableKey> {
        BTreeSet::new()
    }
}
