//! `getendpoints`: the nodes that have a copy of a partition, an address a line.

use serde::Serialize;

use crate::arguments::GetEndpoints as Arguments;
use crate::error::ToolError;
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

#[derive(Serialize)]
struct Endpoints {
    endpoints: Vec<String>,
}

pub(super) fn run(arguments: &Arguments, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let request = Request::get("/storage_service/natural_endpoints").of(&arguments.keyspace);
    let endpoints = node.get(request.with("cf", &arguments.table).with("key", &arguments.key))?;
    Ok(Answer::of(&Endpoints { endpoints }))
}

impl Report for Endpoints {
    fn text(&self) -> String {
        self.endpoints.iter().map(|endpoint| format!("{endpoint}\n")).collect()
    }
}
