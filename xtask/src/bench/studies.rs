//! `cargo xtask bench`: the ready studies with fewer rows and rounds than their files say, under our own generator and, as second opinions on it, under others.
//!
//! Not among them, since they take long or say nothing when they are small: `disk` (more data than memory), `start`, `rates`, `shards`, `clients-synced` and `ring`.

use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::peers::cassandra_stress;
use crate::tools::{self, JAVA, MARIADB, MAVEN};
use crate::{process, workspace};

const ROUNDS: usize = 3;
/// How long one may take.
const STUDY_TIME_MAX: Duration = Duration::from_secs(1800);

/// A ready study, and what makes it small.
struct Study {
    name: &'static str,
    settings: &'static [&'static str],
    /// What it needs beside Helenus.
    takes: &'static [Peer],
}

/// What a study compares Helenus with, or has it loaded by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peer {
    Cassandra,
    /// It is on no package registry, so there may be none.
    CassandraStress,
    MariaDb,
}

impl Peer {
    /// The variable that stands for it in a study's file.
    #[cfg(test)]
    fn variable(self) -> &'static str {
        match self {
            Peer::Cassandra => "{cassandra}",
            Peer::CassandraStress => "{cassandra_stress}",
            Peer::MariaDb => "{mariadb}",
        }
    }
}

/// How a study ended.
enum End {
    Held { seconds: u64 },
    LeftOut,
    Failed(String),
}

impl fmt::Display for End {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Held { seconds } => write!(formatter, "ok, {seconds} s"),
            End::LeftOut => write!(formatter, "left out: {}", cassandra_stress::MISSING),
            End::Failed(reason) => write!(formatter, "FAILED: {reason}"),
        }
    }
}

const STUDIES: [Study; 9] = [
    Study { name: "per-core", settings: &["rows=300000", "operations=300000"], takes: &[Peer::Cassandra] },
    Study { name: "latte", settings: &["n=200000"], takes: &[Peer::Cassandra] },
    Study { name: "cassandra-stress", settings: &["n=300000"], takes: &[Peer::Cassandra, Peer::CassandraStress] },
    Study { name: "generators", settings: &["n=500000"], takes: &[Peer::CassandraStress] },
    Study { name: "synced", settings: &["rows=200000", "warmup=200000"], takes: &[Peer::Cassandra] },
    Study { name: "echo", settings: &["operations=300000"], takes: &[] },
    Study { name: "power9", settings: &["n=200000"], takes: &[Peer::Cassandra] },
    Study { name: "power8", settings: &["n=50000", "loaders=2"], takes: &[Peer::Cassandra] },
    Study { name: "clients", settings: &["keys=20000", "requests=2000"], takes: &[Peer::Cassandra, Peer::MariaDb] },
];

/// Runs those that are named, or all. An error if one does not hold what its file asks for.
pub fn run(only: Option<&str>, rounds: Option<usize>) -> Result<(), String> {
    let names: Option<Vec<&str>> = only.map(|names| names.split(',').collect());
    if let Some(name) = names.iter().flatten().find(|name| STUDIES.iter().all(|study| study.name != **name)) {
        let known: Vec<&str> = STUDIES.iter().map(|study| study.name).collect();
        return Err(format!("--only {name}: must be of {}", known.join(", ")));
    }
    let wanted: Vec<&Study> =
        STUDIES.iter().filter(|study| names.as_ref().is_none_or(|names| names.contains(&study.name))).collect();
    let takes = |peer| wanted.iter().any(|study| study.takes.contains(&peer));
    if takes(Peer::Cassandra) {
        tools::require(&[JAVA, MAVEN])?;
    }
    if takes(Peer::MariaDb) {
        tools::require(&[MARIADB])?;
        build_mariadb_load()?;
    }
    let cassandra_stress = cassandra_stress::find();
    let mut ends = Vec::new();
    for study in wanted {
        let end = match study.takes.contains(&Peer::CassandraStress) && cassandra_stress.is_none() {
            true => End::LeftOut,
            false => match run_study(study, cassandra_stress.as_ref(), rounds.unwrap_or(ROUNDS)) {
                Ok(seconds) => End::Held { seconds },
                Err(reason) => End::Failed(reason),
            },
        };
        ends.push((study.name, end));
    }
    println!();
    ends.iter().for_each(|(name, end)| println!("{name:<17} {end}"));
    match ends.iter().any(|(_, end)| matches!(end, End::Failed(_))) {
        true => Err("a study does not hold what it asks for".to_owned()),
        false => Ok(()),
    }
}

/// Runs one, whose tables are printed; raw data and page go to the target folder. Gives the seconds that it took.
fn run_study(study: &Study, cassandra_stress: Option<&PathBuf>, rounds: usize) -> Result<u64, String> {
    println!("\n{}", study.name);
    let began = Instant::now();
    let mut command = Command::new(workspace::product("helenus"));
    command.current_dir(workspace::root()).arg("study").arg(format!("studies/{}.yaml", study.name));
    command.args(["--repeats", &rounds.to_string()]);
    command.arg("--out").arg(workspace::target().join("bench"));
    command.arg("--data").arg(workspace::scratch("study")?);
    for (variable, binary) in [("echo", "echo"), ("mariadb_load", "mariadb")] {
        command.arg("--set").arg(format!("{variable}={}", workspace::product(binary).display()));
    }
    if let Some(program) = cassandra_stress {
        command.arg("--set").arg(format!("cassandra_stress={}", program.display()));
    }
    for setting in study.settings {
        command.args(["--set", setting]);
    }
    process::must(&mut command, STUDY_TIME_MAX)?;
    workspace::scratch("study")?;
    Ok(began.elapsed().as_secs())
}

/// The load for MariaDB, whose driver nothing else needs.
fn build_mariadb_load() -> Result<(), String> {
    let mut command = workspace::cargo();
    command.args([
        "build",
        "--profile",
        workspace::profile().name(),
        "--package",
        "helenus-bench",
        "--features",
        "mariadb",
        "--bin",
        "mariadb",
    ]);
    process::must(&mut command, Duration::from_secs(1800)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_a_study_small_is_a_variable_of_its_file() {
        for study in &STUDIES {
            let path = workspace::root().join(format!("studies/{}.yaml", study.name));
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            for setting in study.settings {
                let (name, _) = setting.split_once('=').expect("a name and a value");
                assert!(text.contains(&format!("\n  {name}: ")), "{}: {name}", study.name);
            }
            for peer in [Peer::Cassandra, Peer::CassandraStress, Peer::MariaDb] {
                assert_eq!(text.contains(peer.variable()), study.takes.contains(&peer), "{}: {peer:?}", study.name);
            }
        }
    }
}
