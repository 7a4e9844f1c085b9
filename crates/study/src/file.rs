//! A study's file: what is compared, under which loads, and what is expected. `docs/guide/study.md` describes it for users.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::StudyError;
use crate::figures::Metric;
use crate::template::Variables;

/// The most nodes of a system: each has an address 127.0.0.N.
const NODES_MAX: u8 = 32;

/// A whole study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Study {
    pub(crate) title: String,
    /// What it is about and where its published figures come from.
    #[serde(default)]
    pub(crate) about: String,
    /// Rounds: in each, every system has its turn.
    #[serde(default = "default_repeats")]
    pub(crate) repeats: u32,
    /// The system whose advantage over each of the others is told.
    pub(crate) subject: String,
    /// What `{name}` stands for in lines; others may be said on the command line.
    #[serde(default)]
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) systems: Vec<System>,
    pub(crate) loads: Vec<Load>,
}

/// A server that is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct System {
    pub(crate) name: String,
    /// The shell's line that starts it in the foreground. None: it runs already, perhaps on another machine, at `address`.
    #[serde(default)]
    pub(crate) start: Option<String>,
    /// Its nodes: `start` is run for each of them, and what is measured is their sum.
    #[serde(default = "default_nodes")]
    pub(crate) nodes: u8,
    #[serde(default)]
    pub(crate) address: Option<String>,
    /// The processors that all of it may use, as `taskset -c` takes them.
    #[serde(default)]
    pub(crate) cores: Option<String>,
    /// The most memory for it and the files that it reads, such as `2GiB`.
    #[serde(default)]
    pub(crate) memory: Option<String>,
    /// It is started once, not for each round, and is stopped while others are measured.
    #[serde(default)]
    pub(crate) keep: bool,
    /// How one knows that it answers.
    #[serde(default)]
    pub(crate) ready: Ready,
    /// A line that succeeds when it is ready, run again until it does, after each start: a node may answer before it knows that the others are up.
    #[serde(default)]
    pub(crate) until: Option<String>,
    /// Lines that are run after each start but those of a load, before anything is measured.
    #[serde(default)]
    pub(crate) warm: Vec<String>,
    /// After each line of `warm` it is waited for until it has nothing left to do, as compactions behind a load.
    #[serde(default)]
    pub(crate) settle: bool,
}

/// How one knows that a server answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Ready {
    /// To the native protocol's OPTIONS.
    #[default]
    Cql,
    /// Anything at all, as servers do that greet whoever connects.
    Greeting,
    /// By taking connections.
    Listening,
}

/// What is asked of each system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Load {
    pub(crate) name: String,
    /// The generator's line.
    pub(crate) run: String,
    /// The systems that it is for. None: all.
    #[serde(default)]
    pub(crate) on: Vec<String>,
    /// Other lines, by the name of the system that they are for.
    #[serde(default)]
    pub(crate) run_on: BTreeMap<String, String>,
    /// What `{level}` stands for, one run after another. None: one run.
    #[serde(default)]
    pub(crate) levels: Vec<f64>,
    /// What a level counts, such as `operations/s asked for`.
    #[serde(default)]
    pub(crate) level_name: String,
    /// What is done to the server before.
    #[serde(default)]
    pub(crate) before: Before,
    /// The systems that the two below are over. None: every other one.
    #[serde(default)]
    pub(crate) over: Vec<String>,
    /// Published advantages, by figure.
    #[serde(default)]
    pub(crate) published: BTreeMap<Metric, f64>,
    /// Advantages that there must be, by figure; else the study does not hold.
    #[serde(default)]
    pub(crate) at_least: BTreeMap<Metric, f64>,
}

/// What is done to a server before a load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Before {
    /// Nothing.
    #[default]
    Nothing,
    /// It is ended, its data are deleted, it is started.
    Fresh,
    /// It is asked to end, and started on its data.
    Restart,
    /// It is killed, and started on its data.
    Kill,
}

fn default_repeats() -> u32 {
    5
}

fn default_nodes() -> u8 {
    1
}

impl Study {
    /// Reads a study's text.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Study, StudyError> {
        let wrong = |reason: String| StudyError::File { path: path.to_owned(), reason };
        let study: Study = serde_saphyr::from_str(text).map_err(|error| wrong(error.to_string()))?;
        study.check().map_err(wrong)?;
        Ok(study)
    }

    fn check(&self) -> Result<(), String> {
        unique("system", self.systems.iter().map(|system| &system.name))?;
        unique("load", self.loads.iter().map(|load| &load.name))?;
        let is_system = |name: &String| self.systems.iter().any(|system| system.name == *name);
        if !is_system(&self.subject) {
            return Err(format!("subject: unknown system `{}`", self.subject));
        }
        if self.repeats == 0 {
            return Err("repeats: must be at least 1".to_owned());
        }
        self.systems.iter().try_for_each(System::check)?;
        let variables = Variables::of(self.variables.clone());
        for load in &self.loads {
            load.check(&variables)?;
            let mut named = load.on.iter().chain(load.run_on.keys()).chain(&load.over);
            if let Some(name) = named.find(|name| !is_system(name)) {
                return Err(format!("load {}: unknown system `{name}`", load.name));
            }
        }
        Ok(())
    }
}

/// Names are file names and parts of a page's links, so they are plain.
fn unique<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for name in names {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
            return Err(format!("{what} `{name}`: a name consists of letters, digits, `-`, `_` and `.`"));
        }
        if !seen.insert(name) {
            return Err(format!("duplicate {what} `{name}`"));
        }
    }
    if seen.is_empty() { Err(format!("no {what} defined")) } else { Ok(()) }
}

impl System {
    fn check(&self) -> Result<(), String> {
        let wrong = |reason: &str| Err(format!("system {}: {reason}", self.name));
        match (&self.start, &self.address) {
            (None, None) => wrong("either `start` or `address` is required"),
            (Some(_), Some(_)) => {
                wrong("`start` and `address` exclude each other: a system that the study starts gets its address")
            }
            (None, _) if self.cores.is_some() || self.memory.is_some() || self.keep || self.settle => {
                wrong("`cores`, `memory`, `keep` and `settle` need `start`")
            }
            (None, _) if self.nodes != 1 || self.until.is_some() => wrong("`nodes` and `until` need `start`"),
            _ if !(1..=NODES_MAX).contains(&self.nodes) => wrong(&format!("nodes: must be from 1 to {NODES_MAX}")),
            _ => Ok(()),
        }
    }
}

impl Load {
    fn check(&self, variables: &Variables) -> Result<(), String> {
        let wrong = |reason: String| Err(format!("load {}: {reason}", self.name));
        for line in std::iter::once(&self.run).chain(self.run_on.values()) {
            if !variables.mentions(line, "measure") && !variables.mentions(line, "report") {
                return wrong(format!("`{line}` lacks {{measure}}, the options that write the report"));
            }
            if variables.mentions(line, "level") && self.levels.is_empty() {
                return wrong("uses {level} but defines no levels".to_owned());
            }
        }
        let mut levels = self.levels.clone();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        if levels.len() != self.levels.len() || !levels.iter().all(|level| level.is_finite()) {
            return wrong("levels: duplicate number".to_owned());
        }
        Ok(())
    }

    /// Whether it is for a system.
    pub(crate) fn is_for(&self, system: &str) -> bool {
        self.on.is_empty() || self.on.iter().any(|name| name == system)
    }

    /// The generator's line for a system.
    pub(crate) fn line(&self, system: &str) -> &str {
        self.run_on.get(system).unwrap_or(&self.run)
    }

    /// Its levels; one of none if it has none.
    pub(crate) fn each_level(&self) -> Vec<Option<f64>> {
        match self.levels.is_empty() {
            true => vec![None],
            false => self.levels.iter().copied().map(Some).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "
title: Two
subject: a
systems:
  - {name: a, start: 'serve --port {port}'}
  - {name: b, address: '10.0.0.1:9042'}
loads:
  - {name: write, run: 'stress write {measure}', at_least: {throughput: 2}}
";

    fn parse(text: &str) -> Result<Study, String> {
        Study::parse(Path::new("s.yaml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_small_study_has_defaults() {
        let study = parse(SMALL).unwrap();
        assert_eq!((study.repeats, study.loads[0].before, study.systems[0].ready), (5, Before::Nothing, Ready::Cql));
        assert_eq!(study.loads[0].each_level(), [None]);
        assert_eq!(study.loads[0].at_least[&Metric::Throughput], 2.0);
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for (from, to, says) in [
            ("subject: a", "subject: c", "unknown system `c`"),
            ("name: b", "name: a", "duplicate system `a`"),
            ("name: b", "name: 'b/c'", "a name consists of letters"),
            (", address: '10.0.0.1:9042'", "", "either `start` or `address`"),
            ("name: b, ", "name: b, keep: true, ", "need `start`"),
            ("name: b, ", "name: b, settle: true, ", "need `start`"),
            ("name: b, ", "name: b, nodes: 3, ", "`nodes` and `until` need `start`"),
            ("name: b, ", "name: b, until: 'true', ", "`nodes` and `until` need `start`"),
            ("name: a, ", "name: a, nodes: 0, ", "nodes: must be from 1"),
            (" {measure}", "", "lacks {measure}"),
            ("write {measure}", "write {level} {measure}", "no levels"),
            ("name: write", "name: write, levels: [1, 1]", "duplicate number"),
            ("title: Two", "title: Two\ntitel: Three", "titel"),
            ("throughput: 2", "thruput: 2", "thruput"),
            ("name: write", "name: write, on: [c]", "unknown system `c`"),
            ("name: write", "name: write, over: [d]", "unknown system `d`"),
        ] {
            let error = parse(&SMALL.replacen(from, to, 1)).expect_err(to);
            assert!(error.contains(says), "{to}: {error}");
        }
    }

    /// The studies that come with the project are ones.
    #[test]
    fn ready_studies_are_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "yaml") {
                continue;
            }
            let study = Study::parse(&path, &std::fs::read_to_string(&path).unwrap());
            let study = study.unwrap_or_else(|error| panic!("{error}"));
            let variables = Variables::of(study.variables.clone())
                .with("helenus", "helenus")
                .with("node", "127.0.0.1:9042")
                .with("nodes", "127.0.0.1:9042,127.0.0.2:9042")
                .with("number", 1)
                .with("storage_port", 7000)
                .with("host", "127.0.0.1")
                .with("port", 9042)
                .with("folder", "f")
                .with("level", 10)
                .with("round", 1)
                .with("report", "f")
                .with("measure", "--json f");
            for system in &study.systems {
                let runs = study.loads.iter().flat_map(|load| load.run_on.values().chain([&load.run]));
                let lines = system.start.iter().chain(&system.until).chain(&system.warm).chain(runs);
                lines.for_each(|line| drop(variables.fill(line).unwrap_or_else(|error| panic!("{error}"))));
            }
            count += 1;
        }
        assert!(count >= 7, "{count} studies");
    }
}
