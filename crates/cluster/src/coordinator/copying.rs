//! Copies from other nodes, and the repairs that a node leads, as an operator reaches them.

use std::rc::Rc;

use super::Coordinator;
use crate::repair::Repairs;
use crate::streaming::CopyFigures;

/// The repairs that this node leads: those of shard 0.
pub fn repairs(coordinator: &Coordinator) -> &Rc<Repairs> {
    &coordinator.inner.repairs
}

/// The figures of each job by which this shard copies from other nodes, or has copied lately.
pub fn copies(coordinator: &Coordinator) -> Vec<CopyFigures> {
    coordinator.inner.jobs.figures()
}
