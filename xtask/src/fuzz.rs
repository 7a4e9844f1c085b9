//! The fuzz targets: one binary, built with coverage and the address sanitizer by the nightly compiler.
//!
//! The flags are the ones that cargo-fuzz would pass; calling cargo itself saves everyone the installation of another tool. Every run executes
//! the seeds of every target, which takes seconds; [`targets::due`] says which targets a change gives new inputs.

mod targets;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::report::Passed;
use crate::tests::Effort;
use crate::tools::{self, CC, CXX};
use crate::{process, workspace};
use targets::{TARGETS, Target};

const TRIPLE: &str = "x86_64-unknown-linux-gnu";
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Zsanitizer=address -Cdebug-assertions";
/// A decoder that takes more for an input of at most 64 KiB takes it for a length that it did not check.
const MEMORY_MIB_MAX: u32 = 512;
/// How many targets run at once.
const LANES: usize = 2;
/// New inputs of a change: the seconds for all targets, by the wall, and the most for one.
const CI_SECONDS: u64 = 24;
const CI_SECONDS_EACH_MAX: u64 = 20;
/// New inputs of a soak, for each target.
const SOAK_SECONDS_EACH: u64 = 300;
/// Time limit of a build by hand.
const BUILD_TIME_MAX: Duration = Duration::from_secs(1800);

/// The seeds of every target, then new inputs: in a soak for all, else for those that are due.
pub fn phase(budget: Duration, effort: Effort) -> Result<Passed, String> {
    let deadline = Instant::now() + budget;
    build(budget)?;
    let left = || deadline.saturating_duration_since(Instant::now());
    let seeds = run_seeds(left())?;
    let (due, each) = match effort {
        Effort::Ci => {
            let due = targets::due();
            let rounds = due.len().div_ceil(LANES).max(1) as u64;
            (due, (CI_SECONDS / rounds).min(CI_SECONDS_EACH_MAX))
        }
        Effort::Soak => (TARGETS.iter().collect(), SOAK_SECONDS_EACH),
    };
    run_new(&due, each, left())?;
    let names = due.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    Ok(Passed { note: format!("{seeds} seeds; new inputs, {each} s each: {names}"), ..Passed::held() })
}

/// `cargo xtask fuzz [SECONDS]`: every target.
pub fn run_alone(arguments: &[String]) -> Result<(), String> {
    let each: u64 = match arguments.first() {
        Some(seconds) => seconds.parse().map_err(|_| format!("`{seconds}` is no number of seconds"))?,
        None => 30,
    };
    build(BUILD_TIME_MAX)?;
    run_seeds(BUILD_TIME_MAX)?;
    run_new(&TARGETS.iter().collect::<Vec<_>>(), each, Duration::from_secs((each + 60) * TARGETS.len() as u64))
}

fn build(budget: Duration) -> Result<(), String> {
    tools::require(&[CC, CXX])?;
    tools::require_nightly()?;
    let mut command = workspace::cargo();
    command.args(["+nightly", "build", "--release", "--bins", "--target", TRIPLE, "--manifest-path"]);
    command.arg(workspace::root().join("fuzz/Cargo.toml")).arg("--target-dir").arg(folder());
    command.env("RUSTFLAGS", FLAGS).env_remove("CARGO_ENCODED_RUSTFLAGS");
    process::must(&mut command, budget).map(drop)
}

/// Has the formats' own encoders write the seeds, and executes each once. Returns how many they are.
fn run_seeds(budget: Duration) -> Result<usize, String> {
    let all = folder().join("seeds");
    process::quiet(Command::new(program()).arg(format!("--seeds={}", all.display())))?;
    in_lanes(&TARGETS.iter().collect::<Vec<_>>(), |target| {
        let seeds = all.join(target.name);
        let count = std::fs::read_dir(&seeds).map(Iterator::count).unwrap_or(0);
        if count == 0 {
            return Err(format!("fuzz target {} has no seeds", target.name));
        }
        run(target, &[&seeds], &["-runs=0".to_owned()], budget).map(|_| count)
    })
    .map(|counts| counts.iter().sum())
}

/// Gives each of the targets new inputs for so many seconds.
fn run_new(targets: &[&'static Target], seconds: u64, budget: Duration) -> Result<(), String> {
    in_lanes(targets, |target| {
        let found = folder().join("corpus").join(target.name);
        make(&found)?;
        let seeds = folder().join("seeds").join(target.name);
        let time = format!("-max_total_time={seconds}");
        let lines = run(target, &[&found, &seeds], &[time, "-print_final_stats=1".to_owned()], budget)?;
        let count = lines.iter().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
        println!("{}: {} inputs in {seconds} s", target.name, count.unwrap_or("?").trim());
        Ok(())
    })
    .map(drop)
}

/// Each target by `one`, some at once. All run, whatever the others find.
fn in_lanes<T: Send>(
    targets: &[&'static Target],
    one: impl Fn(&'static Target) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let (mut done, mut failures) = (Vec::new(), Vec::new());
    for some in targets.chunks(LANES) {
        std::thread::scope(|scope| {
            let running: Vec<_> = some.iter().map(|target| scope.spawn(|| one(target))).collect();
            for thread in running {
                match thread.join().expect("a fuzz run does not panic") {
                    Ok(value) => done.push(value),
                    Err(message) => failures.push(message),
                }
            }
        });
    }
    if failures.is_empty() { Ok(done) } else { Err(failures.join("\n")) }
}

/// Runs the binary for one target. What it says is printed when it fails.
fn run(target: &Target, inputs: &[&Path], flags: &[String], budget: Duration) -> Result<Vec<String>, String> {
    let artifacts = folder().join("artifacts");
    make(&artifacts)?;
    let mut command = Command::new(program());
    command.arg(format!("--target={}", target.name)).args(inputs).args(flags);
    command.args(["-max_len=65536", "-timeout=10", "-verbosity=0"]).arg(format!("-rss_limit_mb={MEMORY_MIB_MAX}"));
    command.arg(format!("-artifact_prefix={}/{}-", artifacts.display(), target.name));
    let output = process::run_unprinted(&mut command, budget)?;
    if output.success {
        return Ok(output.lines);
    }
    println!("{}", output.lines.join("\n"));
    Err(failure(target, &output.lines))
}

/// Names the input and how to run it again, and what the program said of it.
fn failure(target: &Target, lines: &[String]) -> String {
    let name = target.name;
    let panic = lines.iter().skip_while(|line| !line.contains("panicked at")).take(2);
    let summary = lines.iter().filter(|line| line.starts_with("SUMMARY: "));
    let said = panic.chain(summary).cloned().collect::<Vec<_>>().join("\n");
    let input = lines.iter().find_map(|line| line.split_once("Test unit written to ").map(|(_, path)| path.trim()));
    match input {
        Some(input) => format!(
            "fuzz target {name} found {input}\nonce more: {program} --target={name} {input}\n{said}",
            program = program().display()
        ),
        None => format!("fuzz target {name} failed and left no input; what it said is above\n{said}"),
    }
}

fn make(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))
}

fn folder() -> PathBuf {
    workspace::target().join("fuzz")
}

fn program() -> PathBuf {
    folder().join(TRIPLE).join("release/fuzz")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_names_its_input_and_the_command_for_it() {
        let lines = [
            "INFO: Seed: 5",
            "thread '<unnamed>' panicked at targets/cql_text.rs:8:5:",
            "attempt to add with overflow",
            "stack backtrace:",
            "SUMMARY: libFuzzer: deadly signal",
            "artifact_prefix='/a/cql_text-'; Test unit written to /a/cql_text-crash-1",
        ];
        let target = TARGETS.iter().find(|target| target.name == "cql_text").expect("it is a target");
        let said = failure(target, &lines.map(String::from));
        assert!(said.starts_with("fuzz target cql_text found /a/cql_text-crash-1\nonce more: "), "{said}");
        assert!(said.contains("--target=cql_text /a/cql_text-crash-1\n"), "{said}");
        assert!(said.ends_with(":8:5:\nattempt to add with overflow\nSUMMARY: libFuzzer: deadly signal"), "{said}");
    }
}
