//! Tables: names, sizes, histograms.

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use serde_json::{Value, json};
use stdx::LogHistogram;

use crate::facts::{TableFacts, TableName};
use crate::json::{Json, Reply, buckets, histogram};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::state::{App, chosen};

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/column_family", get(list))
        .route("/column_family/", get(list))
        .route("/column_family/name", get(names))
        .route("/helenus/tables", get(tables))
        .route("/helenus/tablehistograms/{table}", get(histograms))
        .route("/column_family/metrics/{figure}/{table}", get(figure))
        .route("/column_family/metrics/{figure}/estimated_histogram/{table}", get(latency))
        .route("/column_family/sstables/per_level/{table}", get(per_level))
}

async fn list(State(app): State<App>) -> Reply {
    let node = app.node().await?;
    let entry = |name: TableName| json!({"ks": name.keyspace, "cf": name.table, "type": "ColumnFamilies"});
    Ok(Json(node.tables(true).map(entry).collect()))
}

async fn names(State(app): State<App>) -> Reply {
    let node = app.node().await?;
    let all = node.tables(true).map(|name| format!("{}:{}", name.keyspace, name.table));
    Ok(Json(all.collect::<Vec<_>>().into()))
}

/// Bytes that snapshots of each table have, by the table's name.
async fn snapshot_bytes(app: &App) -> Result<Vec<(TableName, u64)>, Problem> {
    use crate::ask::{Answer, Question, SnapshotStep};
    match app.ask(0, Question::Snapshot(SnapshotStep::List)).await? {
        Answer::Snapshots(all) => Ok(all.into_iter().map(|snapshot| (snapshot.table, snapshot.only)).collect()),
        _ => Err(Problem::mixed_up()),
    }
}

fn of_snapshots(all: &[(TableName, u64)], table: &TableFacts) -> u64 {
    all.iter().filter(|(name, _)| Some(name) == table.name.as_ref()).map(|(_, bytes)| bytes).sum()
}

async fn tables(State(app): State<App>, parameters: Parameters) -> Reply {
    parameters.only(&["keyspace", "table"])?;
    let node = app.node().await?;
    let wanted = match (parameters.text("keyspace"), parameters.names("table")) {
        (None, none) if none.is_empty() => Vec::new(),
        (None, _) => return Err(Problem::bad_request("tables (table) need their keyspace (keyspace)")),
        (Some(keyspace), names) => chosen(&node, keyspace, &names)?,
    };
    let found = app.tables(wanted, false).await?;
    let snapshots = snapshot_bytes(&app).await?;
    Ok(Json(found.iter().map(|table| shown(table, of_snapshots(&snapshots, table))).collect()))
}

fn shown(table: &TableFacts, snapshots: u64) -> Value {
    let range = table.partition_sizes.range();
    let name = table.name.clone().unwrap_or(TableName { keyspace: String::new(), table: String::new() });
    json!({
        "keyspace": name.keyspace, "table": name.table, "id": table.id, "is_system": false,
        "sstables": table.sstables + table.sstables_shared, "sstables_per_level": table.sstables_per_level,
        "bytes_live": table.disk_bytes, "bytes_total": table.disk_bytes, "bytes_snapshots": snapshots,
        "compression_ratio": compression_ratio(table), "partitions_estimate": partitions(table),
        "partition_bytes_min": range.map_or(0, |(min, _)| min),
        "partition_bytes_max": range.map_or(0, |(_, max)| max),
        "partition_bytes_mean": table.partition_sizes.mean().unwrap_or(0),
        "memtable_bytes": table.memtable_bytes, "memtable_partitions": table.memtable_partitions,
        "memtable_switches": table.flushes, "pending_flushes": table.memtables_frozen,
        "reads": table.reads, "writes": table.writes, "read_latency_us_mean": mean(&table.read_micros), "write_latency_us_mean": mean(&table.write_micros),
        "bloom_filter_bytes": table.filter_bytes,
        "bloom_filter_false_positives": table.filter_false_positives, "bloom_filter_false_ratio": false_ratio(table),
        "droppable_tombstone_ratio": droppable_ratio(table),
        "pending_compactions": table.compactions_waiting, "is_autocompaction_on": table.is_autocompaction_on,
    })
}

/// Bytes on disk by bytes of data of what is compressed; −1 if nothing is.
fn compression_ratio(table: &TableFacts) -> f64 {
    match table.compressible_bytes {
        0 => -1.0,
        bytes => table.compressed_bytes as f64 / bytes as f64,
    }
}

/// At most: a partition with parts in several files, or in memory too, is counted for each.
fn partitions(table: &TableFacts) -> u64 {
    table.partitions + table.memtable_partitions
}

/// Of all times that a filter was asked, as Cassandra has it since 4.0; 0 if none has said yes.
fn false_ratio(table: &TableFacts) -> f64 {
    let (wrong, right) = (table.filter_false_positives, table.filter_true_positives);
    if wrong + right == 0 { 0.0 } else { wrong as f64 / (wrong + right + table.filter_negatives) as f64 }
}

fn droppable_ratio(table: &TableFacts) -> f64 {
    if table.cells > 0.0 { (table.droppable as f64 / table.cells).min(1.0) } else { 0.0 }
}

/// `null` if there was none.
fn mean(micros: &LogHistogram) -> Option<f64> {
    let count = micros.count();
    (count > 0).then(|| micros.sum() as f64 / count as f64)
}

/// One table of the path, summed over the shards.
async fn one(app: &App, path: &str, is_brief: bool) -> Result<TableFacts, Problem> {
    let name = app.table_of_path(path).await?;
    let found = app.tables(vec![name.clone()], is_brief).await?;
    found.into_iter().next().ok_or_else(|| Problem::not_found(format!("table {name} does not exist")))
}

async fn histograms(State(app): State<App>, Path(table): Path<String>) -> Reply {
    let table = one(&app, &table, false).await?;
    Ok(Json(json!({
        "partition_size": buckets(&table.partition_sizes), "cell_count": buckets(&table.cell_counts),
        "read_latency": histogram(&table.read_micros), "write_latency": histogram(&table.write_micros), "sstables_per_read": histogram(&table.files_per_read),
    })))
}

async fn latency(State(app): State<App>, Path((figure, path)): Path<(String, String)>) -> Reply {
    let of: fn(&TableFacts) -> &LogHistogram = match figure.as_str() {
        "read_latency" => |table| &table.read_micros,
        "write_latency" => |table| &table.write_micros,
        _ => return Err(Problem::not_found(format!("unknown table histogram '{figure}'"))),
    };
    Ok(Json(histogram(of(&one(&app, &path, true).await?))))
}

async fn per_level(State(app): State<App>, Path(table): Path<String>) -> Reply {
    Ok(Json(one(&app, &table, false).await?.sstables_per_level.into()))
}

async fn figure(State(app): State<App>, Path((figure, path)): Path<(String, String)>) -> Reply {
    let is_there = FIGURES.contains(&figure.as_str());
    if !is_there {
        return Err(Problem::not_found(format!("unknown table metric '{figure}'")));
    }
    let table = one(&app, &path, false).await?;
    let range = || table.partition_sizes.range();
    Ok(Json(match figure.as_str() {
        "live_ss_table_count" => (table.sstables + table.sstables_shared).into(),
        "live_disk_space_used" | "total_disk_space_used" => table.disk_bytes.into(),
        "snapshots_size" => of_snapshots(&snapshot_bytes(&app).await?, &table).into(),
        "memtable_live_data_size" | "memtable_off_heap_size" => table.memtable_bytes.into(),
        "memtable_switch_count" => table.flushes.into(),
        "compression_ratio" => compression_ratio(&table).into(),
        "estimated_row_count" => partitions(&table).into(),
        "pending_flushes" => table.memtables_frozen.into(),
        "pending_compactions" => table.compactions_waiting.into(),
        "bloom_filter_disk_space_used" | "bloom_filter_off_heap_memory_used" => table.filter_bytes.into(),
        "bloom_filter_false_positives" => table.filter_false_positives.into(),
        "bloom_filter_false_ratio" => false_ratio(&table).into(),
        "min_row_size" => range().map_or(0, |(min, _)| min).into(),
        "max_row_size" => range().map_or(0, |(_, max)| max).into(),
        "mean_row_size" => table.partition_sizes.mean().unwrap_or(0).into(),
        "read" => table.reads.into(),
        "write" => table.writes.into(),
        "read_latency" => table.read_micros.sum().into(),
        "write_latency" => table.write_micros.sum().into(),
        "sstables_per_read_histogram" => histogram(&table.files_per_read),
        "estimated_row_size_histogram" => buckets(&table.partition_sizes),
        "estimated_column_count_histogram" => buckets(&table.cell_counts),
        other => unreachable!("{other} is not in the list"),
    }))
}

/// The figures of tables that are counted.
const FIGURES: [&str; 25] = [
    "live_ss_table_count",
    "live_disk_space_used",
    "total_disk_space_used",
    "snapshots_size",
    "memtable_live_data_size",
    "memtable_off_heap_size",
    "memtable_switch_count",
    "compression_ratio",
    "estimated_row_count",
    "pending_flushes",
    "pending_compactions",
    "bloom_filter_disk_space_used",
    "bloom_filter_off_heap_memory_used",
    "bloom_filter_false_positives",
    "bloom_filter_false_ratio",
    "min_row_size",
    "max_row_size",
    "mean_row_size",
    "read",
    "write",
    "read_latency",
    "write_latency",
    "sstables_per_read_histogram",
    "estimated_row_size_histogram",
    "estimated_column_count_histogram",
];
