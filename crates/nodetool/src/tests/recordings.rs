//! What a real Cassandra printed, in `testdata/cassandra/`, and what is printed here of a node with the same figures.
//!
//! The line `compare` of a script says how alike both are. These scripts are never rewritten.

use super::script::{folder, scripts};

#[test]
fn layouts_are_cassandras() {
    for script in scripts(&folder().join("cassandra")) {
        assert!(!script.runs.is_empty(), "{} runs nothing", script.path.display());
        let compare = script.setting("compare ").expect("a line `compare`");
        for (recorded, run) in script.runs.iter().zip(script.run_anew().runs) {
            if let Err(difference) = alike(compare, &recorded.printed, &run.printed) {
                panic!(
                    "{}: $ {}\n{difference}\nCassandra:\n{}\nhere:\n{}",
                    script.path.display(),
                    run.line,
                    recorded.printed,
                    run.printed
                );
            }
        }
    }
}

/// What is left of a line that is compared.
fn reduced(compare: &str, line: &str) -> String {
    let words = || line.trim_end_matches('|').split_whitespace().collect::<Vec<_>>().join(" ");
    match compare {
        // Each line to its last blank.
        "exactly" => line.to_owned(),
        // The words of each line.
        "words" | "some words" | "beginnings" => words(),
        // What stands before the first colon, with the tabs, or the first word.
        "some labels" => match line.split_once(':') {
            Some((label, _)) => label.trim_end().to_owned(),
            None => line.trim_end_matches('|').split(' ').next().unwrap_or("").to_owned(),
        },
        other => panic!("`compare {other}` means nothing"),
    }
}

/// Whether each of our lines stands among Cassandra's in the same order, and, unless only some are there, none between them.
fn alike(compare: &str, cassandra: &str, here: &str) -> Result<(), String> {
    let mut theirs = cassandra.lines().map(|line| reduced(compare, line));
    for line in here.lines() {
        let ours = reduced(compare, line);
        let found = match compare {
            "exactly" | "words" => theirs.next().is_some_and(|line| line == ours),
            // Each line as it begins: the last columns are missing.
            "beginnings" => theirs.next().is_some_and(|line| line.starts_with(&ours)),
            _ => theirs.any(|line| line == ours),
        };
        if !found {
            return Err(format!("Cassandra has no line `{ours}` there"));
        }
    }
    match theirs.next() {
        Some(line) if !compare.starts_with("some") => Err(format!("Cassandra has a line more: `{line}`")),
        _ => Ok(()),
    }
}

#[test]
fn differences_are_found() {
    for (compare, cassandra, here, expected) in [
        ("exactly", "a  b|", "a  b|", true),
        ("exactly", "a  b|", "a b|", false),
        ("exactly", "a|\nb|", "a|", false),
        ("words", "a  b |", "a b|", true),
        ("words", "a c|", "a b|", false),
        ("beginnings", "a b c|", "a b|", true),
        ("beginnings", "a b c|", "b c|", false),
        ("some words", "a|\nb|\nc|", "a|\nc|", true),
        ("some words", "a|\nb|\nc|", "c|\na|", false),
        ("some labels", "\tReads: 1|\n\tWrites: 2|", "\tWrites: 7|", true),
        ("some labels", "\tReads: 1|", "Reads: 1|", false),
    ] {
        assert_eq!(alike(compare, cassandra, here).is_ok(), expected, "{compare}: {cassandra} against {here}");
    }
}
