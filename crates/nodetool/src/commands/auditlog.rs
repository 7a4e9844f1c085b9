//! `enableauditlog`, `disableauditlog`, `getauditlog`: the audit log, until the node's next start.

use serde::Serialize;
use serde_json::Value;

use crate::arguments::EnableAuditLog;
use crate::error::ToolError;
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

const PATH: &str = "/storage_service/audit_log";

/// The options in Cassandra's order.
const OPTIONS: [&str; 15] = [
    "enabled",
    "logger",
    "audit_logs_dir",
    "archive_command",
    "roll_cycle",
    "block",
    "max_log_size",
    "max_queue_weight",
    "max_archive_retries",
    "included_keyspaces",
    "excluded_keyspaces",
    "included_categories",
    "excluded_categories",
    "included_users",
    "excluded_users",
];

#[derive(Serialize)]
struct AuditLog(serde_json::Map<String, Value>);

pub(super) fn get(node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    Ok(Answer::of(&AuditLog(node.get(Request::get(PATH))?)))
}

impl Report for AuditLog {
    fn text(&self) -> String {
        // Cassandra's table: columns as wide as their longest value, one space between them.
        let text = |name: &&str| match self.0.get(*name) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        let values: Vec<String> = OPTIONS.iter().map(text).collect();
        let width = |column: &mut dyn Iterator<Item = usize>| column.max().unwrap_or(0);
        let first = width(&mut OPTIONS.iter().map(|name| name.chars().count()));
        let second = width(&mut values.iter().map(|value| value.chars().count()));
        let rows = OPTIONS.iter().zip(&values);
        rows.map(|(name, value)| format!("{name:<first$} {value:<second$}\n")).collect()
    }
}

pub(super) fn disable(node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    node.order(Request::delete(PATH))?;
    Ok(Answer::nothing())
}

pub(super) fn enable(arguments: &EnableAuditLog, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    if let Some(blocking) = &arguments.blocking
        && !["true", "false"].iter().any(|word| blocking.eq_ignore_ascii_case(word))
    {
        return Err(ToolError::usage(format!("Invalid [{blocking}]. Blocking only accepts 'true' or 'false'.")));
    }
    let given = [
        ("logger", &arguments.logger),
        ("included_keyspaces", &arguments.included_keyspaces),
        ("excluded_keyspaces", &arguments.excluded_keyspaces),
        ("included_categories", &arguments.included_categories),
        ("excluded_categories", &arguments.excluded_categories),
        ("included_users", &arguments.included_users),
        ("excluded_users", &arguments.excluded_users),
        ("roll_cycle", &arguments.roll_cycle),
        ("block", &arguments.blocking),
        ("max_queue_weight", &arguments.max_queue_weight),
        ("max_log_size", &arguments.max_log_size),
        ("archive_command", &arguments.archive_command),
        ("max_archive_retries", &arguments.max_archive_retries),
    ];
    let given = given.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
    node.order(given.fold(Request::post(PATH), |request, (name, value)| request.with(name, value)))?;
    Ok(Answer::nothing())
}
