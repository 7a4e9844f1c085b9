//! `upgrade`: features that all nodes know, and their release for use.

use serde::Serialize;

use crate::answers::Upgrade as Facts;
use crate::arguments::{Upgrade as Arguments, UpgradeCommand};
use crate::error::ToolError;
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

#[derive(Serialize)]
struct Upgrade {
    enabled: String,
    waiting: String,
    nodes: Vec<Node>,
}

#[derive(Serialize)]
struct Node {
    endpoint: String,
    release: String,
    lacks: String,
}

pub(super) fn run(arguments: &Arguments, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    if let UpgradeCommand::Finalize = arguments.command {
        node.order(Request::post("/helenus/upgrade/finalize"))?;
        return Ok(Answer::nothing());
    }
    let facts: Facts = node.get(Request::get("/helenus/upgrade"))?;
    let of_node =
        |node: crate::answers::UpgradeNode| Node { endpoint: node.endpoint, release: node.release, lacks: node.lacks };
    let nodes = facts.nodes.into_iter().map(of_node).collect();
    Ok(Answer::of(&Upgrade { enabled: facts.enabled, waiting: facts.waiting, nodes }))
}

impl Report for Upgrade {
    fn text(&self) -> String {
        let or_none = |names: &str| if names.is_empty() { "none".to_owned() } else { names.to_owned() };
        let mut text = format!("Enabled features: {}\n", or_none(&self.enabled));
        text += &format!("Waiting for finalize: {}\n", or_none(&self.waiting));
        for node in &self.nodes {
            let lacks = if node.lacks.is_empty() { String::new() } else { format!(", lacks {}", node.lacks) };
            text += &format!("/{}: release {}{lacks}\n", node.endpoint, node.release);
        }
        text
    }
}
