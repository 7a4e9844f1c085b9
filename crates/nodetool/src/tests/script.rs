//! The text files in `testdata/`: a node's answers, then command lines with what they print.
//!
//! ```text
//! # read over
//! use node.txt                     the answers of another file, which this one's come before
//! GET /storage_service/load = 1.5  an answer
//! POST /storage_service/drain = !500 it broke    a refusal
//!
//! $ status -r                      a command line
//! > POST /storage_service/drain    what it had the node do
//! UN  127.0.0.1 …|                 a line of its output, with a bar where it ends
//! ! nodetool: …                    a line of its errors
//! = 0                              its exit code
//! ```
//!
//! What is not among the answers is `404` if it is asked for, and done if it is to be done.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::error::ToolError;
use crate::surroundings::{Method, Request, Surroundings};

/// A node that answers what is written, at a fixed time.
#[derive(Default)]
pub(super) struct Written {
    answers: BTreeMap<String, String>,
    /// What it was made to do.
    done: Vec<String>,
    /// Lines that were shown before the end.
    shown: Vec<String>,
}

impl Surroundings for Written {
    fn ask(&mut self, request: &Request) -> Result<String, ToolError> {
        let name = request.name();
        if request.method != Method::Get {
            self.done.push(name.clone());
        }
        let refused = |status, sentence: &str| Err(ToolError::Refused { status, sentence: sentence.to_owned() });
        match self.answers.get(&name) {
            None if request.method == Method::Get => refused(404, &format!("there is no {name}")),
            None => Ok(String::new()),
            Some(answer) => match answer.strip_prefix('!') {
                None => Ok(answer.clone()),
                Some(refusal) => {
                    let (status, sentence) = refusal.split_once(' ').expect("a status and a sentence");
                    refused(status.parse().expect("a status is a number"), sentence)
                }
            },
        }
    }

    fn roles_in(&mut self, folder: &std::path::Path) -> Result<String, ToolError> {
        Ok(format!("{{\"read of\": {folder:?}}}"))
    }

    fn show(&mut self, line: &str) {
        self.shown.push(line.to_owned());
    }

    fn now_ms(&self) -> u64 {
        1_795_326_264_394
    }

    fn name_of(&self, address: IpAddr) -> Option<String> {
        address.is_loopback().then(|| "localhost".to_owned())
    }
}

/// A file: what stands before its first command line, and the command lines.
pub(super) struct Script {
    pub(super) path: PathBuf,
    /// As it is written.
    head: String,
    pub(super) runs: Vec<Run>,
}

/// A command line and what it printed.
pub(super) struct Run {
    pub(super) line: String,
    pub(super) printed: String,
}

pub(super) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")
}

/// All scripts of a folder.
pub(super) fn scripts(folder: &Path) -> Vec<Script> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no scripts in {}", folder.display());
    paths.iter().map(|path| Script::read(path)).collect()
}

impl Script {
    fn read(path: &Path) -> Script {
        let text = fs::read_to_string(path).expect("the script can be read");
        let mut parts = format!("\n{text}").split("\n$ ").map(str::to_owned).collect::<Vec<_>>().into_iter();
        let head = parts.next().expect("a split has a first part").trim().to_owned();
        let run = |part: String| {
            let (line, printed) = part.split_once('\n').unwrap_or((&part, ""));
            Run { line: line.to_owned(), printed: printed.trim_end_matches('\n').to_owned() + "\n" }
        };
        Script { path: path.to_owned(), head, runs: parts.map(run).collect() }
    }

    /// The first line of the head that begins so, without that.
    pub(super) fn setting(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
    }

    fn node(&self) -> Written {
        let mut node = Written::default();
        for line in self.head.lines() {
            if let Some(other) = line.strip_prefix("use ") {
                let other = Script::read(&folder().join(other)).node();
                node.answers.extend(other.answers);
            }
        }
        for line in self.head.lines() {
            if ["GET /", "POST /", "DELETE /"].iter().any(|method| line.starts_with(method)) {
                let (name, answer) = line.split_once(" = ").expect("a request, ` = `, an answer");
                node.answers.insert(name.to_owned(), answer.to_owned());
            }
        }
        node
    }

    /// Runs each command line and gives the script as it would be written now.
    pub(super) fn run_anew(&self) -> Script {
        let run = |run: &Run| Run { line: run.line.clone(), printed: printed(&run.line, self.node()) };
        Script { path: self.path.clone(), head: self.head.clone(), runs: self.runs.iter().map(run).collect() }
    }

    pub(super) fn text(&self) -> String {
        let runs = self.runs.iter().map(|run| format!("\n$ {}\n{}", run.line, run.printed));
        format!("{}\n{}", self.head, runs.collect::<String>())
    }

    pub(super) fn write(&self) {
        fs::write(&self.path, self.text()).expect("the script can be written");
    }
}

fn printed(line: &str, mut node: Written) -> String {
    let arguments: Vec<OsString> = line.split(' ').filter(|word| !word.is_empty()).map(OsString::from).collect();
    let mut told = crate::Told::default();
    let code = match crate::parsed(arguments) {
        Ok(arguments) => {
            let code = crate::answered(&arguments, &mut node, &mut told);
            if arguments.json {
                node.shown.clear();
            }
            code
        }
        Err(error) => {
            told.errors = error.to_string();
            u8::from(error.use_stderr())
        }
    };
    let mut text = String::new();
    for request in &node.done {
        text += &format!("> {request}\n");
    }
    for line in &node.shown {
        text += &format!("{line}|\n");
    }
    for line in told.output.lines() {
        text += &format!("{line}|\n");
    }
    for line in told.errors.lines() {
        text += format!("! {line}").trim_end();
        text.push('\n');
    }
    text + &format!("= {code}\n")
}
