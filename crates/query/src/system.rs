//! The system tables: ordinary tables by their definitions, whose rows are made up from the schema snapshot and the node's
//! identity when they are read. Where a WHERE clause, a projection or a page ends is not decided here.
//!
//! Drivers depend on their columns and types to the letter; both are Cassandra 5.0.6's.

mod definitions;
mod local;
mod rows;
mod schema_rows;
mod value;

use std::rc::Rc;

use runtime::Runtime;
use schema::{Keyspace, Schema, Table, system_keyspaces};
use topology::token_of;

use crate::node::NodeInfo;
pub use local::{CQL_VERSION, NATIVE_PROTOCOL_VERSION, PARTITIONER, RELEASE_VERSION};
use rows::Rows;
pub use rows::VirtualRow;
pub(crate) use rows::partition_key;

/// The system tables of one shard.
pub struct SystemTables {
    schema: Schema,
    node: NodeInfo,
}

impl SystemTables {
    /// The system tables of `node`.
    pub fn new(node: NodeInfo) -> Self {
        SystemTables { schema: definitions::schema(), node }
    }

    /// The system keyspaces and their tables: a schema of its own beside the user's.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The system table called `name` in `keyspace`.
    pub fn table(&self, keyspace: &str, name: &str) -> Option<&Rc<Table>> {
        self.schema.table(keyspace, name)
    }

    /// The rows of `table`, one of [`SystemTables::schema`]'s: values in the order of [`Table::columns`], partitions
    /// ordered by token and rows by clustering key, as a stored table gives them.
    ///
    /// `user` is the shard's schema. With a `partition`, the first partition key column's value, only rows that have it
    /// are made; a full schema is much to make up for a driver that asks after one keyspace.
    pub fn rows(&self, table: &Table, user: &Schema, partition: Option<&[u8]>) -> Vec<VirtualRow> {
        let mut rows = Rows::of(table);
        match (table.keyspace.as_str(), table.name.as_str()) {
            ("system", "local") => return self.local_rows(table, user, partition),
            ("system_schema", "keyspaces") => {
                self.keyspaces(user, partition).for_each(|keyspace| schema_rows::push_keyspace(&mut rows, keyspace));
            }
            ("system_schema", "tables") => {
                let tables = self.keyspaces(user, partition).flat_map(tables_of);
                tables.for_each(|table| schema_rows::push_table(&mut rows, table));
            }
            ("system_schema", "columns") => {
                for table in self.keyspaces(user, partition).flat_map(tables_of) {
                    table.columns().iter().for_each(|column| schema_rows::push_column(&mut rows, table, column));
                }
            }
            ("system_schema", "dropped_columns") => {
                for table in self.keyspaces(user, partition).flat_map(tables_of) {
                    let dropped = table.dropped.values();
                    dropped.for_each(|dropped| schema_rows::push_dropped_column(&mut rows, table, dropped));
                }
            }
            ("system_schema", "types") => {
                let types = self.keyspaces(user, partition).flat_map(|keyspace| keyspace.types.values());
                types.for_each(|ty| schema_rows::push_type(&mut rows, ty));
            }
            ("system_virtual_schema", "keyspaces") => {
                let keyspaces = self.virtual_keyspaces(partition);
                keyspaces.for_each(|keyspace| schema_rows::push_virtual_keyspace(&mut rows, keyspace));
            }
            ("system_virtual_schema", "tables") => {
                let tables = self.virtual_keyspaces(partition).flat_map(tables_of);
                tables.for_each(|table| schema_rows::push_virtual_table(&mut rows, table));
            }
            ("system_virtual_schema", "columns") => {
                for table in self.virtual_keyspaces(partition).flat_map(tables_of) {
                    table.columns().iter().for_each(|column| schema_rows::push_column(&mut rows, table, column));
                }
            }
            // What Helenus has nothing to tell in.
            _ => {}
        }
        rows.finish()
    }

    /// [`SystemTables::rows`] for a schema of any size, with pauses. What describes it is made table by table, each in order, so
    /// that there is nothing left to sort at once but the keyspaces.
    pub async fn rows_in_steps(
        &self,
        table: &Table,
        user: &Schema,
        partition: Option<&[u8]>,
        runtime: &Runtime,
    ) -> Vec<VirtualRow> {
        let push: fn(&mut Rows<'_>, &Table) = match (table.keyspace.as_str(), table.name.as_str()) {
            ("system_schema", "tables") => |rows, table| schema_rows::push_table(rows, table),
            ("system_schema", "columns") => |rows, table| {
                table.columns().iter().for_each(|column| schema_rows::push_column(rows, table, column));
            },
            ("system_schema", "dropped_columns") => |rows, table| {
                let dropped = table.dropped.values();
                dropped.for_each(|dropped| schema_rows::push_dropped_column(rows, table, dropped));
            },
            // One row for a keyspace, or what does not grow with the schema.
            _ => return self.rows(table, user, partition),
        };
        let mut keyspaces: Vec<&Keyspace> = self.keyspaces(user, partition).collect();
        keyspaces.sort_by_cached_key(|keyspace| (token_of(keyspace.name().as_bytes()), keyspace.name().to_owned()));
        let mut all = Vec::new();
        for described in keyspaces.into_iter().flat_map(tables_of) {
            let mut rows = Rows::of(table);
            push(&mut rows, described);
            all.append(&mut rows.finish());
            runtime.maybe_yield().await;
        }
        all
    }

    fn local_rows(&self, table: &Table, user: &Schema, partition: Option<&[u8]>) -> Vec<VirtualRow> {
        match partition {
            Some(key) if key != b"local" => Vec::new(),
            _ => local::rows(table, &self.node, user),
        }
    }

    /// The keyspaces that are not virtual, the server's and the user's, or the one called `partition`.
    fn keyspaces<'a>(
        &'a self,
        user: &'a Schema,
        partition: Option<&'a [u8]>,
    ) -> impl Iterator<Item = &'a Keyspace> + 'a {
        let all = self.schema.keyspaces().values().chain(user.keyspaces().values()).map(Rc::as_ref);
        all.filter(move |keyspace| {
            !system_keyspaces::is_virtual(keyspace.name())
                && partition.is_none_or(|name| keyspace.name().as_bytes() == name)
        })
    }

    fn virtual_keyspaces<'a>(&'a self, partition: Option<&'a [u8]>) -> impl Iterator<Item = &'a Keyspace> + 'a {
        let all = self.schema.keyspaces().values().map(Rc::as_ref);
        all.filter(move |keyspace| {
            system_keyspaces::is_virtual(keyspace.name())
                && partition.is_none_or(|name| keyspace.name().as_bytes() == name)
        })
    }
}

fn tables_of(keyspace: &Keyspace) -> impl Iterator<Item = &Table> {
    keyspace.tables.values().map(Rc::as_ref)
}

#[cfg(test)]
mod tests;
