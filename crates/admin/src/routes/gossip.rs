//! Paths of ScyllaDB's gossiper and failure detector that tell of single nodes. The facts come with heartbeats: there is no gossip, so that a single state has no version.

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use serde_json::{Value, json};

use super::node::node_of;
use crate::facts::{NodeFacts, RingNode};
use crate::json::{Json, Reply};
use crate::state::App;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/failure_detector/endpoints", get(endpoints))
        .route("/failure_detector/endpoints/", get(endpoints))
        .route("/gossiper/downtime/{endpoint}", get(downtime))
        .route("/gossiper/generation_number/{endpoint}", get(generation))
        .route("/gossiper/heart_beat_version/{endpoint}", get(heartbeats))
}

async fn endpoints(State(app): State<App>) -> Reply {
    let node = app.node().await?;
    Ok(Json(node.ring.iter().map(|member| endpoint_state(&node, member)).collect()))
}

fn endpoint_state(node: &NodeFacts, member: &RingNode) -> Value {
    let states = application_states(node, member);
    let state = |(number, value): (u8, String)| json!({"application_state": number, "value": value});
    json!({
        "addrs": member.endpoint.to_string(), "is_alive": member.is_up, "generation": generation_of(node, member),
        "version": member.life.as_ref().map(|life| life.heartbeats),
        "application_state": states.into_iter().map(state).collect::<Vec<_>>(),
    })
}

/// The states of a node that are known, by their numbers in ScyllaDB: `gms/application_state.hh`.
fn application_states(node: &NodeFacts, member: &RingNode) -> BTreeMap<u8, String> {
    const LOAD: u8 = 1;
    const SCHEMA: u8 = 2;
    const DC: u8 = 3;
    const RACK: u8 = 4;
    const INTERNAL_IP: u8 = 7;
    const RPC_ADDRESS: u8 = 8;
    const HOST_ID: u8 = 12;
    const RPC_READY: u8 = 17;
    let mut states = BTreeMap::from([
        (DC, member.datacenter.clone()),
        (RACK, member.rack.clone()),
        (HOST_ID, member.host_id.clone()),
    ]);
    if member.is_local {
        states.insert(SCHEMA, node.schema_version.clone());
        states.insert(RPC_READY, node.is_native_served.to_string());
    }
    if let Some(life) = &member.life {
        states.extend(life.load_bytes.map(|bytes| (LOAD, bytes.to_string())));
        states.extend(life.schema_version.clone().map(|version| (SCHEMA, version)));
        states.insert(INTERNAL_IP, life.internode.ip().to_string());
        states.insert(RPC_ADDRESS, life.native.ip().to_string());
        states.insert(RPC_READY, life.is_ready.to_string());
    }
    states
}

/// The start of the node's process, seconds since 1970; of another node, once it has said so.
fn generation_of(node: &NodeFacts, member: &RingNode) -> Option<u64> {
    let said = member.life.as_ref().and_then(|life| life.generation);
    said.or_else(|| member.is_local.then_some(node.generation))
}

/// For how long the node has not been up, milliseconds.
fn downtime_of(member: &RingNode) -> Option<u64> {
    if member.is_up {
        return Some(0);
    }
    member.life.as_ref().map(|life| life.since_ms)
}

/// A number about one node; `null` where it is not known.
async fn told(app: &App, endpoint: &str, number: fn(&NodeFacts, &RingNode) -> Option<u64>) -> Reply {
    let node = app.node().await?;
    let member = node_of(&node, Some(endpoint))?;
    Ok(Json(number(&node, member).into()))
}

async fn downtime(State(app): State<App>, Path(endpoint): Path<String>) -> Reply {
    told(&app, &endpoint, |_, member| downtime_of(member)).await
}

async fn generation(State(app): State<App>, Path(endpoint): Path<String>) -> Reply {
    told(&app, &endpoint, generation_of).await
}

async fn heartbeats(State(app): State<App>, Path(endpoint): Path<String>) -> Reply {
    told(&app, &endpoint, |_, member| member.life.as_ref().map(|life| life.heartbeats)).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::LifeFacts;

    fn member(is_up: bool, life: Option<LifeFacts>) -> RingNode {
        RingNode {
            is_joining: false,
            is_leaving: false,
            endpoint: [127, 0, 0, 2].into(),
            host_id: "6b0f".to_owned(),
            datacenter: "dc1".to_owned(),
            rack: "r1".to_owned(),
            tokens: vec![1],
            is_local: false,
            is_up,
            life,
        }
    }

    fn life(generation: Option<u64>) -> LifeFacts {
        LifeFacts {
            verdict: "convicted",
            since_ms: 4200,
            silence_ms: None,
            limit_ms: 2000,
            gap_ms: None,
            phi: 0.0,
            heartbeats: 17,
            is_ready: false,
            generation,
            load_bytes: generation.map(|_| 4096),
            schema_version: None,
            clock_offset_micros: None,
            internode: ([127, 0, 0, 2], 7000).into(),
            native: ([127, 0, 0, 3], 9042).into(),
        }
    }

    fn facts(ring: Vec<RingNode>) -> NodeFacts {
        NodeFacts {
            cassandra_version: "5.0.6",
            cql_version: "3.4.7",
            native_protocol_version: "5",
            partitioner: "",
            reactor: "uring",
            cluster_name: String::new(),
            snitch: "SimpleSnitch",
            schema_version: "e8f1".to_owned(),
            ring,
            keyspaces: Vec::new(),
            boot: 1,
            generation: 1_700_000_000,
            group: None,
            phi_threshold: 8.0,
            uptime_ms: 1,
            is_native_served: true,
            compaction_throughput: 0,
            trace_probability: 0.0,
            resident_bytes: None,
            cpu_micros: None,
            memory_budget: 0,
            tls: Vec::new(),
            audit: None,
        }
    }

    #[test]
    fn a_node_has_the_states_that_are_known_of_it() {
        let local = RingNode { is_local: true, ..member(true, None) };
        let node = facts(vec![local, member(false, Some(life(Some(1_800_000_000)))), member(false, Some(life(None)))]);
        let all: Vec<Value> = node.ring.iter().map(|member| endpoint_state(&node, member)).collect();
        let states = |numbers: &[(u8, &str)]| {
            let state = |(number, value): &(u8, &str)| json!({"application_state": number, "value": value});
            Value::from(numbers.iter().map(state).collect::<Vec<_>>())
        };
        assert_eq!((&all[0]["generation"], &all[0]["version"]), (&json!(1_700_000_000), &Value::Null));
        assert_eq!(
            all[0]["application_state"],
            states(&[(2, "e8f1"), (3, "dc1"), (4, "r1"), (12, "6b0f"), (17, "true")])
        );
        assert_eq!((&all[1]["generation"], &all[1]["version"]), (&json!(1_800_000_000), &json!(17)));
        let of_other =
            [(1, "4096"), (3, "dc1"), (4, "r1"), (7, "127.0.0.2"), (8, "127.0.0.3"), (12, "6b0f"), (17, "false")];
        assert_eq!(all[1]["application_state"], states(&of_other));
        // A node that was never heard has said nothing of its load.
        assert_eq!((&all[2]["generation"], &all[2]["application_state"]), (&Value::Null, &states(&of_other[1..])));
    }

    #[test]
    fn a_node_that_is_up_has_no_downtime() {
        assert_eq!(downtime_of(&member(true, Some(life(None)))), Some(0));
        assert_eq!(downtime_of(&member(false, Some(life(None)))), Some(4200));
        assert_eq!(downtime_of(&member(false, None)), None);
    }
}
