//! `scrub`: as Cassandra's it says nothing where nothing is damaged; what was, it tells.

use serde::{Deserialize, Serialize};

use crate::arguments::Scrub;
use crate::error::ToolError;
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

/// What a node answers for a keyspace.
#[derive(Deserialize, Serialize)]
struct Scrubbed {
    #[serde(default)]
    keyspace: String,
    files: u64,
    damaged: u64,
    kept: u64,
    in_part: u64,
    lost: u64,
}

#[derive(Serialize)]
struct All {
    keyspaces: Vec<Scrubbed>,
}

impl Report for All {
    fn text(&self) -> String {
        let line = |of: &Scrubbed| {
            let Scrubbed { keyspace, files, damaged, kept, in_part, lost } = of;
            format!(
                "{keyspace}: {damaged} of {files} SSTables were damaged and are in a snapshot: {kept} partitions kept, {in_part} in part, {lost} lost\n"
            )
        };
        self.keyspaces.iter().filter(|of| of.damaged > 0).map(line).collect()
    }
}

pub(super) fn run(arguments: &Scrub, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let keyspaces: Vec<String> = match &arguments.keyspace {
        Some(keyspace) => vec![keyspace.clone()],
        None => node.get(Request::get("/storage_service/keyspaces").with("type", "user"))?,
    };
    let mut all = All { keyspaces: Vec::new() };
    for keyspace in keyspaces {
        let request = Request::post("/helenus/scrub").of(&keyspace).with_names("cf", &arguments.tables);
        let request = match arguments.no_snapshot {
            true => request.with("disable_snapshot", "true"),
            false => request,
        };
        let scrubbed: Scrubbed = node.get(request)?;
        all.keyspaces.push(Scrubbed { keyspace, ..scrubbed });
    }
    Ok(Answer::of(&all))
}
