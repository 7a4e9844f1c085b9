//! Dumps of SSTables as JSON, compared by what they say and not by where it lies.

use std::collections::BTreeSet;

/// The partitions that a table's dumps show, each as text.
#[derive(Clone, Debug, Default)]
pub struct Dumps {
    partitions: BTreeSet<String>,
}

impl Dumps {
    /// Adds what `sstabledump` printed of one file, of a table with these clustering columns reversed.
    pub fn push(&mut self, text: &str, reversed: &[bool]) -> Result<(), String> {
        // Its layout is fixed: a partition begins and ends with a brace that stands alone behind two spaces.
        let mut partition = String::new();
        for line in text.lines() {
            match line {
                "[" | "]" => {}
                "  {" => partition.clear(),
                "  }" | "  }," => {
                    self.partitions.insert(with_bounds_alike(&std::mem::take(&mut partition), reversed));
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

/// The partition with each end of a deleted range by itself, and as an end that is included.
///
/// Two ranges of which one ends where the other begins may be written as two markers or as one, and that one may be said from either side: behind
/// all of 2 is before all of 3. Our memtable knows one place there, Cassandra's has the two ends as they were given. A range that is no newer than
/// its partition's deletion deletes nothing, and may be there or not.
fn with_bounds_alike(partition: &str, reversed: &[bool]) -> String {
    let (mut out, mut markers) = (String::new(), Vec::new());
    let mut lines = partition.lines();
    let head = partition.lines().take_while(|line| !line.contains("\"rows\""));
    let of_partition = head.filter_map(marked_deleted).last();
    while let Some(line) = lines.next() {
        // How many objects the ends lie in does not matter.
        if line.trim() == "{" {
            continue;
        }
        if !line.contains("\"range_tombstone_bound") {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        // An end is four lines or, of the whole partition, three; then its brace.
        while let Some(line) = lines.next().filter(|line| line.ends_with('{')) {
            let is_start = line.contains("\"start\"");
            let about: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != "}").collect();
            let deleted = about.iter().find_map(|line| marked_deleted(line));
            if of_partition.is_none() || deleted > of_partition {
                markers.push((is_start, bound(is_start, &about, reversed)));
            }
        }
        // The end of the one before the start of the other.
        markers.sort_by_key(|(is_start, _)| *is_start);
        markers.drain(..).for_each(|(_, bound)| out.push_str(&bound));
    }
    out
}

/// The time in a line that tells a deletion; of two such the later is the greater text.
fn marked_deleted(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("\"marked_deleted\" : \"")?;
    rest.split_once("Z\"").map(|(time, _)| time)
}

fn bound(is_start: bool, about: &[&str], reversed: &[bool]) -> String {
    let is_exclusive = about.iter().any(|line| line.contains("\"exclusive\""));
    let clustering = about.iter().find_map(|line| line.trim().strip_prefix("\"clustering\" : [ ")).unwrap_or_default();
    let mut values: Vec<String> = clustering.trim_end_matches(" ]").split(", ").map(String::from).collect();
    let last = values.iter().rposition(|value| value != "\"*\"").unwrap_or(0);
    let number = values[last].parse::<i64>().ok().filter(|_| is_exclusive);
    let kind = match number {
        Some(number) => {
            let is_reversed = reversed.get(last).copied().unwrap_or(false);
            values[last] = (if is_start != is_reversed { number + 1 } else { number - 1 }).to_string();
            "inclusive"
        }
        None if is_exclusive => "exclusive",
        None => "inclusive",
    };
    let deletion = about.iter().find(|line| line.contains("\"deletion_info\"")).copied().unwrap_or_default();
    format!("{} {kind} [{}] {}\n", if is_start { "start" } else { "end" }, values.join(", "), deletion.trim())
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
        dumps.push(text, &[]).expect("a dump");
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

    fn marker(kind: &str, ends: &[(&str, &str, i32)]) -> String {
        let end = |(name, kind, value): &(&str, &str, i32)| {
            let lines = [
                format!("\"{name}\" : {{"),
                format!("\"type\" : \"{kind}\""),
                format!("\"clustering\" : [ {value}, \"*\" ]"),
                "\"deletion_info\" : {}".to_string(),
                "}".to_string(),
            ];
            lines.join("\n")
        };
        let ends: Vec<String> = ends.iter().map(end).collect();
        format!("{{\n\"type\" : \"range_tombstone_{kind}\"\n{}\n}}\n", ends.join("\n"))
    }

    #[test]
    fn ranges_that_meet_may_be_written_in_either_way() {
        let two = marker("bound", &[("end", "inclusive", 2)]) + &marker("bound", &[("start", "inclusive", 3)]);
        let one = marker("boundary", &[("start", "exclusive", 2), ("end", "inclusive", 2)]);
        let flat = |text: &str, reversed: &[bool]| {
            let bounds: Vec<String> =
                with_bounds_alike(text, reversed).lines().filter(|line| line.len() > 1).map(String::from).collect();
            bounds
        };
        assert_eq!(flat(&two, &[false]), flat(&one, &[false]));
        assert_ne!(flat(&two, &[true]), flat(&one, &[true]));
        let other = marker("boundary", &[("start", "exclusive", 3), ("end", "inclusive", 3)]);
        assert_ne!(flat(&two, &[false]), flat(&other, &[false]));
    }
}
