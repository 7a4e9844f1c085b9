//! The console: its files, and what its page asks for each second.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Method, Request, StatusCode};
use axum::routing::get;
use axum::{Extension, Router};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};

use super::compaction::running;
use super::node::{figures, memory_of, mode};
use super::requests::{by_kind, errors, failed};
use crate::access::Role;
use crate::console::ASSETS;
use crate::facts::{ProcessFacts, ShardFigures};
use crate::json::Json;
use crate::problem::Problem;
use crate::state::App;

/// What the page shows where the server has it.
const OPTIONAL: [&str; 1] = ["/helenus/slow_queries"];

pub(super) fn routes(offers: Vec<&'static str>) -> Router<App> {
    let pulse = move |State(app): State<App>, role: Option<Extension<Role>>| {
        let offers = offers.clone();
        async move {
            let mut told = pulse(&app, &offers).await?;
            told["role"] = role.map(|Extension(Role(login))| login.role().to_owned()).into();
            Ok::<_, Problem>(Json(told))
        }
    };
    let router = Router::new().route("/helenus/console", get(pulse));
    ASSETS.into_iter().fold(router, |router, asset| router.route(asset.path, get(move || async move { asset })))
}

/// Which of the optional paths the router has: it refuses the method of what is there, and does not find what is not.
pub(super) async fn offers(router: Router) -> Vec<&'static str> {
    let service = TowerToHyperService::new(router);
    let mut found = Vec::new();
    for path in OPTIONAL {
        let mut request = Request::new(Body::empty());
        *request.method_mut() = Method::OPTIONS;
        *request.uri_mut() = path.parse().expect("a path is an address");
        let Ok(response) = service.call(request).await;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            found.push(path);
        }
    }
    found
}

async fn pulse(app: &App, offers: &[&str]) -> Result<Value, Problem> {
    let (process, shards) = (app.process().await?, figures(app).await?);
    let mut told = told(&process, &shards, running(app).await?);
    told["mode"] = mode(app).into();
    told["offers"] = offers.into();
    Ok(told)
}

/// Counters alone: what became of them in a second is worked out by who asks.
fn told(process: &ProcessFacts, shards: &[ShardFigures], running: Vec<Value>) -> Value {
    let sum = |of: fn(&ShardFigures) -> u64| shards.iter().map(of).sum::<u64>();
    let kinds = by_kind(shards).into_iter().map(|(kind, micros)| {
        let counts = micros.counts();
        let used = counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        json!({"kind": kind, "micros_sum": micros.sum(), "buckets": counts[..used]})
    });
    let errors = errors(shards).into_iter().filter(|(_, count)| *count > 0);
    json!({
        "uptime_ms": process.uptime_ms, "is_served": process.is_native_served, "nodes": process.ring_nodes,
        "cpu_micros": process.cpu_micros,
        "disk_bytes": sum(|shard| shard.disk_bytes), "memory": memory_of(process, shards),
        "bucket_offsets": stdx::upper_bounds().collect::<Vec<u64>>(), "kinds": kinds.collect::<Vec<_>>(),
        "errors": errors.map(|(error, count)| json!({"error": error, "count": count})).collect::<Vec<_>>(),
        "shards": shards.iter().enumerate().map(|(index, shard)| shard_told(index, shard)).collect::<Vec<_>>(),
        "ring": ring_told(shards),
        "compactions": {
            "running": running, "pending": sum(|shard| shard.compactions_waiting),
            "completed": sum(|shard| shard.compactions), "bytes": sum(|shard| shard.compacted_bytes),
            "throughput": process.compaction_throughput,
        },
    })
}

/// Events of requests over several nodes, counted since the start.
fn ring_told(shards: &[ShardFigures]) -> Value {
    let sum = |of: fn(&ShardFigures) -> u64| shards.iter().map(of).sum::<u64>();
    let failed = failed(shards);
    json!({
        "timeouts": failed.iter().map(|kind| kind.timeouts).sum::<u64>(),
        "unavailables": failed.iter().map(|kind| kind.unavailables).sum::<u64>(),
        "failures": failed.iter().map(|kind| kind.failures).sum::<u64>(),
        "speculative_retries": sum(|shard| shard.speculative_retries),
        "digest_mismatches": sum(|shard| shard.digest_mismatches),
        "repaired_blocking": sum(|shard| shard.repaired_blocking),
        "planned_again": sum(|shard| shard.planned_again),
        "stale_refusals": sum(|shard| shard.stale_refusals),
        "hints_created": sum(|shard| shard.hints_created),
        "hints_delivered": sum(|shard| shard.hints_delivered),
        "hints_dropped": sum(|shard| shard.hints_dropped),
        "batch_copies": sum(|shard| shard.batch_copies),
    })
}

fn shard_told(index: usize, shard: &ShardFigures) -> Value {
    json!({
        "shard": index, "cpu_micros": u64::try_from(shard.runtime.cpu.as_micros()).unwrap_or(u64::MAX),
        "requests": shard.requests, "connections": shard.connections, "requests_under_way": shard.requests_under_way,
        "overloaded": shard.overloaded, "memtable_bytes": shard.memtable_bytes, "memtable_budget": shard.memtable_budget,
        "writes_waiting": shard.writes_waiting, "reads_waiting": shard.reads_waiting,
        "crossed": shard.runtime.mesh_calls, "stalls_over_1ms": shard.runtime.stalls_over_1ms,
    })
}

#[cfg(test)]
mod tests {
    use stdx::LogHistogram;

    use super::*;
    use crate::facts::{FailedFacts, RequestFacts};

    fn shard(requests: u64) -> ShardFigures {
        let mut micros = LogHistogram::default();
        micros.add(2, requests);
        let by_kind = vec![RequestFacts { kind: "read", micros }];
        let failed = vec![FailedFacts { kind: "read", timeouts: 2, unavailables: 0, failures: 1 }];
        ShardFigures {
            requests,
            by_kind,
            failed,
            errors: vec![("invalid", 0), ("overloaded", 2)],
            hints_created: 5,
            ..ShardFigures::default()
        }
    }

    #[test]
    fn a_pulse_has_the_sums_and_each_shard() {
        let process = ProcessFacts {
            uptime_ms: 7,
            is_native_served: true,
            ring_nodes: 3,
            compaction_throughput: 0,
            resident_bytes: None,
            cpu_micros: Some(5),
            memory_budget: 9,
        };
        let told = told(&process, &[shard(3), shard(4)], Vec::new());
        assert_eq!(told["kinds"], json!([{"kind": "read", "micros_sum": 14, "buckets": [0, 0, 7]}]));
        assert_eq!(told["errors"], json!([{"error": "overloaded", "count": 4}]));
        assert_eq!((&told["shards"][1]["shard"], &told["shards"][1]["requests"]), (&json!(1), &json!(4)));
        assert_eq!(told["nodes"], 3);
        let ring = |name: &str| told["ring"][name].as_u64();
        assert_eq!(
            (ring("timeouts"), ring("unavailables"), ring("failures"), ring("hints_created")),
            (Some(4), Some(0), Some(2), Some(10))
        );
        assert_eq!((&told["cpu_micros"], &told["memory"]["resident"]), (&json!(5), &Value::Null));
        assert!(told["bucket_offsets"].as_array().is_some_and(|bounds| bounds.len() > 90));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn only_what_is_there_is_offered() {
        let of =
            |router: Router| offers(router.method_not_allowed_fallback(|| async { StatusCode::METHOD_NOT_ALLOWED }));
        assert_eq!(of(Router::new().route("/other", get(|| async {}))).await, Vec::<&str>::new());
        assert_eq!(of(Router::new().route(OPTIONAL[0], get(|| async {}))).await, OPTIONAL);
    }
}
