//! `flush` and `refresh`, and how a command says which tables it means.

use crate::arguments::{Refresh, Tables};
use crate::error::ToolError;
use crate::report::Answer;
use crate::surroundings::{Request, Surroundings};

use super::done;

pub(super) fn flush(arguments: &Tables, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let request = match &arguments.keyspace {
        None => Request::post("/storage_service/flush"),
        Some(keyspace) => {
            Request::post("/storage_service/keyspace_flush").of(keyspace).with_names("cf", &arguments.tables)
        }
    };
    done(node, request)
}

pub(super) fn refresh(arguments: &Refresh, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let request = Request::post("/storage_service/sstables").of(&arguments.keyspace).with("cf", &arguments.table);
    done(node, request)
}

/// A table's name as it stands in a path.
pub(super) fn in_path(keyspace: &str, table: &str) -> String {
    format!("{keyspace}:{table}")
}
