//! `cargo xtask fixtures`: SSTables that a real Cassandra writes, for the tests of what reads them.
//!
//! This starts a server for each version of the format; what is written and kept is told by `tests/src/sstables/`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::oracle::free_port;
use crate::peers::cassandra::{self, Cassandra, Purpose};
use crate::peers::legacy;
use crate::tests::cargo_test;
use crate::{process, workspace};

/// Versions, and the configuration under which each is written.
pub const WRITERS: [(&str, Purpose); 3] =
    [("da", Purpose::AnswersOfNone), ("oa", Purpose::FilesOfBig), ("nb", Purpose::AnswersOfDefaults)];

pub const TIME: Duration = Duration::from_secs(1800);

/// `cargo xtask fixtures [--all FOLDER] [VERSION…]`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let (folder, kept, wanted) = match arguments {
        [word, folder, wanted @ ..] if word == "--all" => (PathBuf::from(folder), "all", wanted),
        wanted => (workspace::root().join("crates/sstable/testdata/cassandra"), "little", wanted),
    };
    let folder = std::path::absolute(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let is_known = |version: &str| version == legacy::VERSION || WRITERS.iter().any(|(name, _)| *name == version);
    let unknown = wanted.iter().find(|version| !is_known(version));
    if let Some(unknown) = unknown {
        return Err(format!("no server writes {unknown}"));
    }
    build_judge()?;
    if wanted.is_empty() || wanted.iter().any(|wanted| wanted == legacy::VERSION) {
        write_legacy(&folder, kept)?;
    }
    for (version, purpose) in WRITERS {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == version) {
            write_version(&folder, kept, version, purpose)?;
        }
    }
    println!("written to {}", folder.display());
    Ok(())
}

/// Builds the judge, so that no server waits for the compiler.
pub fn build_judge() -> Result<(), String> {
    process::must(cargo_test().args(["--no-run", "--test", "sstables"]), TIME).map(drop)
}

fn write_legacy(folder: &Path, kept: &str) -> Result<(), String> {
    let (jars, scratch) = (cassandra::fetch()?, workspace::scratch("cassandra-legacy")?);
    let statements = scratch.join("statements");
    process::must(judge("statements").arg(&statements), TIME)?;
    process::must(&mut legacy::command(&scratch, &statements)?, TIME)?;
    let writer = format!("{}@{}@0", legacy::VERSION, scratch.display());
    process::must(judge("fixtures").arg(jars).arg(folder).arg(kept).arg(writer), TIME).map(drop)
}

/// The judge, to be told the rest.
pub fn judge(command: &str) -> Command {
    let mut judge = cargo_test();
    judge.args(["--test", "sstables", "--", command]);
    judge
}

fn write_version(folder: &Path, kept: &str, version: &str, purpose: Purpose) -> Result<(), String> {
    let jars = cassandra::fetch()?;
    let mut server = Cassandra::spawn(purpose, free_port()?, None)?;
    server.wait_until_it_listens()?;
    let writer = format!("{version}@{}@{}", server.folder.display(), server.port);
    process::must(judge("fixtures").arg(jars).arg(folder).arg(kept).arg(writer), TIME).map(drop)
}
