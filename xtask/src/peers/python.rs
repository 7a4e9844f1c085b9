//! Python environments with the drivers, at pinned versions.
//!
//! `cassandra-driver` and `scylla-driver` both install a module called `cassandra`, so each has an environment of its own.

use std::path::PathBuf;
use std::process::Command;

use crate::tools::{self, CC, PYTHON};
use crate::{process, workspace};

/// An environment, by the name of its requirements file.
#[derive(Clone, Copy)]
pub enum Environment {
    /// DataStax's driver, and cqlsh on it.
    Cassandra,
    /// ScyllaDB's shard-aware driver.
    Scylla,
}

impl Environment {
    fn name(self) -> &'static str {
        match self {
            Environment::Cassandra => "cassandra",
            Environment::Scylla => "scylla",
        }
    }

    /// The environment's folder of programs, made when it is missing or its requirements changed.
    pub fn programs(self) -> Result<PathBuf, String> {
        tools::require(&[PYTHON, CC])?;
        let requirements = workspace::root().join(format!("tests/drivers/python/requirements-{}.txt", self.name()));
        let wanted = std::fs::read_to_string(&requirements)
            .map_err(|error| format!("cannot read {}: {error}", requirements.display()))?;
        let folder = workspace::target().join("python").join(self.name());
        let stamp = folder.join("installed.txt");
        if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(folder.join("bin"));
        }
        println!("making the Python environment {}", folder.display());
        process::quiet(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        process::quiet(
            Command::new(folder.join("bin/pip")).args(["install", "--quiet", "--requirement"]).arg(&requirements),
        )?;
        std::fs::write(&stamp, wanted).map_err(|error| format!("cannot write {}: {error}", stamp.display()))?;
        Ok(folder.join("bin"))
    }
}
