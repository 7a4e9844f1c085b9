//! A keyspace: a namespace of tables with one way of replicating them.

use std::collections::BTreeMap;
use std::rc::Rc;

use topology::ReplicationStrategy;

use crate::table::Table;
use crate::user_type::UserTypes;

/// A keyspace without its tables: what CREATE KEYSPACE sets. `Send`, so that it travels in a schema change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyspaceDef {
    /// Its name.
    pub name: String,
    /// The replication option as Cassandra keeps it: `class` in full (`org.apache.cassandra.locator.…`), then the
    /// strategy's own options.
    pub replication: BTreeMap<String, String>,
    /// The same, parsed.
    pub strategy: ReplicationStrategy,
    /// Whether writes go through the commit log.
    pub durable_writes: bool,
    /// The number of the present tenure: how often the keyspace was placed otherwise since it was created. A node that gains a range by that counts under another
    /// counter id than before.
    pub tenure: u64,
}

/// A keyspace, its tables and its types, as part of a [`crate::Schema`].
#[derive(Debug, Clone, PartialEq)]
pub struct Keyspace {
    /// Everything but the tables and types.
    pub def: KeyspaceDef,
    /// Tables by name.
    pub tables: BTreeMap<String, Rc<Table>>,
    /// User-defined types by name.
    pub types: UserTypes,
    /// Each table's digest, so that a change costs one table's encoding, not all of them.
    pub(crate) table_digests: BTreeMap<String, [u8; 16]>,
    /// A digest of all of the above.
    pub(crate) digest: [u8; 16],
}

impl Keyspace {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.def.name
    }

    /// Its strategy.
    pub fn strategy(&self) -> &ReplicationStrategy {
        &self.def.strategy
    }

    /// A table by name.
    pub fn table(&self, name: &str) -> Option<&Rc<Table>> {
        self.tables.get(name)
    }
}
