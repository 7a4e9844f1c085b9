//! The black-box phases but for the drivers': hostile bytes, crashes; all against the release binary.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::peers::chromium;
use crate::report::Passed;
use crate::stalls::{self, STALLS_TO};
use crate::tools::{self, MKFS, MOUNT};
use crate::{process, workspace};

/// How hard the black-box tests try.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// What fits a change's 40 minutes.
    Ci,
    /// What the issue asks in full.
    Soak,
}

/// What everything but the release binary is built with: planted bugs, all asleep. One set of features for all, since cargo would build
/// the crates once for each.
const FEATURES: [&str; 2] = ["--features", "helenus-sim/planted"];

/// The test targets of the `helenus-tests` package that run against the release binary, or some other server: off for a plain `cargo test`.
const BLACK_BOX: [&str; 12] = [
    "drivers",
    "hostile",
    "long",
    "durability",
    "crash",
    "power",
    "operators",
    "nodetool",
    "stress",
    "console",
    "footprint",
    "oracle",
];

/// `cargo test` of the whole workspace: naming some packages would make cargo choose other features and build the rest anew.
pub fn cargo_test() -> Command {
    let mut command = workspace::cargo();
    command.args(["test", "--workspace"]).args(FEATURES);
    command
}

/// Hostile bytes on the socket, then long requests: neither may hold a shard.
pub fn hostile(budget: Duration, effort: Effort) -> Result<Passed, String> {
    Ok(run_black_box("hostile", budget, effort)?.and(run_black_box("long", budget, effort)?))
}

/// Power cuts alone.
pub fn power(budget: Duration, effort: Effort) -> Result<Passed, String> {
    require_power()?;
    run_black_box("power", budget, effort)
}

/// What the power cuts need of this machine.
pub fn require_power() -> Result<(), String> {
    tools::require(&[MKFS, MOUNT])?;
    tools::require_devices(&["/dev/fuse", "/dev/loop-control"])
}

/// Loads, kills, power cuts and restarts, then what was acknowledged read back.
pub fn crash(budget: Duration, effort: Effort) -> Result<Passed, String> {
    require_power()?;
    let kills = run_black_box("durability", budget, effort)?.and(run_black_box("crash", budget, effort)?);
    Ok(kills.and(run_black_box("power", budget, effort)?))
}

/// Nodes on simulated machines: images of the disk at every boundary, disk calls that fail one by one, and random seeds.
pub fn simulation(budget: Duration, effort: Effort) -> Result<Passed, String> {
    const THREADS: [&str; 2] = ["--threads", "2"];
    let began = std::time::Instant::now();
    build_tests(budget)?;
    let binary = workspace::target().join("debug").join("helenus-sim");
    let (images, upkeep, refresh, calls, flips, seconds) = match effort {
        Effort::Ci => ("1000", "200", "600", "150", "150", 60),
        Effort::Soak => ("100000", "40000", "20000", "1000000", "20000", 3600),
    };
    let seconds = seconds.to_string();
    let mut random = vec!["random", "--all-marks", "--seconds", &seconds];
    if effort == Effort::Soak {
        random.extend(["--seeds", "10000"]);
    }
    random.extend(THREADS);
    let enumerate = [&["enumerate", "--images", images], &THREADS[..]].concat();
    let faults = [&["faults", "--each-call", "--calls", calls], &THREADS[..]].concat();
    let upkeep = [&["enumerate", "--course", "upkeep", "--images", upkeep], &THREADS[..]].concat();
    let refresh = [&["enumerate", "--course", "refresh", "--images", refresh], &THREADS[..]].concat();
    let suites = [enumerate, upkeep, refresh, faults, vec!["flips", "--count", flips], random];
    let mut all = Passed::held();
    for suite in suites {
        let left = budget.saturating_sub(began.elapsed());
        let mut command = Command::new(&binary);
        command.args(suite);
        all = all.and(counted(command.current_dir(workspace::root()), left)?);
    }
    Ok(all)
}

/// REST and metrics as operators ask for them, then nodetool and the load generator, then the console.
pub fn operators(budget: Duration, effort: Effort) -> Result<Passed, String> {
    let asked = run_black_box("operators", budget, effort)?.and(run_black_box("nodetool", budget, effort)?);
    let loaded = asked.and(run_black_box("stress", budget, effort)?);
    Ok(loaded.and(console(budget, effort)?))
}

/// The console in a browser; nothing where there is none for this processor and none is named.
pub fn console(budget: Duration, effort: Effort) -> Result<Passed, String> {
    if !chromium::prepare()? {
        println!("the console was not looked at: {}", chromium::NONE);
        return Ok(Passed::held());
    }
    stalls::judged("console", |file| {
        let mut command = black_box("console");
        counted(chromium::environment(environment(&mut command, effort)).env(STALLS_TO, file), budget)
    })
}

/// Start time, memory and the cost of doing nothing.
pub fn footprint(budget: Duration, effort: Effort) -> Result<Passed, String> {
    run_black_box("footprint", budget, effort)
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
    let mut command = workspace::cargo();
    command.args(["build", "--release", "--package", "helenus", "--package", "helenus-bench", "--bins"]);
    process::must(&mut command, budget).map(drop)
}

/// The tests' build: every test, the black-box ones too, the simulator, and a server in which bugs can be planted, so that no phase waits for
/// the compiler. Tests and binaries together, since cargo chooses the features of what is shared by what it builds at once, and binaries by
/// themselves would have others.
pub fn build_tests(budget: Duration) -> Result<(), String> {
    let began = std::time::Instant::now();
    let build = || {
        let mut command = workspace::cargo();
        command.args(["build", "--profile", "test", "--workspace"]).args(FEATURES);
        command
    };
    process::must(build().args(["--bins", "--tests", "--examples"]), budget)?;
    process::must(build().args(black_box_targets()), budget.saturating_sub(began.elapsed())).map(drop)
}

/// What names the test targets to cargo that it leaves out where it is told to take all.
pub fn black_box_targets() -> Vec<&'static str> {
    BLACK_BOX.iter().flat_map(|name| ["--test", *name]).collect()
}

/// The tests beside the code.
pub fn unit(budget: Duration, effort: Effort) -> Result<Passed, String> {
    let mut command = cargo_test();
    if effort == Effort::Soak {
        command.env("HELENUS_MODEL_OPERATIONS", "1000000");
    }
    counted(command.arg("--no-fail-fast"), budget)
}

fn counted(command: &mut Command, budget: Duration) -> Result<Passed, String> {
    let output = process::run(command, budget)?;
    let passed = Passed::of(&output);
    if passed.success && passed.counts.passed == 0 {
        return Err("the runner ran no test".into());
    }
    Ok(passed)
}

/// Runs a test target of the `helenus-tests` package.
fn run_black_box(name: &str, budget: Duration, effort: Effort) -> Result<Passed, String> {
    let began = std::time::Instant::now();
    stalls::judged(name, |file| {
        let mut command = black_box(name);
        counted(environment(&mut command, effort).env(STALLS_TO, file), budget.saturating_sub(began.elapsed()))
    })
}

/// The command for a test target of the `helenus-tests` package. They are off for a plain `cargo test`, since they need the release
/// binary.
pub fn black_box(name: &str) -> Command {
    let mut command = cargo_test();
    command.args(["--test", name, "--", "--test-threads=1", "--nocapture"]);
    command
}

/// Names the binary under test to the suite, and how hard it should try.
pub fn environment(command: &mut Command, effort: Effort) -> &mut Command {
    let binary: PathBuf = workspace::release_binary("helenus");
    command.env("HELENUS_BINARY", binary).env_remove("HELENUS_STALLS").env_remove(STALLS_TO);
    match effort {
        Effort::Ci => command.env_remove("HELENUS_SOAK"),
        Effort::Soak => command.env("HELENUS_SOAK", "1"),
    }
}
