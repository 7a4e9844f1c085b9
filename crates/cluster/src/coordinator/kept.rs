//! The data that this node keeps, as a cleanup asks for it.

use topology::{ReplicationStrategy, TokenRanges};

use super::Coordinator;

/// The tokens of a keyspace of which this node keeps what it has, as this shard plans at present: those that it is a replica of before the operation that moves tokens, or
/// after it; all where rows are on each node, or where this node does not have the strategy's rules. What it has of others are leftovers. To be asked again before each
/// step that goes by it: the next operation may give the node more.
pub fn kept_ranges(coordinator: &Coordinator, keyspace: &str, strategy: &ReplicationStrategy) -> TokenRanges {
    coordinator.inner.placement.kept_ranges(keyspace, strategy)
}
