//! A candidate's tally of votes, and the time after which a node stands.
//!
//! An election, or the pre-vote before it, is won by a majority of each half of the voters, and is over when those that are left cannot make one. A
//! node that no configuration names is counted in none of them. The tally knows neither terms nor messages.

use std::collections::BTreeSet;

use crate::configuration::Configuration;
use crate::entry::{NodeId, Term};

/// Answers to a candidate.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    granted: BTreeSet<NodeId>,
    refused: BTreeSet<NodeId>,
}

impl Tally {
    /// A candidate's own vote.
    pub(crate) fn of(candidate: NodeId) -> Tally {
        Tally { granted: BTreeSet::from([candidate]), refused: BTreeSet::new() }
    }

    /// The voters that said yes.
    pub(crate) fn granted(&self) -> &BTreeSet<NodeId> {
        &self.granted
    }

    /// The voters that said no.
    pub(crate) fn refused(&self) -> &BTreeSet<NodeId> {
        &self.refused
    }

    /// The node says yes.
    pub(crate) fn grant(&mut self, node: NodeId) {
        self.granted.insert(node);
    }

    /// The node says no.
    pub(crate) fn refuse(&mut self, node: NodeId) {
        self.refused.insert(node);
    }

    /// True if a majority of each half said yes.
    pub(crate) fn is_won(&self, configuration: &Configuration) -> bool {
        configuration.is_quorum(|node| self.granted.contains(&node))
    }

    /// True if it cannot be won any more.
    pub(crate) fn is_over(&self, configuration: &Configuration) -> bool {
        configuration.is_lost(|node| self.refused.contains(&node))
    }
}

/// Ticks of silence after which the node stands: `election_ticks`, and up to as much again. The spread is a hash, so that equal steps give equal
/// states.
pub(crate) fn election_timeout(election_ticks: u32, node: NodeId, term: Term, attempts: u32) -> u32 {
    let mut hash = (node.0 as u64) ^ ((node.0 >> 64) as u64).rotate_left(32);
    for part in [term.0, u64::from(attempts)] {
        // SplitMix64's finisher.
        hash = (hash ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
    }
    let spread = hash % u64::from(election_ticks.max(1));
    election_ticks.max(1).saturating_add(u32::try_from(spread).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_election_is_won_or_over_by_the_voters_alone() {
        let voters = Configuration::new([1, 2, 3, 4].map(NodeId)).expect("there are voters");
        let mut tally = Tally::of(NodeId(1));
        [2, 2, 7, 8].into_iter().for_each(|node| tally.grant(NodeId(node)));
        assert!(!tally.is_won(&voters) && !tally.is_over(&voters));
        tally.refuse(NodeId(3));
        assert!(!tally.is_over(&voters), "the last voter decides");
        let mut lost = tally.clone();
        lost.refuse(NodeId(4));
        assert!(lost.is_over(&voters) && !lost.is_won(&voters));
        tally.grant(NodeId(4));
        assert!(tally.is_won(&voters) && !tally.is_over(&voters));
    }

    #[test]
    fn timeouts_spread_between_once_and_twice_the_least() {
        let of = |ticks, node, attempts| election_timeout(ticks, NodeId(node), Term(1), attempts);
        let all: BTreeSet<u32> = (0..100).map(|attempts| of(10, 1, attempts)).collect();
        assert!(all.len() > 5 && all.iter().all(|ticks| (10..20).contains(ticks)));
        assert_eq!((of(0, 1, 1), of(1, 2, 9)), (1, 1));
        (0..100).for_each(|attempts| assert!(of(u32::MAX, 1, attempts) >= u32::MAX - 1, "it does not overflow"));
    }
}
