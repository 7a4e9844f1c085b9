//! The published table, and the two statements that the load consists of.

use crate::StressError;
use crate::raw::arguments::{Arguments, Workload};
use crate::raw::control::Control;
use crate::raw::template::Statement;

/// The statements of the load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Statements {
    /// Whole rows.
    Rows { write: Statement, read: Statement },
    /// Updates of rows.
    Updates(UpdateStatements),
    /// One's own.
    Own(Statement),
}

/// Those of updates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UpdateStatements {
    pub(crate) insert: Statement,
    pub(crate) expiring: Statement,
    pub(crate) delete: Statement,
}

/// Makes the keyspace and the table if they are not there. For a statement of one's own, there is only what one says.
pub(crate) async fn make(control: &mut Control, arguments: &Arguments) -> Result<(), StressError> {
    if arguments.statement.is_some() {
        for text in &arguments.setup {
            control.execute(text).await?;
        }
        return Ok(());
    }
    let (keyspace, table) = (quote(&arguments.keyspace), table(arguments));
    control.execute(&create_keyspace(&keyspace)).await?;
    let create = if arguments.is_of_updates() { create_updated(&table, &arguments.with) } else { create_table(&table) };
    control.execute(&create).await
}

/// Prepares the statements.
pub(crate) async fn prepare(control: &mut Control, arguments: &Arguments) -> Result<Statements, StressError> {
    if let Some(statement) = &arguments.statement {
        return Ok(Statements::Own(control.prepare(statement).await?));
    }
    let table = table(arguments);
    if arguments.workload == Workload::Update {
        let expiring = format!("{} USING TIMESTAMP ? AND TTL {}", insert(&table), arguments.ttl);
        return Ok(Statements::Updates(UpdateStatements {
            insert: control.prepare(&format!("{} USING TIMESTAMP ?", insert(&table))).await?,
            expiring: control.prepare(&expiring).await?,
            delete: control.prepare(&format!("DELETE FROM {table} USING TIMESTAMP ? WHERE key = ?")).await?,
        }));
    }
    let write = control.prepare(&insert(&table)).await?;
    let read = control.prepare(&select(&table)).await?;
    Ok(Statements::Rows { write, read })
}

/// The statement that asks for all rows of the load's table.
pub(crate) fn select_all(arguments: &Arguments) -> String {
    format!("SELECT * FROM {}", table(arguments))
}

/// The table with its keyspace.
fn table(arguments: &Arguments) -> String {
    format!("{}.{}", quote(&arguments.keyspace), quote(&arguments.table))
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
