//! `toppartitions`: the partitions that are read and written most while it is looked.

use std::time::Duration;

use serde::Serialize;

use crate::answers::{self, TopPartition};
use crate::arguments::TopPartitions as Arguments;
use crate::error::ToolError;
use crate::layout::Columns;
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

use super::tables::in_path;

const DURATION_MS: u64 = 10_000;
const DURATION_MS_MAX: u64 = 86_400_000;

#[derive(Serialize)]
struct TopPartitions {
    table: Option<String>,
    duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reads: Option<Vec<Counted>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    writes: Option<Vec<Counted>>,
}

#[derive(Serialize)]
struct Counted {
    partition: String,
    count: u64,
    /// By how much the count may be too high.
    error: u64,
}

pub(super) fn run(arguments: &Arguments, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    if arguments.interval.is_some() || arguments.stop || arguments.list {
        return Err(ToolError::usage("partitions are sampled while the command runs; -i, -t and -l are not supported"));
    }
    if arguments.count >= arguments.capacity {
        return Err(ToolError::usage("TopK count (-k) option must be smaller than the summary capacity (-s)"));
    }
    let wanted = |name: &str| arguments.samplers.iter().any(|sampler| sampler.eq_ignore_ascii_case(name));
    let known = |sampler: &&String| ["reads", "writes"].iter().all(|name| !sampler.eq_ignore_ascii_case(name));
    if let Some(unknown) = arguments.samplers.iter().find(known) {
        return Err(ToolError::usage(format!("`{unknown}` is not a sampler: reads, writes")));
    }
    let (table, duration) = match arguments.rest.as_slice() {
        [] => (None, None),
        [duration] => (None, Some(duration)),
        [keyspace, table] => (Some((keyspace, table)), None),
        [keyspace, table, duration] => (Some((keyspace, table)), Some(duration)),
        _ => return Err(ToolError::usage("usage: toppartitions [keyspace table] [duration in milliseconds]")),
    };
    let duration_ms = match duration.map(|text| text.parse::<u64>().ok().filter(|ms| *ms <= DURATION_MS_MAX)) {
        None => DURATION_MS,
        Some(Some(duration)) => duration,
        Some(None) => return Err(ToolError::usage("the duration must be a number of milliseconds, at most one day")),
    };
    let mut request = Request::get("/storage_service/toppartitions/")
        .with("duration", &duration_ms.to_string())
        .with("list_size", &arguments.count.to_string())
        .with("capacity", &arguments.capacity.to_string())
        .patient(Duration::from_millis(duration_ms));
    if let Some((keyspace, table)) = table {
        request = request.with("table_filters", &in_path(keyspace, table));
    }
    let answer: answers::TopPartitions = node.get(request)?;
    Ok(Answer::of(&TopPartitions {
        table: table.map(|(keyspace, table)| format!("{keyspace}.{table}")),
        duration_ms,
        reads: wanted("reads").then(|| counted(answer.read)),
        writes: wanted("writes").then(|| counted(answer.write)),
    }))
}

fn counted(partitions: Vec<TopPartition>) -> Vec<Counted> {
    let counted = |TopPartition { partition, count, error }| Counted { partition, count, error };
    let mut counted: Vec<Counted> = partitions.into_iter().map(counted).collect();
    counted.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.partition.cmp(&b.partition)));
    counted
}

/// The table and the key of `(keyspace:table) key`, in which an answer about several tables names partitions.
fn named(partition: &str) -> (String, &str) {
    let parts = partition.strip_prefix('(').and_then(|rest| rest.split_once(") "));
    parts.map_or_else(|| ("?".into(), partition), |(table, key)| (table.replacen(':', ".", 1), key))
}

impl Report for TopPartitions {
    fn text(&self) -> String {
        let mut text = String::new();
        for (kind, partitions) in [("reads", &self.reads), ("writes", &self.writes)] {
            let Some(partitions) = partitions else { continue };
            text += &format!("Frequency of {kind} by partition:\n");
            if partitions.is_empty() {
                text += "   Nothing recorded during sampling period...\n";
            } else {
                let mut columns = Columns::new(" ");
                columns.row(["Table", "Partition", "Count", "+/-"]);
                for counted in partitions {
                    let (count, error) = (counted.count.to_string(), counted.error.to_string());
                    let (table, partition) = match &self.table {
                        Some(table) => (table.clone(), counted.partition.as_str()),
                        None => named(&counted.partition),
                    };
                    columns.row([&table, partition, &count, &error]);
                }
                text += &columns.text("   ");
            }
            text.push('\n');
        }
        text
    }
}
