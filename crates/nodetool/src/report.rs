//! What a command says, as text and as JSON.

use serde::Serialize;

use crate::error::ToolError;

/// What a command has found out: its fields are the JSON, `text` is the layout that Cassandra's nodetool has.
pub(crate) trait Report: Serialize {
    /// The text, each line ended.
    fn text(&self) -> String;
}

/// Both, ready to be printed.
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) json: String,
}

impl Answer {
    /// What a report says.
    pub(crate) fn of(report: &impl Report) -> Answer {
        Answer { text: report.text(), json: json(report) }
    }

    /// Of a command that has nothing to say when all is well.
    pub(crate) fn nothing() -> Answer {
        Answer { text: String::new(), json: String::new() }
    }
}

/// The value as JSON that a person can read.
pub(crate) fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value);
    // Reports have text for keys and nothing else that JSON does not know.
    text.expect("a report has no value that JSON cannot say") + "\n"
}

/// The value as YAML.
pub(crate) fn yaml(value: &impl Serialize) -> String {
    serde_saphyr::to_string(value).expect("a report has no value that YAML cannot say")
}

/// The formats that `-F` may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
    Yaml,
}

impl Format {
    /// The format of that name; without one, text.
    pub(crate) fn of(name: Option<&str>) -> Result<Format, ToolError> {
        match name {
            None => Ok(Format::Text),
            Some("json") => Ok(Format::Json),
            Some("yaml") => Ok(Format::Yaml),
            Some(_) => Err(ToolError::usage("arguments for -F are json,yaml only.")),
        }
    }
}
