//! Runs a line of the generator, and reads what it measured.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::figures::Figures;

/// The longest text of an error that is kept.
const ERROR_BYTES_MAX: usize = 2_000;

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ended {
    pub(crate) figures: Option<Figures>,
    /// Why its exit code was not 0, or why there are no figures.
    pub(crate) error: Option<String>,
}

/// Runs a shell's line that must succeed. The error is what it said.
pub(crate) fn must(line: &str) -> Result<(), String> {
    let output = Command::new("sh").args(["-c", line]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot run `sh`: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(format!("{}: {}", output.status, last(&String::from_utf8_lossy(&said))))
}

/// Runs a line that writes its report to the file.
pub(crate) fn run(line: &str, report: &Path) -> Ended {
    let _ = fs::remove_file(report);
    let before = cpu_time_of_ended();
    let error = must(line).err();
    let used = cpu_time_of_ended().zip(before).map(|(now, before)| now.saturating_sub(before));
    let mut figures = fs::read_to_string(report).ok().and_then(|text| Figures::of_report(&text));
    if let Some(figures) = &mut figures {
        // Of a generator that does not tell: with its start, its connecting and its preparing.
        let each = used.map(|used| used.as_secs_f64() * 1e6 / figures.operations);
        figures.generator_cpu_micros = figures.generator_cpu_micros.or(each);
    }
    let error = match (error, &figures) {
        (None, None) => Some("no readable report written".to_owned()),
        (error, _) => error,
    };
    Ended { figures, error }
}

/// The CPU time of the processes that this one has started and that have ended, with those that they had started themselves.
fn cpu_time_of_ended() -> Option<Duration> {
    stdx::procfs::cpu_time_of_ended(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// The end of a text, where programs say what went wrong.
fn last(text: &str) -> &str {
    let text = text.trim();
    let mut from = text.len().saturating_sub(ERROR_BYTES_MAX);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
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
}
