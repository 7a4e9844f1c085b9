//! `repair`: begins a repair of each keyspace, and shows its lines as they come, as Cassandra's does.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::arguments::Repair;
use crate::error::ToolError;
use crate::layout::stamp;
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

/// The longest that the node keeps a request for lines.
const WAIT_MS: u64 = 5_000;

const NOT_INCREMENTAL: &str =
    "repair -inc is not supported: every repair is full. Leave -inc out: a plain repair is a full one";
const NO_PREVIEW: &str = "repair --preview and --validate are not supported: a repair copies without comparing first. Leave them out to repair";

/// A repair as the node tells it.
#[derive(Deserialize)]
struct Status {
    state: String,
    error: Option<String>,
    lines: Vec<Line>,
    rows: u64,
    bytes: u64,
}

#[derive(Deserialize, Serialize)]
struct Line {
    at_ms: u64,
    text: String,
}

/// A keyspace that was repaired.
#[derive(Serialize)]
struct Repaired {
    keyspace: String,
    /// `None`: there was nothing to do.
    command: Option<u32>,
    rows: u64,
    bytes: u64,
    lines: Vec<Line>,
}

/// The lines have been shown.
#[derive(Serialize)]
struct All {
    keyspaces: Vec<Repaired>,
}

impl Report for All {
    fn text(&self) -> String {
        String::new()
    }
}

pub(super) fn run(arguments: &Repair, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    if arguments.inc {
        return Err(ToolError::usage(NOT_INCREMENTAL));
    }
    if arguments.preview || arguments.validate {
        return Err(ToolError::usage(NO_PREVIEW));
    }
    if arguments.start_token.is_some() != arguments.end_token.is_some() {
        return Err(ToolError::usage("repair needs both -st and -et, or neither"));
    }
    let mut datacenters = arguments.in_dc.clone();
    if arguments.in_local_dc {
        datacenters.push(node.get(Request::get("/snitch/datacenter"))?);
    }
    let keyspaces: Vec<String> = match &arguments.keyspace {
        Some(keyspace) => vec![keyspace.clone()],
        None => node.get(Request::get("/storage_service/keyspaces").with("type", "user"))?,
    };
    let mut all = All { keyspaces: Vec::new() };
    for keyspace in keyspaces {
        let mut request = Request::post("/storage_service/repair_async").of(&keyspace);
        request = request.with_names("columnFamilies", &arguments.tables).with_names("dataCenters", &datacenters);
        request = request.with_names("hosts", &arguments.in_hosts);
        if arguments.partitioner_range {
            request = request.with("primaryRange", "true");
        }
        for (name, token) in [("startToken", &arguments.start_token), ("endToken", &arguments.end_token)] {
            if let Some(token) = token {
                request = request.with(name, token);
            }
        }
        let number: u32 = node.get(request)?;
        all.keyspaces.push(match number {
            0 => nothing_to_do(keyspace, node),
            number => follow(keyspace, number, node)?,
        });
    }
    Ok(Answer::of(&all))
}

fn nothing_to_do(keyspace: String, node: &mut dyn Surroundings) -> Repaired {
    let text = format!("Replication factor is 1. No repair is needed for keyspace '{keyspace}'");
    let line = Line { at_ms: node.now_ms(), text };
    show(&line, node);
    Repaired { keyspace, command: None, rows: 0, bytes: 0, lines: vec![line] }
}

/// Shows a repair's lines until it has ended.
fn follow(keyspace: String, number: u32, node: &mut dyn Surroundings) -> Result<Repaired, ToolError> {
    let mut lines = Vec::new();
    loop {
        let request = Request::get("/helenus/repair").of(&number.to_string());
        let request = request.with("from", &lines.len().to_string()).with("wait_ms", &WAIT_MS.to_string());
        let status: Status = node.get(request.patient(Duration::from_millis(WAIT_MS)))?;
        status.lines.iter().for_each(|line| show(line, node));
        lines.extend(status.lines);
        match status.state.as_str() {
            "RUNNING" => {}
            "SUCCESSFUL" => {
                let (rows, bytes) = (status.rows, status.bytes);
                return Ok(Repaired { keyspace, command: Some(number), rows, bytes, lines });
            }
            _ => return Err(ToolError::RepairFailed { sentence: status.error.unwrap_or_default() }),
        }
    }
}

fn show(line: &Line, node: &mut dyn Surroundings) {
    node.show(&format!("[{}] {}", stamp(line.at_ms), line.text));
}
