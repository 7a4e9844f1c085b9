//! The data that a node keeps through an operation.

use super::placements::Placements;
use crate::ring::NodeIndex;
use crate::token_ranges::TokenRanges;

impl Placements {
    /// The tokens of which a node keeps what it has: it is a replica before the operation, or after it. What it has else are leftovers.
    pub fn kept(&self, node: NodeIndex) -> TokenRanges {
        TokenRanges::of(self.ranges().filter(|range| self.of(range.end).keeps(node)))
    }
}
