//! Flushes, compactions and the drain.

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use serde_json::{Value, json};

use super::node::figures;
use crate::ask::{Answer, DrainStep, Question, SnapshotStep};
use crate::facts::{EndedCompactionFacts, ScrubFacts, ShardFigures, TableName};
use crate::json::{Json, Reply, Void, pair};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::snapshot;
use crate::state::{App, Mode};

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/storage_service/flush", post(flush_all))
        .route("/storage_service/keyspace_flush/{keyspace}", post(flush))
        .route("/storage_service/drain", get(drain_told).post(drain))
        .route("/storage_service/compact", post(compact_all))
        .route("/storage_service/keyspace_compaction/{keyspace}", post(compact))
        .route("/column_family/major_compaction/{table}", post(compact_table))
        .route("/helenus/garbage_collection/{keyspace}", post(collect_garbage))
        .route("/helenus/scrub/{keyspace}", post(scrub))
        .route("/storage_service/cleanup_all", post(clean_up_all))
        .route("/storage_service/keyspace_cleanup/{keyspace}", post(clean_up))
        .route("/compaction_manager/compactions", get(compactions))
        .route("/compaction_manager/compaction_history", get(history))
        .route("/compaction_manager/stop_compaction", post(stop))
        .route("/compaction_manager/metrics/pending_tasks", get(pending))
        .route("/compaction_manager/metrics/pending_tasks_by_table", get(pending_by_table))
        .route("/compaction_manager/metrics/completed_tasks", get(completed))
        .route("/compaction_manager/metrics/total_compactions_completed", get(completed))
        .route("/compaction_manager/metrics/bytes_compacted", get(bytes_compacted))
        .route("/storage_service/compaction_throughput", get(throughput).post(set_throughput))
        .route("/storage_service/auto_compaction/{keyspace}", post(enable).delete(disable))
        .route("/column_family/autocompaction/{table}", get(is_on_of_table).post(enable_table).delete(disable_table))
}

async fn flush_all(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&[])?;
    app.tell_all(Question::Flush(Vec::new())).await
}

async fn flush(State(app): State<App>, Path(keyspace): Path<String>, parameters: Parameters) -> Void {
    parameters.only(&["cf"])?;
    let Some(tables) = stored(&app, app.chosen(&keyspace, &parameters).await?).await? else { return Ok(()) };
    app.tell_all(Question::Flush(tables)).await
}

/// Those of the tables whose rows are stored; `None` without any, since an empty list would mean all.
async fn stored(app: &App, tables: Vec<TableName>) -> Result<Option<Vec<TableName>>, Problem> {
    let node = app.node().await?;
    let is_stored = |table: &TableName| node.keyspace(&table.keyspace).is_some_and(|keyspace| !keyspace.is_system);
    let tables: Vec<TableName> = tables.into_iter().filter(is_stored).collect();
    Ok((!tables.is_empty()).then_some(tables))
}

/// What is written to disk first is in the files that are compacted.
async fn compact_after_flush(app: &App, tables: Vec<TableName>, parameters: &Parameters) -> Void {
    let Some(tables) = stored(app, tables).await? else { return Ok(()) };
    if parameters.flag("flush_memtables", true)? {
        app.tell_all(Question::Flush(tables.clone())).await?;
    }
    app.tell_all(Question::Compact(tables)).await
}

async fn compact_all(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&["flush_memtables"])?;
    let tables = app.node().await?.tables(false).collect();
    compact_after_flush(&app, tables, &parameters).await
}

async fn compact(State(app): State<App>, Path(keyspace): Path<String>, parameters: Parameters) -> Void {
    parameters.only(&["cf", "flush_memtables"])?;
    let tables = app.chosen(&keyspace, &parameters).await?;
    compact_after_flush(&app, tables, &parameters).await
}

async fn compact_table(State(app): State<App>, Path(table): Path<String>, parameters: Parameters) -> Void {
    parameters.only(&["flush_memtables"])?;
    let table = app.table_of_path(&table).await?;
    compact_after_flush(&app, vec![table], &parameters).await
}

/// Nothing is flushed before: what memory hides is hidden for a moment only.
async fn collect_garbage(State(app): State<App>, Path(keyspace): Path<String>, parameters: Parameters) -> Void {
    parameters.only(&["cf", "tombstone_option"])?;
    let is_by_cell = match parameters.text("tombstone_option") {
        None | Some("ROW") => false,
        Some("CELL") => true,
        Some(other) => {
            return Err(Problem::bad_request(format!("tombstone_option: '{other}' is neither ROW nor CELL")));
        }
    };
    match stored(&app, app.chosen(&keyspace, &parameters).await?).await? {
        Some(tables) => app.tell_all(Question::CollectGarbage { tables, is_by_cell }).await,
        None => Ok(()),
    }
}

/// As in ScyllaDB it answers with 0. `global`, which there has the whole cluster cleaned, is taken for false.
async fn clean_up_all(State(app): State<App>, parameters: Parameters) -> Reply {
    parameters.only(&["global"])?;
    if parameters.flag("global", false)? {
        return Err(Problem::bad_request("global: true is not supported: each node drops its leftovers by itself"));
    }
    app.ask(0, Question::CleanUpAll).await?;
    Ok(Json(0.into()))
}

/// The same of one keyspace. Of the server's own keyspaces nothing is dropped.
async fn clean_up(State(app): State<App>, Path(keyspace): Path<String>, parameters: Parameters) -> Reply {
    parameters.only(&["cf"])?;
    if let Some(tables) = stored(&app, app.chosen(&keyspace, &parameters).await?).await? {
        app.tell_all(Question::CleanUp(tables)).await?;
    }
    Ok(Json(0.into()))
}

/// Goes on when its asker has gone away: who does not hear of it has its snapshot all the same.
async fn scrub(State(app): State<App>, Path(keyspace): Path<String>, parameters: Parameters) -> Reply {
    parameters.only(&["cf", "disable_snapshot"])?;
    let makes_snapshot = !parameters.flag("disable_snapshot", false)?;
    let tables = stored(&app, app.chosen(&keyspace, &parameters).await?).await?.unwrap_or_default();
    let mut all = ScrubFacts::default();
    if !tables.is_empty() {
        let scrubbed = tokio::spawn(async move { scrub_to_the_end(&app, tables, makes_snapshot).await });
        all = scrubbed.await.unwrap_or_else(|_| Err(Problem::failed("scrub aborted")))?;
    }
    let ScrubFacts { files, damaged, kept, in_part, lost } = all;
    Ok(Json(json!({"files": files, "damaged": damaged, "kept": kept, "in_part": in_part, "lost": lost})))
}

/// With the damaged files kept in a snapshot, which goes when none was.
async fn scrub_to_the_end(app: &App, tables: Vec<TableName>, makes_snapshot: bool) -> Result<ScrubFacts, Problem> {
    let _turn = app.snapshots().lock().await;
    let node = app.node().await?;
    // No start of the node has two such moments.
    let tag = format!("pre-scrub-{}-{}", node.boot, node.uptime_ms);
    if makes_snapshot {
        snapshot::take(app.questions(), tag.clone(), tables.clone(), true).await?;
    }
    let mut all = ScrubFacts::default();
    for answer in app.ask_all(Question::Scrub(tables)).await? {
        let Answer::Scrubbed(of_shard) = answer else { return Err(Problem::mixed_up()) };
        all.files += of_shard.files;
        all.damaged += of_shard.damaged;
        all.kept += of_shard.kept;
        all.in_part += of_shard.in_part;
        all.lost += of_shard.lost;
    }
    if makes_snapshot && all.damaged == 0 {
        let clear = SnapshotStep::Clear { tag: Some(tag), keyspaces: Vec::new(), tables: Vec::new() };
        app.ask(0, Question::Snapshot(clear)).await?;
    }
    Ok(all)
}

async fn compactions(State(app): State<App>) -> Reply {
    Ok(Json(running(&app).await?.into()))
}

/// The compactions under way.
pub(super) async fn running(app: &App) -> Result<Vec<Value>, Problem> {
    let mut all: Vec<Value> = Vec::new();
    for (shard, answer) in app.ask_all(Question::Compactions).await?.into_iter().enumerate() {
        let Answer::Compactions(running) = answer else { return Err(Problem::mixed_up()) };
        all.extend(running.into_iter().map(|compaction| {
            json!({
                "id": format!("{shard}-{}", compaction.number), "task_type": if compaction.is_cleanup { "Cleanup" } else { "Compaction" },
                "ks": compaction.table.keyspace, "cf": compaction.table.table,
                // What is purged is not written: the end comes before this is the whole.
                "completed": compaction.written.min(compaction.input), "total": compaction.input, "unit": "bytes",
                "shard": shard,
            })
        }));
    }
    Ok(all)
}

/// Newest first.
async fn history(State(app): State<App>, parameters: Parameters) -> Reply {
    parameters.only(&[])?;
    let mut all: Vec<(usize, EndedCompactionFacts)> = Vec::new();
    for (shard, answer) in app.ask_all(Question::CompactionHistory).await?.into_iter().enumerate() {
        let Answer::CompactionHistory(ended) = answer else { return Err(Problem::mixed_up()) };
        all.extend(ended.into_iter().rev().map(|ended| (shard, ended)));
    }
    all.sort_by_key(|(_, ended)| std::cmp::Reverse(ended.ended_ms));
    let entry = |(shard, ended): (usize, EndedCompactionFacts)| {
        let merged = ended.merged.iter().zip(1_u64..).filter(|(count, _)| **count > 0);
        json!({
            "id": format!("{shard}-{}", ended.number), "ks": ended.table.keyspace, "cf": ended.table.table,
            "compacted_at": ended.ended_ms, "bytes_in": ended.bytes_in, "bytes_out": ended.bytes_out,
            "rows_merged": merged.map(|(count, inputs)| pair(inputs, *count)).collect::<Vec<_>>(), "shard": shard,
        })
    };
    Ok(Json(all.into_iter().map(entry).collect()))
}

/// Of a type that does not run here nothing is stopped.
async fn stop(State(app): State<App>, parameters: Parameters) -> Void {
    const TYPES: [&str; 7] =
        ["COMPACTION", "VALIDATION", "CLEANUP", "SCRUB", "UPGRADE_SSTABLES", "VERIFY", "INDEX_BUILD"];
    parameters.only(&["type", "id"])?;
    if let Some(id) = parameters.text("id") {
        let parts = id.split_once('-').and_then(|(shard, number)| Some((shard.parse().ok()?, number.parse().ok()?)));
        let (shard, number): (u16, u64) = parts
            .filter(|(shard, _)| *shard < app.questions().shard_count())
            .ok_or_else(|| Problem::bad_request(format!("id: '{id}' is not a compaction id")))?;
        return app.ask(shard, Question::StopCompaction(Some(number))).await.map(|_| ());
    }
    let kind = parameters.needed("type")?.to_ascii_uppercase();
    if !TYPES.contains(&kind.as_str()) {
        return Err(Problem::bad_request(format!("type: '{kind}' is none of {}", TYPES.join(", "))));
    }
    match kind.as_str() {
        "COMPACTION" => stop_all(&app, false).await,
        "CLEANUP" => stop_all(&app, true).await,
        _ => Ok(()),
    }
}

/// Stops all cleanups that run, or all compactions that are none.
async fn stop_all(app: &App, are_cleanups: bool) -> Void {
    for (shard, answer) in (0..).zip(app.ask_all(Question::Compactions).await?) {
        let Answer::Compactions(running) = answer else { return Err(Problem::mixed_up()) };
        for compaction in running.iter().filter(|compaction| compaction.is_cleanup == are_cleanups) {
            app.ask(shard, Question::StopCompaction(Some(compaction.number))).await?;
        }
    }
    Ok(())
}

async fn pending_tables(app: &App) -> Result<BTreeMap<TableName, u64>, Problem> {
    let tables = app.tables(Vec::new(), false).await?;
    let waiting = tables.into_iter().filter(|table| table.compactions_waiting > 0);
    Ok(waiting.filter_map(|table| Some((table.name?, table.compactions_waiting))).collect())
}

async fn pending(State(app): State<App>) -> Reply {
    Ok(Json(pending_tables(&app).await?.values().sum::<u64>().into()))
}

async fn pending_by_table(State(app): State<App>) -> Reply {
    let tables = pending_tables(&app).await?.into_iter();
    let entry = |(name, task): (TableName, u64)| json!({"ks": name.keyspace, "cf": name.table, "task": task});
    Ok(Json(tables.map(entry).collect()))
}

async fn sum(app: &App, of: fn(&ShardFigures) -> u64) -> Reply {
    Ok(Json(figures(app).await?.iter().map(of).sum::<u64>().into()))
}

async fn completed(State(app): State<App>) -> Reply {
    sum(&app, |shard| shard.compactions).await
}

async fn bytes_compacted(State(app): State<App>) -> Reply {
    sum(&app, |shard| shard.compacted_bytes).await
}

/// MiB a second, rounded up so that a small limit is not told as none.
async fn throughput(State(app): State<App>) -> Reply {
    Ok(Json(app.node().await?.compaction_throughput.div_ceil(1 << 20).into()))
}

async fn set_throughput(State(app): State<App>, parameters: Parameters) -> Void {
    /// A tebibyte a second.
    const MEBIBYTES_MAX: u64 = 1 << 20;
    parameters.only(&["value"])?;
    let text = parameters.needed("value")?;
    let value = text.parse::<u64>().ok().filter(|value| *value <= MEBIBYTES_MAX);
    let value = value.ok_or_else(|| {
        Problem::bad_request(format!("value: '{text}' is not a whole number of MiB a second, 0 for no limit"))
    })?;
    app.tell_all(Question::SetCompactionThroughput(value << 20)).await
}

async fn set_autocompaction(app: &App, tables: Vec<TableName>, is_on: bool) -> Void {
    match stored(app, tables).await? {
        Some(tables) => app.tell_all(Question::SetAutocompaction { tables, is_on }).await,
        None => Ok(()),
    }
}

async fn enable(State(app): State<App>, Path(keyspace): Path<String>, parameters: Parameters) -> Void {
    parameters.only(&["cf"])?;
    set_autocompaction(&app, app.chosen(&keyspace, &parameters).await?, true).await
}

async fn disable(State(app): State<App>, Path(keyspace): Path<String>, parameters: Parameters) -> Void {
    parameters.only(&["cf"])?;
    set_autocompaction(&app, app.chosen(&keyspace, &parameters).await?, false).await
}

async fn enable_table(State(app): State<App>, Path(table): Path<String>, parameters: Parameters) -> Void {
    parameters.only(&[])?;
    set_autocompaction(&app, vec![app.table_of_path(&table).await?], true).await
}

async fn disable_table(State(app): State<App>, Path(table): Path<String>, parameters: Parameters) -> Void {
    parameters.only(&[])?;
    set_autocompaction(&app, vec![app.table_of_path(&table).await?], false).await
}

async fn is_on_of_table(State(app): State<App>, Path(table): Path<String>) -> Reply {
    let table = app.table_of_path(&table).await?;
    let found = app.tables(vec![table.clone()], true).await?;
    let found = found.first().ok_or_else(|| Problem::not_found(format!("table {table} does not exist")))?;
    Ok(Json(found.is_autocompaction_on.into()))
}

async fn drain_told(State(app): State<App>) -> Reply {
    Ok(Json(Value::from(match app.mode() {
        Mode::Normal => "Node is not being drained",
        Mode::Draining => "Draining: completing requests in flight, then flushing all memtables",
        Mode::Drained => "Node is drained",
    })))
}

/// Goes on when its asker has gone away: half a drain would be a node that neither serves nor is ready to end.
async fn drain(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&[])?;
    let drained = tokio::spawn(async move { drain_to_the_end(&app).await });
    drained.await.unwrap_or_else(|_| Err(Problem::failed("drain aborted")))
}

async fn drain_to_the_end(app: &App) -> Void {
    let _turn = app.drain().lock().await;
    if app.mode() == Mode::Drained {
        return Ok(());
    }
    tracing::info!("draining node: admin request");
    app.ask(0, Question::Drain(DrainStep::StopAccepting)).await?;
    app.set_mode(Mode::Draining);
    app.tell_all(Question::Drain(DrainStep::Answer)).await?;
    app.tell_all(Question::Drain(DrainStep::Flush)).await?;
    app.set_mode(Mode::Drained);
    tracing::info!("node drained; refusing requests until the process exits");
    Ok(())
}
