//! Which partitions are read and written most while somebody looks: toppartitions.

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use serde_json::{Value, json};
use tokio::sync::OwnedMutexGuard;

use crate::ask::{Answer, Question};
use crate::facts::{SampledFacts, SampledPartition, TableName};
use crate::json::{Json, Reply};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::state::{App, chosen};

/// A day.
const DURATION_MS_MAX: u64 = 86_400_000;
const LIST_SIZE: u64 = 10;
const CAPACITY: u64 = 256;
const CAPACITY_MAX: u64 = 1024;

pub(super) fn routes() -> Router<App> {
    Router::new().route("/storage_service/toppartitions", get(top)).route("/storage_service/toppartitions/", get(top))
}

fn number(parameters: &Parameters, name: &str, default: u64, max: u64) -> Result<u64, Problem> {
    let Some(text) = parameters.text(name) else { return Ok(default) };
    let number = text.parse::<u64>().ok().filter(|number| (1..=max).contains(number));
    number.ok_or_else(|| Problem::bad_request(format!("{name}: '{text}' is not a whole number from 1 to {max}")))
}

async fn top(State(app): State<App>, parameters: Parameters) -> Reply {
    parameters.only(&["duration", "list_size", "capacity", "table_filters", "keyspace_filters"])?;
    parameters.needed("duration")?;
    let duration = Duration::from_millis(number(&parameters, "duration", 0, DURATION_MS_MAX)?);
    let capacity = number(&parameters, "capacity", CAPACITY, CAPACITY_MAX)?;
    let list_size = number(&parameters, "list_size", LIST_SIZE.min(capacity), capacity)?;
    let mut tables: Vec<TableName> = Vec::new();
    for path in parameters.names("table_filters") {
        tables.push(app.table_of_path(&path).await?);
    }
    for keyspace in parameters.names("keyspace_filters") {
        tables.extend(chosen(&app.node().await?, &keyspace, &[])?);
    }
    let is_for_some = ["table_filters", "keyspace_filters"].iter().any(|name| parameters.text(name).is_some());
    if is_for_some && tables.is_empty() {
        return Err(Problem::bad_request("the filters match no table"));
    }
    let is_of_one = tables.len() == 1;
    let found = sample(&app, tables, duration, capacity as usize).await?;
    let shown = |partitions: Vec<SampledPartition>| shown(partitions, list_size as usize, is_of_one);
    Ok(Json(json!({
        "read_cardinality": found.reads.len(), "read": shown(found.reads),
        "write_cardinality": found.writes.len(), "write": shown(found.writes),
    })))
}

/// The sampling under way. Dropped before its end, for its asker has gone away, it ends.
struct Running {
    app: App,
    turn: Option<OwnedMutexGuard<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        let Ok(tokio) = tokio::runtime::Handle::try_current() else { return };
        let app = self.app.clone();
        tokio.spawn(async move {
            // A shard that does not answer has ended.
            let _ = app.ask_all(Question::EndSampling).await;
            drop(turn);
        });
    }
}

async fn sample(
    app: &App,
    tables: Vec<TableName>,
    duration: Duration,
    capacity: usize,
) -> Result<SampledFacts, Problem> {
    let turn = app.sampling().clone().try_lock_owned();
    let turn = turn.map_err(|_| Problem::unavailable("partition sampling is already running; retry later"))?;
    let mut running = Running { app: app.clone(), turn: Some(turn) };
    app.tell_all(Question::BeginSampling { tables, capacity }).await?;
    tokio::time::sleep(duration).await;
    let mut all = SampledFacts::default();
    for answer in app.ask_all(Question::EndSampling).await? {
        let Answer::Sampled(sampled) = answer else { return Err(Problem::mixed_up()) };
        all.reads.extend(sampled.reads);
        all.writes.extend(sampled.writes);
    }
    running.turn = None;
    Ok(all)
}

/// The most frequent ones. A partition belongs to one shard: there is nothing to add up.
fn shown(mut partitions: Vec<SampledPartition>, list_size: usize, is_of_one: bool) -> Vec<Value> {
    partitions.sort_by(|one, other| {
        other.count.cmp(&one.count).then_with(|| (&one.table, &one.key).cmp(&(&other.table, &other.key)))
    });
    partitions.truncate(list_size);
    let partition = |found: &SampledPartition| match is_of_one {
        true => found.key.clone(),
        false => format!("({}:{}) {}", found.table.keyspace, found.table.table, found.key),
    };
    let entry =
        |found: &SampledPartition| json!({"partition": partition(found), "count": found.count, "error": found.error});
    partitions.iter().map(entry).collect()
}
