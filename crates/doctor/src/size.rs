//! How large a cluster a load needs: arithmetic on what was measured, with every figure shown and its source named.
//!
//! It is an estimate and says so. What was never measured (compactions' CPU time, messages between nodes) is not estimated but left room for,
//! and each such assumption is printed beside the answer.

mod figures;
mod load;
mod node;
mod report;

#[cfg(test)]
mod tests;

use serde::Serialize;

use figures::Figure;
pub(crate) use load::Load;
use node::Node;
pub(crate) use report::{json, text};

use crate::DoctorError;

/// More nodes than anybody asks an estimate for.
const NODES_MAX: u64 = 10_000;

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Sizing {
    pub(crate) nodes: u64,
    pub(crate) node: Node,
    pub(crate) load: Load,
    /// Figures that the estimate is based on.
    pub(crate) figures: Vec<Figure>,
    /// What should be known beside it.
    pub(crate) notes: Vec<String>,
}

/// The fewest nodes that are enough, and what each must have.
pub(crate) fn reckon(load: &Load) -> Result<Sizing, DoctorError> {
    let mut last = None;
    for nodes in u64::from(load.replication)..=NODES_MAX {
        let node = Node::of(load, nodes);
        if node.cores <= u64::from(load.node_cores) && node.disk_bytes <= load.node_disk_bytes {
            let (figures, notes) = (figures::all(load), notes(load, nodes, &node));
            return Ok(Sizing { nodes, node, load: load.clone(), figures, notes });
        }
        last = Some(node);
    }
    let needs_cores = last.is_some_and(|node| node.cores > u64::from(load.node_cores));
    let (what, flag) =
        if needs_cores { ("this rate of operations", "--node-cores") } else { ("this much data", "--node-disk") };
    Err(DoctorError::TooLarge { what: what.to_owned(), nodes: NODES_MAX, flag })
}

fn notes(load: &Load, nodes: u64, node: &Node) -> Vec<String> {
    let mut notes = Vec::new();
    if nodes > 1 {
        notes.push(
            "What messages between nodes cost has not been measured: each copy counts as a whole request.".to_owned(),
        );
    }
    if node.compaction_bytes_per_second > figures::COMPACTION_THROUGHPUT.value * MEBIBYTE {
        let mebibytes = (node.compaction_bytes_per_second / MEBIBYTE).ceil();
        notes.push(format!(
            "Compactions must write more than compaction_throughput allows by default: set it to {mebibytes} MiB/s at least."
        ));
    }
    if load.replication == 2 || (nodes > 1 && load.replication == 1) {
        notes.push("With fewer than three copies QUORUM does not survive the loss of a node.".to_owned());
    }
    notes
}

const MEBIBYTE: f64 = (1 << 20) as f64;
const GIBIBYTE: f64 = (1 << 30) as f64;
