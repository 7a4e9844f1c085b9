//! The Node driver's suite: npm fetches what `package-lock.json` pins into the target folder.

use std::path::PathBuf;
use std::process::Command;

use crate::tools::{self, NODE, NPM};
use crate::{process, workspace};

/// Fetches the driver; nothing where that has been done for this lock file.
pub fn prepare() -> Result<(), String> {
    tools::require(&[NODE, NPM])?;
    let lock = sources().join("package-lock.json");
    let wanted = std::fs::read_to_string(&lock).map_err(|error| format!("cannot read {}: {error}", lock.display()))?;
    let stamp = folder().join("installed.json");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    println!("fetching the Node driver");
    let failed = |error| format!("cannot write to {}: {error}", folder().display());
    std::fs::create_dir_all(folder()).map_err(failed)?;
    for file in ["package.json", "package-lock.json"] {
        std::fs::copy(sources().join(file), folder().join(file)).map_err(failed)?;
    }
    let mut command = Command::new("npm");
    command.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--cache"]).arg(workspace::target().join("npm"));
    process::quiet(command.current_dir(folder()))?;
    std::fs::write(&stamp, wanted).map_err(failed)
}

/// The command that runs the suite.
pub fn suite() -> Command {
    tests_of(&["driver.test.js", "login.test.js", "tls.test.js"])
}

/// The command that runs the suite of the ring.
pub fn ring_suite() -> Command {
    tests_of(&["ring.test.js"])
}

/// The command that runs the suite of the ring in troubles.
pub fn troubles_suite() -> Command {
    tests_of(&["troubles.test.js"])
}

fn tests_of(files: &[&str]) -> Command {
    let mut command = Command::new("node");
    command.args(["--test", "--test-reporter=spec"]).args(files);
    command.env("NODE_PATH", folder().join("node_modules")).current_dir(sources());
    command
}

fn folder() -> PathBuf {
    workspace::target().join("drivers/node")
}

fn sources() -> PathBuf {
    workspace::root().join("tests/drivers/node")
}
