//! How a keyspace's partitions are spread over nodes: the parsed form of its `replication` option.

use std::collections::BTreeMap;

/// A replication strategy with its factors.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplicationStrategy {
    /// The next nodes on the ring, whatever their place.
    Simple {
        /// How many.
        replication_factor: u32,
    },
    /// So many per datacenter, on as many racks as there are.
    NetworkTopology {
        /// Replicas per datacenter's name; those with none are left out.
        datacenters: BTreeMap<String, u32>,
    },
    /// On each node its own: Cassandra's system tables.
    Local,
    /// On all nodes (ScyllaDB's `EverywhereStrategy`).
    Everywhere,
}

/// Where Cassandra's strategies live; their short names mean the same.
pub const STRATEGY_PACKAGE: &str = "org.apache.cassandra.locator.";

impl ReplicationStrategy {
    /// The strategy of a replication option that was checked before it was stored: full class name, factors as
    /// numbers. What does not fit is said in words.
    pub fn parse_stored(replication: &BTreeMap<String, String>) -> Result<ReplicationStrategy, String> {
        let class = replication.get("class").ok_or("the replication option has no class")?;
        let factor = |name: &str, value: &str| {
            value.parse::<u32>().map_err(|_| format!("the replication factor of {name} is no number: {value}"))
        };
        match class.strip_prefix(STRATEGY_PACKAGE).unwrap_or(class) {
            "SimpleStrategy" => {
                let value = replication.get("replication_factor").ok_or("SimpleStrategy has no replication_factor")?;
                Ok(ReplicationStrategy::Simple { replication_factor: factor("SimpleStrategy", value)? })
            }
            "NetworkTopologyStrategy" => {
                let mut datacenters = BTreeMap::new();
                for (name, value) in replication.iter().filter(|(name, _)| *name != "class") {
                    datacenters.insert(name.clone(), factor(name, value)?);
                }
                Ok(ReplicationStrategy::NetworkTopology { datacenters })
            }
            "LocalStrategy" => Ok(ReplicationStrategy::Local),
            "EverywhereStrategy" => Ok(ReplicationStrategy::Everywhere),
            _ => Err(format!("the replication class {class} is unknown")),
        }
    }
}
