//! Replication strategies: which nodes hold a range, and how many there should be.
//!
//! A keyspace has a [`ReplicationStrategy`], which is a value: it is compared, stored, and travels between shards. The rules that it names are a [`Strategy`],
//! which [`Strategies`] makes of it when a ring or a schema changes; no request meets one. See `docs/internals/topology.md`.

mod everywhere;
mod factor;
mod local;
mod network_topology;
mod option;
mod registry;
mod rules;
mod simple;

pub use everywhere::EverywhereStrategy;
pub use factor::{Factor, parse_factor};
pub use local::LocalStrategy;
pub use network_topology::NetworkTopologyStrategy;
pub use option::{ReplicationStrategy, STRATEGY_PACKAGE, full_class};
pub use registry::{MakeStrategy, Strategies};
pub use rules::{OptionsError, Strategy, StrategyOptions};
pub use simple::SimpleStrategy;

#[cfg(test)]
mod tests;
