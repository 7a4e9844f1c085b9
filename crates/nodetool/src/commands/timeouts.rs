//! Timeouts by type: how long a node waits for others before a request has failed.

use serde::Serialize;

use crate::arguments::{GetTimeout, SetTimeout};
use crate::error::ToolError;
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

/// Cassandra's types, in its order, with the path of each.
const TYPES: [(&str, Option<&str>); 10] = [
    ("read", Some("/storage_proxy/read_rpc_timeout")),
    ("range", Some("/storage_proxy/range_rpc_timeout")),
    ("write", Some("/storage_proxy/write_rpc_timeout")),
    ("counterwrite", Some("/storage_proxy/counter_write_rpc_timeout")),
    ("cascontention", Some("/storage_proxy/cas_contention_timeout")),
    ("truncate", Some("/storage_proxy/truncate_rpc_timeout")),
    ("internodeconnect", Some("/storage_proxy/internode_tcp_connect_timeout")),
    ("internodeuser", None),
    ("internodestreaminguser", None),
    ("misc", Some("/storage_proxy/rpc_timeout")),
];

#[derive(Serialize)]
struct Timeout {
    timeout_type: String,
    timeout_ms: u64,
}

pub(super) fn get(arguments: &GetTimeout, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let seconds: f64 = node.get(Request::get(path(&arguments.timeout_type)?))?;
    let timeout_ms = (seconds * 1000.0).round() as u64;
    Ok(Answer::of(&Timeout { timeout_type: arguments.timeout_type.clone(), timeout_ms }))
}

impl Report for Timeout {
    fn text(&self) -> String {
        format!("Current timeout for type {}: {} ms\n", self.timeout_type, self.timeout_ms)
    }
}

pub(super) fn set(arguments: &SetTimeout, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let path = path(&arguments.timeout_type)?;
    let millis = u64::try_from(arguments.timeout_in_ms);
    let millis = millis.map_err(|_| ToolError::usage("timeout must be non-negative"))?;
    let seconds = format!("{}.{:03}", millis / 1000, millis % 1000);
    node.order(Request::post(path).with("timeout", &seconds))?;
    Ok(Answer::nothing())
}

fn path(timeout_type: &str) -> Result<&'static str, ToolError> {
    match TYPES.iter().find(|(name, _)| *name == timeout_type) {
        Some((_, Some(path))) => Ok(path),
        Some((name, None)) => Err(ToolError::usage(format!(
            "timeout type {name} is not supported: connections to other nodes have no TCP user timeout, since pings find dead ones"
        ))),
        None => {
            let names = TYPES.map(|(name, _)| name).join(", ");
            let sentence = format!("Timeout type requires one of ({names} (general rpc_timeout_in_ms))");
            Err(ToolError::usage(sentence))
        }
    }
}
