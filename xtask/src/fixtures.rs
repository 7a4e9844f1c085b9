//! `cargo xtask fixtures`: SSTables that a real Cassandra writes, for the tests of what reads them.
//!
//! This starts a server for each version of the format; what is written and kept is told by `tests/src/sstables/`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::peers::cassandra::{self, Cassandra, Purpose};
use crate::peers::legacy;
use crate::peers::port::free_port;
use crate::tests::BUILD_TIME;
use crate::{built, process, workspace};

/// Versions, and the configuration under which each is written.
pub const WRITERS: [(&str, Purpose); 3] =
    [("da", Purpose::FilesOfTries), ("oa", Purpose::FilesOfBig), ("nb", Purpose::FilesOfDefaults)];

pub const TIME: Duration = Duration::from_secs(1800);

/// `cargo xtask fixtures [--all FOLDER] [VERSION…] [NAME…]`: of these versions and these scripts, or of all.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let (folder, kept, wanted) = match arguments {
        [word, folder, wanted @ ..] if word == "--all" => (PathBuf::from(folder), "all", wanted),
        wanted => (workspace::root().join("crates/sstable/testdata/cassandra"), "little", wanted),
    };
    let folder = std::path::absolute(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let is_version = |word: &&String| *word == legacy::VERSION || WRITERS.iter().any(|(name, _)| word == name);
    let (versions, names): (Vec<&String>, Vec<&String>) = wanted.iter().partition(is_version);
    let is_wanted = |version: &str| versions.is_empty() || versions.iter().any(|wanted| *wanted == version);
    let to = Target { folder: &folder, kept, names: &names };
    // The first one's answers are recorded, the others' are held against them.
    for (version, purpose) in WRITERS {
        if is_wanted(version) {
            write_version(&to, version, purpose)?;
        }
    }
    if is_wanted(legacy::VERSION) {
        write_legacy(&to)?;
    }
    println!("written to {}", folder.display());
    Ok(())
}

/// What is kept of which scripts, and where.
struct Target<'a> {
    folder: &'a Path,
    kept: &'a str,
    names: &'a [&'a String],
}

impl Target<'_> {
    /// Has the judge keep what that server wrote.
    fn keep(&self, jars: &Path, writer: &str) -> Result<(), String> {
        let mut judge = judge("fixtures")?;
        judge.args([jars, self.folder]).args([self.kept, writer]).args(self.names);
        process::must(&mut judge, TIME).map(drop)
    }
}

fn write_legacy(to: &Target<'_>) -> Result<(), String> {
    let (jars, scratch) = (cassandra::fetch()?, workspace::scratch("cassandra-legacy")?);
    let statements = scratch.join("statements");
    process::must(judge("statements")?.arg(&statements), TIME)?;
    process::must(&mut legacy::command(&scratch, &statements)?, TIME)?;
    to.keep(&jars, &format!("{}@{}@0", legacy::VERSION, scratch.display()))
}

/// The judge, to be told the rest.
pub fn judge(command: &str) -> Result<Command, String> {
    let mut judge = built::test("tests", "peers", BUILD_TIME)?.command();
    judge.args(["sstables", command]);
    Ok(judge)
}

fn write_version(to: &Target<'_>, version: &str, purpose: Purpose) -> Result<(), String> {
    let jars = cassandra::fetch()?;
    let mut server = Cassandra::spawn(purpose, free_port()?, None)?;
    server.wait_until_it_listens()?;
    to.keep(&jars, &format!("{version}@{}@{}", server.folder.display(), server.port))
}
