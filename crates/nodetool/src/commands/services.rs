//! `statusbinary` and `statusgossip`: whether a service of the node runs.

use serde::Serialize;

use crate::error::ToolError;
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

/// A service of Cassandra's.
#[derive(Clone, Copy, Debug)]
pub(super) enum Service {
    /// CQL for clients.
    Native,
    /// Gossip between nodes.
    Gossip,
}

impl Service {
    fn path(self) -> &'static str {
        match self {
            Service::Native => "/storage_service/native_transport",
            Service::Gossip => "/storage_service/gossiping",
        }
    }
}

#[derive(Serialize)]
struct Status {
    is_running: bool,
}

impl Report for Status {
    fn text(&self) -> String {
        format!("{}\n", if self.is_running { "running" } else { "not running" })
    }
}

pub(super) fn status(service: Service, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    Ok(Answer::of(&Status { is_running: node.get(Request::get(service.path()))? }))
}
