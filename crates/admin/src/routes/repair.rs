//! Repairs: begun by one request, asked about by others. And the rate at which data is copied to other nodes.

use std::net::IpAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use serde_json::{Value, json};

use crate::ask::{Answer, Question, RepairOrder, RepairTerms};
use crate::facts::RepairFacts;
use crate::json::{Json, Reply, Void};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::state::App;

/// The longest that a request for a repair's lines waits.
const WAIT_MS_MAX: u64 = 10_000;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/storage_service/repair_async/{keyspace}", get(state).post(begin))
        .route("/storage_service/active_repair", get(running))
        .route("/helenus/repair/{number}", get(lines))
        .route("/storage_service/stream_throughput", get(throughput).post(set_throughput))
}

/// ScyllaDB's parameters; those of Cassandra's that change nothing here are accepted.
async fn begin(State(app): State<App>, Path(keyspace): Path<String>, parameters: Parameters) -> Reply {
    parameters.only(&[
        "primaryRange",
        "columnFamilies",
        "dataCenters",
        "hosts",
        "startToken",
        "endToken",
        "incremental",
        "parallelism",
        "jobThreads",
    ])?;
    if parameters.flag("incremental", false)? {
        return Err(Problem::bad_request("incremental repair is not supported: every repair is full"));
    }
    let node = app.node().await?;
    let found = node.keyspace(&keyspace);
    let found = found.ok_or_else(|| Problem::not_found(format!("keyspace '{keyspace}' does not exist")))?;
    if found.is_local {
        return Err(Problem::bad_request(format!("keyspace '{keyspace}' is local to each node: nothing to repair")));
    }
    let tables = crate::state::chosen(&node, &keyspace, &parameters.names("columnFamilies"))?;
    let hosts: Result<Vec<IpAddr>, Problem> = parameters.names("hosts").iter().map(|host| address(host)).collect();
    let range = match (token(&parameters, "startToken")?, token(&parameters, "endToken")?) {
        (None, None) => None,
        (Some(start), Some(end)) if start == end => {
            return Err(Problem::bad_request("Start and end tokens must be different."));
        }
        (Some(start), Some(end)) => Some((start, end)),
        _ => return Err(Problem::bad_request("startToken and endToken must be given together")),
    };
    let terms = RepairTerms {
        keyspace,
        tables,
        is_primary: parameters.flag("primaryRange", false)?,
        range,
        datacenters: parameters.names("dataCenters"),
        hosts: hosts?,
    };
    match app.ask(0, Question::Repair(RepairOrder::Begin(terms))).await? {
        Answer::RepairBegun(number) => Ok(Json(number.unwrap_or(0).into())),
        _ => Err(Problem::mixed_up()),
    }
}

fn token(parameters: &Parameters, name: &str) -> Result<Option<i64>, Problem> {
    let wrong = |text: &str| Problem::bad_request(format!("{name}: '{text}' is not a token"));
    parameters.text(name).map(|text| text.parse().map_err(|_| wrong(text))).transpose()
}

fn address(text: &str) -> Result<IpAddr, Problem> {
    text.parse().map_err(|_| Problem::bad_request(format!("Unknown host specified {text}")))
}

async fn facts(app: &App, number: &str, from: usize, wait: Duration) -> Result<RepairFacts, Problem> {
    let unknown = || Problem::bad_request(format!("unknown repair id {number}"));
    let number = number.parse().map_err(|_| unknown())?;
    match app.ask(0, Question::Repair(RepairOrder::Status { number, from, wait })).await? {
        Answer::Repair(facts) => Ok(*facts),
        _ => Err(Problem::mixed_up()),
    }
}

/// The keyspace is part of the path in ScyllaDB; numbers are the node's, whatever it is.
async fn state(State(app): State<App>, Path(_): Path<String>, parameters: Parameters) -> Reply {
    parameters.only(&["id"])?;
    Ok(Json(facts(&app, parameters.needed("id")?, usize::MAX, Duration::ZERO).await?.state.into()))
}

async fn running(State(app): State<App>, parameters: Parameters) -> Reply {
    parameters.only(&[])?;
    match app.ask(0, Question::Repair(RepairOrder::Running)).await? {
        Answer::RunningRepairs(numbers) => Ok(Json(numbers.into())),
        _ => Err(Problem::mixed_up()),
    }
}

async fn lines(State(app): State<App>, Path(number): Path<String>, parameters: Parameters) -> Reply {
    parameters.only(&["from", "wait_ms"])?;
    let from = whole(&parameters, "from", u64::from(u32::MAX))?;
    let wait = Duration::from_millis(whole(&parameters, "wait_ms", WAIT_MS_MAX)?);
    let facts = facts(&app, &number, usize::try_from(from).unwrap_or(usize::MAX), wait).await?;
    let lines: Vec<Value> = facts.lines.iter().map(|(at, text)| json!({"at_ms": at, "text": text})).collect();
    Ok(Json(json!({
        "state": facts.state, "error": facts.error, "lines": lines,
        "units_done": facts.units_done, "units": facts.units, "rows": facts.rows, "bytes": facts.bytes,
        "files": facts.files,
    })))
}

/// Bytes a second of all shards; 0: no limit.
async fn throughput(State(app): State<App>) -> Reply {
    let mut all = 0u64;
    for answer in app.ask_all(Question::StreamThroughput).await? {
        let Answer::Rate(bytes) = answer else { return Err(Problem::mixed_up()) };
        all = all.saturating_add(bytes);
    }
    Ok(Json(all.into()))
}

async fn set_throughput(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&["value"])?;
    parameters.needed("value")?;
    let bytes = whole(&parameters, "value", 1 << 50)?;
    app.tell_all(Question::SetStreamThroughput(bytes)).await
}

fn whole(parameters: &Parameters, name: &str, most: u64) -> Result<u64, Problem> {
    let Some(text) = parameters.text(name) else { return Ok(0) };
    let number = text.parse().ok().filter(|number| *number <= most);
    number.ok_or_else(|| Problem::bad_request(format!("{name}: '{text}' is not a whole number from 0 to {most}")))
}
