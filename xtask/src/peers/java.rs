//! The Java driver's suites: Maven fetches what `pom.xml` pins, compiles, and runs each in one JVM.
//!
//! Maven's repository lies in the target folder, so that nothing is left in anybody's home.

use std::process::Command;

use crate::tools::{self, JDK, MAVEN};
use crate::{process, workspace};

/// Fetches what the suites need, where that has not been done for this `pom.xml`, and compiles them: both may run at once.
pub fn prepare() -> Result<(), String> {
    tools::require(&[JDK, MAVEN])?;
    let pom = workspace::root().join("tests/drivers/java/pom.xml");
    let wanted = std::fs::read_to_string(&pom).map_err(|error| format!("cannot read {}: {error}", pom.display()))?;
    let stamp = workspace::target().join("maven").join("fetched.xml");
    if std::fs::read_to_string(&stamp).is_ok_and(|fetched| fetched == wanted) {
        return process::quiet(maven().args(["--offline", "test-compile"])).map(drop);
    }
    println!("fetching the Java driver");
    // Parts of the runner are fetched only when it runs a test: this one needs no server.
    process::quiet(maven().args(["test", "-Dtest=ConfigurationTest"]))?;
    std::fs::write(&stamp, wanted).map_err(|error| format!("cannot write {}: {error}", stamp.display()))
}

/// The command that runs the suite.
pub fn suite() -> Command {
    compiled_tests()
}

/// The command that runs the suite of the ring.
pub fn ring_suite() -> Command {
    let mut command = compiled_tests();
    command.arg("-Dtest=RingSuite");
    command
}

/// The command that runs the suite of the ring in troubles.
pub fn troubles_suite() -> Command {
    let mut command = compiled_tests();
    command.arg("-Dtest=TroublesSuite");
    command
}

fn compiled_tests() -> Command {
    let mut command = maven();
    command.args(["--offline", "surefire:test"]);
    command
}

fn maven() -> Command {
    let target = workspace::target();
    let mut command = Command::new("mvn");
    command.args(["--batch-mode", "--no-transfer-progress", "-Dstyle.color=never"]);
    command.arg(format!("-Dmaven.repo.local={}", target.join("maven").display()));
    command.arg(format!("-Dhelenus.target={}", target.join("drivers/java").display()));
    command.current_dir(workspace::root().join("tests/drivers/java"));
    command
}
