//! Runs a line of the generator, and reads what it measured.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

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
    let output = output.map_err(|error| format!("`sh` cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(format!("{}: {}", output.status, last(&String::from_utf8_lossy(&said))))
}

/// Runs a line that writes its report to the file.
pub(crate) fn run(line: &str, report: &Path) -> Ended {
    let _ = fs::remove_file(report);
    let error = must(line).err();
    let figures = fs::read_to_string(report).ok().and_then(|text| {
        let report = serde_json::from_str(&text).ok()?;
        Figures::of_report(&report)
    });
    let error = match (error, &figures) {
        (None, None) => Some("it wrote no report that can be read".to_owned()),
        (error, _) => error,
    };
    Ended { figures, error }
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
        let silent = run("true", &report);
        assert!(silent.figures.is_none() && silent.error.is_some(), "an old report is not taken for a new one");
    }
}
