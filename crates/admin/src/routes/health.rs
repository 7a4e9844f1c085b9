//! Whether the process runs, and whether it serves.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use serde_json::json;

use crate::json::{Json, Reply};
use crate::problem::Problem;
use crate::state::{App, Mode};

pub(super) fn routes() -> Router<App> {
    Router::new().route("/health", get(health)).route("/ready", get(ready))
}

async fn health() -> Reply {
    Ok(Json(json!({"status": "up"})))
}

async fn ready(State(app): State<App>) -> Reply {
    match app.mode() {
        // Shard 0 knows whether the process was told to end, and refuses clients from then on.
        Mode::Normal if app.node().await?.is_native_served => Ok(Json(json!({"status": "ready"}))),
        Mode::Normal => Err(Problem::unavailable("the node is shutting down")),
        Mode::Draining => Err(Problem::unavailable("the node is being drained")),
        Mode::Drained => Err(Problem::unavailable("the node is drained")),
    }
}
