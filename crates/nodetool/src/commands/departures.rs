//! `decommission`, `removenode` and `assassinate`: nodes that leave the cluster. Each returns when the cluster has agreed on it.

use serde::Serialize;

use crate::arguments::{Assassinate, Decommission, RemoveNode};
use crate::error::ToolError;
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

const NO_COMPLETION: &str = "removenode force is not supported: a removal waits for no other node, and the cluster completes it by itself. To remove a node although keyspaces have more replicas than nodes are left: removenode --force ID";

#[derive(Serialize)]
struct Status {
    status: String,
}

pub(super) fn decommission(arguments: &Decommission, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    done(node, forced(Request::post("/storage_service/decommission"), arguments.force))
}

pub(super) fn remove(arguments: &RemoveNode, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    match arguments.node.as_str() {
        "status" => {
            let status = node.get(Request::get("/storage_service/removal_status"))?;
            Ok(Answer::of(&Status { status }))
        }
        "force" => Err(ToolError::usage(NO_COMPLETION)),
        host_id => {
            let request = Request::post("/storage_service/remove_node").with("host_id", host_id);
            done(node, forced(request, arguments.force))
        }
    }
}

pub(super) fn assassinate(arguments: &Assassinate, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    done(node, Request::post("/gossiper/assassinate").of(&arguments.address.to_string()))
}

fn forced(request: Request, is_forced: bool) -> Request {
    if is_forced { request.with("force", "true") } else { request }
}

impl Report for Status {
    fn text(&self) -> String {
        format!("RemovalStatus: {}\n", self.status)
    }
}

/// The node does something of which there is nothing to tell.
fn done(node: &mut dyn Surroundings, request: Request) -> Result<Answer, ToolError> {
    node.order(request)?;
    Ok(Answer::nothing())
}
