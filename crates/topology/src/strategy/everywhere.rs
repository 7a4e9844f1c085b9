//! EverywhereStrategy, which ScyllaDB has.

use crate::ring::{NodeIndex, Ring};
use crate::strategy::factor::Factor;
use crate::strategy::rules::Strategy;
use crate::token::TokenRange;

/// All nodes that have tokens: one that joins has none yet, one that leaves none any more. Where no node has any, all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EverywhereStrategy;

impl Strategy for EverywhereStrategy {
    fn factor(&self) -> Factor {
        Factor::AllNodes
    }

    fn place(&self, _: TokenRange, ring: &Ring) -> Vec<NodeIndex> {
        ring.owning_nodes().collect()
    }
}
