//! How a keyspace's partitions are spread over nodes: the parsed form of its `replication` option.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::strategy::rules::StrategyOptions;

/// A replication strategy with its options: a value, which names the rules.
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
    /// A strategy that the program has registered.
    Registered {
        /// Its full class name.
        class: String,
        /// Its options, without the class.
        options: StrategyOptions,
    },
}

/// Where Cassandra's strategies live; their short names mean the same.
pub const STRATEGY_PACKAGE: &str = "org.apache.cassandra.locator.";

/// The full name of a class: a name without a package is of Cassandra's.
pub fn full_class(class: &str) -> Cow<'_, str> {
    match class.contains('.') {
        true => Cow::Borrowed(class),
        false => Cow::Owned(format!("{STRATEGY_PACKAGE}{class}")),
    }
}

impl ReplicationStrategy {
    /// The strategy of a replication option that was checked before it was stored: full class name, factors as
    /// numbers. What does not fit is said in words. A class that is none of the built-in ones is one that a program has registered:
    /// this node may lack it, which is found out when the strategy's rules are asked for.
    pub fn parse_stored(replication: &BTreeMap<String, String>) -> Result<ReplicationStrategy, String> {
        let class = replication.get("class").ok_or("the replication option has no class")?;
        let factor = |name: &str, value: &str| {
            value.parse::<u32>().map_err(|_| format!("the replication factor of {name} is no number: {value}"))
        };
        let options = || replication.iter().filter(|(name, _)| *name != "class");
        match class.strip_prefix(STRATEGY_PACKAGE).unwrap_or(class) {
            "SimpleStrategy" => {
                let value = replication.get("replication_factor").ok_or("SimpleStrategy has no replication_factor")?;
                Ok(ReplicationStrategy::Simple { replication_factor: factor("SimpleStrategy", value)? })
            }
            "NetworkTopologyStrategy" => {
                let mut datacenters = BTreeMap::new();
                for (name, value) in options() {
                    datacenters.insert(name.clone(), factor(name, value)?);
                }
                Ok(ReplicationStrategy::NetworkTopology { datacenters })
            }
            "LocalStrategy" => Ok(ReplicationStrategy::Local),
            "EverywhereStrategy" => Ok(ReplicationStrategy::Everywhere),
            _ => Ok(ReplicationStrategy::Registered {
                class: full_class(class).into_owned(),
                options: options().map(|(name, value)| (name.clone(), value.clone())).collect(),
            }),
        }
    }

    /// The replication option that [`Self::parse_stored`] makes this strategy of.
    pub fn as_stored(&self) -> BTreeMap<String, String> {
        let mut stored: BTreeMap<String, String> = match self {
            ReplicationStrategy::Simple { replication_factor } => {
                [("replication_factor".to_owned(), replication_factor.to_string())].into()
            }
            ReplicationStrategy::NetworkTopology { datacenters } => {
                datacenters.iter().map(|(name, factor)| (name.clone(), factor.to_string())).collect()
            }
            ReplicationStrategy::Local | ReplicationStrategy::Everywhere => BTreeMap::new(),
            ReplicationStrategy::Registered { options, .. } => options.clone(),
        };
        stored.insert("class".to_owned(), self.class().into_owned());
        stored
    }

    /// The full name of its class.
    pub fn class(&self) -> Cow<'_, str> {
        match self {
            ReplicationStrategy::Simple { .. } => full_class("SimpleStrategy"),
            ReplicationStrategy::NetworkTopology { .. } => full_class("NetworkTopologyStrategy"),
            ReplicationStrategy::Local => full_class("LocalStrategy"),
            ReplicationStrategy::Everywhere => full_class("EverywhereStrategy"),
            ReplicationStrategy::Registered { class, .. } => Cow::Borrowed(class),
        }
    }
}
