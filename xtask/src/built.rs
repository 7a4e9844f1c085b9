//! The tests' build: every test binary, the simulator, and a server in which bugs can be planted.
//!
//! All of it is built by one call of cargo with one set of features, since cargo would build the crates below once for each set. Tests then
//! run without cargo, which would take a second to find out each time that nothing has changed.
//!
//! The compiler is clippy's, which lints what it compiles: a pass of its own would parse and check everything once more. It leaves optimisations of
//! MIR out, so that tests run a few per cent slower. The binary under test is built by the plain compiler.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::{process, workspace};

/// Planted bugs, all asleep, and the tests that run against a server's binary.
const FEATURES: &str = "helenus-sim/planted,helenus-storage-tests/planted,helenus-raft/planted,helenus-index/planted,helenus-tests/black-box";

/// A test binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestBinary {
    /// Its package's folder, where it runs.
    pub package: PathBuf,
    /// The target's name: a crate's for the tests beside the code.
    pub target: String,
    /// The program.
    pub program: PathBuf,
}

impl TestBinary {
    /// The folder of its package and its target, as people call it.
    pub fn name(&self) -> String {
        // A crate's tests may be a package of their own within it.
        let is_within =
            self.package.ends_with("tests") && self.package.parent().is_some_and(|folder| folder.join("src").exists());
        let package = if is_within { self.package.parent() } else { Some(self.package.as_path()) };
        let package = package.and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        format!("{package} {}", self.target)
    }

    /// The command that runs it, as cargo would.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.package).env("CARGO_MANIFEST_DIR", &self.package);
        command
    }
}

/// Outcome of a build.
#[derive(Debug, Default)]
pub struct Built {
    /// The test binaries.
    pub tests: Vec<TestBinary>,
    /// Warnings of the compiler and of clippy, a line each. Cargo repeats those of crates that are built already.
    pub warnings: Vec<String>,
}

/// All of them, when `all` has built them.
static ALL: OnceLock<Built> = OnceLock::new();

/// Builds and lints everything that tests run but the binary under test.
pub fn all(budget: Duration) -> Result<&'static Built, String> {
    if let Some(built) = ALL.get() {
        return Ok(built);
    }
    let built = build(&["--all-targets"], budget)?;
    Ok(ALL.get_or_init(|| built))
}

/// One test target of a package in `folder`, built if it is not yet.
pub fn test(folder: &str, target: &str, budget: Duration) -> Result<TestBinary, String> {
    let wanted = workspace::root().join(folder);
    let find = |binaries: &[TestBinary]| {
        binaries.iter().find(|binary| binary.package == wanted && binary.target == target).cloned()
    };
    let found = match ALL.get() {
        Some(built) => find(&built.tests),
        None => find(&build(&["--test", target], budget)?.tests),
    };
    found.ok_or_else(|| format!("cargo built no test target {target} in {folder}"))
}

/// The tests beside the code of the package in `folder`, which is called `package`, built if they are not yet. Alone they are built with their own
/// feature, not with all of the workspace's tests.
pub fn unit_tests(folder: &str, package: &str, budget: Duration) -> Result<TestBinary, String> {
    let wanted = workspace::root().join(folder);
    // The library has the folder's name; targets in `tests/` have others.
    let library = folder.rsplit('/').next().unwrap_or(folder).replace('-', "_");
    let is_wanted = |binary: &&TestBinary| binary.package == wanted && binary.target == library;
    let found = match ALL.get() {
        Some(built) => built.tests.iter().find(is_wanted).cloned(),
        None => {
            let mut command = workspace::cargo();
            command.args(["test", "--no-run", "--lib", "--package", package, "--features", "planted"]);
            run(command, budget)?.tests.iter().find(is_wanted).cloned()
        }
    };
    found.ok_or_else(|| format!("cargo built no tests of {package}"))
}

/// A program of the tests' build.
pub fn program(name: &str, budget: Duration) -> Result<PathBuf, String> {
    if ALL.get().is_none() {
        build(&["--bin", name], budget)?;
    }
    Ok(workspace::target().join("debug").join(name))
}

fn build(targets: &[&str], budget: Duration) -> Result<Built, String> {
    let mut command = workspace::cargo();
    command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
    command.args(["build", "--profile", "test", "--workspace", "--features", FEATURES]).args(targets);
    run(command, budget)
}

/// Runs cargo, and gives what it built.
fn run(mut command: Command, budget: Duration) -> Result<Built, String> {
    // Colours would hide warnings.
    command.arg("--message-format=json-render-diagnostics").env("CARGO_TERM_COLOR", "never");
    let output = process::run_without(&mut command, budget, &|line| line.starts_with('{'))?;
    if !output.success {
        return Err("the tests cannot be built".into());
    }
    Ok(of_lines(&output.lines))
}

fn of_lines(lines: &[String]) -> Built {
    Built {
        tests: lines.iter().filter_map(|line| test_binary(line)).collect(),
        warnings: lines.iter().filter(|line| is_warning(line)).cloned().collect(),
    }
}

fn is_warning(line: &str) -> bool {
    line.starts_with("warning: ") || line.starts_with("warning[")
}

/// The test binary that a message of cargo's names, if it is of one.
fn test_binary(message: &str) -> Option<TestBinary> {
    let (_, profile) = message.strip_prefix('{')?.split_once("\"profile\":{")?;
    // The target says so too, of a program that could be built as a test.
    if !profile.split_once('}')?.0.contains("\"test\":true") {
        return None;
    }
    let (_, target) = message.split_once("\"target\":{")?;
    let package = Path::new(text(message, "manifest_path")?).parent()?.to_path_buf();
    Some(TestBinary { package, target: text(target, "name")?.into(), program: text(message, "executable")?.into() })
}

/// The text that stands first under a key. Paths and names need no JSON reader.
fn text<'a>(message: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = message.split_once(&format!("\"{key}\":\""))?;
    rest.split_once('"').map(|(text, _)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(package: &str, target: &str, is_test: bool, executable: &str) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","package_id":"path+file:///h/{package}#{target}@0.1.0","manifest_path":"/h/{package}/Cargo.toml","target":{{"kind":["test"],"crate_types":["bin"],"name":"{target}","src_path":"/h/{package}/x.rs","edition":"2024","test":true}},"profile":{{"opt_level":"0","test":{is_test}}},"features":[],"filenames":["/t/x"],"executable":{executable},"fresh":false}}"#
        )
    }

    #[test]
    fn test_binaries_are_found_in_what_cargo_prints() {
        let found = test_binary(&message("crates/storage", "engine", true, r#""/t/engine-02""#)).expect("it is one");
        assert_eq!((found.name(), found.program), ("storage engine".to_string(), PathBuf::from("/t/engine-02")));
        assert_eq!(found.package, PathBuf::from("/h/crates/storage"));
        assert_eq!(test_binary(&message("crates/storage", "storage", false, "null")), None);
        assert_eq!(test_binary(&message("xtask", "xtask", false, r#""/t/xtask""#)), None, "a program");
        assert_eq!(test_binary("   Compiling helenus-storage v0.1.0"), None);
    }

    #[test]
    fn warnings_are_found_in_what_cargo_prints() {
        let lines = [
            "   Compiling helenus-storage v0.1.0",
            "warning: redundant clone",
            " --> crates/storage/src/lib.rs:1:1",
            "warning: `helenus-storage` (lib) generated 1 warning",
            r#"{"reason":"build-finished","success":true}"#,
        ];
        let built = of_lines(&lines.map(String::from));
        assert_eq!(built.warnings, [lines[1], lines[3]]);
        assert!(built.tests.is_empty());
    }
}
