//! `tpstats`: stages and their queues under the names of Cassandra's thread pools, and messages that were dropped.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::answers::{Pair, Stage};
use crate::arguments::ThreadPoolStats as Arguments;
use crate::error::ToolError;
use crate::layout::{Columns, or_unknown};
use crate::report::{Answer, Report, json, yaml};
use crate::surroundings::{Request, Surroundings};

use super::Format;

/// In the fields that Cassandra's JSON has.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Stages {
    #[serde(serialize_with = "as_map")]
    thread_pools: Vec<(String, Queue)>,
    dropped_message: BTreeMap<String, u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Queue {
    active_tasks: Option<u64>,
    pending_tasks: Option<u64>,
    completed_tasks: Option<u64>,
    currently_blocked_tasks: Option<u64>,
    total_blocked_tasks: Option<u64>,
}

fn as_map<S: serde::Serializer>(stages: &[(String, Queue)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(stages.iter().map(|(name, queue)| (name, queue)))
}

pub(super) fn run(arguments: &Arguments, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let format = Format::of(arguments.format.as_deref())?;
    let stages: Vec<Stage> = node.get(Request::get("/helenus/stages"))?;
    let dropped: Option<Vec<Pair<u64>>> = node.get_if_there(Request::get("/messaging_service/messages/dropped"))?;
    let queue = |stage: Stage| {
        let queue = Queue {
            active_tasks: stage.active,
            pending_tasks: stage.pending,
            completed_tasks: stage.completed,
            currently_blocked_tasks: stage.blocked,
            total_blocked_tasks: stage.all_time_blocked,
        };
        (stage.name, queue)
    };
    let stages = Stages {
        thread_pools: stages.into_iter().map(queue).collect(),
        dropped_message: crate::answers::map(dropped.unwrap_or_default()),
    };
    let mut answer = Answer::of(&stages);
    match format {
        Format::Text => {}
        Format::Json => answer.text = json(&stages),
        Format::Yaml => answer.text = yaml(&stages),
    }
    Ok(answer)
}

impl Report for Stages {
    fn text(&self) -> String {
        let mut stages = Columns::new(" ");
        stages.row(["Pool Name", "Active", "Pending", "Completed", "Blocked", "All time blocked"]);
        for (name, queue) in &self.thread_pools {
            stages.row([
                name,
                &or_unknown(queue.active_tasks),
                &or_unknown(queue.pending_tasks),
                &or_unknown(queue.completed_tasks),
                &or_unknown(queue.currently_blocked_tasks),
                &or_unknown(queue.total_blocked_tasks),
            ]);
        }
        let mut messages = Columns::new(" ");
        messages.row(["Message type", "Dropped", "   ", "50%", "", "95%", "", "99%", "", "Max"]);
        for (name, count) in &self.dropped_message {
            let count = count.to_string();
            messages.row([name, &count, "", "N/A", "", "N/A", "", "N/A", "", "N/A"]);
        }
        format!(
            "{}\nLatencies waiting in queue (micros) per dropped message types\n{}",
            stages.text(""),
            messages.text("")
        )
    }
}
