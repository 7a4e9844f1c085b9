//! A server under callgrind: counting is switched on from outside, and what each thread has executed is read from its dumps.
//!
//! Callgrind knows no io_uring, so the server is on epoll. What the kernel does is not counted.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::subject::{Server, serve_arguments};
use crate::tools::{self, VALGRIND};
use crate::{process, workspace};

/// A server whose instructions are counted once [`Counted::begin`] was called.
pub struct Counted {
    /// The server.
    pub server: Server,
    folder: PathBuf,
}

/// The instructions of one thread between two moments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dump {
    /// The thread's number; 0 where threads are not told apart.
    pub thread: u32,
    /// All of them.
    pub total: u64,
    /// Of each function those of its own, without what it calls.
    pub functions: BTreeMap<String, u64>,
}

impl Counted {
    /// Starts a server of the chosen profile with one shard, and these arguments. Its data are in `data` of the scratch folder of that name. `tells_threads_apart`: a dump is one for
    /// each thread.
    pub fn start<A: AsRef<OsStr>>(name: &str, tells_threads_apart: bool, arguments: &[A]) -> Result<Counted, String> {
        tools::require(&[VALGRIND])?;
        let folder = workspace::scratch(name)?;
        let mut command = Command::new("valgrind");
        command.args(["--quiet", "--tool=callgrind", "--instr-atstart=no"]);
        if tells_threads_apart {
            command.arg("--separate-threads=yes");
        }
        command.arg(format!("--callgrind-out-file={}", folder.join("dump").display()));
        command.arg(workspace::product("helenus"));
        serve_arguments(&mut command, 1, 0);
        command.args(["--reactor", "epoll", "--commitlog-sync", "periodic", "--memory", "1G"]).args(arguments);
        let server = Server::start(command.arg("--data-dir").arg(folder.join("data")))?;
        Ok(Counted { server, folder })
    }

    /// The scratch folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Counts from now on.
    pub fn begin(&self) -> Result<(), String> {
        self.control("--instr=on")
    }

    /// Forgets what was counted so far.
    pub fn zero(&self) -> Result<(), String> {
        self.control("--zero")
    }

    /// The instructions since the last dump or zero, of each thread that executed any.
    pub fn dump(&self) -> Result<Vec<Dump>, String> {
        let before: BTreeSet<PathBuf> = self.dumps()?.into_iter().map(|(_, path)| path).collect();
        self.control("--dump")?;
        let found = self.dumps()?;
        let newest = found.iter().filter(|(_, path)| !before.contains(path));
        let read = |(thread, path): &(u32, PathBuf)| {
            let text = fs::read_to_string(path).map_err(|error| unreadable(&self.folder, &error))?;
            let of_thread = |dump| Dump { thread: *thread, ..dump };
            parsed(&text).map(of_thread).ok_or_else(|| format!("callgrind's dump {} has no total", path.display()))
        };
        let dumps = newest.map(read).collect::<Result<Vec<Dump>, String>>()?;
        if dumps.is_empty() { Err("callgrind has dumped nothing".to_owned()) } else { Ok(dumps) }
    }

    fn control(&self, argument: &str) -> Result<(), String> {
        let pid = self.server.child.id().to_string();
        process::quiet(Command::new("callgrind_control").args([argument, &pid])).map(drop)
    }

    /// The dumps so far with their threads; the one without a number is written at the end.
    fn dumps(&self) -> Result<Vec<(u32, PathBuf)>, String> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(|error| unreadable(&self.folder, &error))? {
            let entry = entry.map_err(|error| unreadable(&self.folder, &error))?;
            if let Some(thread) = entry.file_name().to_str().and_then(thread_of) {
                found.push((thread, entry.path()));
            }
        }
        Ok(found)
    }
}

fn unreadable(folder: &Path, error: &std::io::Error) -> String {
    format!("cannot read callgrind's dumps in {}: {error}", folder.display())
}

/// The thread of a dump by its file's name, `dump.3` or `dump.3-01`; `None`: it is none.
fn thread_of(name: &str) -> Option<u32> {
    let number = name.strip_prefix("dump.")?;
    let (part, thread) = number.split_once('-').unwrap_or((number, "0"));
    part.parse::<u32>().ok()?;
    thread.parse().ok()
}

/// Reads a dump of one event in callgrind's format: <https://valgrind.org/docs/manual/cl-format.html>.
fn parsed(text: &str) -> Option<Dump> {
    let mut dump = Dump::default();
    // A name is written out where it comes first; afterwards its number stands for it.
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let (mut function, mut is_of_call, mut total) = ("", false, None);
    for line in text.lines() {
        if let Some(count) = line.strip_prefix("totals: ") {
            total = count.trim().parse().ok();
        } else if let Some((key, value)) = line.split_once('=').filter(|(key, _)| is_key(key)) {
            match key {
                "fn" => function = name(&mut names, value),
                "cfn" => _ = name(&mut names, value),
                "calls" => is_of_call = true,
                _ => {}
            }
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            // The line after `calls=` has what the callee executed, which is counted under its own name.
            if !std::mem::take(&mut is_of_call)
                && let Some(count) = line.split(' ').next_back().and_then(|count| count.parse::<u64>().ok())
            {
                *dump.functions.entry(function.to_owned()).or_default() += count;
            }
        }
    }
    dump.total = total?;
    Some(dump)
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// The name that `(7) name` or `(7)` stands for.
fn name<'t>(names: &mut BTreeMap<&'t str, &'t str>, value: &'t str) -> &'t str {
    match value.split_once(' ') {
        Some((number, name)) if number.starts_with('(') => {
            names.insert(number, name);
            name
        }
        _ => names.get(value).copied().unwrap_or(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str = "version: 1\nevents: Ir\nthread: 2\n\nob=(1) helenus\nfl=(1)\nfn=(1) serve\n0 100\ncfn=(2) write\n\
        calls=3 0\n0 4000\n0 11\n\nfn=(2)\n0 4000\ncob=(2)\ncfn=(3) memcpy\ncalls=1 0\n0 600\n\nfn=(3)\n* 600\n\ntotals: 4711\n";

    #[test]
    fn instructions_of_functions_are_their_own() {
        let dump = parsed(DUMP).expect("a dump");
        let expected = [("memcpy", 600), ("serve", 111), ("write", 4000)];
        assert_eq!(dump.functions, expected.map(|(name, count)| (name.to_owned(), count)).into());
        assert_eq!((dump.total, dump.functions.values().sum::<u64>()), (4711, 4711));
        assert_eq!(parsed("events: Ir\nfn=(1) serve\n0 1\n"), None, "it was cut short");
    }

    #[test]
    fn dumps_are_known_by_their_names() {
        assert_eq!(
            ["dump.1", "dump.12-03", "dump", "dump.x", "data"].map(thread_of),
            [Some(0), Some(3), None, None, None]
        );
    }
}
