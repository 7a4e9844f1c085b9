//! `operations`, `abortbootstrap`, `rebuild` and `move`: the operations that move or copy token ranges, and their abort.

use serde::{Deserialize, Serialize};

use crate::arguments::{AbortBootstrap, Move, Operations as Arguments, OperationsCommand, Rebuild};
use crate::error::ToolError;
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

const PART_OF_ALL: &str = "rebuild copies all ranges of all keyspaces; --keyspace, --tokens, --sources and --exclude-local-dc are not supported. To choose where it copies from, name a datacenter: rebuild -- DC";

/// The operations, as the node tells them.
#[derive(Debug, Serialize, Deserialize)]
struct Operations {
    operations: Vec<Operation>,
    unclean: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Operation {
    number: u64,
    kind: String,
    phase: String,
    nodes: Vec<String>,
    replaced: Option<String>,
    keyspace: Option<String>,
    copied: Vec<String>,
    /// Older nodes answer without it.
    #[serde(default)]
    lost: Vec<String>,
    waits_for: Option<String>,
}

pub(super) fn run(arguments: &Arguments, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    if let Some(OperationsCommand::Abort { number }) = arguments.command {
        return abort(number, node);
    }
    Ok(Answer::of(&list(node)?))
}

pub(super) fn abort_bootstrap(arguments: &AbortBootstrap, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let all = list(node)?;
    let is_meant = |of: &&Operation| of.kind == "bootstrap" && of.nodes.contains(&arguments.node);
    match all.operations.iter().find(is_meant) {
        Some(operation) if operation.nodes.len() > 1 => {
            let number = operation.number;
            let all = operation.nodes.join(", ");
            Err(ToolError::usage(format!(
                "operation {number} is of several nodes: {all}. End the process of the one that is not to join, and remove it: removenode {}; or abort the join of all: operations abort {number}",
                arguments.node
            )))
        }
        Some(operation) => abort(operation.number, node),
        None => Err(ToolError::usage(format!("node {} is not joining the cluster", arguments.node))),
    }
}

/// Returns when the node has copied its ranges; fails if its operation was aborted.
pub(super) fn rebuild(arguments: &Rebuild, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let Rebuild { keyspace, tokens, sources, exclude_local_dc, datacenter } = arguments;
    if keyspace.is_some() || tokens.is_some() || sources.is_some() || *exclude_local_dc {
        return Err(ToolError::usage(PART_OF_ALL));
    }
    let request = Request::post("/storage_service/rebuild");
    let request = match datacenter {
        Some(name) => request.with("source_dc", name),
        None => request,
    };
    node.order(request)?;
    Ok(Answer::nothing())
}

/// Returns when the node has the token and its ranges have moved; fails if its operation was aborted.
pub(super) fn exchange_token(arguments: &Move, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let token: i64 = match arguments.token.trim_start_matches('\\').parse() {
        Ok(token) => token,
        Err(_) => return Err(ToolError::usage(format!("'{}' is not a token", arguments.token))),
    };
    node.order(Request::post("/storage_service/move").with("new_token", &token.to_string()))?;
    Ok(Answer::nothing())
}

fn list(node: &mut dyn Surroundings) -> Result<Operations, ToolError> {
    node.get(Request::get("/helenus/operations"))
}

fn abort(number: u64, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    node.order(Request::post(&format!("/helenus/operations/{number}/abort")))?;
    Ok(Answer::nothing())
}

impl Operation {
    fn nodes(&self) -> String {
        let Some(replaced) = &self.replaced else { return self.nodes.join(", ") };
        let others: Vec<&str> = self.nodes.iter().filter(|node| *node != replaced).map(String::as_str).collect();
        format!("{} in the place of {replaced}", others.join(", "))
    }
}

impl Report for Operations {
    fn text(&self) -> String {
        let mut text = String::new();
        for operation in &self.operations {
            text += &format!("{} {}: {}\n", operation.number, operation.kind, operation.phase);
            if let Some(keyspace) = &operation.keyspace {
                text += &format!("    keyspace: {keyspace}\n");
            }
            if !operation.nodes.is_empty() {
                text += &format!("    nodes: {}\n", operation.nodes());
            }
            if !operation.copied.is_empty() {
                text += &format!("    have copied: {}\n", operation.copied.join(", "));
            }
            if !operation.lost.is_empty() {
                text += &format!("    given up as lost: {}\n", operation.lost.join(", "));
            }
            if let Some(reason) = &operation.waits_for {
                text += &format!("    waits: {reason}\n");
            }
        }
        if self.operations.is_empty() {
            text += "No operations\n";
        }
        if !self.unclean.is_empty() {
            text += &format!("Dropping leftovers: {}\n", self.unclean.join(", "));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_told_with_what_they_wait_for() {
        let operation = Operation {
            number: 3,
            kind: "bootstrap".to_owned(),
            phase: "copy".to_owned(),
            nodes: vec!["a".to_owned()],
            replaced: None,
            keyspace: None,
            copied: Vec::new(),
            lost: Vec::new(),
            waits_for: Some("node a has not copied".to_owned()),
        };
        let all = Operations { operations: vec![operation], unclean: vec!["b".to_owned()] };
        let text = "3 bootstrap: copy\n    nodes: a\n    waits: node a has not copied\nDropping leftovers: b\n";
        assert_eq!(all.text(), text);
        assert_eq!(Operations { operations: Vec::new(), unclean: Vec::new() }.text(), "No operations\n");
    }
}
