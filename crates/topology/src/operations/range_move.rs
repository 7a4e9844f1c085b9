//! One moving range, and the barriers of its phases.

use std::collections::BTreeSet;

use super::placements::Placement;
use crate::ring::{NodeIndex, Ring};
use crate::token::TokenRange;

/// A token range whose replicas change, or one of whose replicas copies it again.
///
/// Indices mean the present ring of its operation. Who copies from whom is in `copying.rs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeMove {
    /// The tokens.
    pub range: TokenRange,
    pub(super) old: Vec<NodeIndex>,
    pub(super) new: Vec<NodeIndex>,
    /// The replica that copies although it stays.
    pub(super) renewed: Option<NodeIndex>,
    /// The datacenter whose replicas alone are copied from; none if the rule for sources says.
    pub(super) from: Option<Box<str>>,
    /// Replicas that are given up: those of the old set with their data, those of both are not waited for.
    pub(super) lost: Vec<NodeIndex>,
}

impl RangeMove {
    pub(super) fn new(range: TokenRange, Placement { old, new }: Placement<'_>) -> RangeMove {
        RangeMove { range, old: old.to_vec(), new: new.to_vec(), renewed: None, from: None, lost: Vec::new() }
    }

    /// The range stays where it is; one of its replicas copies it again, from the replicas of a datacenter if one is named.
    pub(super) fn renewal(range: TokenRange, set: &[NodeIndex], renewed: NodeIndex, from: Option<&str>) -> RangeMove {
        let (renewed, from) = (Some(renewed), from.map(Into::into));
        RangeMove { range, old: set.to_vec(), new: set.to_vec(), renewed, from, lost: Vec::new() }
    }

    /// The move of an operation with `--force`, which gives up what only these nodes have, and does not wait for them at its barriers.
    #[must_use]
    pub fn without(mut self, lost: &BTreeSet<NodeIndex>) -> RangeMove {
        let replicas: BTreeSet<NodeIndex> = self.old.iter().chain(&self.new).copied().collect();
        self.lost = replicas.intersection(lost).copied().collect();
        self
    }

    /// The replicas on both sides.
    pub fn placement(&self) -> Placement<'_> {
        Placement { old: &self.old, new: &self.new }
    }

    /// The old set, in the ring's order.
    pub fn old_replicas(&self) -> &[NodeIndex] {
        &self.old
    }

    /// The new set, in the ring's order.
    pub fn new_replicas(&self) -> &[NodeIndex] {
        &self.new
    }

    pub(super) fn places(&self, Placement { old, new }: Placement<'_>) -> bool {
        self.old == old && self.new == new
    }

    /// True if replicas that answer `is_so` are one in every quorum of each set, over all datacenters and in each whose part changes.
    ///
    /// The barrier of WriteBoth and of ReadNew, where `is_so` says that all shards of a node have applied that phase. With a judgement of which nodes are up
    /// it is a condition for WriteBoth: with fewer the operation could not end.
    pub fn is_one_in_every_quorum(&self, ring: &Ring, is_so: impl Fn(NodeIndex) -> bool) -> bool {
        let datacenters: BTreeSet<&str> =
            self.old.iter().chain(&self.new).map(|&node| ring.node(node).datacenter.as_str()).collect();
        let changing = datacenters.into_iter().filter(|&datacenter| {
            let part = |set: &[NodeIndex]| of_datacenter(set, ring, datacenter).collect::<BTreeSet<_>>();
            part(&self.old) != part(&self.new)
        });
        let wholes = std::iter::once(None);
        wholes.chain(changing.map(Some)).all(|datacenter| {
            [&self.old, &self.new].into_iter().all(|set| {
                let part: Vec<NodeIndex> = part_of(set, ring, datacenter).collect();
                let count = part.iter().filter(|&&node| is_so(node)).count();
                count >= self.in_every_quorum(&part)
            })
        })
    }

    /// How many replicas of a set are one in every quorum of it: ⌈n/2⌉, or as many as are left where some are given up.
    pub(super) fn in_every_quorum(&self, set: &[NodeIndex]) -> usize {
        let left = set.iter().filter(|node| !self.lost.contains(node)).count();
        set.len().div_ceil(2).min(left)
    }
}

/// The nodes of a set that stand in a datacenter.
pub(super) fn of_datacenter<'a>(
    set: &'a [NodeIndex],
    ring: &'a Ring,
    datacenter: &'a str,
) -> impl Iterator<Item = NodeIndex> + 'a {
    part_of(set, ring, Some(datacenter))
}

/// The nodes of a set, all or those of a datacenter.
pub(super) fn part_of<'a>(
    set: &'a [NodeIndex],
    ring: &'a Ring,
    datacenter: Option<&'a str>,
) -> impl Iterator<Item = NodeIndex> + 'a {
    set.iter().copied().filter(move |&node| datacenter.is_none_or(|name| ring.node(node).datacenter == name))
}
