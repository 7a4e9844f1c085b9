//! The audit log: what `getauditlog` shows, and `enableauditlog` and `disableauditlog` change, until the node's next start. Of the path ScyllaDB has none.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use serde_json::{Map, Value};

use crate::ask::{Answer, AuditOrder, Question};
use crate::json::{Json, Reply, Void};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::state::App;

/// The options that may be given; the folder is the configuration's alone.
const OPTIONS: [&str; 13] = [
    "logger",
    "included_keyspaces",
    "excluded_keyspaces",
    "included_categories",
    "excluded_categories",
    "included_users",
    "excluded_users",
    "roll_cycle",
    "block",
    "max_queue_weight",
    "max_log_size",
    "archive_command",
    "max_archive_retries",
];

pub(super) fn routes() -> Router<App> {
    Router::new().route("/storage_service/audit_log", get(show).post(enable).delete(disable))
}

async fn show(State(app): State<App>, parameters: Parameters) -> Reply {
    parameters.only(&[])?;
    let Answer::Audit(facts) = app.ask(0, Question::Audit(AuditOrder::Show)).await? else {
        return Err(Problem::mixed_up());
    };
    let mut all = Map::new();
    all.insert("enabled".to_owned(), facts.is_on.into());
    all.extend(facts.options.into_iter().map(|(name, value)| (name, Value::String(value))));
    Ok(Json(Value::Object(all)))
}

async fn enable(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&OPTIONS)?;
    let given = OPTIONS.iter().filter_map(|name| Some(((*name).to_owned(), parameters.given(name)?.to_owned())));
    app.tell_all(Question::Audit(AuditOrder::Enable(given.collect()))).await
}

async fn disable(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&[])?;
    app.tell_all(Question::Audit(AuditOrder::Disable)).await
}
