//! `compact`, `garbagecollect`, `cleanup`, `stop`, `getcompactionthroughput`, `setcompactionthroughput`.

use serde::Serialize;

use crate::arguments::{Cleanup, Compact, GarbageCollect, GetCompactionThroughput, SetCompactionThroughput, Stop};
use crate::error::ToolError;
use crate::layout::double;
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

use super::done;

/// What would compact more than was asked for, or otherwise, is refused here: a node would not know that it was meant.
pub(super) fn compact(arguments: &Compact, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    for (option, given) in [
        ("-s", arguments.split_output),
        ("--user-defined", arguments.user_defined),
        ("-st", arguments.start_token.is_some()),
        ("-et", arguments.end_token.is_some()),
        ("--partition", arguments.partition.is_some()),
    ] {
        if given {
            return Err(ToolError::usage(format!("compact {option} is not supported: compact works on whole tables")));
        }
    }
    let request = match &arguments.keyspace {
        None => Request::post("/storage_service/compact"),
        Some(keyspace) => {
            Request::post("/storage_service/keyspace_compaction").of(keyspace).with_names("cf", &arguments.tables)
        }
    };
    done(node, request)
}

/// As Cassandra's, it says nothing when it is done.
pub(super) fn collect_garbage(arguments: &GarbageCollect, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let granularity = &arguments.granularity;
    if !matches!(granularity.as_str(), "ROW" | "CELL") {
        return Err(ToolError::usage(format!("-g must be ROW or CELL, got `{granularity}`")));
    }
    let keyspaces = match &arguments.keyspace {
        Some(keyspace) => vec![keyspace.clone()],
        None => node.get(Request::get("/storage_service/keyspaces").with("type", "user"))?,
    };
    for keyspace in &keyspaces {
        let request = Request::post("/helenus/garbage_collection").of(keyspace);
        node.order(request.with("tombstone_option", granularity).with_names("cf", &arguments.tables))?;
    }
    Ok(Answer::nothing())
}

/// As Cassandra's, it says nothing when it is done. Without a keyspace the states of conditional statements are cleaned too.
pub(super) fn clean_up(arguments: &Cleanup, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let request = match &arguments.keyspace {
        None => Request::post("/storage_service/cleanup_all"),
        Some(keyspace) => {
            Request::post("/storage_service/keyspace_cleanup").of(keyspace).with_names("cf", &arguments.tables)
        }
    };
    done(node, request)
}

/// By its id or by its type, as Cassandra has it.
pub(super) fn stop(arguments: &Stop, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let request = Request::post("/compaction_manager/stop_compaction");
    match (&arguments.compaction_id, &arguments.kind) {
        (Some(id), None) => done(node, request.with("id", id)),
        (None, Some(kind)) => done(node, request.with("type", &kind.to_ascii_uppercase())),
        _ => Err(ToolError::usage("stop needs a compaction type (COMPACTION) or a compaction id (-id)")),
    }
}

#[derive(Serialize)]
struct Throughput {
    mib_per_second: f64,
    #[serde(skip)]
    precise: bool,
}

impl Report for Throughput {
    fn text(&self) -> String {
        if self.precise {
            format!("Current compaction throughput: {} MiB/s\n", double(self.mib_per_second))
        } else {
            format!("Current compaction throughput: {} MB/s\n", self.mib_per_second.round())
        }
    }
}

/// The limit in MiB a second; 0 is none.
pub(super) fn limit(node: &mut dyn Surroundings) -> Result<f64, ToolError> {
    node.get(Request::get("/storage_service/compaction_throughput"))
}

pub(super) fn throughput(
    arguments: &GetCompactionThroughput,
    node: &mut dyn Surroundings,
) -> Result<Answer, ToolError> {
    Ok(Answer::of(&Throughput { mib_per_second: limit(node)?, precise: arguments.precise_mib }))
}

pub(super) fn set_throughput(
    arguments: &SetCompactionThroughput,
    node: &mut dyn Surroundings,
) -> Result<Answer, ToolError> {
    let value = arguments.value.parse::<u32>().map_err(|_| {
        ToolError::usage(format!(
            "`{}` is not a throughput in MiB/s: use a whole number, 0 for no limit",
            arguments.value
        ))
    })?;
    done(node, Request::post("/storage_service/compaction_throughput").with("value", &value.to_string()))
}
