//! The system tables: ordinary tables by their definitions, whose rows are made up from the schema snapshot and the node's
//! identity when they are read. Where a WHERE clause, a projection or a page ends is not decided here.
//!
//! Drivers depend on their columns and types to the letter; both are Cassandra 5.0.6's.

mod access_rows;
mod definitions;
mod local;
mod peers;
mod rows;
mod schema_rows;
mod traces;
pub(crate) mod value;
mod views;

use std::rc::Rc;

use auth::Access;
use cluster::coordinator::PendingHints;
use schema::{Keyspace, Schema, Table, system_keyspaces};
use topology::{Node, Ring};

use crate::clients::ClientInfo;
use crate::node::NodeInfo;
use crate::trace::Traced;
pub use local::{CQL_VERSION, NATIVE_PROTOCOL_VERSION, PARTITIONER, RELEASE_VERSION};
use rows::Rows;
pub use rows::VirtualRow;
pub(crate) use rows::{PartitionOrder, partition_key};

/// A system table's rows, some at a time, in the table's order.
pub(crate) type Parts<'a> = Box<dyn Iterator<Item = Vec<VirtualRow>> + 'a>;

/// The system tables of one shard.
pub struct SystemTables {
    schema: Schema,
    node: NodeInfo,
}

impl SystemTables {
    /// The system tables of `node`; `pause` lets others run.
    pub async fn new(node: NodeInfo, pause: impl AsyncFn()) -> Self {
        SystemTables { schema: definitions::schema(pause).await, node }
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
    /// in the order of [`PartitionOrder::of`] and rows by clustering key, as Cassandra gives them. They come part by part, each made
    /// when it is asked for: all of a large schema's at once would take long.
    ///
    /// `user` is the shard's schema, `ring` its ring, `gathered` is what all shards told. With a
    /// `partition`, its key, only its rows are made; a full schema is much to make up for a driver that asks after one keyspace.
    /// (No table that has rows here has a key of several columns.)
    pub(crate) fn parts<'a>(
        &'a self,
        table: &'a Table,
        (user, ring): (&'a Schema, &'a Ring),
        gathered: &'a Gathered,
        partition: Option<&'a [u8]>,
    ) -> Parts<'a> {
        let stored = |push| of_keyspaces(table, self.keyspaces(user, partition), push);
        let of_virtual = |push| of_keyspaces(table, self.virtual_keyspaces(partition), push);
        let stored_tables = |push| of_tables(table, self.keyspaces(user, partition), push);
        let virtual_tables = |push| of_tables(table, self.virtual_keyspaces(partition), push);
        match (table.keyspace.as_str(), table.name.as_str()) {
            ("system", "local") if partition.is_none_or(|key| key == b"local") => {
                Box::new(std::iter::once_with(|| local::rows(table, &self.node, ring, user)))
            }
            ("system", "peers" | "peers_v2") => {
                let push: fn(&mut Rows<'_>, &Node, &Schema) =
                    if table.name == "peers" { peers::push } else { peers::push_v2 };
                let wanted = move |node: &&Node| partition.is_none_or(|key| peers::is_of(node, key));
                let nodes = ring.others().filter(|node| !node.tokens.is_empty()).filter(wanted);
                Box::new(std::iter::once_with(move || {
                    part(table, move |rows| nodes.for_each(|node| push(rows, node, user)))
                }))
            }
            ("system_schema", "keyspaces") => stored(schema_rows::push_keyspace),
            ("system_schema", "types") => stored(schema_rows::push_types),
            ("system_schema", "tables") => stored_tables(schema_rows::push_table),
            ("system_schema", "columns") => stored_tables(schema_rows::push_columns),
            ("system_schema", "column_masks") => stored_tables(schema_rows::push_column_masks),
            ("system_schema", "dropped_columns") => stored_tables(schema_rows::push_dropped_columns),
            ("system_views", "clients") => {
                let wanted = move |client: &&ClientInfo| partition.is_none_or(|key| key == views::client_key(client));
                let clients = gathered.clients.iter().filter(wanted);
                Box::new(std::iter::once_with(|| {
                    part(table, |rows| clients.for_each(|client| views::push_client(rows, client)))
                }))
            }
            ("system_views", "pending_hints") => {
                let wanted = move |of: &&NodeHints| partition.is_none_or(|key| key == of.pending.host_id.0);
                let hints = gathered.hints.iter().filter(wanted);
                Box::new(std::iter::once_with(move || {
                    part(table, |rows| hints.for_each(|of| views::push_pending_hints(rows, of, ring)))
                }))
            }
            ("system_traces", "sessions" | "events") => {
                let push: fn(&mut Rows<'_>, &Traced, &NodeInfo) =
                    if table.name == "events" { traces::push_events } else { traces::push_session };
                let wanted = move |traced: &&Traced| partition.is_none_or(|key| key == traced.id);
                let traces = gathered.traces.iter().filter(wanted);
                Box::new(std::iter::once_with(move || {
                    part(table, move |rows| traces.for_each(|traced| push(rows, traced, &self.node)))
                }))
            }
            ("system_views", "settings") => {
                let wanted = move |(name, _): &&(String, _)| partition.is_none_or(|key| key == name.as_bytes());
                let settings = self.node.settings.iter().filter(wanted);
                Box::new(std::iter::once_with(|| {
                    part(table, |rows| settings.for_each(|(name, set)| views::push_setting(rows, name, set.as_deref())))
                }))
            }
            ("system_auth", _) => access_rows::parts(table, &gathered.access, partition),
            ("system_virtual_schema", "keyspaces") => of_virtual(schema_rows::push_virtual_keyspace),
            ("system_virtual_schema", "tables") => virtual_tables(schema_rows::push_virtual_table),
            ("system_virtual_schema", "columns") => virtual_tables(schema_rows::push_columns),
            // What Helenus has nothing to tell in.
            _ => Box::new(std::iter::empty()),
        }
    }

    /// The keyspaces that are not virtual, the server's and the user's, or the one called `partition`.
    fn keyspaces<'a>(&'a self, user: &'a Schema, partition: Option<&[u8]>) -> Vec<&'a Keyspace> {
        let all = named(&self.schema, partition).chain(named(user, partition));
        all.filter(|keyspace| !system_keyspaces::is_virtual(keyspace.name())).collect()
    }

    fn virtual_keyspaces(&self, partition: Option<&[u8]>) -> Vec<&Keyspace> {
        named(&self.schema, partition).filter(|keyspace| system_keyspaces::is_virtual(keyspace.name())).collect()
    }
}

/// The keyspaces of a schema, or the one called `partition`.
fn named<'a>(schema: &'a Schema, partition: Option<&[u8]>) -> impl Iterator<Item = &'a Keyspace> + use<'a> {
    let one = partition.and_then(|name| schema.keyspace(std::str::from_utf8(name).ok()?));
    let all = partition.is_none().then(|| schema.keyspaces().values());
    one.into_iter().chain(all.into_iter().flatten()).map(Rc::as_ref)
}

/// The facts that system tables show beside the schema: of this shard, and as all shards reported them.
#[derive(Default)]
pub(crate) struct Gathered {
    /// Roles and permissions.
    pub(crate) access: Access,
    /// Where [`shows_clients`] says that they are wanted.
    pub(crate) clients: Vec<ClientInfo>,
    /// Where [`shows_traces`] says that they are wanted.
    pub(crate) traces: Vec<Traced>,
    /// Where [`shows_pending_hints`] says that they are wanted.
    pub(crate) hints: Vec<NodeHints>,
}

/// The hints that wait for a node, on all shards.
#[derive(Debug)]
pub(crate) struct NodeHints {
    pub(crate) pending: PendingHints,
    pub(crate) is_up: bool,
}

/// True if the rows of `table` are the hints that wait.
pub(crate) fn shows_pending_hints(table: &Table) -> bool {
    table.keyspace == "system_views" && table.name == "pending_hints"
}

/// Whether the rows of `table` are requests that were traced, or their steps.
pub(crate) fn shows_traces(table: &Table) -> bool {
    table.keyspace == "system_traces"
}

/// Whether the rows of `table` are the node's clients.
pub(crate) fn shows_clients(table: &Table) -> bool {
    table.keyspace == "system_views" && table.name == "clients"
}

/// Rows of `table`, a part for each keyspace, in the order of its partitions, which are keyspaces.
fn of_keyspaces<'a>(table: &'a Table, keyspaces: Vec<&'a Keyspace>, push: fn(&mut Rows<'_>, &Keyspace)) -> Parts<'a> {
    Box::new(in_order(table, keyspaces).map(move |keyspace| part(table, |rows| push(rows, keyspace))))
}

/// The same, a part for each table of the keyspaces.
fn of_tables<'a>(table: &'a Table, keyspaces: Vec<&'a Keyspace>, push: fn(&mut Rows<'_>, &Table)) -> Parts<'a> {
    let described = in_order(table, keyspaces).flat_map(|keyspace| keyspace.tables.values());
    Box::new(described.map(move |described| part(table, |rows| push(rows, described))))
}

fn in_order<'a>(table: &Table, mut keyspaces: Vec<&'a Keyspace>) -> std::vec::IntoIter<&'a Keyspace> {
    let order = PartitionOrder::of(table);
    keyspaces.sort_by_cached_key(|keyspace| order.place(table, keyspace.name().as_bytes()));
    keyspaces.into_iter()
}

fn part(table: &Table, push: impl FnOnce(&mut Rows<'_>)) -> Vec<VirtualRow> {
    let mut rows = Rows::of(table);
    push(&mut rows);
    rows.finish()
}

#[cfg(test)]
mod tests;
