//! `compactionstats`: how much there is to compact, and what is being compacted.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::answers::{Compaction, Pending, Version};
use crate::arguments::CompactionStats as Arguments;
use crate::error::ToolError;
use crate::layout::{Columns, bytes, double, hours, or_unknown};
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

#[derive(Serialize)]
struct CompactionStats {
    /// A shard has one at a time.
    concurrent_compactors: Option<u64>,
    pending_tasks: u64,
    pending_tasks_by_table: BTreeMap<String, BTreeMap<String, u64>>,
    compactions_completed: u64,
    bytes_compacted: u64,
    mean_rate_per_hour: Option<f64>,
    /// 0: no limit.
    throughput_mib_per_second: f64,
    compactions: Vec<Running>,
    remaining_seconds: Option<u64>,
    #[serde(skip)]
    human: bool,
    #[serde(skip)]
    vtable: bool,
}

#[derive(Serialize)]
struct Running {
    id: Option<String>,
    compaction_type: String,
    keyspace: String,
    table: String,
    completed: u64,
    total: u64,
    unit: String,
}

impl From<Compaction> for Running {
    fn from(compaction: Compaction) -> Running {
        Running {
            id: compaction.id,
            compaction_type: compaction.task_type,
            keyspace: compaction.ks,
            table: compaction.cf,
            completed: compaction.completed,
            total: compaction.total,
            unit: compaction.unit,
        }
    }
}

pub(super) fn run(arguments: &Arguments, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let version: Option<Version> = node.get_if_there(Request::get("/helenus/version"))?;
    let by_table: Vec<Pending> = node.get(Request::get("/compaction_manager/metrics/pending_tasks_by_table"))?;
    let mut pending_tasks_by_table: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for pending in by_table {
        let of_table = pending_tasks_by_table.entry(pending.ks).or_default().entry(pending.cf).or_default();
        *of_table = of_table.saturating_add(pending.task);
    }
    let running: Vec<Compaction> = node.get(Request::get("/compaction_manager/compactions"))?;
    let compactions: Vec<Running> = running.into_iter().map(Running::from).collect();
    let completed: u64 = node.get(Request::get("/compaction_manager/metrics/total_compactions_completed"))?;
    let uptime_ms: u64 = node.get(Request::get("/system/uptime_ms"))?;
    let throughput = super::compaction::limit(node)?;
    Ok(Answer::of(&CompactionStats {
        concurrent_compactors: version.and_then(|version| version.shards),
        pending_tasks: node.get(Request::get("/compaction_manager/metrics/pending_tasks"))?,
        pending_tasks_by_table,
        compactions_completed: completed,
        bytes_compacted: node.get(Request::get("/compaction_manager/metrics/bytes_compacted"))?,
        mean_rate_per_hour: (uptime_ms > 0).then(|| completed as f64 * 3_600_000.0 / uptime_ms as f64),
        throughput_mib_per_second: throughput,
        remaining_seconds: remaining(&compactions, throughput),
        compactions,
        human: arguments.human_readable,
        vtable: arguments.vtable,
    }))
}

/// How long those that run take at the limit. Nothing is known without one.
fn remaining(compactions: &[Running], mib_per_second: f64) -> Option<u64> {
    let left = |running: &Running| running.total.saturating_sub(running.completed);
    let bytes: u64 =
        compactions.iter().filter(|running| running.unit == "bytes").map(left).fold(0, u64::saturating_add);
    (mib_per_second > 0.0).then(|| (bytes as f64 / (mib_per_second * 1_048_576.0)) as u64)
}

impl CompactionStats {
    fn table(&self, columns: &mut Columns) {
        for running in &self.compactions {
            let id = or_unknown(running.id.as_deref());
            let human = self.human && running.unit == "bytes";
            let (done, total) = (bytes(running.completed, human), bytes(running.total, human));
            let progress = match running.total {
                0 => "n/a".into(),
                total => format!("{:.2}%", running.completed as f64 / total as f64 * 100.0),
            };
            let (kind, unit) = (running.compaction_type.as_str(), running.unit.as_str());
            let (keyspace, table) = (running.keyspace.as_str(), running.table.as_str());
            if self.vtable {
                columns.row([keyspace, table, &id, &progress, kind, &done, "?", &total, unit, "?"]);
            } else {
                columns.row([&id, kind, keyspace, table, &done, &total, unit, &progress]);
            }
        }
    }
}

impl Report for CompactionStats {
    fn text(&self) -> String {
        let mut columns = Columns::new(" ");
        columns.row(["concurrent compactors", &or_unknown(self.concurrent_compactors)]);
        columns.row(["pending tasks", &self.pending_tasks.to_string()]);
        for (keyspace, tables) in &self.pending_tasks_by_table {
            for (table, count) in tables {
                columns.row([keyspace, table, &count.to_string()]);
            }
        }
        columns.row(["compactions completed", &self.compactions_completed.to_string()]);
        columns.row(["data compacted", &bytes(self.bytes_compacted, self.human)]);
        let rate = or_unknown(self.mean_rate_per_hour.map(|rate| format!("{rate:.2}/hour")));
        columns.row(["mean rate", &rate]);
        let throughput = match self.throughput_mib_per_second {
            limit if limit > 0.0 => double(limit),
            _ => "throttling disabled (0)".into(),
        };
        columns.row(["compaction throughput (MiB/s)", &throughput]);
        if self.compactions.is_empty() {
            return columns.text("");
        }
        if self.vtable {
            columns.row([
                "keyspace",
                "table",
                "task id",
                "completion ratio",
                "kind",
                "progress",
                "sstables",
                "total",
                "unit",
                "target directory",
            ]);
        } else {
            columns.row(["id", "compaction type", "keyspace", "table", "completed", "total", "unit", "progress"]);
        }
        self.table(&mut columns);
        let remaining = self.remaining_seconds.map_or_else(|| "n/a".into(), hours);
        columns.row(["active compaction remaining time", &remaining]);
        columns.text("")
    }
}
