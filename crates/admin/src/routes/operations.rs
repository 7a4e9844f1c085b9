//! Operations that move token ranges: a list, an abort, a node's copy of its own ranges, and another token for a node.

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use serde_json::json;

use crate::ask::{Answer, Question};
use crate::json::{Json, Reply, Void};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::state::App;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/helenus/operations", get(facts))
        .route("/helenus/operations/{number}/abort", post(abort))
        .route("/helenus/streams", get(streams))
        .route("/storage_service/rebuild", post(rebuild))
        .route("/storage_service/move", post(exchange_token))
}

async fn facts(State(app): State<App>) -> Reply {
    let Answer::Operations(facts) = app.ask(0, Question::Operations).await? else { return Err(Problem::mixed_up()) };
    let operation = |of: &crate::facts::OperationFacts| {
        json!({
            "number": of.number, "kind": of.kind, "phase": of.phase, "nodes": of.nodes, "replaced": of.replaced, "keyspace": of.keyspace, "copied": of.copied, "lost": of.lost, "waits_for": of.waits_for,
        })
    };
    let operations: Vec<_> = facts.operations.iter().map(operation).collect();
    Ok(Json(json!({"operations": operations, "unclean": facts.unclean})))
}

/// Of all shards.
async fn streams(State(app): State<App>) -> Reply {
    let (mut open, mut copying) = (0u64, None);
    for answer in app.ask_all(Question::Streams).await? {
        let Answer::Streams(facts) = answer else { return Err(Problem::mixed_up()) };
        open = open.saturating_add(facts.open);
        copying = copying.or(facts.copying);
    }
    let copying = copying.map(|of| {
        json!({
            "operation": of.operation, "part": of.part, "rows": of.rows, "bytes": of.bytes, "files": of.files, "elapsed_ms": of.elapsed_ms,
        })
    });
    Ok(Json(json!({"open": open, "copying": copying})))
}

async fn abort(State(app): State<App>, Path(number): Path<String>) -> Reply {
    let wrong = || Problem::bad_request(format!("'{number}' is not the number of an operation"));
    let number: u64 = number.parse().map_err(|_| wrong())?;
    app.ask(0, Question::AbortOperation(number)).await?;
    Ok(Json(json!(null)))
}

async fn exchange_token(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&["new_token"])?;
    let token = parameters.text("new_token").and_then(|text| text.parse().ok());
    let token = token.ok_or_else(|| Problem::bad_request("new_token is a number from -2^63 to 2^63 - 1"))?;
    app.ask(0, Question::Move { token }).await.map(|_| ())
}

async fn rebuild(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&["source_dc"])?;
    let datacenter = parameters.text("source_dc").map(str::to_owned);
    app.ask(0, Question::Rebuild { datacenter }).await.map(|_| ())
}
