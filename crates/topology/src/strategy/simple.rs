//! SimpleStrategy. (Source: Cassandra's `SimpleStrategy.calculateNaturalReplicas`.)

use crate::ring::{NodeIndex, Ring};
use crate::strategy::factor::Factor;
use crate::strategy::rules::Strategy;
use crate::token::TokenRange;

/// The next nodes on the ring, whatever their datacenter and rack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimpleStrategy {
    /// How many.
    pub replication_factor: u32,
}

impl Strategy for SimpleStrategy {
    fn factor(&self) -> Factor {
        Factor::Total(self.replication_factor)
    }

    fn place(&self, range: TokenRange, ring: &Ring) -> Vec<NodeIndex> {
        let mut found = Vec::new();
        for node in ring.walk(range.end) {
            if found.len() >= self.replication_factor as usize {
                break;
            }
            if !found.contains(&node) {
                found.push(node);
            }
        }
        found
    }
}
