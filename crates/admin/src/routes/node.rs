//! The node and its ring: what `status`, `info`, `describecluster` and `version` show.

use std::collections::BTreeMap;
use std::net::IpAddr;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{MethodRouter, get, post};
use serde_json::{Value, json};

use crate::ask::{Answer, Question, ask};
use crate::facts::{NodeFacts, ProcessFacts, RingNode, ShardFigures, TableName};
use crate::json::{Json, Reply, Void, pair};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::state::{App, Mode};

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/helenus/version", get(version))
        .route("/storage_service/release_version", of_node(|node| node.cassandra_version.into()))
        .route("/storage_service/cluster_name", of_node(|node| node.cluster_name.clone().into()))
        .route("/storage_service/partitioner_name", of_node(|node| node.partitioner.into()))
        .route("/snitch/name", of_node(|node| node.snitch.into()))
        .route("/snitch/datacenter", get(datacenter))
        .route("/snitch/rack", get(rack))
        .route("/storage_service/hostid/local", of_node(|node| node.local().host_id.clone().into()))
        .route("/storage_service/host_id", of_ring(|node| pair(endpoint(node), node.host_id.clone())))
        .route("/storage_service/tokens", of_node(|node| tokens(node.local())))
        .route("/storage_service/tokens/{endpoint}", get(tokens_of))
        .route("/storage_service/tokens_endpoint", of_node(tokens_endpoint))
        .route("/storage_service/ownership", of_node(|node| ownership(node, None)))
        .route("/storage_service/ownership/", of_node(|node| ownership(node, None)))
        .route("/storage_service/ownership/{keyspace}", get(ownership_of))
        .route("/storage_service/natural_endpoints/{keyspace}", get(natural_endpoints))
        .route("/gossiper/endpoint/live", of_node(|node| endpoints(node, true)))
        .route("/gossiper/endpoint/live/", of_node(|node| endpoints(node, true)))
        .route("/gossiper/endpoint/down", of_node(|node| endpoints(node, false)))
        .route("/gossiper/endpoint/down/", of_node(|node| endpoints(node, false)))
        .route("/storage_service/nodes/joining", of_node(joining))
        .route("/storage_service/nodes/leaving", of_node(leaving))
        .route("/storage_service/nodes/moving", get(nobody))
        .route("/storage_service/load", get(load))
        .route("/storage_service/load_map", get(load_map))
        .route("/storage_service/schema_version", of_node(|node| node.schema_version.clone().into()))
        .route("/storage_proxy/schema_versions", of_node(schema_versions))
        .route("/storage_service/keyspaces", get(keyspaces))
        .route("/storage_service/operation_mode", get(operation_mode))
        .route("/storage_service/is_starting", get(is_starting))
        .route("/storage_service/is_initialized", of_node(|_| true.into()))
        .route("/storage_service/join_ring", of_node(|_| true.into()))
        .route("/storage_service/native_transport", of_node(|node| node.is_native_served.into()))
        .route("/storage_service/rpc_server", of_node(|_| false.into()))
        .route("/storage_service/gossiping", of_node(|_| false.into()))
        .route("/storage_service/generation_number", of_node(|node| node.generation.into()))
        .route("/system/uptime_ms", of_node(|node| node.uptime_ms.into()))
        .route("/storage_service/metrics/exceptions", get(exceptions))
        .route("/helenus/memory", get(memory))
        .route("/helenus/tls/reload", post(reload_tls))
        .route("/helenus/keyspaces", of_node(replications))
        .route("/storage_service/logging_level", get(logging_level).post(set_logging_level))
        .route("/storage_service/trace_probability", get(trace_probability).post(set_trace_probability))
}

/// A path that tells something of the node.
fn of_node(tell: fn(&NodeFacts) -> Value) -> MethodRouter<App> {
    get(move |State(app): State<App>| async move { app.node().await.map(|node| Json(tell(&node))) })
}

/// A path that tells something of each node of the ring.
fn of_ring(tell: fn(&RingNode) -> Value) -> MethodRouter<App> {
    get(move |State(app): State<App>| async move {
        let node = app.node().await?;
        Ok::<_, Problem>(Json(node.ring.iter().map(tell).collect()))
    })
}

async fn version(State(app): State<App>) -> Reply {
    let node = app.node().await?;
    Ok(Json(json!({
        "helenus": app.version(), "cassandra": node.cassandra_version, "cql": node.cql_version,
        "native_protocol": node.native_protocol_version, "reactor": node.reactor, "shards": app.questions().shard_count(),
    })))
}

fn endpoint(node: &RingNode) -> String {
    node.endpoint.to_string()
}

/// The node of the parameter `host`, or else this one.
pub(super) fn node_of<'a>(node: &'a NodeFacts, host: Option<&str>) -> Result<&'a RingNode, Problem> {
    let Some(host) = host else { return Ok(node.local()) };
    let address: IpAddr = host.parse().map_err(|_| Problem::bad_request(format!("'{host}' is not a node address")))?;
    let found = node.ring.iter().find(|other| other.endpoint == address);
    found.ok_or_else(|| Problem::not_found(format!("no node in the ring has the address {address}")))
}

async fn datacenter(State(app): State<App>, parameters: Parameters) -> Reply {
    parameters.only(&["host"])?;
    Ok(Json(node_of(&app.node().await?, parameters.text("host"))?.datacenter.clone().into()))
}

async fn rack(State(app): State<App>, parameters: Parameters) -> Reply {
    parameters.only(&["host"])?;
    Ok(Json(node_of(&app.node().await?, parameters.text("host"))?.rack.clone().into()))
}

fn tokens(node: &RingNode) -> Value {
    node.tokens.iter().map(i64::to_string).collect::<Vec<_>>().into()
}

async fn tokens_of(State(app): State<App>, Path(host): Path<String>) -> Reply {
    Ok(Json(tokens(node_of(&app.node().await?, Some(&host))?)))
}

fn tokens_endpoint(node: &NodeFacts) -> Value {
    let mut all: Vec<(i64, String)> =
        node.ring.iter().flat_map(|node| node.tokens.iter().map(|token| (*token, endpoint(node)))).collect();
    all.sort();
    all.into_iter().map(|(token, endpoint)| pair(token.to_string(), endpoint)).collect()
}

/// The part of the ring that each node owns: what lies between its tokens and those before them.
fn ownership(node: &NodeFacts, replicated: Option<&[f64]>) -> Value {
    let parts = match replicated {
        Some(parts) => parts.to_vec(),
        None => primary_parts(&node.ring),
    };
    node.ring.iter().zip(parts).map(|(node, part)| pair(endpoint(node), part.to_string())).collect()
}

fn primary_parts(ring: &[RingNode]) -> Vec<f64> {
    let mut owners: Vec<(i64, usize)> = Vec::new();
    for (index, node) in ring.iter().enumerate() {
        owners.extend(node.tokens.iter().map(|token| (*token, index)));
    }
    owners.sort_unstable();
    // Summed as tokens: parts as floating-point numbers would not add up to the whole.
    let mut spans = vec![0u128; ring.len()];
    if let Some((mut before, _)) = owners.last().copied() {
        for (token, owner) in &owners {
            // One token alone owns the whole ring, which a difference of 0 stands for.
            let span = token.wrapping_sub(before) as u64;
            spans[*owner] += if span == 0 { 1 << 64 } else { u128::from(span) };
            before = *token;
        }
    }
    spans.into_iter().map(|span| span as f64 / 2f64.powi(64)).collect()
}

async fn ownership_of(State(app): State<App>, Path(keyspace): Path<String>) -> Reply {
    let node = app.node().await?;
    let found = node.keyspace(&keyspace);
    let found = found.ok_or_else(|| Problem::not_found(format!("keyspace '{keyspace}' does not exist")))?;
    Ok(Json(ownership(&node, Some(&found.ownership))))
}

async fn natural_endpoints(State(app): State<App>, Path(keyspace): Path<String>, parameters: Parameters) -> Reply {
    parameters.only(&["cf", "key"])?;
    let table = TableName { keyspace, table: parameters.needed("cf")?.to_owned() };
    let key = parameters.needed("key")?.to_owned();
    match ask(app.questions(), 0, Question::Endpoints { table, key }).await? {
        Answer::Endpoints(endpoints) => Ok(Json(endpoints.iter().map(ToString::to_string).collect())),
        _ => Err(Problem::mixed_up()),
    }
}

fn endpoints(node: &NodeFacts, is_up: bool) -> Value {
    node.ring.iter().filter(|node| node.is_up == is_up).map(endpoint).collect::<Vec<_>>().into()
}

fn leaving(node: &NodeFacts) -> Value {
    node.ring.iter().filter(|node| node.is_leaving).map(endpoint).collect::<Vec<_>>().into()
}

fn joining(node: &NodeFacts) -> Value {
    node.ring.iter().filter(|node| node.is_joining).map(endpoint).collect::<Vec<_>>().into()
}

/// No node moves.
async fn nobody() -> Reply {
    Ok(Json(json!([])))
}

/// The nodes by the version of their schema; those that are down are `UNREACHABLE`, as in Cassandra, and so is one that has not said yet.
fn schema_versions(node: &NodeFacts) -> Value {
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for member in &node.ring {
        let said = member.life.as_ref().filter(|_| member.is_up).and_then(|life| life.schema_version.clone());
        let version = if member.is_local { Some(node.schema_version.clone()) } else { said };
        versions.entry(version.unwrap_or_else(|| "UNREACHABLE".to_owned())).or_default().push(endpoint(member));
    }
    versions.into_iter().map(|(version, nodes)| pair(version, nodes)).collect()
}

async fn keyspaces(State(app): State<App>, parameters: Parameters) -> Reply {
    parameters.only(&["type"])?;
    let node = app.node().await?;
    let kind = parameters.text("type").unwrap_or("all");
    let is_meant = |keyspace: &&crate::facts::KeyspaceFacts| match kind {
        "user" => !keyspace.is_system,
        "non_local_strategy" => !keyspace.is_local,
        _ => true,
    };
    if !matches!(kind, "all" | "user" | "non_local_strategy") {
        return Err(Problem::bad_request(format!("type: '{kind}' is none of all, user and non_local_strategy")));
    }
    Ok(Json(node.keyspaces.iter().filter(is_meant).map(|keyspace| keyspace.name.clone()).collect::<Vec<_>>().into()))
}

fn replications(node: &NodeFacts) -> Value {
    let keyspace = |keyspace: &crate::facts::KeyspaceFacts| json!({"name": keyspace.name, "is_system": keyspace.is_system, "replication": keyspace.replication});
    node.keyspaces.iter().map(keyspace).collect()
}

async fn operation_mode(State(app): State<App>) -> Reply {
    let mode = match mode(&app) {
        "NORMAL" if app.node().await?.local().is_leaving => "LEAVING",
        "NORMAL" if app.node().await?.local().is_joining => "JOINING",
        mode => mode,
    };
    Ok(Json(Value::from(mode)))
}

/// What the node is about to do, in Cassandra's words.
pub(super) fn mode(app: &App) -> &'static str {
    match app.mode() {
        Mode::Draining => "DRAINING",
        Mode::Drained => "DRAINED",
        Mode::Normal if app.questions().is_open() => "NORMAL",
        Mode::Normal => "STARTING",
    }
}

async fn is_starting(State(app): State<App>) -> Reply {
    Ok(Json(Value::from(!app.questions().is_open())))
}

/// All shards' counters.
pub(crate) async fn figures(app: &App) -> Result<Vec<ShardFigures>, Problem> {
    let answers = app.ask_all(Question::Figures).await?;
    answers
        .into_iter()
        .map(|answer| match answer {
            Answer::Figures(figures) => Ok(*figures),
            _ => Err(Problem::mixed_up()),
        })
        .collect()
}

async fn live_bytes(app: &App) -> Result<f64, Problem> {
    Ok(figures(app).await?.iter().map(|shard| shard.disk_bytes as f64).sum())
}

async fn load(State(app): State<App>) -> Reply {
    Ok(Json(live_bytes(&app).await?.into()))
}

async fn load_map(State(app): State<App>) -> Reply {
    let (node, bytes) = (app.node().await?, live_bytes(&app).await?);
    let load = |member: &RingNode| match member.is_local {
        true => Some(bytes),
        false => member.life.as_ref()?.load_bytes.map(|bytes| bytes as f64),
    };
    let known = |member: &RingNode| Some(pair(endpoint(member), load(member)?));
    Ok(Json(node.ring.iter().filter_map(known).collect()))
}

async fn exceptions(State(app): State<App>) -> Reply {
    let all = figures(&app).await?;
    let errors = all.iter().flat_map(|shard| &shard.errors).filter(|(name, _)| *name == "server_error");
    Ok(Json(errors.map(|(_, count)| count).sum::<u64>().into()))
}

async fn memory(State(app): State<App>) -> Reply {
    let (process, all) = (app.process().await?, figures(&app).await?);
    Ok(Json(memory_of(&process, &all)))
}

/// What the memory is used for.
pub(super) fn memory_of(process: &ProcessFacts, all: &[ShardFigures]) -> Value {
    let sum = |of: fn(&ShardFigures) -> u64| all.iter().map(of).sum::<u64>();
    json!({
        "resident": process.resident_bytes,
        "budget": process.memory_budget,
        "memtables": {"used": sum(|shard| shard.memtable_bytes), "budget": sum(|shard| shard.memtable_budget)},
        "index_pages": {
            "used": sum(|shard| shard.page_bytes), "budget": sum(|shard| shard.page_bytes_max),
            "hits": sum(|shard| shard.page_hits), "misses": sum(|shard| shard.index_reads),
        },
        "rows": {
            "used": sum(|shard| shard.row_bytes), "budget": sum(|shard| shard.row_bytes_max),
            "hits": sum(|shard| shard.row_hits), "misses": sum(|shard| shard.row_misses),
        },
        "files": sum(|shard| shard.file_memory_bytes),
    })
}

async fn logging_level(State(app): State<App>) -> Reply {
    Ok(Json(json!([pair("root", (app.log_level().get)().to_string())])))
}

async fn set_logging_level(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&["class_qualifier", "level"])?;
    if let Some(name) = parameters.text("class_qualifier").filter(|name| *name != "root") {
        return Err(Problem::not_found(format!("unknown logger '{name}': the only logger is root")));
    }
    let level = parameters.needed("level")?;
    let level = level
        .parse()
        .map_err(|_| Problem::bad_request(format!("level: '{level}' is none of error, warn, info, debug and trace")))?;
    match (app.log_level().set)(level) {
        true => Ok(()),
        false => Err(Problem::failed("cannot change the log level")),
    }
}

async fn reload_tls(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&[])?;
    app.tell_all(Question::ReloadTls).await
}

async fn trace_probability(State(app): State<App>, parameters: Parameters) -> Reply {
    parameters.only(&[])?;
    Ok(Json(app.node().await?.trace_probability.into()))
}

async fn set_trace_probability(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&["probability"])?;
    let text = parameters.needed("probability")?;
    match text.parse::<f64>() {
        Ok(probability) if (0.0..=1.0).contains(&probability) => {
            app.tell_all(Question::SetTraceProbability(probability)).await
        }
        _ => Err(Problem::bad_request(format!("probability: '{text}' is not a number from 0 to 1"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(tokens: &[i64]) -> RingNode {
        RingNode {
            endpoint: IpAddr::from([127, 0, 0, 1]),
            host_id: String::new(),
            datacenter: String::new(),
            rack: String::new(),
            tokens: tokens.to_vec(),
            is_local: true,
            is_up: true,
            is_joining: false,
            is_leaving: false,
            life: None,
        }
    }

    #[test]
    fn nodes_own_what_lies_before_their_tokens() {
        assert_eq!(primary_parts(&[node(&[42])]), [1.0]);
        assert_eq!(primary_parts(&[node(&[0]), node(&[i64::MIN])]), [0.5, 0.5]);
        let quarters = primary_parts(&[node(&[0, i64::MIN]), node(&[1 << 62])]);
        assert_eq!(quarters, [0.75, 0.25]);
        // Of many tokens all are the whole, to the last digit.
        let uneven: Vec<i64> = (0..16).map(|token: i64| token.wrapping_mul(0x2545_F491_4F6C_DD1D)).collect();
        assert_eq!(primary_parts(&[node(&uneven)]), [1.0]);
        assert_eq!(primary_parts(&[]), Vec::<f64>::new());
    }
}
