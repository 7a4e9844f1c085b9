//! `gossipinfo`: the nodes have no gossip yet. The node says so itself, by the path that ScyllaDB has for it; what a later node
//! answers there is printed as it is.

use serde::Serialize;
use serde_json::Value;

use crate::error::ToolError;
use crate::report::{Answer, Report, json};
use crate::surroundings::{Request, Surroundings};

#[derive(Serialize)]
#[serde(transparent)]
struct GossipInfo(Value);

impl Report for GossipInfo {
    fn text(&self) -> String {
        json(&self.0)
    }
}

pub(super) fn run(node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    Ok(Answer::of(&GossipInfo(node.get(Request::get("/failure_detector/endpoints"))?)))
}
