//! An operation: who moves what, and how far it is.

use std::collections::{BTreeMap, BTreeSet};

use super::phase::Phase;
use crate::ring::HostId;
use crate::strategy::ReplicationStrategy;
use crate::token::Token;

/// The number of an operation: the first is 1, each has the next, and none is given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId(pub u64);

impl std::fmt::Display for OperationId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The place of an operation's end among all ends, done or aborted: the first is 1, and each has the next. Not the operation's number: one that was asked for before
/// another may end after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndNumber(pub u64);

impl std::fmt::Display for EndNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The kind of an operation, as operators know it. All kinds pass the same phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Nodes join.
    Bootstrap,
    /// A node leaves that is up.
    Decommission,
    /// A node is removed that is down.
    Remove,
    /// A node is removed that is down, whatever is lost with it.
    Assassinate,
    /// A node takes the place of one that is down.
    Replace,
    /// A node exchanges one token for another.
    Move,
    /// A node has another number of tokens.
    TokenCount,
    /// A keyspace has another replication strategy.
    Replication,
    /// A node copies its ranges again.
    Rebuild,
}

impl Kind {
    const BYTES: [(Kind, u8); 9] = [
        (Kind::Bootstrap, 1),
        (Kind::Decommission, 2),
        (Kind::Remove, 3),
        (Kind::Assassinate, 4),
        (Kind::Replace, 5),
        (Kind::Move, 6),
        (Kind::TokenCount, 7),
        (Kind::Replication, 8),
        (Kind::Rebuild, 9),
    ];

    /// The byte of the kind in a change.
    pub fn byte(self) -> u8 {
        let (_, byte) = Kind::BYTES.into_iter().find(|(kind, _)| *kind == self).expect("each kind has a byte");
        byte
    }

    /// The kind of that byte.
    pub fn of_byte(byte: u8) -> Option<Kind> {
        Kind::BYTES.into_iter().find(|(_, own)| *own == byte).map(|(kind, _)| kind)
    }

    /// True if an operation of this kind may have such a target.
    fn is_of(self, target: &Target) -> bool {
        match target {
            Target::Tokens(_) => !matches!(self, Kind::Replication | Kind::Rebuild),
            Target::Replication { .. } => self == Kind::Replication,
            Target::Copy { .. } => self == Kind::Rebuild,
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::Bootstrap => "bootstrap",
            Kind::Decommission => "decommission",
            Kind::Remove => "removenode",
            Kind::Assassinate => "assassinate",
            Kind::Replace => "replace",
            Kind::Move => "move",
            Kind::TokenCount => "num_tokens",
            Kind::Replication => "replication",
            Kind::Rebuild => "rebuild",
        })
    }
}

/// The change that an operation makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The tokens of these nodes afterwards, ascending. Without any the node leaves; a node that has none before joins.
    Tokens(BTreeMap<HostId, Vec<Token>>),
    /// The replication of a keyspace. Its name means nothing here.
    Replication {
        /// The keyspace's name.
        keyspace: String,
        /// Its replication before.
        before: ReplicationStrategy,
        /// Its replication afterwards.
        after: ReplicationStrategy,
    },
    /// A node copies its ranges of all keyspaces again.
    Copy {
        /// The node.
        node: HostId,
        /// The datacenter to copy from; none if any will do.
        datacenter: Option<String>,
    },
}

/// An operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Its number.
    pub id: OperationId,
    /// Its kind.
    pub kind: Kind,
    /// Its phase.
    pub phase: Phase,
    /// The change that it makes. While it is queued, tokens may still be others.
    pub target: Target,
    /// Nodes that are given up as lost by an operator's word, with the data that only they have: they are not waited for.
    pub lost: BTreeSet<HostId>,
    /// Receivers that have copied all that they are to copy, durably; and nodes that [leave](Operation::hands_on) when they have handed on their hints and batches.
    pub copied: BTreeSet<HostId>,
    /// An operator has chosen the tokens: they are not chosen again when it is planned.
    pub has_given_tokens: bool,
    /// Receivers confirm without copying: `auto_bootstrap: false`.
    pub is_without_copy: bool,
    /// An operator has asked for it whatever is lost.
    pub is_forced: bool,
}

/// The replication by which a keyspace is placed while operations may change it: that from before the first of them. `strategy` is the one in the schema, which is the
/// last one that was asked for.
pub fn placed_by<'a>(
    operations: impl IntoIterator<Item = &'a Operation>,
    keyspace: &str,
    strategy: &'a ReplicationStrategy,
) -> &'a ReplicationStrategy {
    let own = operations.into_iter().filter_map(|operation| match &operation.target {
        Target::Replication { keyspace: of, before, .. } if of == keyspace => Some((operation.id, before)),
        _ => None,
    });
    own.min_by_key(|(id, _)| *id).map_or(strategy, |(_, before)| before)
}

/// The replications by which a keyspace may be placed from now on, as operations end or are aborted: the one of [`placed_by`] first, that of the schema last.
pub fn may_be_placed_by<'a>(
    operations: impl IntoIterator<Item = &'a Operation>,
    keyspace: &str,
    strategy: &'a ReplicationStrategy,
) -> impl Iterator<Item = &'a ReplicationStrategy> {
    let before = operations.into_iter().filter_map(move |operation| match &operation.target {
        Target::Replication { keyspace: of, before, .. } if of == keyspace => Some(before),
        _ => None,
    });
    before.chain([strategy])
}

impl Operation {
    /// True if it changes the replication of this keyspace.
    pub fn is_of_keyspace(&self, keyspace: &str) -> bool {
        matches!(&self.target, Target::Replication { keyspace: of, .. } if of == keyspace)
    }

    /// True if a node gets other tokens by it, or copies its ranges again: it may end only while the node is of the ring.
    pub fn names(&self, node: HostId) -> bool {
        match &self.target {
            Target::Tokens(nodes) => nodes.contains_key(&node),
            Target::Copy { node: of, .. } => *of == node,
            Target::Replication { .. } => false,
        }
    }

    /// The nodes that leave, and hand on what they keep for others before it is done. One that is removed is lost.
    pub fn hands_on(&self) -> impl Iterator<Item = HostId> + '_ {
        let nodes = match &self.target {
            Target::Tokens(nodes) if self.kind == Kind::Decommission => Some(nodes),
            _ => None,
        };
        nodes.into_iter().flatten().filter(|(_, tokens)| tokens.is_empty()).map(|(host, _)| *host)
    }

    /// True if a node may confirm its part now: a copy in Copy, and in ReadNew what it has handed on.
    pub fn may_confirm(&self, node: HostId) -> bool {
        let may = self.phase == Phase::Copy || self.phase == Phase::ReadNew && self.hands_on().any(|of| of == node);
        may && !self.copied.contains(&node)
    }

    /// True if a node may be given up now by which the operation waits: in ReadNew, from which it is not aborted. Before, it begins again without the node.
    pub fn may_give_up(&self, node: HostId) -> bool {
        self.phase == Phase::ReadNew && !self.lost.contains(&node)
    }

    /// True if the two must not run beside each other: the sets of one would change under the other.
    pub fn touches(&self, other: &Operation) -> bool {
        match (&self.target, &other.target) {
            (Target::Replication { keyspace: one, .. }, Target::Replication { keyspace: two, .. }) => one == two,
            (Target::Copy { node: one, .. }, Target::Copy { node: two, .. }) => one == two,
            _ => true,
        }
    }

    /// True if the parts fit each other: the kind and the target, lost data and force, tokens that no two nodes get.
    pub fn is_whole(&self) -> bool {
        let is_target_whole = match &self.target {
            Target::Tokens(nodes) => {
                let all: BTreeSet<Token> = nodes.values().flatten().copied().collect();
                let ascend = |tokens: &Vec<Token>| tokens.windows(2).all(|pair| pair[0] < pair[1]);
                let count = nodes.values().map(Vec::len).sum::<usize>();
                !nodes.is_empty() && nodes.values().all(ascend) && all.len() == count
            }
            Target::Replication { before, after, .. } => before != after,
            Target::Copy { .. } => true,
        };
        let is_copy_whole = self.copied.is_empty() || self.phase >= Phase::Copy;
        is_target_whole && is_copy_whole && self.kind.is_of(&self.target) && (self.lost.is_empty() || self.is_forced)
    }
}
