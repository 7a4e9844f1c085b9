//! The row cache, as ScyllaDB's `/cache_service` tells of it.

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use serde_json::Value;

use super::node::figures;
use crate::facts::ShardFigures;
use crate::json::{Json, Reply};
use crate::problem::Problem;
use crate::state::App;

pub(super) fn routes() -> Router<App> {
    Router::new().route("/cache_service/metrics/row/{figure}", get(row))
}

async fn row(State(app): State<App>, Path(figure): Path<String>) -> Reply {
    let shards = figures(&app).await?;
    let sum = |of: fn(&ShardFigures) -> u64| shards.iter().map(of).sum::<u64>();
    let (hits, requests) = (sum(|shard| shard.row_hits), sum(|shard| shard.row_hits + shard.row_misses));
    let value = match figure.as_str() {
        "capacity" => sum(|shard| shard.row_bytes_max).into(),
        "size" => sum(|shard| shard.row_bytes).into(),
        "entries" => sum(|shard| shard.row_entries).into(),
        "hits" => hits.into(),
        "requests" => requests.into(),
        // Of no requests there is none.
        "hit_rate" if requests == 0 => Value::Null,
        "hit_rate" => (hits as f64 / requests as f64).into(),
        _ => return Err(Problem::not_found(format!("unknown row cache metric '{figure}'"))),
    };
    Ok(Json(value))
}
