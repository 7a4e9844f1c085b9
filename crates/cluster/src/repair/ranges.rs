//! The ranges of a repair, and who takes part in each: pure functions of a keyspace's replication.

use std::collections::BTreeMap;
use std::net::IpAddr;

use topology::{HostId, NodeIndex, Ring, Token, TokenRange};

use super::error::RepairRefused;
use crate::plan::Replication;

/// The part of a keyspace that is repaired.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepairChoice {
    /// Only ranges of which this node is the first replica.
    pub is_primary: bool,
    /// Only this range. It may wrap.
    pub range: Option<TokenRange>,
    /// Only replicas in these datacenters; none: in all.
    pub datacenters: Vec<String>,
    /// Only these nodes, by an address of theirs; none: all.
    pub hosts: Vec<IpAddr>,
}

/// Ranges with the same participants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shared {
    /// The nodes that take part, this one among them, ascending.
    pub(crate) participants: Vec<HostId>,
    /// The ranges, none of which wraps, ascending.
    pub(crate) ranges: Vec<TokenRange>,
}

impl RepairChoice {
    /// The ranges to repair by those that take part. None: the keyspace has one replica of each.
    pub(crate) fn of(&self, keyspace: &str, replication: &Replication) -> Result<Vec<Shared>, RepairRefused> {
        let ring = replication.ring();
        self.check(ring)?;
        let here = ring.local_node().host_id;
        let mut by_participants: BTreeMap<Vec<HostId>, Vec<TokenRange>> = BTreeMap::new();
        for (range, local) in self.ranges(keyspace, replication)? {
            let replicas = replication.replicas(local.end);
            let is_chosen = |node: &NodeIndex| self.is_chosen(ring, *node);
            let mut participants: Vec<HostId> =
                replicas.iter().copied().filter(is_chosen).map(|node| ring.node(node).host_id).collect();
            participants.sort_unstable();
            assert!(participants.contains(&here), "this node replicates the ranges that it repairs");
            if replicas.len() > 1 && participants.len() == 1 && self.hosts.is_empty() {
                // Cassandra 5.0 `RepairTask.getNeighborsAndRanges`: a range without a neighbor that is chosen ends the repair.
                return Err(RepairRefused::Nothing { range, keyspace: keyspace.to_owned() });
            }
            if replicas.len() > 1 && participants.len() == 1 {
                let others = replicas.iter().map(|node| ring.node(*node)).filter(|node| node.host_id != here);
                let neighbors = others.map(|node| node.internode).collect();
                return Err(RepairRefused::NoneShared { hosts: self.hosts.clone(), range, neighbors });
            }
            if participants.len() > 1 {
                by_participants.entry(participants).or_default().extend(unwrapped(range));
            }
        }
        let shared = by_participants.into_iter();
        Ok(shared.map(|(participants, ranges)| Shared { participants, ranges: joined(ranges) }).collect())
    }

    fn check(&self, ring: &Ring) -> Result<(), RepairRefused> {
        let local = ring.local_node();
        if !self.hosts.is_empty() && !self.datacenters.is_empty() {
            return Err(RepairRefused::HostsAndDatacenters);
        }
        let is_local_only = self.datacenters.iter().all(|name| *name == local.datacenter);
        if self.is_primary && (!self.hosts.is_empty() || !is_local_only) {
            return Err(RepairRefused::PrimaryOfSome);
        }
        if !self.datacenters.is_empty() {
            let is_known = |name: &&String| ring.nodes().iter().any(|node| node.datacenter == **name);
            let unknown: Vec<String> = self.datacenters.iter().filter(|name| !is_known(name)).cloned().collect();
            if !unknown.is_empty() {
                return Err(RepairRefused::UnknownDatacenter { unknown });
            }
            if !self.datacenters.contains(&local.datacenter) {
                let (asked, local) = (self.datacenters.clone(), local.datacenter.clone());
                return Err(RepairRefused::OtherDatacenter { asked, local });
            }
        }
        let has = |host: IpAddr, node: &topology::Node| node.internode.ip() == host || node.address.ip() == host;
        if let Some(host) = self.hosts.iter().find(|host| !ring.nodes().iter().any(|node| has(**host, node))) {
            return Err(RepairRefused::UnknownHost { host: *host });
        }
        match self.hosts.is_empty() || self.hosts.iter().any(|host| has(*host, local)) {
            true => Ok(()),
            false => Err(RepairRefused::NotThisHost),
        }
    }

    fn is_chosen(&self, ring: &Ring, node: NodeIndex) -> bool {
        let node = ring.node(node);
        let is_host = |host: &IpAddr| *host == node.internode.ip() || *host == node.address.ip();
        (self.datacenters.is_empty() || self.datacenters.contains(&node.datacenter))
            && (self.hosts.is_empty() || self.hosts.iter().any(is_host))
    }

    /// The ranges, between neighbouring tokens, or the one given; each with the one between neighbouring tokens that it lies in, whose replicas are its own.
    fn ranges(
        &self,
        keyspace: &str,
        replication: &Replication,
    ) -> Result<Vec<(TokenRange, TokenRange)>, RepairRefused> {
        let ring = replication.ring();
        let here = ring.local();
        let is_first = |replicas: &[NodeIndex]| {
            // With -local, the first of this datacenter, or no node would repair ranges whose first replica is elsewhere.
            replicas.iter().find(|node| self.is_chosen(ring, **node)) == Some(&here)
        };
        let is_meant = |range: &TokenRange| {
            let replicas = replication.replicas(range.end);
            if self.is_primary { is_first(replicas) } else { replicas.contains(&here) }
        };
        let local: Vec<TokenRange> = ring.ranges().filter(is_meant).collect();
        let Some(asked) = self.range else { return Ok(local.into_iter().map(|local| (local, local)).collect()) };
        if unwrapped(asked).next().is_none() {
            return Err(RepairRefused::Empty { asked });
        }
        if let Some(local) = local.iter().find(|local| holds(**local, asked)) {
            return Ok(vec![(asked, *local)]);
        }
        let keyspace = keyspace.to_owned();
        match local.into_iter().find(|local| overlap(*local, asked)) {
            Some(local) => Err(RepairRefused::Imprecise { asked, local, keyspace }),
            None => Err(RepairRefused::Nothing { range: asked, keyspace }),
        }
    }
}

/// A range in parts that do not wrap, ascending.
pub(crate) fn unwrapped(range: TokenRange) -> impl Iterator<Item = TokenRange> {
    let TokenRange { after, end } = range;
    let parts = match after < end {
        true => [range, TokenRange { after: end, end }],
        false => [TokenRange { after: Token::MIN, end }, TokenRange { after, end: Token::MAX }],
    };
    parts.into_iter().filter(|part| part.after < part.end)
}

/// True if all tokens of `inner` are in `outer`.
fn holds(outer: TokenRange, inner: TokenRange) -> bool {
    unwrapped(inner).all(|inner| unwrapped(outer).any(|outer| outer.after <= inner.after && inner.end <= outer.end))
}

/// True if some token is in both.
fn overlap(one: TokenRange, other: TokenRange) -> bool {
    unwrapped(one).any(|one| unwrapped(other).any(|other| one.after.max(other.after) < one.end.min(other.end)))
}

/// Ranges that do not wrap, with those that touch made one.
fn joined(mut ranges: Vec<TokenRange>) -> Vec<TokenRange> {
    ranges.sort_unstable_by_key(|range| range.after);
    let mut all: Vec<TokenRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match all.last_mut() {
            Some(last) if last.end == range.after => last.end = range.end,
            _ => all.push(range),
        }
    }
    all
}
