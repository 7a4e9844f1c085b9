//! Dumps of the fixtures against those of Cassandra's own tool.

#![allow(clippy::disallowed_methods, reason = "tests look at folders directly")]

use std::path::{Path, PathBuf};

use super::*;

/// The fixtures of which there is a dump, by their data files.
fn dumped() -> Vec<(PathBuf, String)> {
    // HELENUS_FIXTURES names a folder with the dumps of all, which `cargo xtask fixtures --all` makes.
    let root = std::env::var_os("HELENUS_FIXTURES").map(PathBuf::from);
    let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../sstable/testdata/cassandra"));
    let mut found = Vec::new();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the fixtures are there") {
            let path = entry.expect("a folder can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                let data = PathBuf::from(path.display().to_string().replace(".json", "-Data.db"));
                found.push((data, std::fs::read_to_string(&path).expect("a dump is text")));
            }
        }
    }
    found.sort();
    found
}

/// Cassandra shows the first bytes of a counter's shards; whether a thing has expired depends on when it was asked.
fn comparable(dump: &str, is_of_counters: bool) -> Vec<String> {
    let without = |line: &str| {
        let line =
            line.replace("\"expired\" : true", "\"expired\" : ?").replace("\"expired\" : false", "\"expired\" : ?");
        match line.find("\"value\" : ") {
            Some(at) if is_of_counters => line[..at].to_owned(),
            _ => line,
        }
    };
    dump.lines().map(without).collect()
}

#[test]
fn dumps_are_those_of_cassandra() {
    let dumped = dumped();
    assert!(dumped.len() > 20, "there are dumps among the fixtures");
    let main = |runtime: Runtime| async move {
        let mut wrong = Vec::new();
        for (path, expected) in dumped {
            let files = Files::of(&runtime, &path).expect("a data file");
            let arguments = DumpArguments { files: Vec::new(), keys: false, raw_times: false };
            let mut given = String::new();
            let print = |text: &str| {
                given.push_str(text);
                Ok(())
            };
            dump(&runtime, &files, &arguments, print)
                .await
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let is_of_counters = path.components().any(|part| part.as_os_str() == "counters");
            let (expected, given) = (comparable(&expected, is_of_counters), comparable(&given, is_of_counters));
            let same = expected.iter().zip(&given).take_while(|(expected, given)| expected == given).count();
            if same < expected.len().max(given.len()) {
                let lines = (expected.get(same), given.get(same));
                wrong.push(format!("{}, line {}: {lines:#?}", path.display(), same + 1));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    };
    runtime::run(runtime::Options::default(), vec![main]).expect("one shard runs");
}
