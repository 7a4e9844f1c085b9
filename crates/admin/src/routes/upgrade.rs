//! The end of an upgrade: `upgrade status` and `upgrade finalize`.

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use serde_json::json;

use crate::ask::{Answer, Question};
use crate::json::{Json, Reply};
use crate::problem::Problem;
use crate::state::App;

pub(super) fn routes() -> Router<App> {
    Router::new().route("/helenus/upgrade", get(facts)).route("/helenus/upgrade/finalize", post(finalize))
}

async fn facts(State(app): State<App>) -> Reply {
    let Answer::Upgrade(facts) = app.ask(0, Question::Upgrade).await? else { return Err(Problem::mixed_up()) };
    let nodes = facts
        .nodes
        .iter()
        .map(|node| json!({"endpoint": node.endpoint.to_string(), "release": node.release, "lacks": node.lacks}));
    Ok(Json(json!({"enabled": facts.enabled, "waiting": facts.waiting, "nodes": nodes.collect::<Vec<_>>()})))
}

async fn finalize(State(app): State<App>) -> Reply {
    app.ask(0, Question::FinalizeUpgrade).await?;
    Ok(Json(json!(null)))
}
