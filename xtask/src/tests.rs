//! The black-box phases: real drivers, hostile bytes, crashes; all against the release binary.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::peers::python::Environment;
use crate::report::{Counts, Passed};
use crate::tools::{self, MKFS, MOUNT};
use crate::{process, workspace};

/// How hard the black-box tests try.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// What fits the change's 25 minutes.
    Ci,
    /// What the issue asks in full.
    Soak,
}

/// Python's drivers and cqlsh, and the Rust driver.
pub fn drivers(budget: Duration, effort: Effort) -> Result<Passed, String> {
    let cassandra = pytest(
        Environment::Cassandra,
        &["test_driver.py", "test_system.py", "test_cqlsh.py", "test_cqlsh_schema.py"],
        budget,
        effort,
    )?;
    let scylla = pytest(Environment::Scylla, &["test_driver.py", "test_shard_aware.py"], budget, effort)?;
    let rust = black_box("drivers", budget, effort)?;
    Ok([cassandra, scylla, rust].into_iter().fold(Passed { success: true, ..Passed::default() }, both))
}

/// Hostile bytes on the socket, then long requests: neither may hold a shard.
pub fn hostile(budget: Duration, effort: Effort) -> Result<Passed, String> {
    Ok(both(black_box("hostile", budget, effort)?, black_box("long", budget, effort)?))
}

/// Power cuts alone.
pub fn power(budget: Duration, effort: Effort) -> Result<Passed, String> {
    require_power()?;
    black_box("power", budget, effort)
}

/// What the power cuts need of this machine.
pub fn require_power() -> Result<(), String> {
    tools::require(&[MKFS, MOUNT])?;
    tools::require_devices(&["/dev/fuse", "/dev/loop-control"])
}

/// Loads, kills, power cuts and restarts, then what was acknowledged read back.
pub fn crash(budget: Duration, effort: Effort) -> Result<Passed, String> {
    require_power()?;
    let kills = both(black_box("durability", budget, effort)?, black_box("crash", budget, effort)?);
    Ok(both(kills, black_box("power", budget, effort)?))
}

/// Nodes on simulated machines: images of the disk at every boundary, disk calls that fail one by one, and random seeds.
/// The build is only the linking of what the tests were built with: another phase may have put one with planted bugs in its place.
pub fn simulation(budget: Duration, effort: Effort) -> Result<Passed, String> {
    const THREADS: [&str; 2] = ["--threads", "2"];
    let began = std::time::Instant::now();
    let mut build = Command::new("cargo");
    build.args(["test", "--workspace", "--no-run"]);
    process::must(build.current_dir(workspace::root()), budget)?;
    let binary = workspace::target().join("debug").join("helenus-sim");
    let (images, flips, seconds) = match effort {
        Effort::Ci => ("2000", "150", 60),
        Effort::Soak => ("100000", "20000", 3600),
    };
    let seconds = seconds.to_string();
    let mut random = vec!["random", "--all-marks", "--seconds", &seconds];
    if effort == Effort::Soak {
        random.extend(["--seeds", "10000"]);
    }
    random.extend(THREADS);
    let enumerate = [&["enumerate", "--images", images], &THREADS[..]].concat();
    let faults = [&["faults", "--each-call"], &THREADS[..]].concat();
    let suites = [enumerate, faults, vec!["flips", "--count", flips], random];
    let mut all = Passed { success: true, ..Passed::default() };
    for suite in suites {
        let left = budget.saturating_sub(began.elapsed());
        let mut command = Command::new(&binary);
        command.args(suite);
        all = both(all, counted(command.current_dir(workspace::root()), left)?);
    }
    Ok(all)
}

/// Start time, memory and the cost of doing nothing.
pub fn footprint(budget: Duration, effort: Effort) -> Result<Passed, String> {
    black_box("footprint", budget, effort)
}

/// Runs one of the phases by itself, building what it needs; `--soak` for long settings.
pub fn run_alone(phase: fn(Duration, Effort) -> Result<Passed, String>, arguments: &[String]) -> Result<(), String> {
    let effort = if arguments.iter().any(|argument| argument == "--soak") { Effort::Soak } else { Effort::Ci };
    build_release(Duration::from_secs(1800))?;
    let passed = phase(Duration::from_secs(7200), effort)?;
    println!("{} passed, {} failed", passed.counts.passed, passed.counts.failed);
    if passed.success { Ok(()) } else { Err(String::new()) }
}

/// Runs the simulation by itself, which needs no release binary.
pub fn run_simulation(arguments: &[String]) -> Result<(), String> {
    let effort = if arguments.iter().any(|argument| argument == "--soak") { Effort::Soak } else { Effort::Ci };
    let passed = simulation(Duration::from_secs(4 * 3600), effort)?;
    println!("{} passed, {} failed", passed.counts.passed, passed.counts.failed);
    if passed.success { Ok(()) } else { Err(String::new()) }
}

/// The binary that ships, and the echo server of the benchmark, in one build.
pub fn build_release(budget: Duration) -> Result<(), String> {
    let mut command = Command::new("cargo");
    command.args(["build", "--release", "--package", "helenus", "--package", "helenus-bench", "--bins"]);
    process::must(command.current_dir(workspace::root()), budget).map(drop)
}

/// Every test binary, the black-box ones too, so that no later phase waits for the compiler.
pub fn build_tests(budget: Duration) -> Result<(), String> {
    let mut unit = Command::new("cargo");
    process::must(unit.args(["test", "--workspace", "--no-run"]).current_dir(workspace::root()), budget)?;
    let mut black_box = Command::new("cargo");
    black_box.args(["test", "--workspace", "--no-run"]);
    for name in ["drivers", "hostile", "long", "durability", "crash", "power", "footprint"] {
        black_box.args(["--test", name]);
    }
    process::must(black_box.current_dir(workspace::root()), budget).map(drop)
}

/// The tests beside the code.
pub fn unit(budget: Duration) -> Result<Passed, String> {
    let mut command = Command::new("cargo");
    counted(command.args(["test", "--workspace", "--no-fail-fast"]).current_dir(workspace::root()), budget)
}

fn both(first: Passed, second: Passed) -> Passed {
    Passed { counts: first.counts.and(second.counts), success: first.success && second.success, note: String::new() }
}

fn counted(command: &mut Command, budget: Duration) -> Result<Passed, String> {
    let output = process::run(command, budget)?;
    let counts = Counts::of(&output.lines);
    if output.success && counts.passed == 0 {
        return Err("the runner ran no test".into());
    }
    Ok(Passed { counts, success: output.success, note: String::new() })
}

/// A test target of the `helenus-tests` package. They are off for a plain `cargo test`, since they need the release binary; naming the
/// whole workspace keeps cargo from choosing other features and building the drivers anew.
fn black_box(name: &str, budget: Duration, effort: Effort) -> Result<Passed, String> {
    let mut command = Command::new("cargo");
    command.args(["test", "--workspace", "--test", name, "--", "--test-threads=1", "--nocapture"]);
    counted(environment(&mut command, effort).current_dir(workspace::root()), budget)
}

fn pytest(python: Environment, files: &[&str], budget: Duration, effort: Effort) -> Result<Passed, String> {
    let programs = python.programs()?;
    let folder = workspace::root().join("tests/drivers/python");
    let mut command = Command::new(programs.join("python"));
    command.args(["-m", "pytest", "-p", "no:cacheprovider", "--quiet", "--durations=5"]).args(files);
    // cqlsh is looked up on PATH; bytecode stays out of the work tree.
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", programs.display())).env("PYTHONDONTWRITEBYTECODE", "1");
    counted(environment(&mut command, effort).current_dir(folder), budget)
}

fn environment(command: &mut Command, effort: Effort) -> &mut Command {
    let binary: PathBuf = workspace::release_binary("helenus");
    command.env("HELENUS_BINARY", binary);
    match effort {
        Effort::Ci => command.env_remove("HELENUS_SOAK"),
        Effort::Soak => command.env("HELENUS_SOAK", "1"),
    }
}
