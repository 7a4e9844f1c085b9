//! The kinds of operations that are enumerated, and the nodes that have a part in them.

use admin::Question;

use super::ground::MACHINES;

/// The operation of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Join,
    Decommission,
    Removal,
    AbortedJoin,
    AbortedDecommission,
    Replacement,
    /// A keyspace gets one replica more.
    Growth,
    /// A keyspace keeps one replica of three.
    Shrinking,
    Rebuild,
    /// A node starts with another number of tokens.
    Tokens,
}

impl Kind {
    pub(super) const ALL: [Kind; 10] = [
        Kind::Join,
        Kind::Decommission,
        Kind::Removal,
        Kind::AbortedJoin,
        Kind::AbortedDecommission,
        Kind::Replacement,
        Kind::Growth,
        Kind::Shrinking,
        Kind::Rebuild,
        Kind::Tokens,
    ];

    /// True if a node joins that was never there: three members are.
    pub(super) fn is_join(self) -> bool {
        matches!(self, Kind::Join | Kind::AbortedJoin)
    }

    pub(super) fn is_aborted(self) -> bool {
        matches!(self, Kind::AbortedJoin | Kind::AbortedDecommission)
    }

    /// The leader, the source and the receiver, and the node that joins, leaves, is replaced or gets other tokens.
    pub(super) fn nodes(self, leader: usize) -> ([usize; 3], Option<usize>) {
        let others: Vec<usize> = (0..MACHINES).filter(|node| *node != leader).collect();
        let [first, second, third] = others[..] else { panic!("there are four machines") };
        match self {
            // The machine that joins is the last: it leads nothing.
            Kind::Join | Kind::AbortedJoin => ([leader, first, third], Some(third)),
            Kind::Decommission | Kind::AbortedDecommission => ([leader, third, first], Some(third)),
            Kind::Removal => ([leader, second, first], Some(third)),
            Kind::Replacement | Kind::Tokens => ([leader, first, third], Some(third)),
            Kind::Growth | Kind::Shrinking | Kind::Rebuild => ([leader, first, second], None),
        }
    }

    /// The statement that asks for it, of a keyspace's replication.
    pub(super) fn statement(self) -> Option<&'static str> {
        match self {
            Kind::Growth => {
                Some("ALTER KEYSPACE s WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 4}")
            }
            Kind::Shrinking => {
                Some("ALTER KEYSPACE s WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
            }
            _ => None,
        }
    }

    /// The question that asks a node for it, of those that its own operator asks for.
    pub(super) fn question(self) -> Option<Question> {
        match self {
            Kind::Decommission | Kind::AbortedDecommission => Some(Question::Decommission { is_forced: false }),
            Kind::Rebuild => Some(Question::Rebuild { datacenter: None }),
            _ => None,
        }
    }
}
