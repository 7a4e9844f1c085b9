//! The phases that run Rust tests: those beside the code, and the black-box ones against the binary under test.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::built::{self, TestBinary};
use crate::drivers::sample::{SAMPLE, Sample};
pub use crate::effort::Effort;
use crate::peers::chromium;
use crate::process::{in_lane, lane, say};
use crate::report::Passed;
use crate::stalls::{self, STALLS_TO};
use crate::tools::{self, CC, DPKG_DEB, IP, MKFS, MOUNT, SETPRIV, SYSTEMD_ANALYZE, TAR, TC};
use crate::{package, process, sampled, workspace};

/// The folder of the black-box tests' package.
const BLACK_BOX: &str = "tests";
/// Time after which the compiler counts as hung.
pub const BUILD_TIME: Duration = Duration::from_secs(3600);

/// Hostile bytes on the socket, clients that guess passwords or never log in, then long requests: none may hold a shard.
pub fn hostile(budget: Duration, effort: Effort) -> Result<Passed, String> {
    run_black_box("clients", &["hostile::", "logins::", "long::"], budget, effort)
}

/// Power cuts alone.
pub fn power(budget: Duration, effort: Effort) -> Result<Passed, String> {
    require_power()?;
    tools::require(&[CC, IP, TC])?;
    run_black_box("recovery", &["power::"], budget, effort)
}

/// What the power cuts need of this machine.
pub fn require_power() -> Result<(), String> {
    tools::require(&[MKFS, MOUNT])?;
    tools::require_devices(&["/dev/fuse", "/dev/loop-control"])
}

/// Clusters of several nodes, some with links of their own; loads, kills, power cuts and restarts, then what was acknowledged read back.
pub fn crash(budget: Duration, effort: Effort) -> Result<Passed, String> {
    require_power()?;
    run_black_box("recovery", &["clusters::", "durability::", "crash::", "power::"], budget, effort)
}

/// REST and metrics as operators ask for them, nodetool, the load generator, what an idle server costs, then the console.
pub fn operators(budget: Duration, effort: Effort) -> Result<Passed, String> {
    let modules = ["operators::", "nodetool::", "stress::", "footprint::"];
    let asked = run_black_box("tools", &modules, budget, effort)?;
    Ok(asked.and(console(budget, effort)?))
}

/// The packages of the binary under test: packed twice to the same bytes, then unpacked, judged and run.
pub fn packages(budget: Duration, effort: Effort) -> Result<Passed, String> {
    tools::require(&[DPKG_DEB, SYSTEMD_ANALYZE, SETPRIV, TAR])?;
    let folder = package::pack_twice()?;
    let tests = built::test(BLACK_BOX, "tools", BUILD_TIME)?;
    let mut command = black_box(&tests, &["packages::"]);
    counted(environment(&mut command, effort).env("HELENUS_PACKAGES", &folder), budget)
}

/// The console in a browser; nothing where there is none for this processor and none is named.
pub fn console(budget: Duration, effort: Effort) -> Result<Passed, String> {
    if !chromium::prepare()? {
        say(&format!("the console was not looked at: {}", chromium::NONE));
        return Ok(Passed::held());
    }
    let tests = built::test(BLACK_BOX, "tools", BUILD_TIME)?;
    stalls::watched("console", effort, |file| {
        let mut command = black_box(&tests, &["console::"]);
        counted(chromium::environment(environment(&mut command, effort)).env(STALLS_TO, file), budget)
    })
}

/// Runs one of the phases by itself, building what it needs; `--soak` for long settings.
pub fn run_alone(phase: fn(Duration, Effort) -> Result<Passed, String>, arguments: &[String]) -> Result<(), String> {
    build_product(BUILD_TIME)?;
    finish(phase(Duration::from_secs(7200), effort_of(arguments))?)
}

/// The same of a phase that needs no binary under test.
pub fn run_without_product(
    phase: fn(Duration, Effort) -> Result<Passed, String>,
    arguments: &[String],
) -> Result<(), String> {
    finish(phase(Duration::from_secs(4 * 3600), effort_of(arguments))?)
}

fn effort_of(arguments: &[String]) -> Effort {
    if arguments.iter().any(|argument| argument == "--soak") { Effort::Soak } else { Effort::Ci }
}

fn finish(passed: Passed) -> Result<(), String> {
    passed.told.iter().for_each(|line| println!("{line}"));
    println!("{} passed, {} failed", passed.counts.passed, passed.counts.failed);
    if passed.success { Ok(()) } else { Err(String::new()) }
}

/// The binary under test.
pub fn build_product(budget: Duration) -> Result<(), String> {
    build_packages(&["--package", "helenus"], budget)
}

/// The binary under test, and the bare servers of the benchmark, in one build.
pub fn build_measured(budget: Duration) -> Result<(), String> {
    build_packages(&["--package", "helenus", "--package", "helenus-bench"], budget)
}

fn build_packages(packages: &[&str], budget: Duration) -> Result<(), String> {
    let mut command = workspace::cargo();
    command.args(["build", "--profile", workspace::profile().name(), "--bins"]);
    process::must(command.args(packages), budget).map(drop)
}

/// The tests beside the code, two binaries at a time: much of their time is waiting for the disk.
pub fn unit(budget: Duration, effort: Effort) -> Result<Passed, String> {
    const LANES: usize = 2;
    let deadline = Instant::now() + budget;
    let sample = Sample::chosen(effort)?;
    let black_box = workspace::root().join(BLACK_BOX);
    let is_unit = |binary: &&TestBinary| binary.package != black_box || binary.target == "helenus_tests";
    let mut waiting: Vec<&TestBinary> = built::all(BUILD_TIME)?.tests.iter().filter(is_unit).collect();
    if waiting.is_empty() {
        return Err("cargo built no test".into());
    }
    // The last is taken first: the largest, which take longest.
    waiting.sort_by_key(|binary| std::fs::metadata(&binary.program).map_or(0, |about| about.len()));
    let waiting = Mutex::new(waiting);
    let next = || waiting.lock().expect("no lane panics").pop();
    let run_lane = || {
        let mut all = Passed::held();
        while let Some(binary) = next() {
            all = all.and(run_unit(binary, deadline, effort, sample)?);
        }
        Ok::<_, String>(all)
    };
    let name = lane();
    let outcomes = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|_| scope.spawn(|| in_lane(name, run_lane))).collect();
        lanes.into_iter().map(|lane| lane.join().expect("no lane panics")).collect::<Vec<_>>()
    });
    let held = Passed { note: sample.note("long tests"), ..Passed::held() };
    outcomes.into_iter().try_fold(held, |all, outcome| Ok(all.and(outcome?)))
}

/// One test binary, whose words are printed if it fails.
fn run_unit(binary: &TestBinary, deadline: Instant, effort: Effort, sample: Sample) -> Result<Passed, String> {
    let began = Instant::now();
    let mut command = binary.command();
    if effort == Effort::Soak {
        command.env("HELENUS_MODEL_OPERATIONS", "1000000").env("HELENUS_SOAK", "1");
    } else {
        command.env("HELENUS_MODEL_OPERATIONS", "3000");
    }
    name_sample(&mut command, sample);
    command.args(sampled::arguments(binary, sample)?);
    let output = process::run_unprinted(&mut command, deadline.saturating_duration_since(began))?;
    let passed = Passed::of(&output);
    if !passed.success {
        say(&output.lines.join("\n"));
    }
    let Passed { counts, .. } = &passed;
    let seconds = began.elapsed().as_secs_f64();
    say(&format!("{}: {} passed, {} failed in {seconds:.1} s", binary.name(), counts.passed, counts.failed));
    Ok(passed)
}

/// Names the sample to the tests that have one. Of all they run everything, whatever the environment says.
fn name_sample(command: &mut Command, sample: Sample) {
    match sample {
        Sample::All => command.env_remove(SAMPLE),
        Sample::Third(number) => command.env(SAMPLE, number.to_string()),
    };
}

/// Runs a command that must count at least one test.
pub fn counted(command: &mut Command, budget: Duration) -> Result<Passed, String> {
    let output = process::run(command, budget)?;
    let passed = Passed::of(&output);
    if passed.success && passed.counts.passed == 0 {
        return Err("the runner ran no test".into());
    }
    Ok(passed)
}

/// Runs some modules of a black-box test target, one after the other.
fn run_black_box(target: &str, modules: &[&str], budget: Duration, effort: Effort) -> Result<Passed, String> {
    let deadline = Instant::now() + budget;
    let tests = built::test(BLACK_BOX, target, BUILD_TIME)?;
    let sample = Sample::chosen(effort)?;
    let left_out = sampled::arguments(&tests, sample)?;
    let note = if left_out.is_empty() { String::new() } else { sample.note("long tests") };
    modules.iter().try_fold(Passed { note, ..Passed::held() }, |all, module| {
        let passed = stalls::watched(module.trim_end_matches(':'), effort, |file| {
            let mut command = black_box(&tests, &[module]);
            name_sample(&mut command, sample);
            command.args(&left_out);
            let left = deadline.saturating_duration_since(Instant::now());
            counted(environment(&mut command, effort).env(STALLS_TO, file), left)
        })?;
        Ok(all.and(passed))
    })
}

/// The command for tests of a black-box target, one at a time: each starts servers of its own.
pub fn black_box(tests: &TestBinary, names: &[&str]) -> Command {
    let mut command = tests.command();
    command.args(names).args(["--test-threads=1", "--nocapture"]);
    command
}

/// Names the binary under test to the suite, and how hard it should try.
pub fn environment(command: &mut Command, effort: Effort) -> &mut Command {
    let binary: PathBuf = workspace::product("helenus");
    command.env("HELENUS_BINARY", binary).env_remove("HELENUS_STALLS").env_remove(STALLS_TO);
    match effort {
        Effort::Ci => command.env_remove("HELENUS_SOAK"),
        Effort::Soak => command.env("HELENUS_SOAK", "1"),
    }
}
