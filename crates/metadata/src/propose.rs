//! Turns on shard 0: to ask for a change of the cluster's state, and to have all shards take steps together.
//!
//! The order of a change is the group's: planned by the leader, durable, applied by all shards ([`crate::group`]). Here is only that one statement of this
//! node asks at a time, so that what it has checked is not changed by the one beside it; and that all shards apply a change, or do something else in steps,
//! one after the other. Two turns, since a statement keeps its own until its change is applied, and other nodes' changes are applied meanwhile.

use runtime::sync::{Permit, Semaphore};

/// Gives turns, in the order of asking. On shard 0.
pub struct Proposer {
    /// One permit each.
    asking: Semaphore,
    stepping: Semaphore,
}

/// A turn, until it is dropped.
pub struct Turn {
    _permit: Permit,
}

impl Default for Proposer {
    fn default() -> Proposer {
        Proposer { asking: Semaphore::new(1), stepping: Semaphore::new(1) }
    }
}

impl Proposer {
    /// Waits until no other statement of this node is under way.
    pub async fn turn(&self) -> Turn {
        Turn { _permit: self.asking.acquire().await }
    }

    /// Waits until the shards take no other steps together. Who has the turn of [`Proposer::turn`] may ask for this one, but not the other way round.
    pub async fn turn_of_shards(&self) -> Turn {
        Turn { _permit: self.stepping.acquire().await }
    }
}
