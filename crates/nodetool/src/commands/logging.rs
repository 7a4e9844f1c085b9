//! The levels of the log, and which share of requests is traced.

use serde::Serialize;

use crate::answers::Pair;
use crate::arguments::{SetLoggingLevel, SetTraceProbability};
use crate::error::ToolError;
use crate::layout::double;
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

use super::done;

const LEVELS: [&str; 7] = ["ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF"];

#[derive(Serialize)]
struct Levels {
    levels: Vec<Level>,
}

#[derive(Serialize)]
struct Level {
    logger: String,
    level: String,
}

impl Report for Levels {
    fn text(&self) -> String {
        let line = |name: &str, level: &str| format!("{name:<50}{level:>10}\n");
        let lines = self.levels.iter().map(|entry| line(&entry.logger, &entry.level));
        format!("\n{}{}", line("Logger Name", "Log Level"), lines.collect::<String>())
    }
}

pub(super) fn levels(node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let pairs: Vec<Pair<String>> = node.get(Request::get("/storage_service/logging_level"))?;
    let level = |pair: Pair<String>| Level {
        logger: if pair.key.eq_ignore_ascii_case("root") { "ROOT".into() } else { pair.key },
        level: pair.value,
    };
    Ok(Answer::of(&Levels { levels: pairs.into_iter().map(level).collect() }))
}

/// Without a level, the configured one comes back; without anything, all of them.
pub(super) fn set_level(arguments: &SetLoggingLevel, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let level = arguments.level.as_deref().unwrap_or("").to_ascii_uppercase();
    if !level.is_empty() && !LEVELS.contains(&level.as_str()) {
        return Err(ToolError::usage(format!("`{level}` is not a log level: {}", LEVELS.join(", "))));
    }
    let target = arguments.target.as_deref().unwrap_or("");
    done(node, Request::post("/storage_service/logging_level").with("class_qualifier", target).with("level", &level))
}

#[derive(Serialize)]
struct TraceProbability {
    trace_probability: f64,
}

impl Report for TraceProbability {
    fn text(&self) -> String {
        format!("Current trace probability: {}\n", double(self.trace_probability))
    }
}

pub(super) fn trace_probability(node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let trace_probability = node.get(Request::get("/storage_service/trace_probability"))?;
    Ok(Answer::of(&TraceProbability { trace_probability }))
}

pub(super) fn set_trace_probability(
    arguments: &SetTraceProbability,
    node: &mut dyn Surroundings,
) -> Result<Answer, ToolError> {
    if !(0.0..=1.0).contains(&arguments.probability) {
        return Err(ToolError::usage("Trace probability must be between 0 and 1"));
    }
    let probability = arguments.probability.to_string();
    done(node, Request::post("/storage_service/trace_probability").with("probability", &probability))
}
