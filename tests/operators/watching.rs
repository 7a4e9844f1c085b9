//! The dashboard and the alert rules of `contrib/grafana/` ask for metrics that there are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use helenus_tests::{Builder, Connection, http, prometheus};
use serde::Deserialize;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Prometheus' file of rules, as far as it is used. A key that is misspelt is refused.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    name: String,
    rules: Vec<Alert>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Alert {
    alert: String,
    expr: String,
    #[serde(rename = "for")]
    lasts: Option<String>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

fn alerts() -> Vec<Alert> {
    let rules: Rules = serde_saphyr::from_str(&text("contrib/grafana/alerts.yaml")).expect("alerts.yaml");
    assert!(rules.groups.iter().all(|group| !group.name.is_empty()));
    rules.groups.into_iter().flat_map(|group| group.rules).collect()
}

/// The panels' expressions, by their titles.
fn panels() -> Vec<(String, String)> {
    let dashboard: serde_json::Value = serde_json::from_str(&text("contrib/grafana/dashboard.json")).expect("JSON");
    let mut found = Vec::new();
    for panel in dashboard["panels"].as_array().expect("panels") {
        let title = panel["title"].as_str().expect("a title").to_owned();
        let targets = panel["targets"].as_array();
        assert!(panel["type"] == "row" || targets.is_some_and(|targets| !targets.is_empty()), "{title} shows nothing");
        for target in targets.into_iter().flatten() {
            found.push((title.clone(), target["expr"].as_str().expect("an expression").to_owned()));
        }
    }
    found
}

/// The names of metrics in an expression: words of Helenus' or the process's prefix, outside of quotes.
fn metrics(expression: &str) -> BTreeSet<String> {
    let outside: Vec<&str> = expression.split('"').step_by(2).collect();
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = outside.iter().flat_map(|part| part.split(|letter| !is_letter(letter)));
    let names = words.filter(|word| word.starts_with("helenus_") || word.starts_with("process_"));
    names.map(str::to_owned).collect()
}

/// Brackets and quotes that close what they open.
fn is_balanced(expression: &str) -> bool {
    let mut open = Vec::new();
    for letter in expression.split('"').step_by(2).flat_map(str::chars) {
        match letter {
            '(' => open.push(')'),
            '[' => open.push(']'),
            '{' => open.push('}'),
            ')' | ']' | '}' if open.pop() != Some(letter) => return false,
            _ => {}
        }
    }
    open.is_empty() && expression.matches('"').count().is_multiple_of(2)
}

#[test]
fn the_dashboard_and_the_alerts_ask_for_metrics_that_there_are() {
    let server = Builder::new("epoll", 1).for_operators().start();
    let mut connection = Connection::start(&server.address()).expect("connects");
    connection
        .query("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        .expect("a keyspace");
    connection.query("CREATE TABLE k.t (p int PRIMARY KEY)").expect("a table");
    connection.query("INSERT INTO k.t (p) VALUES (1)").expect("a row");
    let answer = http(server.metrics_port, "GET", "/metrics").expect("answers");
    let families = prometheus::read(&answer.body).unwrap_or_else(|error| panic!("{error}"));
    let scraped: BTreeSet<String> =
        families.values().flat_map(|family| family.samples.iter().map(|(name, _)| name.clone())).collect();
    // Of these a node has samples only under TLS or with an audit log; the guide lists them beside the others.
    let guide = text("docs/guide/metrics.md");
    let is_documented = |name: &str| guide.contains(&format!("| `{name}` |"));

    let mut asked = panels();
    asked.extend(alerts().into_iter().map(|alert| (alert.alert, alert.expr)));
    let mut missing = Vec::new();
    let mut scraped_count = 0;
    for (title, expression) in &asked {
        assert!(is_balanced(expression), "{title}: {expression}");
        let names = metrics(expression);
        assert!(!names.is_empty() || expression.starts_with("up{"), "{title} asks for no metric: {expression}");
        for name in names {
            if scraped.contains(&name) {
                scraped_count += 1;
            } else if !is_documented(&name) {
                missing.push(format!("{title}: {name}"));
            }
        }
    }
    assert!(missing.is_empty(), "no node has these: {missing:#?}");
    assert!(scraped_count > 30, "only {scraped_count} of the metrics were scraped");
    drop(connection);
    server.stop();
}

#[test]
fn alerts_say_how_bad_they_are_and_what_to_do() {
    let alerts = alerts();
    let names: BTreeSet<&str> = alerts.iter().map(|alert| alert.alert.as_str()).collect();
    assert_eq!(names.len(), alerts.len(), "two alerts of one name");
    for alert in &alerts {
        let badness = alert.labels.get("severity").map(String::as_str);
        assert!(matches!(badness, Some("info" | "warning" | "critical")), "{}: {badness:?}", alert.alert);
        assert!(["summary", "description"].iter().all(|key| alert.annotations.contains_key(*key)), "{}", alert.alert);
        let is_time = |text: &str| text.ends_with(['s', 'm', 'h']) && text[..text.len() - 1].parse::<u32>().is_ok();
        assert!(alert.lasts.as_deref().is_none_or(is_time), "{}: {:?}", alert.alert, alert.lasts);
    }
}

#[test]
fn names_of_metrics_are_found_in_expressions() {
    let found = metrics("sum by (instance) (rate(helenus_a_total{kind=\"helenus_no\"}[5m])) / process_b");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["helenus_a_total", "process_b"]);
    assert!(is_balanced("a{b=\"(\"}[5m]") && !is_balanced("rate(a[5m)]") && !is_balanced("sum(a"));
}
