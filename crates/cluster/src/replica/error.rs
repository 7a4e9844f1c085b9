//! The refusals of replicas, which name the shard and, where it is not this one, the node.

use std::fmt;
use std::net::SocketAddr;

use runtime::ShardId;
use topology::Epoch;

use crate::fence::NotPassed;

/// The shard of a node that refused. The node is not sent: whoever asked knows whom, and fills it in when the refusal arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicaShard {
    /// Where the node listens for others; `None`: this node.
    pub node: Option<SocketAddr>,
    /// Its shard; `None`: the node as a whole.
    pub shard: Option<u16>,
}

impl ReplicaShard {
    /// This node as a whole.
    pub(crate) fn here() -> Self {
        ReplicaShard { node: None, shard: None }
    }

    /// Another node as a whole.
    pub(crate) fn of_node(node: SocketAddr) -> Self {
        ReplicaShard { node: Some(node), shard: None }
    }
}

impl From<u16> for ReplicaShard {
    fn from(shard: u16) -> Self {
        ReplicaShard { node: None, shard: Some(shard) }
    }
}

impl From<ShardId> for ReplicaShard {
    fn from(shard: ShardId) -> Self {
        ReplicaShard::from(shard.0)
    }
}

impl fmt::Display for ReplicaShard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.shard, self.node) {
            (Some(shard), None) => write!(f, "shard {shard}"),
            (Some(shard), Some(node)) => write!(f, "shard {shard} of node {node}"),
            (None, Some(node)) => write!(f, "node {node}"),
            (None, None) => f.write_str("this node"),
        }
    }
}

/// A replica did not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplicaError {
    /// It takes no more for now.
    #[error("{shard} is overloaded: {problem}")]
    Overloaded {
        /// The replica.
        shard: ReplicaShard,
        /// The resource that is used up.
        problem: String,
    },
    /// The mutation is larger than a commit-log record may be.
    #[error("Mutation of {size} bytes is too large for the maximum size of {max}")]
    TooLarge {
        /// Its size.
        size: usize,
        /// The most a record may hold.
        max: usize,
    },
    /// Its disk failed: it takes no writes until the process is started again.
    #[error("{shard} refuses writes: its disk failed")]
    Poisoned {
        /// The replica.
        shard: ReplicaShard,
    },
    /// It has the write in memory, and could not make it durable.
    #[error("{shard}: {reason}")]
    NotSynced {
        /// The replica.
        shard: ReplicaShard,
        /// Why.
        reason: storage::SyncError,
    },
    /// It does not know the table: it was dropped meanwhile.
    #[error("{shard} does not know the table")]
    UnknownTable {
        /// The replica.
        shard: ReplicaShard,
    },
    /// Its disk is full.
    #[error("{shard}: disk full")]
    DiskFull {
        /// The replica.
        shard: ReplicaShard,
    },
    /// A read met more tombstones than it may.
    #[error("READ_TOO_MANY_TOMBSTONES")]
    TooManyTombstones,
    /// A file of its data is damaged or cannot be read; its log says which and where.
    #[error("{shard} cannot read an sstable")]
    Unreadable {
        /// The replica.
        shard: ReplicaShard,
    },
    /// The bytes that it got cannot be decoded, or do not fit the table.
    #[error("{shard} received a malformed request: {problem}")]
    Malformed {
        /// The replica.
        shard: ReplicaShard,
        /// The defect.
        problem: String,
    },
    /// The ring or the table has changed since the request was planned. It is planned again, so no client sees this.
    #[error("{shard} has applied epoch {epoch}, and the request was planned before")]
    Stale {
        /// The replica.
        shard: ReplicaShard,
        /// The change, or a later one.
        epoch: Epoch,
    },
    /// The request was planned at an epoch that the node did not reach in time.
    #[error("{shard} lags: it has not applied epoch {epoch} of the cluster's state")]
    Lags {
        /// The replica.
        shard: ReplicaShard,
        /// The epoch that the request rests on.
        epoch: Epoch,
    },
    /// It has ended.
    #[error("{shard} does not answer")]
    Gone {
        /// The replica.
        shard: ReplicaShard,
    },
}

impl From<NotPassed> for ReplicaError {
    fn from(NotPassed { shard, epoch, is_stale }: NotPassed) -> ReplicaError {
        let shard = shard.into();
        if is_stale { ReplicaError::Stale { shard, epoch } } else { ReplicaError::Lags { shard, epoch } }
    }
}

impl ReplicaError {
    /// The same, of a node that was asked.
    pub(crate) fn of_node(mut self, node: SocketAddr) -> Self {
        match &mut self {
            ReplicaError::Overloaded { shard, .. }
            | ReplicaError::Poisoned { shard }
            | ReplicaError::NotSynced { shard, .. }
            | ReplicaError::UnknownTable { shard }
            | ReplicaError::DiskFull { shard }
            | ReplicaError::Unreadable { shard }
            | ReplicaError::Malformed { shard, .. }
            | ReplicaError::Stale { shard, .. }
            | ReplicaError::Lags { shard, .. }
            | ReplicaError::Gone { shard } => shard.node = Some(node),
            // Their words are Cassandra's, which name no replica.
            ReplicaError::TooLarge { .. } | ReplicaError::TooManyTombstones => {}
        }
        self
    }

    /// True if it is no failure of the replica: the request was planned before a change, and is to be planned again.
    pub(crate) fn is_stale(&self) -> bool {
        matches!(self, ReplicaError::Stale { .. })
    }

    /// True if its words name a node.
    pub fn names_node(&self) -> bool {
        self.shard().is_some_and(|shard| shard.node.is_some())
    }

    /// The shard that its words name.
    fn shard(&self) -> Option<ReplicaShard> {
        match self {
            ReplicaError::Overloaded { shard, .. }
            | ReplicaError::Poisoned { shard }
            | ReplicaError::NotSynced { shard, .. }
            | ReplicaError::UnknownTable { shard }
            | ReplicaError::DiskFull { shard }
            | ReplicaError::Unreadable { shard }
            | ReplicaError::Malformed { shard, .. }
            | ReplicaError::Stale { shard, .. }
            | ReplicaError::Lags { shard, .. }
            | ReplicaError::Gone { shard } => Some(*shard),
            ReplicaError::TooLarge { .. } | ReplicaError::TooManyTombstones => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_shard_and_node() {
        let node: SocketAddr = ([10, 0, 0, 2], 7000).into();
        let here = ReplicaError::DiskFull { shard: 3.into() };
        assert_eq!((here.to_string(), here.names_node()), ("shard 3: disk full".to_owned(), false));
        let there = here.of_node(node);
        let words = "shard 3 of node 10.0.0.2:7000: disk full";
        assert_eq!((there.to_string(), there.names_node()), (words.to_owned(), true));
        let gone = ReplicaError::Gone { shard: ReplicaShard::of_node(node) };
        assert_eq!(gone.to_string(), "node 10.0.0.2:7000 does not answer");
        let too_large = ReplicaError::TooLarge { size: 10, max: 5 };
        assert_eq!(too_large.clone().of_node(node), too_large, "Cassandra's words stay as they are");
    }
}
