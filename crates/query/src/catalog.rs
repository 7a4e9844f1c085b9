//! What plans are made from: the schema with what follows from it, as one snapshot.

use std::collections::BTreeMap;
use std::rc::Rc;

use cluster::coordinator::{Coordinator, Replication, replication_of};
use schema::{Schema, Table, TableId};

use crate::error::{QueryError, invalid};
use crate::system::SystemTables;

/// One version of the schema as the shard's planner sees it.
pub(crate) struct Catalog {
    /// The users' keyspaces.
    pub(crate) schema: Schema,
    /// The server's own keyspaces.
    pub(crate) system: Rc<SystemTables>,
    /// Counts schema changes: a plan of an older epoch is made anew.
    pub(crate) epoch: u64,
    replications: BTreeMap<Rc<str>, Rc<Replication>>,
    local: Rc<Replication>,
}

/// A table that was found by its name.
pub(crate) struct Found {
    /// The table.
    pub(crate) table: Rc<Table>,
    /// Its keyspace's replication.
    pub(crate) replication: Rc<Replication>,
    /// Whether its rows are made up when they are read.
    pub(crate) is_system: bool,
}

impl Catalog {
    /// The first one.
    pub(crate) fn new(schema: Schema, system: Rc<SystemTables>, coordinator: &Coordinator) -> Self {
        let keyspaces = schema.keyspaces().iter();
        let replications = keyspaces
            .map(|(name, keyspace)| (name.clone(), replication_of(coordinator, name, keyspace.strategy())))
            .collect();
        let local = coordinator.replication(&topology::ReplicationStrategy::Local);
        Catalog { schema, system, epoch: 0, replications, local }
    }

    /// The next one. The replications of keyspaces that are as they were are taken over: there may be thousands.
    pub(crate) fn next(&self, schema: Schema, coordinator: &Coordinator) -> Self {
        let mut replications = self.replications.clone();
        for keyspace in self.schema.changed_since(&schema) {
            replications.remove(keyspace.name());
        }
        for keyspace in schema.changed_since(&self.schema) {
            replications
                .insert(keyspace.name().into(), replication_of(coordinator, keyspace.name(), keyspace.strategy()));
        }
        let (system, local) = (self.system.clone(), self.local.clone());
        Catalog { schema, system, epoch: self.epoch + 1, replications, local }
    }

    /// The next one, of the same schema on another ring: all plans are made again.
    pub(crate) fn on_present_ring(&self, coordinator: &Coordinator) -> Self {
        let catalog = Catalog::new(self.schema.clone(), self.system.clone(), coordinator);
        Catalog { epoch: self.epoch + 1, ..catalog }
    }

    /// Whether there is such a keyspace, a user's or the server's.
    pub(crate) fn has_keyspace(&self, name: &str) -> bool {
        self.schema.keyspace(name).is_some() || self.system.schema().keyspace(name).is_some()
    }

    /// The replication of a user's keyspace.
    pub(crate) fn replication(&self, keyspace: &str) -> Option<&Rc<Replication>> {
        self.replications.get(keyspace)
    }

    /// The replication of the user's table with this id.
    pub(crate) fn replication_of(&self, table: TableId) -> Option<Rc<Replication>> {
        let table = self.schema.table_by_id(table)?;
        self.replication(&table.keyspace).cloned()
    }

    /// The table called `name`, in `keyspace` or else in the session's.
    pub(crate) fn find(&self, keyspace: Option<&str>, name: &str) -> Result<Found, QueryError> {
        let Some(keyspace) = keyspace else { return Err(no_keyspace()) };
        if let Some(table) = self.schema.table(keyspace, name) {
            let replication = self.replication(keyspace).expect("each keyspace of the schema has its replication");
            return Ok(Found { table: table.clone(), replication: replication.clone(), is_system: false });
        }
        if let Some(table) = self.system.table(keyspace, name) {
            return Ok(Found { table: table.clone(), replication: self.local.clone(), is_system: true });
        }
        match self.has_keyspace(keyspace) {
            true => Err(invalid(format!("table {name} does not exist"))),
            false => Err(invalid(format!("keyspace {keyspace} does not exist"))),
        }
    }
}

/// The statement needs a keyspace, and neither it nor the session has one.
pub(crate) fn no_keyspace() -> QueryError {
    invalid("No keyspace has been specified. USE a keyspace, or explicitly specify keyspace.tablename")
}
