//! The replicas of each token before and after an operation, under one replication setting.

use std::collections::BTreeSet;

use super::needs::{Half, Needs};
use super::phase::{Halves, Phase};
use super::range_move::RangeMove;
use super::rings::{RingChange, Side};
use crate::consistency::{ConsistencyLevel, Required, required_of};
use crate::replicas::ReplicaMap;
use crate::ring::{NodeIndex, Ring};
use crate::strategy::{Factor, Strategy};
use crate::token::{Token, TokenRange};

/// The replicas of each token before and after an operation. Worked out once for each setting and operation; all indices mean the present ring. The phase is
/// none of it: one value serves the whole operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placements {
    old: Setting,
    new: Setting,
    /// The ends of the ranges of both rings, ascending.
    ends: Vec<Token>,
}

/// A strategy on one side of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    map: ReplicaMap,
    factor: Factor,
    /// All replicas of a token that there should be.
    all: u32,
}

/// The answers that a level needs in each half.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Levels {
    /// Of the old set.
    pub old: Required,
    /// Of the new set.
    pub new: Required,
}

/// The replicas of one token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement<'a> {
    /// The old set, in the ring's order.
    pub old: &'a [NodeIndex],
    /// The new set, in the ring's order.
    pub new: &'a [NodeIndex],
}

impl Placements {
    /// The placements under `old` on the ring before and under `new` on the ring after. Both are the same where a keyspace's replication stays.
    pub fn new(change: &RingChange<'_>, old: &dyn Strategy, new: &dyn Strategy) -> Placements {
        let [before, after] = change.sides();
        let owners = before.ring.owners().iter().chain(after.ring.owners());
        let ends: BTreeSet<Token> = owners.map(|&(token, _)| token).collect();
        let setting = |side, rules| Setting::new(change.present(), side, rules);
        Placements { old: setting(before, old), new: setting(after, new), ends: ends.into_iter().collect() }
    }

    /// The replicas of a token.
    #[inline]
    pub fn of(&self, token: Token) -> Placement<'_> {
        Placement { old: self.old.map.replicas(token), new: self.new.map.replicas(token) }
    }

    /// The replicas before the operation.
    pub fn before(&self) -> &ReplicaMap {
        &self.old.map
    }

    /// The answers that a level needs in each half, where the coordinator is the present ring's local node.
    pub fn levels(&self, level: ConsistencyLevel, present: &Ring) -> Levels {
        let datacenter = &present.local_node().datacenter;
        let of = |setting: &Setting| required_of(level, &setting.factor, setting.all, datacenter);
        Levels { old: of(&self.old), new: of(&self.new) }
    }

    /// The ranges whose replicas change, ascending by their ends. Neighbours with the same replicas are one.
    pub fn moves(&self) -> Vec<RangeMove> {
        let mut moves: Vec<RangeMove> = Vec::new();
        for range in self.ranges() {
            let placement = self.of(range.end);
            if !placement.is_moving() {
                continue;
            }
            match moves.last_mut() {
                Some(known) if known.range.end == range.after && known.places(placement) => known.range.end = range.end,
                _ => moves.push(RangeMove::new(range, placement)),
            }
        }
        moves
    }

    /// The ranges of which a node is a replica after the operation, as moves from a set to itself: a rebuild copies them again.
    pub fn renewals(&self, node: NodeIndex, from: Option<&str>) -> Vec<RangeMove> {
        let of_node = |range: &TokenRange| self.of(range.end).new.contains(&node);
        let renewal = |range: TokenRange| RangeMove::renewal(range, self.of(range.end).new, node, from);
        self.ranges().filter(of_node).map(renewal).collect()
    }

    /// The ranges between neighbouring tokens of both rings; where no node has a token, one range of all tokens.
    pub(super) fn ranges(&self) -> impl Iterator<Item = TokenRange> + '_ {
        let last = self.ends.last().copied();
        let before = last.into_iter().chain(self.ends.iter().copied());
        let between = before.zip(&self.ends).map(|(after, &end)| TokenRange { after, end });
        between.chain(last.is_none().then_some(TokenRange::ALL))
    }
}

impl Setting {
    fn new(present: &Ring, side: &Side, rules: &dyn Strategy) -> Setting {
        let factor = rules.factor();
        let (map, all) = match factor {
            // Data that is not shared does not move.
            Factor::OwnNode => (ReplicaMap::new(present, rules), 1),
            _ => (ReplicaMap::new(&side.ring, rules).renumbered(&side.indices), factor.total(&side.ring)),
        };
        Setting { map, factor, all }
    }
}

impl<'a> Placement<'a> {
    /// True if the replicas change. Their order does not count.
    pub fn is_moving(&self) -> bool {
        self.old.len() != self.new.len() || self.old.iter().any(|node| !self.new.contains(node))
    }

    /// The replicas of the halves, each once; of both halves the staying ones first, then those that lose the range, then those that gain it.
    pub fn replicas(&self, halves: Halves) -> impl Iterator<Item = NodeIndex> + 'a {
        let Placement { old, new } = *self;
        let only = match halves {
            Halves::Old => old,
            Halves::New => new,
            Halves::Both => &[],
        };
        let both = if halves == Halves::Both { [old, old, new] } else { [&[][..]; 3] };
        let [staying, losing, pending] = both;
        let staying = staying.iter().filter(move |node| new.contains(node));
        let losing = losing.iter().filter(move |node| !new.contains(node));
        let pending = pending.iter().filter(move |node| !old.contains(node));
        only.iter().chain(staying).chain(losing).chain(pending).copied()
    }

    /// The replicas that a write is sent to.
    pub fn write_set(&self, phase: Phase) -> impl Iterator<Item = NodeIndex> + 'a {
        self.replicas(phase.writes())
    }

    /// The replicas whose answers to a read count.
    pub fn read_set(&self, phase: Phase, level: ConsistencyLevel) -> impl Iterator<Item = NodeIndex> + 'a {
        self.replicas(phase.reads(level))
    }

    /// The answers that a write needs.
    pub fn write_needs(&self, phase: Phase, levels: &'a Levels) -> Needs<'a> {
        self.needs(phase.writes(), levels)
    }

    /// The answers that a read needs. `levels` are those of `level`.
    pub fn read_needs(&self, phase: Phase, level: ConsistencyLevel, levels: &'a Levels) -> Needs<'a> {
        self.needs(phase.reads(level), levels)
    }

    /// The answers that a round of Paxos needs: promises, or acceptances.
    pub fn round_needs(&self, phase: Phase, levels: &'a Levels) -> Needs<'a> {
        self.needs(phase.electorate(), levels)
    }

    fn needs(&self, halves: Halves, levels: &'a Levels) -> Needs<'a> {
        let (old, new) = (self.old, self.new);
        Needs {
            old: halves.has_old().then_some(Half { replicas: old, required: &levels.old }),
            new: halves.has_new().then_some(Half { replicas: new, required: &levels.new }),
        }
    }

    /// True if the node keeps what it has of the token: it is a replica before or after. What it has else are leftovers.
    pub fn keeps(&self, node: NodeIndex) -> bool {
        self.old.contains(&node) || self.new.contains(&node)
    }
}

#[cfg(test)]
mod tests;
