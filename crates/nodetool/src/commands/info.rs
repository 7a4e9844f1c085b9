//! `info`: this node in lines of `Key : value`.

use serde::Serialize;

use crate::answers::{IndexPages, Memory};
use crate::arguments::Info as Arguments;
use crate::error::ToolError;
use crate::layout::{or_unknown, size};
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

#[derive(Serialize)]
struct Info {
    id: String,
    gossip_active: bool,
    native_transport_active: bool,
    load_bytes: f64,
    generation: u64,
    uptime_seconds: u64,
    memory_bytes: Option<u64>,
    memory_bytes_max: Option<u64>,
    datacenter: String,
    rack: String,
    exceptions: u64,
    row_cache: Option<RowCache>,
    index_page_cache: Option<IndexPageCache>,
    tokens: Vec<String>,
    bootstrap_completed: bool,
    mode: String,
    #[serde(skip)]
    with_tokens: bool,
}

#[derive(Serialize)]
struct RowCache {
    entries: u64,
    bytes: f64,
    bytes_max: f64,
    hits: u64,
    requests: u64,
    hit_rate: Option<f64>,
}

#[derive(Serialize)]
struct IndexPageCache {
    bytes: u64,
    bytes_max: u64,
    hits: u64,
    requests: u64,
}

impl From<IndexPages> for IndexPageCache {
    fn from(pages: IndexPages) -> IndexPageCache {
        let requests = pages.hits.saturating_add(pages.misses);
        IndexPageCache { bytes: pages.used, bytes_max: pages.budget, hits: pages.hits, requests }
    }
}

pub(super) fn run(arguments: &Arguments, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let memory: Option<Memory> = node.get_if_there(Request::get("/helenus/memory"))?;
    let uptime_ms: u64 = node.get(Request::get("/system/uptime_ms"))?;
    Ok(Answer::of(&Info {
        id: node.get(Request::get("/storage_service/hostid/local"))?,
        gossip_active: node.get(Request::get("/storage_service/gossiping"))?,
        native_transport_active: node.get(Request::get("/storage_service/native_transport"))?,
        load_bytes: node.get(Request::get("/storage_service/load"))?,
        generation: node.get(Request::get("/storage_service/generation_number"))?,
        uptime_seconds: uptime_ms / 1000,
        memory_bytes: memory.as_ref().and_then(|memory| memory.resident),
        memory_bytes_max: memory.as_ref().and_then(|memory| memory.budget),
        datacenter: node.get(Request::get("/snitch/datacenter"))?,
        rack: node.get(Request::get("/snitch/rack"))?,
        exceptions: node.get(Request::get("/storage_service/metrics/exceptions"))?,
        row_cache: row_cache(node)?,
        index_page_cache: memory.and_then(|memory| memory.index_pages).map(IndexPageCache::from),
        tokens: node.get(Request::get("/storage_service/tokens"))?,
        bootstrap_completed: node.get(Request::get("/storage_service/join_ring"))?,
        mode: node.get(Request::get("/storage_service/operation_mode"))?,
        with_tokens: arguments.tokens,
    }))
}

/// None of a node that has no such cache.
fn row_cache(node: &mut dyn Surroundings) -> Result<Option<RowCache>, ToolError> {
    let Some(entries) = node.get_if_there(Request::get("/cache_service/metrics/row/entries"))? else {
        return Ok(None);
    };
    let rate: Option<f64> = node.get(Request::get("/cache_service/metrics/row/hit_rate"))?;
    Ok(Some(RowCache {
        entries,
        bytes: node.get(Request::get("/cache_service/metrics/row/size"))?,
        bytes_max: node.get(Request::get("/cache_service/metrics/row/capacity"))?,
        hits: node.get(Request::get("/cache_service/metrics/row/hits"))?,
        requests: node.get(Request::get("/cache_service/metrics/row/requests"))?,
        hit_rate: rate.filter(|rate| rate.is_finite()),
    }))
}

impl Report for Info {
    fn text(&self) -> String {
        let mib = |bytes: Option<u64>| or_unknown(bytes.map(|bytes| format!("{:.2}", bytes as f64 / 1_048_576.0)));
        let mut lines = vec![
            ("ID", self.id.clone()),
            ("Gossip active", self.gossip_active.to_string()),
            ("Native Transport active", self.native_transport_active.to_string()),
            ("Load", size(self.load_bytes)),
            ("Generation No", self.generation.to_string()),
            ("Uptime (seconds)", self.uptime_seconds.to_string()),
            ("Heap Memory (MB)", format!("{} / {}", mib(self.memory_bytes), mib(self.memory_bytes_max))),
            ("Data Center", self.datacenter.clone()),
            ("Rack", self.rack.clone()),
            ("Exceptions", self.exceptions.to_string()),
        ];
        if let Some(cache) = &self.row_cache {
            let (used, most) = (size(cache.bytes), size(cache.bytes_max));
            let rate = cache.hit_rate.map_or_else(|| "NaN".into(), |rate| format!("{rate:.3}"));
            lines.push((
                "Row Cache",
                format!(
                    "entries {}, size {used}, capacity {most}, {} hits, {} requests, {rate} recent hit rate, \
                     0 save period in seconds",
                    cache.entries, cache.hits, cache.requests
                ),
            ));
        }
        if let Some(cache) = &self.index_page_cache {
            let rate = match cache.requests {
                0 => "NaN".into(),
                requests => format!("{:.3}", cache.hits as f64 / requests as f64),
            };
            lines.push((
                "Index Page Cache",
                format!(
                    "size {}, capacity {}, {} hits, {} requests, {rate} hit rate",
                    size(cache.bytes as f64),
                    size(cache.bytes_max as f64),
                    cache.hits,
                    cache.requests
                ),
            ));
        }
        match self.tokens.as_slice() {
            [_, _, ..] if !self.with_tokens => {
                lines.push(("Token", format!("(invoke with -T/--tokens to see all {} tokens)", self.tokens.len())));
            }
            tokens => lines.extend(tokens.iter().map(|token| ("Token", token.clone()))),
        }
        let bootstrap = if self.bootstrap_completed { "COMPLETED" } else { "IN_PROGRESS" };
        lines.push(("Bootstrap state", bootstrap.into()));
        lines.iter().map(|(name, value)| format!("{name:<23}: {value}\n")).collect()
    }
}
