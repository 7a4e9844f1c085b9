//! `getcompactionthreshold`: how many files of a table are compacted together, at least and at most.

use serde::Serialize;

use crate::arguments::GetCompactionThreshold as Arguments;
use crate::error::ToolError;
use crate::report::{Answer, Report};
use crate::surroundings::Surroundings;

use super::cql;

/// Those of a table that sets none.
const MIN_DEFAULT: &str = "4";
const MAX_DEFAULT: &str = "32";

#[derive(Serialize)]
struct Thresholds {
    keyspace: String,
    table: String,
    min: String,
    max: String,
}

pub(super) fn run(arguments: &Arguments, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let Arguments { keyspace, table } = arguments;
    let statement = format!(
        "SELECT compaction FROM system_schema.tables WHERE keyspace_name = {} AND table_name = {}",
        cql::quoted(keyspace),
        cql::quoted(table)
    );
    let rows = cql::rows(&statement, node)?;
    let Some(row) = rows.first() else {
        return Err(ToolError::usage(format!("there is no table {keyspace}.{table}")));
    };
    let mut options = row.get("compaction").map(|map| cql::pairs(map)).unwrap_or_default();
    let mut option = |name, default: &str| options.remove(name).unwrap_or_else(|| default.to_owned());
    Ok(Answer::of(&Thresholds {
        keyspace: keyspace.clone(),
        table: table.clone(),
        min: option("min_threshold", MIN_DEFAULT),
        max: option("max_threshold", MAX_DEFAULT),
    }))
}

impl Report for Thresholds {
    fn text(&self) -> String {
        let Thresholds { keyspace, table, min, max } = self;
        format!("Current compaction thresholds for {keyspace}/{table}: \n min = {min},  max = {max}\n")
    }
}
