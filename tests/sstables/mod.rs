//! The judge of SSTables; `cargo xtask oracle --sstables` and `cargo xtask fixtures` call it with the servers that they started.
//!
//! - `fixtures JARS FOLDER little|all SERVER [NAME…]`: has the server write the scripts' tables, and keeps their folders. The answers of the
//!   server that writes `da` are written into the scripts; the others must give the same
//! - `statements FOLDER`: what a Cassandra 3 is to write, for `Legacy.java`
//! - `ours JARS SERVER [NAME…]`: the server and Helenus write the same, and dumps must be the same; then the server serves Helenus's files and
//!   must answer as the scripts say
//! - `verify JARS SERVER [NAME…]`: `sstableverify` must accept what that server served, and refuse it when it is broken
//! - `theirs FIXTURES VERSION,… [NAME…]`: Helenus serves the fixtures of these versions and must answer as the scripts say
//! - `peers JARS FIXTURES VERSION SERVER [NAME…]`: the server serves the fixtures of that version and must answer as the scripts say
//!
//! A SERVER is `version@folder@port`, with port 0 for one that has written its folder already; JARS is the folder of the real one's.

use std::path::Path;
use std::process::ExitCode;

use helenus_tests::sstables::{self, Kept, Writer};

/// Carries out one command.
pub fn run(arguments: &[String]) -> ExitCode {
    let (command, rest) = arguments.split_first().map_or(("", &[][..]), |(command, rest)| (command.as_str(), rest));
    let writers: Vec<Writer> = rest.iter().filter_map(|argument| Writer::parse(argument)).collect();
    let words: Vec<&str> =
        rest.iter().filter(|argument| Writer::parse(argument).is_none()).map(String::as_str).collect();
    let outcome = match (command, &words[..], &writers[..]) {
        ("fixtures", [jars, folder, kept @ ("little" | "all"), names @ ..], [writer]) => {
            let kept = if *kept == "all" { Kept::All } else { Kept::Little };
            sstables::fixtures(Path::new(jars), Path::new(folder), kept, writer, names)
        }
        ("ours", [jars, names @ ..], [server]) => sstables::ours(Path::new(jars), server, names),
        ("verify", [jars, names @ ..], [reader]) => sstables::verify(Path::new(jars), reader, names),
        ("theirs", [fixtures, versions, names @ ..], []) => {
            sstables::theirs(Path::new(fixtures), &versions.split(',').collect::<Vec<_>>(), names)
        }
        ("peers", [jars, fixtures, version, names @ ..], [reader]) => {
            sstables::peers(Path::new(jars), Path::new(fixtures), version, reader, names)
        }
        ("statements", [folder], []) => sstables::statements(Path::new(folder)),
        _ => Err(format!("`{command}` is no command of the judge of SSTables")),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
