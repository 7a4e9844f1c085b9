//! `cargo xtask ci`: the phases, their budgets, and in which order.
//!
//! Two profiles are built, release for the binary under test and test for everything else; clippy and the fuzz targets cannot share
//! either. What is cheap and often wrong comes first. A phase that fails does not keep the others from saying what they know, but
//! nothing runs after a failed build.

use std::time::Duration;

use crate::bench;
use crate::peers::{cassandra, chromium};
use crate::report::{Passed, Report};
use crate::tests::{self, Effort};
use crate::tools::{self, CC, CXX, GO, JAVA, JDK, MAVEN, NODE, NPM, PYTHON, TASKSET, VALGRIND};
use crate::{drivers, fuzz, oracle, planted, process, tidy, workspace};

/// What a whole run writes below the target folder, and into the folder for temporary files.
const DISK_NEEDED: u64 = 12 << 30;

/// How long everything may take.
pub struct Settings {
    effort: Effort,
    all: Duration,
    build: Duration,
    lint: Duration,
    unit: Duration,
    drivers: Duration,
    oracle: Duration,
    hostile: Duration,
    crash: Duration,
    planted: Duration,
    simulation: Duration,
    operators: Duration,
    footprint: Duration,
    fuzz: Duration,
    fuzz_seconds: u64,
    speed: Duration,
}

impl Settings {
    /// A change, on 2 cores, from a clean clone. When they were last measured the phases took 35 minutes; their budgets sum to 40, and twice
    /// that ends the run.
    pub fn ci() -> Settings {
        let seconds = Duration::from_secs;
        Settings {
            effort: Effort::Ci,
            all: seconds(40 * 60),
            build: seconds(660),
            lint: seconds(180),
            unit: seconds(120),
            drivers: seconds(240),
            oracle: seconds(180),
            hostile: seconds(40),
            crash: seconds(130),
            planted: seconds(300),
            simulation: seconds(150),
            operators: seconds(110),
            footprint: seconds(20),
            fuzz: seconds(210),
            fuzz_seconds: 60,
            speed: seconds(90),
        }
    }

    /// The same with long settings: for a night, not for a change.
    pub fn soak() -> Settings {
        let seconds = Duration::from_secs;
        Settings {
            effort: Effort::Soak,
            all: seconds(10 * 3600),
            unit: seconds(3600),
            drivers: seconds(1800),
            oracle: seconds(3600),
            hostile: seconds(3600),
            crash: seconds(2 * 3600),
            planted: seconds(1800),
            simulation: seconds(3 * 3600),
            fuzz: seconds(2 * 3600),
            fuzz_seconds: 3600,
            speed: seconds(900),
            ..Settings::ci()
        }
    }
}

/// Runs every phase and prints the table.
pub fn run(settings: &Settings) -> Result<(), String> {
    tools::require(&[CC, CXX, PYTHON, JAVA, JDK, MAVEN, GO, NODE, NPM, TASKSET, VALGRIND])?;
    tools::require_nightly()?;
    tools::require_disk(&workspace::target(), DISK_NEEDED)?;
    workspace::build_once();
    let mut report = Report::begin(settings.all);
    report.phase("lint", settings.lint, lint);
    if report.phase("build", settings.build, build) {
        report.phase("unit", settings.unit, |budget| tests::unit(budget, settings.effort));
        report.phase("drivers", settings.drivers, |budget| drivers::phase(budget, settings.effort));
        report.phase("oracle", settings.oracle, |budget| oracle::phase(budget, settings.effort));
        report.phase("hostile", settings.hostile, |budget| tests::hostile(budget, settings.effort));
        report.phase("crash", settings.crash, |budget| tests::crash(budget, settings.effort));
        report.phase("planted", settings.planted, |budget| planted::phase(budget, &[], settings.effort));
        report.phase("simulation", settings.simulation, |budget| tests::simulation(budget, settings.effort));
        report.phase("operators", settings.operators, |budget| tests::operators(budget, settings.effort));
        report.phase("footprint", settings.footprint, |budget| tests::footprint(budget, settings.effort));
        report.phase("speed", settings.speed, bench::above_echo::gate);
        report.phase("fuzz", settings.fuzz, |budget| fuzz::phase(budget, settings.fuzz_seconds));
    }
    report.finish()
}

/// tidy, formatting, clippy. The bans on the outside world bind the product's own code, not the tests beside it.
fn lint(budget: Duration) -> Result<Passed, String> {
    let mut complaints = Vec::new();
    if let Err(message) = tidy::run() {
        complaints.push(message);
    }
    let deny = ["--", "--deny", "warnings"];
    let of_tests = ["--allow", "clippy::disallowed_methods", "--allow", "clippy::disallowed_types"];
    let clippy = |targets: &[&'static str], allowed: &[&'static str]| {
        [&["clippy", "--workspace"], targets, &deny, allowed].concat()
    };
    let product = clippy(&[], &[]);
    let (targets, black_box) = (clippy(&["--all-targets"], &of_tests), clippy(&tests::black_box_targets(), &of_tests));
    for arguments in [vec!["fmt", "--all", "--check"], product, targets, black_box] {
        if let Err(message) = process::must(workspace::cargo().args(arguments), budget) {
            complaints.push(message);
        }
    }
    if complaints.is_empty() { Ok(Passed::held()) } else { Err(complaints.join("\n")) }
}

/// Everything that later phases run. The drivers and Cassandra load while the compiler works.
fn build(budget: Duration) -> Result<Passed, String> {
    let peers = std::thread::spawn(|| {
        drivers::prepare()?;
        chromium::prepare()?;
        cassandra::fetch().map(drop)
    });
    // The release build is at work on one core for most of its time, in a folder of its own.
    let release = std::thread::spawn(move || tests::build_release(budget));
    tests::build_tests(budget)?;
    release.join().map_err(|_| "the release build panicked".to_string())??;
    peers.join().map_err(|_| "fetching the peers panicked".to_string())??;
    Ok(Passed::held())
}
