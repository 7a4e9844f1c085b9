//! Hinted handoff: what is kept for nodes that missed writes, and when it is sent.

use serde::{Deserialize, Serialize};

use crate::arguments::{Datacenter, SetHandoffThrottle, SetMaxHintWindow, TruncateHints};
use crate::error::ToolError;
use crate::layout::{Columns, stamp};
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

const ENABLED: &str = "/storage_proxy/hinted_handoff_enabled";
const WINDOW: &str = "/storage_proxy/max_hint_window";
const DATACENTERS: &str = "/hinted_handoff/disabled_datacenters";
const HINTS: &str = "/hinted_handoff/hints";

#[derive(Serialize)]
struct Status {
    is_enabled: bool,
    is_paused: bool,
    disabled_datacenters: Vec<String>,
}

pub(super) fn status(node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let status = Status {
        is_enabled: node.get(Request::get(ENABLED))?,
        is_paused: node.get(Request::get("/hinted_handoff/pause"))?,
        disabled_datacenters: node.get(Request::get(DATACENTERS))?,
    };
    Ok(Answer::of(&status))
}

impl Report for Status {
    fn text(&self) -> String {
        let mut text = format!("Hinted handoff is {}\n", if self.is_enabled { "running" } else { "not running" });
        for datacenter in &self.disabled_datacenters {
            text.push_str(&format!("Data center {datacenter} is disabled\n"));
        }
        text
    }
}

pub(super) fn enable(is_enabled: bool, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    done(node, Request::post(ENABLED).with("enable", &is_enabled.to_string()))
}

pub(super) fn pause(is_paused: bool, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    done(node, Request::post("/hinted_handoff/pause").with("pause", &is_paused.to_string()))
}

pub(super) fn datacenter(
    arguments: &Datacenter,
    is_enabled: bool,
    node: &mut dyn Surroundings,
) -> Result<Answer, ToolError> {
    let request = if is_enabled { Request::delete(DATACENTERS) } else { Request::post(DATACENTERS) };
    done(node, request.of(&arguments.datacenter))
}

pub(super) fn set_throttle(arguments: &SetHandoffThrottle, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let kib = arguments.value.to_string();
    done(node, Request::post("/storage_service/hinted_handoff").with("throttle", &kib))
}

#[derive(Serialize)]
struct Window {
    max_hint_window_ms: u64,
}

pub(super) fn window(node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    Ok(Answer::of(&Window { max_hint_window_ms: node.get(Request::get(WINDOW))? }))
}

impl Report for Window {
    fn text(&self) -> String {
        format!("Current max hint window: {} ms\n", self.max_hint_window_ms)
    }
}

pub(super) fn set_window(arguments: &SetMaxHintWindow, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    done(node, Request::post(WINDOW).with("ms", &arguments.value.to_string()))
}

pub(super) fn truncate(arguments: &TruncateHints, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    if arguments.endpoints.is_empty() {
        return done(node, Request::delete(HINTS));
    }
    for endpoint in &arguments.endpoints {
        node.order(Request::delete(HINTS).with("host", &endpoint.to_string()))?;
    }
    Ok(Answer::nothing())
}

#[derive(Deserialize, Serialize)]
struct Pending {
    host_id: String,
    address: Option<String>,
    rack: String,
    datacenter: String,
    status: String,
    files: u64,
    bytes: u64,
    newest_ms: u64,
    oldest_ms: u64,
}

#[derive(Serialize)]
#[serde(transparent)]
struct PendingHints(Vec<Pending>);

pub(super) fn pending(node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    Ok(Answer::of(&PendingHints(node.get(Request::get(HINTS))?)))
}

impl Report for PendingHints {
    fn text(&self) -> String {
        if self.0.is_empty() {
            return "This node does not have any pending hints\n".to_owned();
        }
        let mut columns = Columns::new(" ");
        columns.row(["Host ID", "Address", "Rack", "DC", "Status", "Total files", "Newest", "Oldest"]);
        for of in &self.0 {
            columns.row([
                of.host_id.as_str(),
                of.address.as_deref().unwrap_or("Unknown"),
                &of.rack,
                &of.datacenter,
                &of.status,
                &of.files.to_string(),
                &stamp(of.newest_ms),
                &stamp(of.oldest_ms),
            ]);
        }
        columns.text("")
    }
}

/// The node does something of which there is nothing to tell.
fn done(node: &mut dyn Surroundings, request: Request) -> Result<Answer, ToolError> {
    node.order(request)?;
    Ok(Answer::nothing())
}
