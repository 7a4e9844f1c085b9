//! `cargo xtask ci`: the phases, how long they usually take, and in which order.
//!
//! Cheap and often wrong things are checked first. Two profiles are built, `release` for the binary under test and `test` for everything else, by
//! clippy's compiler; the fuzz target can share neither. Then lanes of phases run beside each other, since most of them wait half of their time. A phase that
//! fails does not keep the others from saying what they know, but nothing runs after a failed build. No phase fails by the clock.

use std::time::Duration;

use crate::bench;
use crate::peers::{cassandra, chromium};
use crate::report::{Counts, Passed, Phase, Report};
use crate::tests::{self, BUILD_TIME, Effort};
use crate::tools::{
    self, CC, CXX, DPKG_DEB, GO, GZIP, IP, JAVA, JDK, MAVEN, NODE, NPM, PYTHON, READELF, SETPRIV, STRIP,
    SYSTEMD_ANALYZE, TAR, TASKSET, TC, VALGRIND,
};
use crate::workspace::Profile;
use crate::{built, drivers, fuzz, oracle, planted, process, simulation, tidy, workspace};

/// What a whole run writes below the target folder, and into the folder for temporary files.
const DISK_NEEDED: u64 = 12 << 30;

/// Seconds of a change's whole run on the machine on record; the bound is 1,500.
const USUAL: u64 = 1660;

/// A phase: its name, the seconds that it takes of a change on the machine on record, beside the other lanes, and what it does.
type Description = (&'static str, u64, fn(Duration, Effort) -> Result<Passed, String>);

const LINT: Description = ("lint", 6, lint);
const BUILD: Description = ("build", 730, build);

/// The phases after the build, in lanes that run side by side and take about as long as each other. There are more lanes than processors, since most
/// phases wait half of their time.
const LANES: [&[Description]; 3] = [
    &[("unit", 480, tests::unit), ("oracle", 440, oracle::phase)],
    &[("simulation", 270, simulation::phase), ("crash", 330, tests::crash), ("fuzz", 240, fuzz::phase)],
    &[
        ("drivers", 360, drivers::phase),
        ("operators", 340, operators),
        ("hostile", 55, tests::hostile),
        ("packages", 15, tests::packages),
        ("planted", 35, planted_bugs),
        ("speed", 6, speed),
    ],
];

/// `cargo xtask ci [--only PHASE…]`, or the same with long settings: for a night, not for a change.
pub fn run(effort: Effort, arguments: &[String]) -> Result<(), String> {
    let only = selected(arguments)?;
    let is_wanted = |(name, _, _): &Description| only.is_empty() || only.iter().any(|wanted| wanted == name);
    tools::require(&[CC, CXX, PYTHON, JAVA, JDK, MAVEN, GO, NODE, NPM, TASKSET, IP, TC, VALGRIND])?;
    tools::require(&[DPKG_DEB, READELF, STRIP, TAR, GZIP, SETPRIV, SYSTEMD_ANALYZE])?;
    tools::require_nightly()?;
    tools::require_disk(&workspace::target(), DISK_NEEDED)?;
    workspace::build_once();
    if effort == Effort::Soak {
        workspace::choose(Profile::Dist);
    }
    let phase = |description: Description| {
        let (name, usual, work) = description;
        Phase { name, usual, work: Box::new(move |budget| work(limit(budget, effort), effort)) }
    };
    let lanes: Vec<Vec<Description>> =
        LANES.iter().map(|lane| lane.iter().copied().filter(is_wanted).collect()).collect();
    let mut report = Report::begin(USUAL);
    if is_wanted(&LINT) {
        report.phase(phase(LINT));
    }
    let needs_build = is_wanted(&BUILD) || lanes.iter().any(|lane| !lane.is_empty());
    if needs_build && report.phase(phase(BUILD)) {
        let lanes: Vec<Vec<Phase<'_>>> = lanes.into_iter().map(|lane| lane.into_iter().map(phase).collect()).collect();
        match effort {
            Effort::Ci => report.lanes(lanes),
            // A soak judges times, so that nothing runs beside what it judges.
            Effort::Soak => {
                for phase in lanes.into_iter().flatten() {
                    report.phase(phase);
                }
            }
        }
    }
    report.finish()
}

/// The phases that `--only` names, by commas or words; none names all.
fn selected(arguments: &[String]) -> Result<Vec<String>, String> {
    let Some((flag, names)) = arguments.split_first() else { return Ok(Vec::new()) };
    let all: Vec<&str> = [LINT, BUILD].iter().chain(LANES.into_iter().flatten()).map(|(name, _, _)| *name).collect();
    let names: Vec<String> = names.iter().flat_map(|word| word.split(',')).map(str::to_owned).collect();
    let is_known = |name: &String| all.contains(&name.as_str());
    if flag != "--only" || names.is_empty() || !names.iter().all(is_known) {
        return Err(format!("only --only PHASE… may follow, with phases of {}", all.join(", ")));
    }
    Ok(names)
}

/// After how long a phase counts as hung.
fn limit(budget: Duration, effort: Effort) -> Duration {
    match effort {
        Effort::Ci => budget,
        Effort::Soak => Duration::from_secs(6 * 3600),
    }
}

/// tidy and formatting. clippy lints while the tests are built.
fn lint(budget: Duration, _effort: Effort) -> Result<Passed, String> {
    let mut complaints = Vec::new();
    if let Err(message) = tidy::run() {
        complaints.push(message);
    }
    if let Err(message) = process::must(workspace::cargo().args(["fmt", "--all", "--check"]), budget) {
        complaints.push(message);
    }
    if complaints.is_empty() { Ok(Passed::held()) } else { Err(complaints.join("\n")) }
}

/// Everything that later phases run. The drivers and Cassandra load while the compiler works. A warning fails the run at its end: what was built with it
/// is tested still.
fn build(_budget: Duration, effort: Effort) -> Result<Passed, String> {
    let lane = process::lane();
    std::thread::scope(|scope| {
        let peers = scope.spawn(|| {
            process::in_lane(lane, || {
                drivers::prepare()?;
                chromium::prepare()?;
                cassandra::fetch().map(drop)
            })
        });
        // In a folder of its own, so that cargo builds both at once.
        let build_product = match effort {
            Effort::Ci => tests::build_product,
            Effort::Soak => tests::build_measured,
        };
        let product = scope.spawn(move || process::in_lane(lane, || build_product(BUILD_TIME)));
        let warnings = &built::all(BUILD_TIME)?.warnings;
        product.join().map_err(|_| "the build of the binary under test panicked".to_string())??;
        peers.join().map_err(|_| "fetching the peers panicked".to_string())??;
        Ok(linted(warnings))
    })
}

/// A build with so many warnings: the phases after it run, and the run fails.
fn linted(warnings: &[String]) -> Passed {
    if warnings.is_empty() {
        return Passed::held();
    }
    let counts = Counts { passed: 0, failed: 1 };
    Passed { counts, note: format!("{} warnings", warnings.len()), said: warnings.to_vec(), ..Passed::held() }
}

/// The operators' tools, ccm among them.
pub fn operators(budget: Duration, effort: Effort) -> Result<Passed, String> {
    Ok(tests::operators(budget, effort)?.and(drivers::ccm(budget, effort)?))
}

fn planted_bugs(budget: Duration, effort: Effort) -> Result<Passed, String> {
    planted::phase(budget, &[], effort)
}

/// Instructions for a request, which a busy machine does not change; a soak judges times too.
fn speed(budget: Duration, effort: Effort) -> Result<Passed, String> {
    match effort {
        Effort::Ci => bench::instructions::gate(),
        Effort::Soak => {
            let counted = bench::instructions::gate()?.and(bench::guesses::gate()?);
            Ok(counted.and(bench::above_echo::gate(budget)?))
        }
    }
}

#[cfg(test)]
mod tests_of_the_phases {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_string()).collect()
    }

    #[test]
    fn no_phase_is_left_out() {
        let mut names: Vec<&str> = LANES.into_iter().flatten().map(|(name, _, _)| *name).collect();
        names.sort_unstable();
        let expected = [
            "crash",
            "drivers",
            "fuzz",
            "hostile",
            "operators",
            "oracle",
            "packages",
            "planted",
            "simulation",
            "speed",
            "unit",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_warning_fails_the_run_and_not_the_phases_after_it() {
        let warned = linted(&words(&["warning: redundant clone"]));
        assert!(warned.success && warned.counts.failed == 1 && warned.said.len() == 1);
        assert_eq!(linted(&[]).counts, Counts::default());
    }

    #[test]
    fn phases_are_chosen_by_name() {
        assert_eq!(selected(&[]), Ok(vec![]));
        assert_eq!(selected(&words(&["--only", "unit,lint", "fuzz"])), Ok(words(&["unit", "lint", "fuzz"])));
        for wrong in [&["--only"][..], &["--only", "units"], &["unit"]] {
            assert!(selected(&words(wrong)).expect_err("is none").contains("simulation"), "{wrong:?}");
        }
    }
}
