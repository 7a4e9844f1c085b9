//! Runs a line of the generator, and reads what it measured.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::figures::Figures;
use crate::said;

/// How a run ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Ended {
    pub(crate) figures: Option<Figures>,
    /// Why its exit code was not 0, or why there are no figures: one line.
    pub(crate) error: Option<String>,
    /// Its output, if there is an error.
    pub(crate) stderr: Option<String>,
    pub(crate) stdout: Option<String>,
}

/// The end of a shell's line.
struct Done {
    /// The reason of its failure, without its output.
    failure: Option<String>,
    stderr: Option<String>,
    stdout: Option<String>,
}

fn shell(line: &str) -> Done {
    match Command::new("sh").args(["-c", line]).stdin(Stdio::null()).output() {
        Ok(output) => Done {
            failure: (!output.status.success()).then(|| output.status.to_string()),
            stderr: said::kept(&output.stderr),
            stdout: said::kept(&output.stdout),
        },
        Err(error) => Done { failure: Some(format!("cannot run `sh`: {error}")), stderr: None, stdout: None },
    }
}

/// Runs a shell's line that must succeed. The error is what it said.
pub(crate) fn must(line: &str) -> Result<(), String> {
    let done = shell(line);
    match done.failure {
        None => Ok(()),
        Some(failure) => Err(match done.stderr.or(done.stdout) {
            Some(printed) => format!("{failure}: {printed}"),
            None => failure,
        }),
    }
}

/// Runs a line that writes its report to the file.
pub(crate) fn run(line: &str, report: &Path) -> Ended {
    let _ = fs::remove_file(report);
    let before = cpu_time_of_ended();
    let done = shell(line);
    let used = cpu_time_of_ended().zip(before).map(|(now, before)| now.saturating_sub(before));
    let written = fs::read(report).unwrap_or_default();
    let mut figures = std::str::from_utf8(&written).ok().and_then(Figures::of_report);
    if let Some(figures) = &mut figures {
        // Of a generator that does not tell: with its start, its connecting and its preparing.
        let each = used.map(|used| used.as_secs_f64() * 1e6 / figures.operations);
        figures.generator_cpu_micros = figures.generator_cpu_micros.or(each);
        if done.failure.is_none() {
            return Ended { figures: Some(figures.clone()), ..Ended::default() };
        }
    }
    // With `> '{report}'` what it printed is there.
    let printed_there = figures.is_none().then(|| said::kept(&written)).flatten();
    let stdout = done.stdout.or(printed_there);
    let failure = done.failure.unwrap_or_else(|| "no readable report written".to_owned());
    let error = match done.stderr.as_deref().or(stdout.as_deref()).map(said::message) {
        Some(message) => format!("{failure}: {message}"),
        None => failure,
    };
    Ended { figures, error: Some(error), stderr: done.stderr, stdout }
}

/// The CPU time of the processes that this one has started and that have ended, with those that they had started themselves.
fn cpu_time_of_ended() -> Option<Duration> {
    stdx::procfs::cpu_time_of_ended(&fs::read_to_string("/proc/self/stat").ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_line_says_and_leaves_is_known() {
        let report = std::env::temp_dir().join(format!("study-report-{}.json", std::process::id()));
        let json = "{\"operations\": 1, \"seconds\": 1, \"operations_per_second\": 1, \"latency_micros\": {}}";
        let good = run(&format!("echo '{json}' > {}", report.display()), &report);
        assert!(good.error.is_none() && good.figures.is_some(), "{good:?}");
        let late = run(&format!("echo '{json}' > {}; echo too slow >&2; exit 1", report.display()), &report);
        assert!(
            late.figures.is_some() && late.error.as_ref().is_some_and(|error| error.contains("too slow")),
            "{late:?}"
        );
        let busy = format!("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo '{json}' > {}", report.display());
        let micros = run(&busy, &report).figures.and_then(|figures| figures.generator_cpu_micros);
        assert!(micros.is_some_and(|micros| micros > 10_000.0), "{micros:?}");
        let silent = run("true", &report);
        assert!(silent.figures.is_none() && silent.error.is_some(), "an old report is not taken for a new one");
    }

    #[test]
    fn a_failed_run_says_why_and_keeps_what_was_printed() {
        let report = std::env::temp_dir().join(format!("study-report-failed-{}.txt", std::process::id()));
        let clap = "error: unexpected argument '--rwos' found\n\nUsage: stress\n\nFor more information, try '--help'.";
        let typo = run(&format!("echo progress; printf \"%b\" \"{}\" >&2; exit 2", clap.replace('\n', "\\n")), &report);
        assert_eq!(typo.error.as_deref(), Some("exit status: 2: error: unexpected argument '--rwos' found"));
        assert_eq!((typo.stderr.as_deref(), typo.stdout.as_deref()), (Some(clap), Some("progress")));
        // A line that is longer than what is kept does not hide the message before it.
        let long = run("echo error: no such load >&2; head -c 9000 /dev/zero | tr '\\0' x >&2; exit 1", &report);
        assert_eq!(long.error.as_deref(), Some("exit status: 1: error: no such load"));
        let missing = run("no-such-generator --json x", &report).error.unwrap();
        assert!(missing.starts_with("exit status: 127: ") && missing.ends_with("not found"), "{missing}");
        // One that prints to where its report goes, as cassandra-stress does.
        let there = run(&format!("echo Invalid command: wirte > {}; exit 1", report.display()), &report);
        assert_eq!(there.error.as_deref(), Some("exit status: 1: Invalid command: wirte"));
        let well = run("echo done; echo warning: no report >&2", &report);
        assert_eq!(well.error.as_deref(), Some("no readable report written: warning: no report"));
        let _ = std::fs::remove_file(report);
    }
}
