//! Liveness and the metadata group: what `failuredetector`, `gossipinfo` and `cms describe` show.

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use serde_json::{Value, json};

use crate::ask::{Answer, Question};
use crate::facts::{LifeFacts, NodeFacts, RingNode};
use crate::json::{Json, Reply, pair};
use crate::problem::Problem;
use crate::state::App;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/helenus/nodes", get(nodes))
        .route("/helenus/answer_times", get(answer_times))
        .route("/helenus/metadata_group", get(group))
        .route("/failure_detector/phi", get(threshold))
        .route("/failure_detector/endpoint_phi_values", get(phi_values))
        .route("/failure_detector/simple_states", get(states))
        .route("/failure_detector/count/endpoint/up", get(count_up))
        .route("/failure_detector/count/endpoint/down", get(count_down))
}

async fn nodes(State(app): State<App>) -> Reply {
    Ok(Json(app.node().await?.ring.iter().map(of_node).collect()))
}

/// In the mean of the shards that have asked a node.
async fn answer_times(State(app): State<App>) -> Reply {
    let mut of_shards: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for answer in app.ask_all(Question::AnswerTimes).await? {
        let Answer::AnswerTimes(times) = answer else { return Err(Problem::mixed_up()) };
        for (host_id, micros) in times {
            of_shards.entry(host_id).or_default().push(micros);
        }
    }
    let mean = |times: &[u64]| times.iter().sum::<u64>() / times.len() as u64;
    let of_node = |(host_id, times): (&String, &Vec<u64>)| json!({"host_id": host_id, "micros": mean(times)});
    Ok(Json(of_shards.iter().map(of_node).collect()))
}

fn of_node(node: &RingNode) -> Value {
    json!({
        "endpoint": node.endpoint.to_string(), "host_id": node.host_id, "datacenter": node.datacenter, "rack": node.rack,
        "is_local": node.is_local, "is_up": node.is_up, "state": state(node), "tokens": node.tokens.len(), "life": node.life.as_ref().map(of_life),
    })
}

fn state(node: &RingNode) -> &'static str {
    match node {
        RingNode { is_leaving: true, .. } => "LEAVING",
        RingNode { is_joining: true, .. } => "JOINING",
        _ => "NORMAL",
    }
}

fn of_life(life: &LifeFacts) -> Value {
    json!({
        "verdict": life.verdict, "since_ms": life.since_ms, "silence_ms": life.silence_ms, "limit_ms": life.limit_ms,
        "longest_gap_ms": life.gap_ms, "phi": life.phi, "heartbeats": life.heartbeats, "is_ready": life.is_ready,
        "generation": life.generation, "load_bytes": life.load_bytes, "schema_version": life.schema_version,
        "clock_offset_us": life.clock_offset_micros.map(|(offset, _)| offset),
        "clock_error_us": life.clock_offset_micros.map(|(_, error)| error),
        "internode": life.internode.to_string(), "native": life.native.to_string(),
    })
}

async fn group(State(app): State<App>) -> Reply {
    let node = app.node().await?;
    let Some(group) = &node.group else {
        return Err(Problem::not_found("this node is alone: its metadata has no other member"));
    };
    Ok(Json(json!({
        "id": group.id, "incarnation": group.incarnation, "epoch": group.epoch, "pending": group.pending,
        "term": group.term,
        "voters": group.voters.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "leader": group.leader.map(|leader| leader.to_string()),
        "is_voter": group.is_voter, "is_changing": group.is_changing, "lagging": group.lagging,
    })))
}

async fn threshold(State(app): State<App>) -> Reply {
    Ok(Json(app.node().await?.phi_threshold.to_string().into()))
}

fn others(node: &NodeFacts) -> impl Iterator<Item = &RingNode> {
    node.ring.iter().filter(|node| !node.is_local)
}

async fn phi_values(State(app): State<App>) -> Reply {
    let node = app.node().await?;
    let phi = |node: &RingNode| Some(json!({"endpoint": node.endpoint.to_string(), "phi": node.life.as_ref()?.phi}));
    Ok(Json(others(&node).filter_map(phi).collect()))
}

async fn states(State(app): State<App>) -> Reply {
    let node = app.node().await?;
    let state = |node: &RingNode| pair(node.endpoint.to_string(), if node.is_up { "UP" } else { "DOWN" });
    Ok(Json(node.ring.iter().map(state).collect()))
}

async fn count_up(State(app): State<App>) -> Reply {
    count(&app, true).await
}

async fn count_down(State(app): State<App>) -> Reply {
    count(&app, false).await
}

async fn count(app: &App, is_up: bool) -> Reply {
    Ok(Json(app.node().await?.ring.iter().filter(|node| node.is_up == is_up).count().into()))
}
