//! The strategies that a program knows, by class name.

use std::collections::BTreeMap;

use crate::strategy::everywhere::EverywhereStrategy;
use crate::strategy::local::LocalStrategy;
use crate::strategy::network_topology::NetworkTopologyStrategy;
use crate::strategy::option::{ReplicationStrategy, STRATEGY_PACKAGE, full_class};
use crate::strategy::rules::{OptionsError, Strategy, StrategyOptions};
use crate::strategy::simple::SimpleStrategy;

/// Makes a strategy of a keyspace's options, which it checks: CREATE KEYSPACE fails with its error. Pure, as the strategy is.
pub type MakeStrategy = fn(&StrategyOptions) -> Result<Box<dyn Strategy>, OptionsError>;

/// The built-in strategies, and those that a program has added. All nodes of a cluster are to have the same.
#[derive(Debug, Clone, Default)]
pub struct Strategies {
    /// By full class name; without the built-in ones.
    registered: BTreeMap<String, MakeStrategy>,
}

const BUILT_IN: [&str; 4] = ["SimpleStrategy", "NetworkTopologyStrategy", "LocalStrategy", "EverywhereStrategy"];

impl Strategies {
    /// Adds a strategy. Keyspaces name it by its class; a name without a package is of Cassandra's.
    ///
    /// # Panics
    /// If the class is a built-in one, or was added before: which of the two a keyspace means must not depend on an order.
    pub fn register(&mut self, class: &str, make: MakeStrategy) {
        let class = full_class(class).into_owned();
        let is_built_in = class.strip_prefix(STRATEGY_PACKAGE).is_some_and(|name| BUILT_IN.contains(&name));
        assert!(!is_built_in, "{class} is a built-in strategy");
        let before = self.registered.insert(class.clone(), make);
        assert!(before.is_none(), "{class} is registered once");
    }

    /// The rules of a strategy. Fails where this program does not know its class, or the class does not accept its options.
    pub fn rules(&self, strategy: &ReplicationStrategy) -> Result<Box<dyn Strategy>, OptionsError> {
        Ok(match strategy {
            ReplicationStrategy::Simple { replication_factor } => {
                Box::new(SimpleStrategy { replication_factor: *replication_factor })
            }
            ReplicationStrategy::NetworkTopology { datacenters } => {
                Box::new(NetworkTopologyStrategy { datacenters: datacenters.clone() })
            }
            ReplicationStrategy::Local => Box::new(LocalStrategy),
            ReplicationStrategy::Everywhere => Box::new(EverywhereStrategy),
            ReplicationStrategy::Registered { class, options } => match self.registered.get(class) {
                Some(make) => make(options)?,
                None => {
                    let problem = format!("Unable to find replication strategy class '{class}'");
                    return Err(OptionsError::Invalid { problem });
                }
            },
        })
    }
}
