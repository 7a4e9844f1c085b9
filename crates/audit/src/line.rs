//! An entry's line: one JSON object, whatever bytes a client sends.

use std::fmt::Write;

use crate::date;
use crate::entry::Entry;

/// The line, its end included. `keyspace` and `scope` are what the entry is about.
pub(crate) fn of(entry: &Entry, host: &str, keyspace: Option<&str>, scope: Option<&str>) -> String {
    let mut line = String::with_capacity(256 + entry.operation.text.len());
    line.push('{');
    text(&mut line, "timestamp", &date::iso(entry.timestamp_ms));
    text(&mut line, "type", entry.kind.name());
    text(&mut line, "category", entry.kind.category().name());
    text(&mut line, "user", &entry.user);
    text(&mut line, "host", host);
    if let Some(source) = entry.source {
        text(&mut line, "source", &source.ip().to_string());
        name(&mut line, "source_port");
        let _ = write!(line, "{}", source.port());
    }
    let optional = [("keyspace", keyspace), ("scope", scope)];
    for (key, value) in optional.into_iter().filter_map(|(key, value)| Some((key, value?))) {
        text(&mut line, key, value);
    }
    if let Some(batch) = entry.batch {
        text(&mut line, "batch", &uuid(batch));
    }
    if let Some(id) = entry.prepared {
        text(&mut line, "prepared", &format!("{:032x}", u128::from_be_bytes(id)));
    }
    if !entry.operation.text.is_empty() {
        text(&mut line, "operation", &entry.operation.text);
    }
    if let Some(bytes) = entry.operation.cut_of {
        name(&mut line, "operation_bytes");
        let _ = write!(line, "{bytes}");
    }
    if let Some(error) = &entry.error {
        text(&mut line, "error", error);
    }
    line.push_str("}\n");
    line
}

/// A UUID as text.
pub(crate) fn uuid(bytes: [u8; 16]) -> String {
    let digits = format!("{:032x}", u128::from_be_bytes(bytes));
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

fn name(line: &mut String, name: &str) {
    if !line.ends_with('{') {
        line.push(',');
    }
    let _ = write!(line, "\"{name}\":");
}

/// A key and its text. All signs are escaped that could end a line for some reader, or move a terminal's cursor: C0, C1, DEL, U+2028, U+2029, and those that turn the
/// direction of what follows.
fn text(line: &mut String, key: &str, value: &str) {
    name(line, key);
    line.push('"');
    for letter in value.chars() {
        match letter {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            letter if letter.is_control() || matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => {
                let _ = write!(line, "\\u{:04x}", u32::from(letter));
            }
            letter => line.push(letter),
        }
    }
    line.push('"');
}

#[cfg(test)]
mod tests {
    use planted::Planted;
    use proptest::prelude::*;

    use super::*;
    use crate::entry::Operation;
    use crate::kind::EntryType;

    fn entry(user: &str, statement: &str) -> Entry {
        Entry {
            kind: EntryType::Update,
            user: user.to_owned(),
            source: Some("[::1]:4711".parse().expect("an address")),
            timestamp_ms: 1_796_052_169_123,
            keyspace: None,
            operation: Operation::statement(statement, Planted::NONE),
            batch: Some([0x11; 16]),
            prepared: Some([0xab; 16]),
            error: Some("why".to_owned()),
        }
    }

    #[test]
    fn a_line_has_all_fields_in_one_order() {
        let line = of(&entry("ada", "INSERT INTO t"), "10.0.0.1:7000", Some("ks"), Some("t"));
        let expected = "{\"timestamp\":\"2026-11-30T15:22:49.123Z\",\"type\":\"UPDATE\",\"category\":\"DML\",\"user\":\"ada\",\
             \"host\":\"10.0.0.1:7000\",\"source\":\"::1\",\"source_port\":4711,\"keyspace\":\"ks\",\"scope\":\"t\",\
             \"batch\":\"11111111-1111-1111-1111-111111111111\",\"prepared\":\"abababababababababababababababab\",\
             \"operation\":\"INSERT INTO t\",\"error\":\"why\"}\n";
        assert_eq!(line, expected);
    }

    proptest! {
        #[test]
        fn whatever_a_client_sends_stays_in_one_line_and_is_read_back(user in "\\PC{0,8}[\\x00-\\x7f\u{80}-\u{9f}\u{2028}\u{2029}]{0,8}", statement in any::<String>()) {
            let line = of(&entry(&user, &statement), "h", None, None);
            prop_assert!(line.ends_with('\n') && line.trim_end_matches('\n').chars().all(|letter| !letter.is_control()));
            let ends = line.contains(['\u{2028}', '\u{2029}', '\u{85}']);
            prop_assert!(!ends);
            let read: serde_json::Value = serde_json::from_str(&line).expect("it is JSON");
            prop_assert_eq!(read["user"].as_str(), Some(user.as_str()));
            let operation = auth::redact(&statement).into_owned();
            prop_assert_eq!(read["operation"].as_str().unwrap_or_default(), operation);
        }
    }
}
