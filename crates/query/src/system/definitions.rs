//! The system tables' definitions: CQL text, read once per shard at start.

use std::collections::BTreeMap;

use md5::{Digest, Md5};
use schema::{KeyspaceDef, Schema, SchemaChange, TableId, system_keyspaces};
use topology::{ReplicationStrategy, STRATEGY_PACKAGE};

const TABLES: &str = include_str!("tables.cql");

/// The schema of all system keyspaces. To read all of their text takes a millisecond, so it is done in pieces, with a pause after each.
pub(super) async fn schema(pause: impl AsyncFn()) -> Schema {
    let mut changes = Vec::new();
    for change in keyspaces().chain(tables()) {
        changes.push(change);
        pause().await;
    }
    Schema::empty().with_all(&changes)
}

fn keyspaces() -> impl Iterator<Item = SchemaChange> {
    let local = system_keyspaces::LOCAL.iter().chain(&system_keyspaces::VIRTUAL);
    let local = local.map(|name| keyspace(name, "LocalStrategy", ReplicationStrategy::Local, None));
    let shared = [("system_auth", 1), ("system_distributed", 3), ("system_traces", 2)];
    local.chain(shared.into_iter().map(|(name, replication_factor)| {
        let strategy = ReplicationStrategy::Simple { replication_factor };
        keyspace(name, "SimpleStrategy", strategy, Some(replication_factor))
    }))
}

fn tables() -> impl Iterator<Item = SchemaChange> {
    statements(TABLES).map(|statement| {
        let parsed = cql_syntax::parse(statement).expect("the system tables' text is CQL");
        let table = schema::plan::system_table(&parsed, system_table_id).expect("the system tables are valid");
        SchemaChange::PutTable(Box::new(table))
    })
}

fn keyspace(name: &str, class: &str, strategy: ReplicationStrategy, replication_factor: Option<u32>) -> SchemaChange {
    let mut replication = BTreeMap::from([("class".to_owned(), format!("{STRATEGY_PACKAGE}{class}"))]);
    if let Some(factor) = replication_factor {
        replication.insert("replication_factor".to_owned(), factor.to_string());
    }
    SchemaChange::PutKeyspace(KeyspaceDef {
        name: name.to_owned(),
        replication,
        strategy,
        durable_writes: true,
        tenure: 0,
    })
}

/// The statements of a text in which each ends with a semicolon at a line's end and comments fill whole lines.
fn statements(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(";\n")
        .map(|statement| {
            let begin = statement.find("CREATE").unwrap_or(statement.len());
            statement[begin..].trim_end()
        })
        .filter(|statement| !statement.is_empty())
}

/// The id that Cassandra gives a system table on every node: a name-based UUID of keyspace and table.
fn system_table_id(keyspace: &str, table: &str) -> TableId {
    let mut digest = Md5::new();
    digest.update(keyspace);
    digest.update(table);
    let mut id: [u8; 16] = digest.finalize().into();
    id[6] = (id[6] & 0x0f) | 0x30;
    id[8] = (id[8] & 0x3f) | 0x80;
    TableId(id)
}
