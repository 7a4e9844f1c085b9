//! The choice of the nodes that vote: a pure function of the nodes, of which are live, and of which vote now.
//!
//! Goal: a majority of the voters outlives what usually fails together (a node, a rack, a datacenter), and votes move only for a reason.
//!
//! **The count** is the greatest odd one that the cluster has nodes for: 1 of 1 or 2 nodes, 3 of 3 or 4, 5 of 5 and more, 7 of 7 and more in more than
//! five datacenters. In three datacenters or more none has half of the voters; where the nodes stand so that this cannot be (two of three datacenters have
//! one node each), there are three voters in place of five.
//!
//! **The voters** are, of all sets of that count, the first by these criteria, each of which decides only where those before it are equal:
//! 1. the fewest dead nodes;
//! 2. datacenters: the least sum of squares of their counts, which is the most even spread that there can be;
//! 3. of two datacenters, the most in the first one: the one that an operator names, else the one with more voters now, else by name;
//! 4. racks: the least sum of squares of their counts;
//! 5. the most nodes that vote now;
//! 6. the lowest host ids.
//!
//! So a set of voters that has the right count stays unless another is better by 1 to 4, and of the better ones that is chosen which moves the fewest votes.
//!
//! The criteria are sums over racks, so the best set is found rack by rack, exactly, in a time that grows with the count of racks. Rejected: choosing
//! node after node greedily, which is not exact where the criteria pull in different directions, and whose outcome no sentence describes.

use std::collections::{BTreeMap, BTreeSet};

use crate::nodes::{NodeState, Registry};
use crate::ring::HostId;

/// The most voters.
pub const VOTERS_MAX: usize = 7;
/// Above this count of datacenters there are more voters than five.
const DATACENTERS_OF_FIVE: usize = 5;

/// A node that may vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// Its identity.
    pub host_id: HostId,
    /// Its datacenter.
    pub datacenter: &'a str,
    /// Its rack within the datacenter.
    pub rack: &'a str,
    /// It is up, or has not been down for long.
    pub is_live: bool,
    /// It votes now.
    pub is_voter: bool,
}

/// The nodes of the registry that may vote: those in state Normal. `live` are up, and `present` vote now.
pub fn candidates<'a>(
    registry: &'a Registry,
    live: &BTreeSet<HostId>,
    present: &BTreeSet<HostId>,
) -> Vec<Candidate<'a>> {
    let normal = registry.nodes().filter(|(_, node)| node.state == NodeState::Normal);
    let candidate = normal.map(|(host_id, node)| Candidate {
        host_id,
        datacenter: &node.datacenter,
        rack: &node.rack,
        is_live: live.contains(&host_id),
        is_voter: present.contains(&host_id),
    });
    candidate.collect()
}

/// The nodes that are to vote, of `candidates` in any order; none if there is no candidate. `first` is the datacenter that an operator names as
/// the one with the larger part, where there are two.
///
/// Panics if a host id is a candidate twice.
pub fn choose(candidates: &[Candidate<'_>], first: Option<&str>) -> BTreeSet<HostId> {
    let ids: BTreeSet<HostId> = candidates.iter().map(|of| of.host_id).collect();
    assert_eq!(ids.len(), candidates.len(), "a node is a candidate once");
    let mut datacenters: BTreeMap<&str, BTreeMap<&str, Vec<Candidate<'_>>>> = BTreeMap::new();
    for candidate in candidates {
        datacenters.entry(candidate.datacenter).or_default().entry(candidate.rack).or_default().push(*candidate);
    }
    let first = match datacenters.len() {
        2 => first.filter(|named| datacenters.contains_key(named)).or_else(|| most_voters(candidates)),
        _ => None,
    };
    let mut count = count_max(candidates.len(), datacenters.len());
    loop {
        let each_max = if datacenters.len() > 2 { count.div_ceil(2) - 1 } else { count };
        let of_each = datacenters.iter().map(|(name, racks)| {
            let is_elsewhere = first.is_some_and(|first| first != *name);
            of_datacenter(racks.values(), each_max, is_elsewhere)
        });
        let mut best = of_each.fold(none(), |best, of| combine(&best, &of));
        if let Some(rank) = best[count].take() {
            let voters: BTreeSet<HostId> = rank.ids.into_iter().collect();
            assert!(voters.len() == count && voters.is_subset(&ids), "voters are distinct candidates");
            return voters;
        }
        // Three nodes of three datacenters are a choice of three.
        assert!(count > 3, "there is a choice of {count} among {} nodes", candidates.len());
        count -= 2;
    }
}

/// The count of voters, but for what the spread over datacenters takes off it.
fn count_max(nodes: usize, datacenters: usize) -> usize {
    match nodes {
        0 => 0,
        1 | 2 => 1,
        3 | 4 => 3,
        7.. if datacenters > DATACENTERS_OF_FIVE => VOTERS_MAX,
        _ => 5,
    }
}

/// The datacenter with the most voters now, the first by name among equals.
fn most_voters<'a>(candidates: &[Candidate<'a>]) -> Option<&'a str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for candidate in candidates {
        *counts.entry(candidate.datacenter).or_default() += usize::from(candidate.is_voter);
    }
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map(|(name, _)| name)
}

/// The criteria of a set of nodes, in their order; the least is the best. Each is a sum over parts of the set, and the order of the ids is
/// the same whatever is added to both of two sets: so the best whole is made of best parts.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    dead: usize,
    /// Sum of squares of the counts by datacenter.
    datacenters: usize,
    /// Nodes in the second of two datacenters.
    elsewhere: usize,
    /// Sum of squares of the counts by rack.
    racks: usize,
    /// Nodes that do not vote now.
    new: usize,
    /// Ascending.
    ids: Vec<HostId>,
}

impl Rank {
    fn and(&self, other: &Rank) -> Rank {
        let mut ids = [&self.ids[..], &other.ids].concat();
        ids.sort_unstable();
        Rank {
            dead: self.dead + other.dead,
            datacenters: self.datacenters + other.datacenters,
            elsewhere: self.elsewhere + other.elsewhere,
            racks: self.racks + other.racks,
            new: self.new + other.new,
            ids,
        }
    }
}

/// The best set of each count, where there is one.
type Best = [Option<Rank>; VOTERS_MAX + 1];

/// The sets of no node.
fn none() -> Best {
    let mut best = Best::default();
    best[0] = Some(Rank::default());
    best
}

/// The best unions of a set of each.
fn combine(one: &Best, other: &Best) -> Best {
    let mut best = Best::default();
    for (own, with) in one.iter().enumerate() {
        for (added, and) in other.iter().enumerate().take(VOTERS_MAX + 1 - own) {
            let (Some(with), Some(and)) = (with, and) else { continue };
            let both = with.and(and);
            let known = &mut best[own + added];
            if known.as_ref().is_none_or(|known| both < *known) {
                *known = Some(both);
            }
        }
    }
    best
}

/// The best sets of one datacenter's nodes, of `max` at most.
fn of_datacenter<'r, 'a: 'r>(
    racks: impl Iterator<Item = &'r Vec<Candidate<'a>>>,
    max: usize,
    is_elsewhere: bool,
) -> Best {
    let mut best = racks.fold(none(), |best, rack| combine(&best, &of_rack(rack)));
    for (count, rank) in best.iter_mut().enumerate() {
        if count > max {
            *rank = None;
        }
        if let Some(rank) = rank {
            rank.datacenters = count * count;
            rank.elsewhere = if is_elsewhere { count } else { 0 };
        }
    }
    best
}

/// The best sets of one rack's nodes: the first so many by the criteria for a node.
fn of_rack(rack: &[Candidate<'_>]) -> Best {
    let mut nodes = rack.to_vec();
    nodes.sort_unstable_by_key(|node| (!node.is_live, !node.is_voter, node.host_id));
    let mut best = none();
    for count in 1..=nodes.len().min(VOTERS_MAX) {
        let chosen = &nodes[..count];
        let mut ids: Vec<HostId> = chosen.iter().map(|node| node.host_id).collect();
        ids.sort_unstable();
        best[count] = Some(Rank {
            dead: chosen.iter().filter(|node| !node.is_live).count(),
            racks: count * count,
            new: chosen.iter().filter(|node| !node.is_voter).count(),
            ids,
            ..Rank::default()
        });
    }
    best
}

#[cfg(test)]
mod tests;
