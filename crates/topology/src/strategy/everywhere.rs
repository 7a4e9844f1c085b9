//! EverywhereStrategy, which ScyllaDB has.

use crate::ring::{NodeIndex, Ring};
use crate::strategy::factor::Factor;
use crate::strategy::rules::Strategy;
use crate::token::TokenRange;

/// All nodes, those without tokens too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EverywhereStrategy;

impl Strategy for EverywhereStrategy {
    fn factor(&self) -> Factor {
        Factor::AllNodes
    }

    fn place(&self, _: TokenRange, ring: &Ring) -> Vec<NodeIndex> {
        (0u16..).zip(ring.nodes()).map(|(index, _)| NodeIndex(index)).collect()
    }
}
