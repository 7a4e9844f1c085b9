//! The script of expectations: requests with their status and body, in order.

use helenus_tests::{Connection, Server, http, http_json};
use serde_json::Value;

/// Runs a script. All that does not fit is told together, with its line.
pub fn run(text: &str, server: &Server, connection: &mut Connection) {
    let mut failures = Vec::new();
    let mut requests = 0;
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim())).peekable();
    while let Some((number, line)) = lines.next() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(statement) = line.strip_prefix("CQL ") {
            connection.query(statement).unwrap_or_else(|error| panic!("line {number}: {error}"));
            continue;
        }
        let (method, target) = line.split_once(' ').unwrap_or_else(|| panic!("line {number}: no request: {line}"));
        let (_, expected) = lines.next().unwrap_or_else(|| panic!("line {number}: nothing is expected"));
        let (status, body) = expected.split_once(' ').unwrap_or((expected, ""));
        let status: u16 = status.parse().unwrap_or_else(|_| panic!("line {number}: no status: {expected}"));
        let sent = match target.split_once(' ') {
            Some((target, body)) => http_json(server.api_port, method, target, body),
            None => http(server.api_port, method, target),
        };
        let answer = sent.unwrap_or_else(|error| panic!("line {number}: {error}"));
        requests += 1;
        if answer.status != status || !fits_text(body, &answer.body) {
            failures.push(format!("line {number}: {line}\n  {} {}", answer.status, answer.body));
        }
    }
    assert!(failures.is_empty(), "{} answers are not as expected:\n{}", failures.len(), failures.join("\n"));
    assert!(requests > 100, "the script has only {requests} requests");
}

fn fits_text(expected: &str, found: &str) -> bool {
    if expected.is_empty() {
        return found.is_empty();
    }
    let expected: Value = serde_json::from_str(expected).unwrap_or_else(|error| panic!("{expected}: {error}"));
    serde_json::from_str(found).is_ok_and(|found: Value| fits(&expected, &found))
}

/// Whether an answer is what is expected; see the head of `rest.txt`.
fn fits(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::String(kind), found) if kind == "<number>" => found.is_number(),
        (Value::String(kind), Value::String(_)) if kind == "<text>" => true,
        (Value::String(kind), Value::String(text)) if kind == "<uuid>" => {
            text.len() == 36 && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
        }
        (Value::Array(expected), Value::Array(found)) => {
            let is_open = expected.last().is_some_and(|last| last == "<more>");
            let named = expected.len() - usize::from(is_open);
            (found.len() == named || (is_open && found.len() > named))
                && expected.iter().take(named).zip(found).all(|(expected, found)| fits(expected, found))
        }
        (Value::Object(expected), Value::Object(found)) => {
            expected.iter().all(|(key, expected)| found.get(key).is_some_and(|found| fits(expected, found)))
        }
        (expected, found) => expected == found,
    }
}

#[test]
fn expectations_can_fail() {
    let fit = |expected: &str, found: &str| fits_text(expected, found);
    assert!(fit("[1, \"<more>\"]", "[1, 2]") && !fit("[1, \"<more>\"]", "[]") && !fit("[1]", "[1, 2]"));
    assert!(fit("{\"a\": \"<number>\"}", "{\"a\": 1, \"b\": 2}") && !fit("{\"a\": \"<number>\"}", "{\"a\": \"1\"}"));
    assert!(!fit("{\"a\": null}", "{}") && fit("", "") && !fit("", "1") && !fit("1", ""));
    assert!(!fit("\"<uuid>\"", "\"x\"") && fit("\"x\"", "\"x\"") && !fit("\"x\"", "\"y\""));
}
