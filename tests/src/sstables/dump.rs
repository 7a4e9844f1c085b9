//! Dumps of SSTables as JSON, compared by what they say and not by where it lies.

use std::collections::BTreeSet;

/// The partitions that a table's dumps show, each as text.
#[derive(Clone, Debug, Default)]
pub struct Dumps {
    partitions: BTreeSet<String>,
}

impl Dumps {
    /// Adds what `sstabledump` printed of one file.
    pub fn push(&mut self, text: &str) -> Result<(), String> {
        // Its layout is fixed: a partition begins and ends with a brace that stands alone behind two spaces.
        let mut partition = String::new();
        for line in text.lines() {
            match line {
                "[" | "]" => {}
                "  {" => partition.clear(),
                "  }" | "  }," => {
                    self.partitions.insert(std::mem::take(&mut partition));
                }
                _ => {
                    if let Some(line) = comparable(line) {
                        partition.push_str(&line);
                        partition.push('\n');
                    }
                }
            }
        }
        if partition.is_empty() { Ok(()) } else { Err("a dump ends within a partition".into()) }
    }
}

/// The line without what differs from file to file: positions, and the ids of a list's elements, which are made of the clock.
fn comparable(line: &str) -> Option<String> {
    if line.trim_start().starts_with("\"position\" :") {
        return None;
    }
    let line = line.trim_end_matches(',');
    let Some(at) = line.find("\"path\" : [ \"") else { return Some(line.to_string()) };
    let begin = at + "\"path\" : [ \"".len();
    let end = begin + line[begin..].find('"').unwrap_or(0);
    if is_timeuuid(&line[begin..end]) {
        return Some(format!("{}*{}", &line[..begin], &line[end..]));
    }
    Some(line.to_string())
}

fn is_timeuuid(text: &str) -> bool {
    let is_shaped = text.len() == 36 && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    is_shaped && text.as_bytes()[14] == b'1'
}

/// The first thing that one shows and the other does not.
pub fn difference(expected: &Dumps, given: &Dumps) -> Option<String> {
    let missing = expected.partitions.difference(&given.partitions).next();
    let added = given.partitions.difference(&expected.partitions).next();
    match (missing, added) {
        (None, None) => None,
        (Some(missing), Some(added)) => Some(differing_lines(missing, added)),
        (Some(missing), None) => Some(format!("a partition is missing:\n{missing}")),
        (None, Some(added)) => Some(format!("a partition that should not be there:\n{added}")),
    }
}

fn differing_lines(expected: &str, given: &str) -> String {
    let (expected, given): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), given.lines().collect());
    let same = expected.iter().zip(&given).take_while(|(one, other)| one == other).count();
    let around = |lines: &[&str]| lines[same.saturating_sub(8)..lines.len().min(same + 6)].join("\n");
    format!("from line {same} of a partition on\n expected\n{}\n given\n{}", around(&expected), around(&given))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str =
        "[\n  {\n    \"partition\" : {\n      \"key\" : [ \"1\" ],\n      \"position\" : 0\n    }\n  }\n]\n";

    fn dumps(text: &str) -> Dumps {
        let mut dumps = Dumps::default();
        dumps.push(text).expect("a dump");
        dumps
    }

    #[test]
    fn positions_do_not_count_and_keys_do() {
        let moved = DUMP.replace("\"position\" : 0", "\"position\" : 77");
        assert!(difference(&dumps(DUMP), &dumps(&moved)).is_none());
        assert!(difference(&dumps(DUMP), &dumps(&DUMP.replace("\"1\"", "\"2\""))).is_some());
        assert!(difference(&dumps(DUMP), &Dumps::default()).is_some());
    }

    #[test]
    fn an_elements_id_does_not_count_and_another_key_does() {
        let line = r#"  { "name" : "l", "path" : [ "5b1c4000-0000-11ee-8000-000000000001" ], "value" : 1 },"#;
        assert_eq!(comparable(line), comparable(&line.replace("5b1c", "6b1c")));
        let other = line.replace("11ee", "41ee");
        assert_ne!(comparable(line), comparable(&other));
    }
}
