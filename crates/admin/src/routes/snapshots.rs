//! Snapshots: made, listed, removed; and files taken in.

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use serde_json::{Value, json};

use crate::ask::{Answer, Question, SnapshotStep};
use crate::facts::{NodeFacts, SnapshotFacts, TableName};
use crate::json::{Json, Reply, Void, pair};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::snapshot;
use crate::state::{App, chosen};

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/storage_service/snapshots", get(list).post(take).delete(clear))
        .route("/storage_service/snapshots/size/true", get(size))
        .route("/storage_service/sstables/{keyspace}", post(refresh))
}

async fn found(app: &App) -> Result<Vec<SnapshotFacts>, Problem> {
    match app.ask(0, Question::Snapshot(SnapshotStep::List)).await? {
        Answer::Snapshots(snapshots) => Ok(snapshots),
        _ => Err(Problem::mixed_up()),
    }
}

async fn list(State(app): State<App>) -> Reply {
    let mut by_tag: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for snapshot in found(&app).await? {
        let TableName { keyspace, table } = snapshot.table;
        by_tag
            .entry(snapshot.tag)
            .or_default()
            .push(json!({"ks": keyspace, "cf": table, "total": snapshot.total, "live": snapshot.only}));
    }
    Ok(Json(by_tag.into_iter().map(|(tag, tables)| pair(tag, tables)).collect()))
}

async fn size(State(app): State<App>) -> Reply {
    Ok(Json(found(&app).await?.iter().map(|snapshot| snapshot.only).sum::<u64>().into()))
}

/// The tables that `kn` and `cf` mean: of several keyspaces all, of one also some.
fn meant(node: &NodeFacts, parameters: &Parameters) -> Result<Vec<TableName>, Problem> {
    let (keyspaces, tables) = (parameters.names("kn"), parameters.names("cf"));
    match (keyspaces.as_slice(), tables.is_empty()) {
        ([], true) => Ok(node.tables(false).collect()),
        ([keyspace], _) => chosen(node, keyspace, &tables),
        (_, true) => {
            let mut all = Vec::new();
            for keyspace in &keyspaces {
                all.extend(chosen(node, keyspace, &[])?);
            }
            Ok(all)
        }
        ([], false) => Err(Problem::bad_request("tables (cf) need their keyspace (kn)")),
        (_, false) => Err(Problem::bad_request("tables (cf) can be named of one keyspace (kn) only")),
    }
}

/// Goes on when its asker has gone away: half a snapshot is none.
async fn take(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&["tag", "kn", "cf", "sf"])?;
    let tag = parameters.needed("tag")?.to_owned();
    let skips_flush = parameters.flag("sf", false)?;
    let node = app.node().await?;
    let is_stored = |table: &TableName| node.keyspace(&table.keyspace).is_some_and(|keyspace| !keyspace.is_system);
    let tables: Vec<TableName> = meant(&node, &parameters)?.into_iter().filter(is_stored).collect();
    if tables.is_empty() {
        return Ok(());
    }
    let taken = tokio::spawn(async move { take_to_the_end(&app, tag, tables, skips_flush).await });
    taken.await.unwrap_or_else(|_| Err(Problem::failed("snapshot aborted")))
}

async fn take_to_the_end(app: &App, tag: String, tables: Vec<TableName>, skips_flush: bool) -> Void {
    let _turn = app.snapshots().lock().await;
    snapshot::take(app.questions(), tag, tables, skips_flush).await
}

async fn clear(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&["tag", "kn", "cf"])?;
    let _turn = app.snapshots().lock().await;
    let clear = SnapshotStep::Clear {
        tag: parameters.text("tag").map(str::to_owned),
        keyspaces: parameters.names("kn"),
        tables: parameters.names("cf"),
    };
    app.ask(0, Question::Snapshot(clear)).await.map(|_| ())
}

async fn refresh(State(app): State<App>, Path(keyspace): Path<String>, parameters: Parameters) -> Void {
    parameters.only(&["cf"])?;
    let table = parameters.needed("cf")?.to_owned();
    let table = chosen(&app.node().await?, &keyspace, &[table])?.swap_remove(0);
    app.ask(0, Question::Refresh(table)).await.map(|_| ())
}
