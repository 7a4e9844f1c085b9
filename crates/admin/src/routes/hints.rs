//! Hints: what `statushandoff` and its like show and set. The settings hold until the node's next start.

use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use serde_json::{Value, json};

use crate::ask::{Answer, HintSwitch, Question};
use crate::facts::{HintFacts, NodeFacts, NodeHintFacts};
use crate::json::{Json, Reply, Void};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::routes::node::node_of;
use crate::state::App;

/// Longer windows and greater throttles are misspelt.
const WINDOW_MS_MAX: u64 = 365 * 24 * 3600 * 1000;
const THROTTLE_KIB_MAX: u64 = 1 << 30;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/storage_proxy/hinted_handoff_enabled", get(is_enabled).post(enable))
        .route("/storage_proxy/max_hint_window", get(window).post(set_window))
        .route("/storage_service/hinted_handoff", post(set_throttle))
        .route("/hinted_handoff/throttle", get(throttle))
        .route("/hinted_handoff/pause", get(is_paused).post(pause))
        .route("/hinted_handoff/disabled_datacenters", get(disabled_datacenters))
        .route("/hinted_handoff/disabled_datacenters/{name}", post(disable_datacenter).delete(enable_datacenter))
        .route("/hinted_handoff/hints", get(pending).delete(remove))
}

/// The hints of all shards together.
async fn facts(app: &App) -> Result<HintFacts, Problem> {
    let mut all: Option<HintFacts> = None;
    for answer in app.ask_all(Question::Hints).await? {
        let Answer::Hints(facts) = answer else { return Err(Problem::mixed_up()) };
        match &mut all {
            Some(all) => all.merge(facts),
            None => all = Some(facts),
        }
    }
    all.ok_or_else(Problem::mixed_up)
}

async fn set(app: &App, switch: HintSwitch) -> Void {
    app.tell_all(Question::SetHints(switch)).await
}

async fn is_enabled(State(app): State<App>) -> Reply {
    Ok(Json(facts(&app).await?.is_enabled.into()))
}

async fn enable(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&["enable"])?;
    parameters.needed("enable")?;
    set(&app, HintSwitch::Enabled(parameters.flag("enable", true)?)).await
}

async fn window(State(app): State<App>) -> Reply {
    Ok(Json(facts(&app).await?.window_ms.into()))
}

async fn set_window(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&["ms"])?;
    let millis = number(&parameters, "ms", WINDOW_MS_MAX)?;
    set(&app, HintSwitch::Window(Duration::from_millis(millis))).await
}

async fn throttle(State(app): State<App>) -> Reply {
    Ok(Json((facts(&app).await?.throttle >> 10).into()))
}

async fn set_throttle(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&["throttle"])?;
    let kib = number(&parameters, "throttle", THROTTLE_KIB_MAX)?;
    set(&app, HintSwitch::Throttle(kib << 10)).await
}

fn number(parameters: &Parameters, name: &str, most: u64) -> Result<u64, Problem> {
    let text = parameters.needed(name)?;
    let number = text.parse().ok().filter(|number| *number <= most);
    number.ok_or_else(|| Problem::bad_request(format!("{name}: '{text}' is not a whole number from 0 to {most}")))
}

async fn is_paused(State(app): State<App>) -> Reply {
    Ok(Json(facts(&app).await?.is_paused.into()))
}

async fn pause(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&["pause"])?;
    parameters.needed("pause")?;
    set(&app, HintSwitch::Paused(parameters.flag("pause", true)?)).await
}

async fn disabled_datacenters(State(app): State<App>) -> Reply {
    Ok(Json(facts(&app).await?.disabled_datacenters.into()))
}

async fn disable_datacenter(State(app): State<App>, Path(name): Path<String>) -> Void {
    set(&app, HintSwitch::Datacenter { name, is_enabled: false }).await
}

async fn enable_datacenter(State(app): State<App>, Path(name): Path<String>) -> Void {
    set(&app, HintSwitch::Datacenter { name, is_enabled: true }).await
}

async fn pending(State(app): State<App>) -> Reply {
    let (node, facts) = (app.node().await?, facts(&app).await?);
    Ok(Json(facts.pending.iter().map(|pending| of_node(&node, pending)).collect()))
}

/// Hints that wait for a node; nothing but its id is known of one that left the ring.
fn of_node(node: &NodeFacts, pending: &NodeHintFacts) -> Value {
    let target = node.ring.iter().find(|node| node.host_id == pending.host_id);
    let status = target.map_or("Unknown", |target| if target.is_up { "UP" } else { "DOWN" });
    json!({
        "host_id": pending.host_id, "address": target.map(|target| target.endpoint.to_string()),
        "rack": target.map_or("Unknown", |target| &target.rack),
        "datacenter": target.map_or("Unknown", |target| &target.datacenter),
        "status": status, "files": pending.files, "bytes": pending.bytes,
        "oldest_ms": pending.oldest_ms, "newest_ms": pending.newest_ms,
    })
}

/// Of the node with this address, or of all.
async fn remove(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&["host"])?;
    let host_id = match parameters.text("host") {
        None => None,
        Some(host) => Some(node_of(&app.node().await?, Some(host))?.host_id.clone()),
    };
    set(&app, HintSwitch::Remove { host_id }).await
}
