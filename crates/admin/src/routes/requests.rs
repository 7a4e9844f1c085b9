//! Requests by kind, and what waits where: proxyhistograms and tpstats.

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use serde_json::{Value, json};
use stdx::LogHistogram;

use super::node::figures;
use crate::ask::{Answer, Question};
use crate::facts::{FailedFacts, ShardFigures, SlowQuery};
use crate::json::{Json, Reply, histogram};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::state::App;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/helenus/requests", get(requests))
        .route("/helenus/slow_queries", get(slow_queries))
        .route("/helenus/stages", get(stages))
        .route("/storage_proxy/metrics/{kind}/estimated_histogram", get(of_kind))
        .route("/storage_proxy/metrics/{kind}/estimated_histogram/", get(of_kind))
}

/// Each kind of requests, summed over the shards.
pub(crate) fn by_kind(shards: &[ShardFigures]) -> Vec<(&'static str, LogHistogram)> {
    let mut sums: Vec<(&'static str, LogHistogram)> = Vec::new();
    for facts in shards.iter().flat_map(|shard| &shard.by_kind) {
        match sums.iter_mut().find(|(kind, _)| *kind == facts.kind) {
            Some((_, sum)) => sum.merge(&facts.micros),
            None => sums.push((facts.kind, facts.micros.clone())),
        }
    }
    sums
}

/// Each kind of errors, summed over the shards.
pub(crate) fn errors(shards: &[ShardFigures]) -> Vec<(&'static str, u64)> {
    let mut sums: Vec<(&'static str, u64)> = Vec::new();
    for (name, count) in shards.iter().flat_map(|shard| &shard.errors) {
        match sums.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += count,
            None => sums.push((name, *count)),
        }
    }
    sums
}

/// Each kind of requests that too few replicas answered, summed over the shards.
pub(crate) fn failed(shards: &[ShardFigures]) -> Vec<FailedFacts> {
    let mut sums: Vec<FailedFacts> = Vec::new();
    for facts in shards.iter().flat_map(|shard| &shard.failed) {
        match sums.iter_mut().find(|sum| sum.kind == facts.kind) {
            Some(sum) => {
                sum.timeouts += facts.timeouts;
                sum.unavailables += facts.unavailables;
                sum.failures += facts.failures;
            }
            None => sums.push(facts.clone()),
        }
    }
    sums
}

async fn requests(State(app): State<App>) -> Reply {
    let shards = figures(&app).await?;
    let kinds = by_kind(&shards).into_iter().map(|(kind, micros)| {
        json!({"kind": kind, "completed": micros.count(), "micros_sum": micros.sum(), "micros": histogram(&micros)})
    });
    let errors = errors(&shards).into_iter().map(|(error, count)| json!({"error": error, "count": count}));
    Ok(Json(json!({"kinds": kinds.collect::<Vec<_>>(), "errors": errors.collect::<Vec<_>>()})))
}

async fn of_kind(State(app): State<App>, Path(kind): Path<String>) -> Reply {
    // Batches are writes to Cassandra too, but not the other way round.
    let kinds: &[&str] = match kind.as_str() {
        "read" => &["read"],
        "range" => &["range"],
        "write" => &["write", "batch"],
        _ => return Err(Problem::not_found(format!("no metrics for requests of kind '{kind}'"))),
    };
    let mut sum = LogHistogram::default();
    let all = by_kind(&figures(&app).await?);
    all.iter().filter(|(kind, _)| kinds.contains(kind)).for_each(|(_, micros)| sum.merge(micros));
    Ok(Json(histogram(&sum)))
}

/// Newest first.
async fn slow_queries(State(app): State<App>, parameters: Parameters) -> Reply {
    parameters.only(&[])?;
    let mut all: Vec<(usize, SlowQuery)> = Vec::new();
    for (shard, answer) in app.ask_all(Question::SlowQueries).await?.into_iter().enumerate() {
        let Answer::SlowQueries(queries) = answer else { return Err(Problem::mixed_up()) };
        all.extend(queries.into_iter().rev().map(|query| (shard, query)));
    }
    all.sort_by_key(|(_, query)| std::cmp::Reverse(query.when_ms));
    let entry = |(shard, query): (usize, SlowQuery)| {
        // PREPAREs and changes of the schema are rare enough to share a word.
        let kind = if ["read", "range", "write", "batch"].contains(&query.kind) { query.kind } else { "other" };
        json!({
            "when": query.when_ms, "keyspace": query.keyspace, "statement": query.statement, "micros": query.micros,
            "bytes": query.bytes, "shard": shard, "client": query.client, "kind": kind,
        })
    };
    Ok(Json(all.into_iter().map(entry).collect()))
}

fn stage(name: &str, counts: [u64; 4]) -> Value {
    let [active, pending, completed, blocked] = counts;
    json!({
        "name": name, "active": active, "pending": pending, "completed": completed,
        "blocked": 0, "all_time_blocked": blocked,
    })
}

async fn stages(State(app): State<App>) -> Reply {
    let shards = figures(&app).await?;
    let sum = |of: fn(&ShardFigures) -> u64| shards.iter().map(of).sum::<u64>();
    let reads = by_kind(&shards)
        .iter()
        .filter(|(kind, _)| ["read", "range"].contains(kind))
        .map(|(_, micros)| micros.count())
        .sum();
    Ok(Json(json!([
        stage(
            "Native-Transport-Requests",
            [
                sum(|shard| shard.requests_under_way),
                0,
                sum(|shard| shard.requests) - sum(|shard| shard.requests_under_way).min(sum(|shard| shard.requests)),
                sum(|shard| shard.overloaded),
            ]
        ),
        stage("ReadStage", [sum(|shard| shard.reads_active), sum(|shard| shard.reads_waiting), reads, 0]),
        stage("MutationStage", [0, sum(|shard| shard.writes_waiting), sum(|shard| shard.mutations), 0]),
        stage(
            "MemtableFlushWriter",
            [sum(|shard| shard.flushes_active), sum(|shard| shard.flushes_waiting), sum(|shard| shard.flushes), 0,]
        ),
        stage(
            "CompactionExecutor",
            [
                sum(|shard| shard.compactions_active),
                sum(|shard| shard.compactions_waiting),
                sum(|shard| shard.compactions),
                0,
            ]
        ),
    ])))
}
