//! The published table, and the two statements that the load consists of.

use crate::StressError;
use crate::arguments::{Arguments, Workload};
use crate::control::Control;
use crate::template::Statement;

/// The statements of the load.
#[derive(Debug, Clone, Default)]
pub(crate) struct Statements {
    pub(crate) write: Statement,
    pub(crate) read: Statement,
    pub(crate) updates: UpdateStatements,
}

/// Those of updates.
#[derive(Debug, Clone, Default)]
pub(crate) struct UpdateStatements {
    pub(crate) insert: Statement,
    pub(crate) expiring: Statement,
    pub(crate) delete: Statement,
}

/// Makes the keyspace and the table if they are not there, and prepares the statements.
pub(crate) async fn prepare(control: &mut Control, arguments: &Arguments) -> Result<Statements, StressError> {
    let keyspace = quote(&arguments.keyspace);
    let table = format!("{keyspace}.{}", quote(&arguments.table));
    control.execute(&create_keyspace(&keyspace)).await?;
    let create = if arguments.is_of_updates() { create_updated(&table, &arguments.with) } else { create_table(&table) };
    control.execute(&create).await?;
    let write = control.prepare(&insert(&table)).await?;
    let read = control.prepare(&select(&table)).await?;
    let updates = match arguments.workload {
        Workload::Update => UpdateStatements {
            insert: control.prepare(&format!("{} USING TIMESTAMP ?", insert(&table))).await?,
            expiring: control
                .prepare(&format!("{} USING TIMESTAMP ? AND TTL {}", insert(&table), arguments.ttl))
                .await?,
            delete: control.prepare(&format!("DELETE FROM {table} USING TIMESTAMP ? WHERE key = ?")).await?,
        },
        _ => UpdateStatements::default(),
    };
    Ok(Statements { write, read, updates })
}

/// The statement that asks for all rows of the load's table.
pub(crate) fn select_all(arguments: &Arguments) -> String {
    format!("SELECT * FROM {}.{}", quote(&arguments.keyspace), quote(&arguments.table))
}

/// A name that keeps its case.
fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn create_keyspace(keyspace: &str) -> String {
    format!(
        "CREATE KEYSPACE IF NOT EXISTS {keyspace} \
         WITH replication = {{'class': 'NetworkTopologyStrategy', 'datacenter1': '1'}} AND durable_writes = true"
    )
}

/// The table of the published comparisons, without `read_repair_chance` and `dclocal_read_repair_chance`, which
/// Cassandra 5 refuses: the same statement must do for both servers.
fn create_table(table: &str) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {table} \
         (key blob PRIMARY KEY, \"C0\" blob, \"C1\" blob, \"C2\" blob, \"C3\" blob, \"C4\" blob) \
         WITH COMPACT STORAGE AND bloom_filter_fp_chance = 0.01 \
         AND caching = {{'keys': 'ALL', 'rows_per_partition': 'ALL'}} AND comment = '' \
         AND compaction = {{'class': 'SizeTieredCompactionStrategy'}} AND compression = {{}} \
         AND crc_check_chance = 1.0 AND default_time_to_live = 0 AND gc_grace_seconds = 864000 \
         AND max_index_interval = 2048 AND memtable_flush_period_in_ms = 0 AND min_index_interval = 128 \
         AND speculative_retry = '99.0PERCENTILE'"
    )
}

fn create_updated(table: &str, options: &str) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {table} \
         (key blob PRIMARY KEY, \"C0\" blob, \"C1\" blob, \"C2\" blob, \"C3\" blob, \"C4\" blob) WITH {options}"
    )
}

fn insert(table: &str) -> String {
    format!("INSERT INTO {table} (key, \"C0\", \"C1\", \"C2\", \"C3\", \"C4\") VALUES (?, ?, ?, ?, ?, ?)")
}

fn select(table: &str) -> String {
    format!("SELECT \"C0\", \"C1\", \"C2\", \"C3\", \"C4\" FROM {table} WHERE key = ?")
}
