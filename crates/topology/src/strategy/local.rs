//! LocalStrategy: the system tables, of which each node has its own.

use crate::ring::{NodeIndex, Ring};
use crate::strategy::factor::Factor;
use crate::strategy::rules::Strategy;
use crate::token::TokenRange;

/// The node that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalStrategy;

impl Strategy for LocalStrategy {
    fn factor(&self) -> Factor {
        Factor::OwnNode
    }

    fn place(&self, _: TokenRange, ring: &Ring) -> Vec<NodeIndex> {
        vec![ring.local()]
    }
}
