//! Operations that move token ranges: a list, an abort, and a node's copy of its own ranges.

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
        .route("/storage_service/rebuild", post(rebuild))
}

async fn facts(State(app): State<App>) -> Reply {
    let Answer::Operations(facts) = app.ask(0, Question::Operations).await? else { return Err(Problem::mixed_up()) };
    let operation = |of: &crate::facts::OperationFacts| {
        json!({
            "number": of.number, "kind": of.kind, "phase": of.phase, "nodes": of.nodes, "keyspace": of.keyspace, "copied": of.copied, "waits_for": of.waits_for,
        })
    };
    let operations: Vec<_> = facts.operations.iter().map(operation).collect();
    Ok(Json(json!({"operations": operations, "unclean": facts.unclean})))
}

async fn abort(State(app): State<App>, Path(number): Path<String>) -> Reply {
    let wrong = || Problem::bad_request(format!("'{number}' is not the number of an operation"));
    let number: u64 = number.parse().map_err(|_| wrong())?;
    app.ask(0, Question::AbortOperation(number)).await?;
    Ok(Json(json!(null)))
}

async fn rebuild(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&["source_dc"])?;
    let datacenter = parameters.text("source_dc").map(str::to_owned);
    app.ask(0, Question::Rebuild { datacenter }).await.map(|_| ())
}
