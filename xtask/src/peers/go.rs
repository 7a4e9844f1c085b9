//! gocql's suite: Go fetches what `go.sum` pins and makes one program of driver and tests.
//!
//! Its modules and what it builds lie in the target folder, so that nothing is left in anybody's home.

use std::path::PathBuf;
use std::process::Command;

use crate::tools::{self, GO};
use crate::{process, workspace};

/// Fetches and compiles; Go itself knows what has been done already.
pub fn prepare() -> Result<(), String> {
    tools::require(&[GO])?;
    let folder = workspace::target().join("go");
    let mut command = Command::new("go");
    command.args(["test", "-c", "-o"]).arg(program()).arg(".");
    command.env("GOPATH", &folder).env("GOMODCACHE", folder.join("mod")).env("GOCACHE", folder.join("build"));
    // The toolchain that is there must do, and what it fetches must be removable by whoever removes the target folder.
    command.env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=readonly -modcacherw");
    process::quiet(command.current_dir(sources())).map(drop)
}

/// The command that runs the suite, two configurations at a time. Its time is bounded by whoever runs it.
pub fn suite() -> Command {
    let mut command = Command::new(program());
    command
        .args(["-test.v", "-test.timeout=0", "-test.parallel=2", "-test.run=^Test(Driver|Login|Tls.*)$"])
        .current_dir(sources());
    command
}

/// The command that runs the suite of the ring.
pub fn ring_suite() -> Command {
    let mut command = Command::new(program());
    command.args(["-test.v", "-test.timeout=0", "-test.run=^TestRing$"]).current_dir(sources());
    command
}

/// The command that runs the suite of the ring in troubles.
pub fn troubles_suite() -> Command {
    let mut command = Command::new(program());
    command.args(["-test.v", "-test.timeout=0", "-test.run=^TestTroubles$"]).current_dir(sources());
    command
}

fn program() -> PathBuf {
    workspace::target().join("drivers/go/suite")
}

fn sources() -> PathBuf {
    workspace::root().join("tests/drivers/go")
}
