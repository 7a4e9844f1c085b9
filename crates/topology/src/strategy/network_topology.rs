//! NetworkTopologyStrategy. (Source: Cassandra's `NetworkTopologyStrategy.calculateNaturalReplicas`.)

use std::collections::{BTreeMap, BTreeSet};

use crate::ring::{NodeIndex, Ring};
use crate::strategy::factor::Factor;
use crate::strategy::rules::Strategy;
use crate::token::TokenRange;

/// So many replicas per datacenter, on as many of its racks as there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkTopologyStrategy {
    /// Replicas per datacenter's name.
    pub datacenters: BTreeMap<String, u32>,
}

/// One datacenter's progress while the ring is walked.
struct DatacenterQuota<'a> {
    left: usize,
    /// How many replicas may share a rack with one before: what the racks fall short of the replication factor.
    rack_repeats_left: usize,
    racks: BTreeSet<&'a str>,
}

impl Strategy for NetworkTopologyStrategy {
    fn factor(&self) -> Factor {
        Factor::PerDatacenter(self.datacenters.clone())
    }

    fn place(&self, range: TokenRange, ring: &Ring) -> Vec<NodeIndex> {
        let mut quotas = self.quotas(ring);
        let mut found = Vec::new();
        for index in ring.walk(range.end) {
            if quotas.is_empty() {
                break;
            }
            let node = ring.node(index);
            let Some(quota) = quotas.get_mut(node.datacenter.as_str()) else { continue };
            if found.contains(&index) {
                continue;
            }
            if !quota.racks.insert(&node.rack) {
                if quota.rack_repeats_left == 0 {
                    continue;
                }
                quota.rack_repeats_left -= 1;
            }
            found.push(index);
            quota.left -= 1;
            if quota.left == 0 {
                quotas.remove(node.datacenter.as_str());
            }
        }
        found
    }
}

impl NetworkTopologyStrategy {
    /// The quotas of the datacenters that have nodes with tokens.
    fn quotas<'a>(&'a self, ring: &'a Ring) -> BTreeMap<&'a str, DatacenterQuota<'a>> {
        let mut quotas: BTreeMap<&str, DatacenterQuota<'_>> = BTreeMap::new();
        for (name, &replication_factor) in &self.datacenters {
            let members = || ring.nodes().iter().filter(|node| node.datacenter == *name && !node.tokens.is_empty());
            let racks: BTreeSet<&str> = members().map(|node| node.rack.as_str()).collect();
            let replication_factor = replication_factor as usize;
            let quota = DatacenterQuota {
                left: replication_factor.min(members().count()),
                rack_repeats_left: replication_factor.saturating_sub(racks.len()),
                racks: BTreeSet::new(),
            };
            if quota.left > 0 {
                quotas.insert(name, quota);
            }
        }
        quotas
    }
}
