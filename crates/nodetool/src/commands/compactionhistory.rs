//! `compactionhistory`: the compactions that ended, the last one first.

use serde::Serialize;

use crate::answers::EndedCompaction;
use crate::arguments::CompactionHistory as Arguments;
use crate::error::ToolError;
use crate::layout::{Columns, bytes, date_and_time};
use crate::report::{Answer, Report, json, yaml};
use crate::surroundings::{Request, Surroundings};

use super::Format;

/// In the fields that Cassandra's JSON has.
#[derive(Serialize)]
struct History {
    #[serde(rename = "CompactionHistory")]
    ended: Vec<Ended>,
    #[serde(skip)]
    human: bool,
}

#[derive(Serialize)]
struct Ended {
    id: String,
    keyspace_name: String,
    columnfamily_name: String,
    /// Of UTC.
    compacted_at: String,
    bytes_in: u64,
    bytes_out: u64,
    rows_merged: String,
    compaction_properties: &'static str,
}

pub(super) fn run(arguments: &Arguments, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let format = Format::of(arguments.format.as_deref())?;
    let mut ended: Vec<EndedCompaction> = node.get(Request::get("/compaction_manager/compaction_history"))?;
    ended.sort_by_key(|ended| std::cmp::Reverse(ended.compacted_at));
    let history = History { ended: ended.into_iter().map(Ended::of).collect(), human: arguments.human_readable };
    let mut answer = Answer::of(&history);
    match format {
        Format::Text => {}
        Format::Json => answer.text = json(&history),
        Format::Yaml => answer.text = yaml(&history),
    }
    Ok(answer)
}

impl Ended {
    fn of(ended: EndedCompaction) -> Ended {
        let merged = ended.rows_merged.iter().map(|pair| format!("{}:{}", pair.key, pair.value));
        Ended {
            id: ended.id,
            keyspace_name: ended.ks,
            columnfamily_name: ended.cf,
            compacted_at: date_and_time(ended.compacted_at),
            bytes_in: ended.bytes_in,
            bytes_out: ended.bytes_out,
            rows_merged: format!("{{{}}}", merged.collect::<Vec<_>>().join(", ")),
            // A node has compactions of no other type yet.
            compaction_properties: "{compaction_type:Compaction}",
        }
    }
}

impl Report for History {
    fn text(&self) -> String {
        let mut text = "Compaction History: \n".to_owned();
        if self.ended.is_empty() {
            return text + "There is no compaction history\n";
        }
        let mut columns = Columns::new(" ");
        columns.row([
            "id",
            "keyspace_name",
            "columnfamily_name",
            "compacted_at",
            "bytes_in",
            "bytes_out",
            "rows_merged",
            "compaction_properties",
        ]);
        for ended in &self.ended {
            columns.row([
                &ended.id,
                &ended.keyspace_name,
                &ended.columnfamily_name,
                &ended.compacted_at,
                &bytes(ended.bytes_in, self.human),
                &bytes(ended.bytes_out, self.human),
                &ended.rows_merged,
                ended.compaction_properties,
            ]);
        }
        text += &columns.text("");
        text
    }
}
