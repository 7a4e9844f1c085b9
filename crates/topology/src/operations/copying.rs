//! The sources that a receiver copies a moving range from, and when a copy is whole.
//!
//! Goal: each write that a quorum of the old set has acknowledged is at every quorum of the new one. Two ways lead there. A pending replica that copies from its
//! counterpart alone, the losing replica whose place it takes, makes the new set what the old one was, under another name. One that merges one in every
//! quorum of the old set has every acknowledged write itself. A single source other than the counterpart would not do: it may lack what two others acknowledged.
//!
//! A write that a quorum of n has acknowledged is missing at ⌈n/2⌉ - 1 of them at most. Where a set shrinks to one of which fewer may miss a write, staying replicas may
//! lack too many acknowledged writes, for reads or for the operation that comes next, and every new replica merges. The whole set is looked at for QUORUM, and the
//! receiver's datacenter for LOCAL_QUORUM and EACH_QUORUM.

use super::range_move::{RangeMove, of_datacenter, part_of};
use crate::ring::{NodeIndex, Ring};

/// Too few sources of a move are there: fewer might lack what the others acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{found} of {needed} replicas to copy from{}", in_datacenter(datacenter.as_deref()))]
pub struct TooFewSources {
    /// Sources that are needed, the receiver included if it counts as one.
    pub needed: usize,
    /// Sources that there are.
    pub found: usize,
    /// The datacenter that they must be of; none if any will do.
    pub datacenter: Option<Box<str>>,
}

fn in_datacenter(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(" in datacenter {name}"))
}

impl RangeMove {
    /// The replicas that copy the range before it is read from the new set.
    pub fn receivers<'a>(&'a self, ring: &'a Ring) -> impl Iterator<Item = NodeIndex> + 'a {
        self.new.iter().copied().filter(|&node| self.is_receiver(ring, node))
    }

    fn is_receiver(&self, ring: &Ring, node: NodeIndex) -> bool {
        !self.old.contains(&node) || self.renewed == Some(node) || self.is_lowered_for(ring, node)
    }

    /// True if the whole set, or the part of the node's datacenter, becomes so small that fewer of its replicas may miss an acknowledged write.
    fn is_lowered_for(&self, ring: &Ring, node: NodeIndex) -> bool {
        let datacenter = ring.node(node).datacenter.as_str();
        [None, Some(datacenter)].into_iter().any(|datacenter| {
            let count = |set| part_of(set, ring, datacenter).count();
            count(&self.new).div_ceil(2) < count(&self.old).div_ceil(2)
        })
    }

    /// The replica that loses the range to `receiver`: in each datacenter the first that loses it to the first that gains it, and so on.
    pub fn counterpart(&self, ring: &Ring, receiver: NodeIndex) -> Option<NodeIndex> {
        let datacenter = ring.node(receiver).datacenter.as_str();
        let mut losing = of_datacenter(&self.old, ring, datacenter).filter(|node| !self.new.contains(node));
        let mut pending = of_datacenter(&self.new, ring, datacenter).filter(|node| !self.old.contains(node));
        let place = pending.position(|node| node == receiver)?;
        losing.nth(place)
    }

    /// The counterpart, where its data alone is enough.
    fn single_source(&self, ring: &Ring, receiver: NodeIndex) -> Option<NodeIndex> {
        let source = self.counterpart(ring, receiver)?;
        (!self.is_lowered_for(ring, receiver) && !self.lost.contains(&source)).then_some(source)
    }

    /// True if the receiver's own data counts as that of a source: it was a replica before, and what it has is not to be renewed.
    fn counts_itself(&self, receiver: NodeIndex) -> bool {
        self.old.contains(&receiver) && self.renewed != Some(receiver)
    }

    /// The nodes that `receiver` copies from, merged, of those that can serve: the counterpart, or one in every quorum of the old set, the nearest first. Replicas
    /// that are given up as lost are sources where too few others are left: nothing waits for them, but one that serves may be all that has a write.
    pub fn sources(
        &self,
        ring: &Ring,
        receiver: NodeIndex,
        can_serve: impl Fn(NodeIndex) -> bool,
    ) -> Result<Vec<NodeIndex>, TooFewSources> {
        if let Some(source) = self.single_source(ring, receiver)
            && can_serve(source)
        {
            return Ok(vec![source]);
        }
        let near = self.near(ring, receiver);
        let own = usize::from(self.counts_itself(receiver));
        let others = self.old.iter().copied().filter(|&node| node != receiver && can_serve(node));
        let (mut sources, far): (Vec<_>, Vec<_>) = others.partition(|&node| ring.node(node).datacenter == near);
        let found = [sources.len() + own, sources.len() + far.len() + own];
        let groups = self.groups(ring, receiver, can_serve);
        for ((datacenter, needed), found) in groups.into_iter().zip(found) {
            if found < needed {
                return Err(TooFewSources { needed, found, datacenter: datacenter.map(Into::into) });
            }
        }
        let [(_, needed_near), (_, needed)] = groups;
        let is_lost = |node: &NodeIndex| self.lost.contains(node);
        sources.sort_by_key(is_lost);
        let mut rest = sources.split_off(needed_near.saturating_sub(own).min(sources.len()));
        rest.extend(far);
        rest.sort_by_key(is_lost);
        sources.extend(rest);
        // Of the whole set no fewer are needed than of a part.
        sources.truncate(needed.max(needed_near).saturating_sub(own));
        Ok(sources)
    }

    /// As [`RangeMove::sources`], where a node may be regressed: its disk is older than what it has acknowledged, so it does not count as one of those that have what a quorum
    /// acknowledged. It is a source only where the others would be too few if all of them were up, but for those that are given up as lost and are down; and its own data
    /// counts as none that it has.
    pub fn sources_beside(
        &self,
        ring: &Ring,
        receiver: NodeIndex,
        can_serve: impl Fn(NodeIndex) -> bool,
        is_regressed: impl Fn(NodeIndex) -> bool,
    ) -> Result<Vec<NodeIndex>, TooFewSources> {
        if is_regressed(receiver) && self.old.contains(&receiver) {
            let renewed = RangeMove { renewed: Some(receiver), ..self.clone() };
            return renewed.sources(ring, receiver, can_serve);
        }
        let is_whole = |node: NodeIndex| !is_regressed(node);
        let of_whole = self.sources(ring, receiver, |node| can_serve(node) && is_whole(node));
        // Nothing waits for a node that is given up, so what it has is no reason to wait.
        let may_serve = |node: NodeIndex| is_whole(node) && (!self.lost.contains(&node) || can_serve(node));
        match self.sources(ring, receiver, may_serve) {
            Ok(_) => of_whole,
            Err(_) => of_whole.or_else(|_| self.sources(ring, receiver, can_serve)),
        }
    }

    /// The datacenter of which some sources must be.
    fn near<'a>(&'a self, ring: &'a Ring, receiver: NodeIndex) -> &'a str {
        self.from.as_deref().unwrap_or_else(|| &ring.node(receiver).datacenter)
    }

    /// How many sources are needed of the near datacenter, and of all: one in every quorum, or as many as there are. Where a datacenter is named, of others none.
    fn groups<'a>(
        &'a self,
        ring: &'a Ring,
        receiver: NodeIndex,
        can_serve: impl Fn(NodeIndex) -> bool,
    ) -> [(Option<&'a str>, usize); 2] {
        let near = self.near(ring, receiver);
        // Data that is renewed is copied from others, if there are any.
        let is_source = |node: &NodeIndex| match *node == receiver {
            true => self.counts_itself(receiver),
            false => !self.lost.contains(node) || can_serve(*node),
        };
        let needed =
            |part: &[NodeIndex]| part.len().div_ceil(2).min(part.iter().filter(|node| is_source(node)).count());
        let part: Vec<NodeIndex> = of_datacenter(&self.old, ring, near).collect();
        let whole = if self.from.is_some() { 0 } else { needed(&self.old) };
        [(Some(near), needed(&part)), (None, whole)]
    }

    /// True if what `receiver` has confirmed to have copied, of the nodes `from`, is enough. Of replicas that are given up as lost, those of `from` could serve.
    pub fn is_copied(&self, ring: &Ring, receiver: NodeIndex, from: &[NodeIndex]) -> bool {
        if self.single_source(ring, receiver).is_some_and(|source| from.contains(&source)) {
            return true;
        }
        let given = |node: &NodeIndex| match *node == receiver {
            true => self.counts_itself(receiver),
            false => from.contains(node),
        };
        self.groups(ring, receiver, |node| from.contains(&node))
            .into_iter()
            .all(|(datacenter, needed)| part_of(&self.old, ring, datacenter).filter(given).count() >= needed)
    }

    /// The replicas that lose the range at the end: their data of it becomes leftovers.
    pub fn losing(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        self.old.iter().copied().filter(|node| !self.new.contains(node))
    }

    /// The replicas whose data of the range becomes leftovers if the operation is aborted.
    pub fn pending(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        self.new.iter().copied().filter(|node| !self.old.contains(node))
    }
}

#[cfg(test)]
mod tests;
