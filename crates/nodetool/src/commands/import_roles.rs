//! `import-roles`: roles of a Cassandra's files, read on this machine and sent to the node, which says what it takes over.

use serde::{Deserialize, Serialize};

use crate::arguments::ImportRoles;
use crate::error::ToolError;
use crate::report::{Answer, json};
use crate::surroundings::{Request, Surroundings};

#[derive(Debug, Serialize, Deserialize)]
struct Report {
    imported: Vec<String>,
    skipped: Vec<String>,
}

pub(crate) fn run(arguments: &ImportRoles, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let roles = node.roles_in(&arguments.folder)?;
    let flag = |is_set: bool| if is_set { "true" } else { "false" };
    let request = Request::post("/helenus/roles/import")
        .with("replace", flag(arguments.replace))
        .with("dry_run", flag(arguments.dry_run))
        .with_body(roles);
    let report: Report = node.get(request)?;
    let done = if arguments.dry_run { "would import" } else { "imported" };
    let mut text = String::new();
    for (word, lines) in [(done, &report.imported), ("skipped", &report.skipped)] {
        for line in lines {
            // A name of the files must not steer a terminal.
            let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            text.push_str(&format!("{word}: {line}\n"));
        }
    }
    text.push_str(&format!("{done} {}, skipped {}\n", report.imported.len(), report.skipped.len()));
    Ok(Answer { text, json: json(&report) })
}
