//! The fuzz targets: built with coverage and the address sanitizer by the nightly compiler, and each run for a while.
//!
//! The flags are the ones that cargo-fuzz would pass; calling cargo itself saves everyone the installation of another tool.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::report::Passed;
use crate::tools::{self, CC, CXX};
use crate::{process, workspace};

const TARGET: &str = "x86_64-unknown-linux-gnu";
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Zsanitizer=address -Cdebug-assertions";
const BUILD_BUDGET: Duration = Duration::from_secs(400);
/// A decoder that takes more for an input of at most 64 KiB takes it for a length that it did not check.
const MEMORY_MIB_MAX: u32 = 512;

/// Builds every target.
pub fn build() -> Result<(), String> {
    tools::require(&[CC, CXX])?;
    tools::require_nightly()?;
    let mut command = workspace::cargo();
    command.args(["+nightly", "build", "--release", "--bins", "--target", TARGET, "--manifest-path"]);
    command.arg(workspace::root().join("fuzz/Cargo.toml")).arg("--target-dir").arg(target_folder());
    command.env("RUSTFLAGS", FLAGS).env_remove("CARGO_ENCODED_RUSTFLAGS");
    process::must(&mut command, BUILD_BUDGET).map(drop)
}

/// Builds and runs every target; `seconds` is for all of them together.
pub fn phase(budget: Duration, seconds: u64) -> Result<Passed, String> {
    let deadline = Instant::now() + budget;
    build()?;
    let targets = names()?;
    write_seeds()?;
    let each = (seconds / targets.len().max(1) as u64).max(5);
    // Two at a time: the rest of the run is over by now and the cores are free.
    for pair in targets.chunks(2) {
        let left = deadline.saturating_duration_since(Instant::now());
        let failures = std::thread::scope(|scope| {
            let running: Vec<_> = pair.iter().map(|name| scope.spawn(move || run(name, each, left))).collect();
            running
                .into_iter()
                .filter_map(|thread| thread.join().expect("a fuzz run does not panic").err())
                .collect::<Vec<_>>()
        });
        if !failures.is_empty() {
            return Err(failures.join("\n"));
        }
    }
    Ok(Passed { note: format!("{} targets, {each} s each", targets.len()), ..Passed::held() })
}

/// `cargo xtask fuzz [SECONDS]`.
pub fn run_alone(arguments: &[String]) -> Result<(), String> {
    let each: u64 = match arguments.first() {
        Some(seconds) => seconds.parse().map_err(|_| format!("`{seconds}` is no number of seconds"))?,
        None => 30,
    };
    build()?;
    write_seeds()?;
    names()?.iter().try_for_each(|name| run(name, each, Duration::from_secs(each + 60)))
}

fn target_folder() -> PathBuf {
    workspace::target().join("fuzz")
}

fn seeds_folder() -> PathBuf {
    target_folder().join("seeds")
}

fn program(name: &str) -> PathBuf {
    target_folder().join(TARGET).join("release").join(name)
}

/// The first inputs, by the formats' own encoders.
fn write_seeds() -> Result<(), String> {
    process::quiet(Command::new(program("seeds")).arg(seeds_folder())).map(drop)
}

/// The targets, by their files' names.
fn names() -> Result<Vec<String>, String> {
    let folder = workspace::root().join("fuzz/targets");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".rs").map(String::from)).collect();
    names.sort();
    if names.is_empty() { Err(format!("no fuzz target in {}", folder.display())) } else { Ok(names) }
}

fn run(name: &str, seconds: u64, budget: Duration) -> Result<(), String> {
    let found = target_folder().join("corpus").join(name);
    let artifacts = target_folder().join("artifacts");
    for folder in [&found, &artifacts] {
        std::fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    }
    let mut command = Command::new(program(name));
    command.arg(&found);
    let seeds = seeds_folder().join(name);
    if seeds.exists() {
        command.arg(seeds);
    }
    command.arg(format!("-max_total_time={seconds}")).arg(format!("-rss_limit_mb={MEMORY_MIB_MAX}"));
    command.args(["-max_len=65536", "-timeout=10", "-print_final_stats=1", "-verbosity=0"]);
    command.arg(format!("-artifact_prefix={}/{name}-", artifacts.display()));
    process::must(&mut command, budget.max(Duration::from_secs(seconds + 20))).map(drop).map_err(|message| {
        format!("fuzz target {name} found something ({message}); the input is in {}", artifacts.display())
    })
}
