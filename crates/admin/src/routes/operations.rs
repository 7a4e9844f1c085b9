//! Operations that move token ranges: a list, and an abort.

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use serde_json::json;

use crate::ask::{Answer, Question};
use crate::json::{Json, Reply};
use crate::problem::Problem;
use crate::state::App;

pub(super) fn routes() -> Router<App> {
    Router::new().route("/helenus/operations", get(facts)).route("/helenus/operations/{number}/abort", post(abort))
}

async fn facts(State(app): State<App>) -> Reply {
    let Answer::Operations(facts) = app.ask(0, Question::Operations).await? else { return Err(Problem::mixed_up()) };
    let operation = |of: &crate::facts::OperationFacts| {
        json!({
            "number": of.number, "kind": of.kind, "phase": of.phase, "nodes": of.nodes, "copied": of.copied, "waits_for": of.waits_for,
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
