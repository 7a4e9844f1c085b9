//! `cargo xtask oracle --sstables`: files of Helenus before a real Cassandra and its tools, and the real one's before Helenus.
//!
//! This starts the servers; what is compared is told by `tests/src/sstables/`.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::fixtures::{TIME, judge};
use crate::peers::cassandra::{self, Cassandra, Purpose};
use crate::peers::port::free_port;
use crate::report::Passed;
use crate::stalls::{self, STALLS_TO};
use crate::tests::{Effort, build_product, environment};
use crate::{process, workspace};

/// Names another binary than the one that is built for tests.
const BINARY: &str = "HELENUS_BINARY";
/// Versions of which there are fixtures.
const VERSIONS: [&str; 4] = ["da", "oa", "nb", "me"];

/// `cargo xtask oracle --sstables [ours | theirs | peers] [NAME…]`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let (part, names) = match arguments {
        [part, names @ ..] if ["ours", "theirs", "peers"].contains(&part.as_str()) => (part.as_str(), names),
        names => ("", names),
    };
    if part != "peers" && std::env::var_os(BINARY).is_none() {
        build_product(TIME)?;
    }
    let passed = match part {
        "ours" => ours(names, TIME)?,
        "theirs" => theirs(names, None, TIME)?,
        "peers" => peers(names, TIME)?,
        _ => ours(names, TIME)?.and(theirs(names, None, TIME)?),
    };
    println!("{} passed, {} failed", passed.counts.passed, passed.counts.failed);
    if passed.success { Ok(()) } else { Err(String::new()) }
}

/// What Helenus writes, before the real one.
fn ours(names: &[String], budget: Duration) -> Result<Passed, String> {
    judged_by(start()?, names, None, budget)
}

fn start() -> Result<Cassandra, String> {
    let mut server = Cassandra::spawn(Purpose::AnswersOfNone, free_port()?, None)?;
    server.wait_until_it_listens()?;
    Ok(server)
}

/// All of it both ways. The server answers as Helenus must, and is ended here.
pub fn phase(server: Cassandra, effort: Effort, budget: Duration) -> Result<Passed, String> {
    let began = Instant::now();
    let left = || budget.saturating_sub(began.elapsed());
    let mut server = Some(server);
    let ours = stalls::watched("SSTables of Helenus", effort, |file| {
        let server = server.take().map_or_else(start, Ok)?;
        judged_by(server, &[], Some(file), left())
    })?;
    let theirs = stalls::watched("SSTables of Cassandra", effort, |file| theirs(&[], Some(file), left()))?;
    Ok(ours.and(theirs))
}

/// Has the server judge what Helenus writes. The tool that verifies reads its folder when it has ended.
fn judged_by(server: Cassandra, names: &[String], stalls: Option<&Path>, budget: Duration) -> Result<Passed, String> {
    let began = Instant::now();
    let left = || budget.saturating_sub(began.elapsed());
    let jars = cassandra::fetch()?;
    let running = format!("da@{}@{}", server.folder.display(), server.port);
    let ended = format!("da@{}@0", server.folder.display());
    let judged = asked(judge("ours")?.arg(&jars).arg(running).args(names), stalls, left())?;
    drop(server);
    Ok(judged.and(asked(judge("verify")?.arg(&jars).arg(ended).args(names), stalls, left())?))
}

/// What real ones wrote, before Helenus.
fn theirs(names: &[String], stalls: Option<&Path>, budget: Duration) -> Result<Passed, String> {
    let fixtures = workspace::root().join("crates/sstable/testdata/cassandra");
    asked(judge("theirs")?.arg(fixtures).arg(VERSIONS.join(",")).args(names), stalls, budget)
}

/// What real ones wrote, before another real one.
fn peers(names: &[String], budget: Duration) -> Result<Passed, String> {
    let (jars, fixtures) = (cassandra::fetch()?, workspace::root().join("crates/sstable/testdata/cassandra"));
    let mut all = Passed::held();
    for version in VERSIONS {
        let mut server = Cassandra::spawn_in("cassandra-reader", Purpose::AnswersOfNone, free_port()?, None)?;
        server.wait_until_it_listens()?;
        let reader = format!("da@{}@{}", server.folder.display(), server.port);
        let mut judge = judge("peers")?;
        let asking = judge.arg(&jars).arg(&fixtures).arg(version).arg(reader).args(names);
        all = all.and(asked(asking, None, budget)?);
    }
    Ok(all)
}

/// Without a file for stalls the judge fails at the first.
fn asked(judge: &mut Command, stalls: Option<&Path>, budget: Duration) -> Result<Passed, String> {
    // Whoever works on the formats has the judge look at a quicker build's binary.
    let judge = if std::env::var_os(BINARY).is_some() { judge } else { environment(judge, Effort::Ci) };
    judge.envs(stalls.map(|file| (STALLS_TO, file)));
    let output = process::run(judge, budget)?;
    let passed = Passed::of(&output);
    if passed.success && passed.counts.passed == 0 {
        return Err("the judge compared nothing".into());
    }
    Ok(passed)
}
