//! The findings as a person reads them, and as a program does.

use std::fmt::Write;

use serde::Serialize;

use crate::finding::{Area, Finding, Verdict};

/// For people: the findings by area, each with its reason and, where there is something to do, the command.
pub fn text(findings: &[Finding]) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_text(findings, &mut out);
    out
}

fn write_text(findings: &[Finding], out: &mut String) -> std::fmt::Result {
    let mut area: Option<Area> = None;
    for finding in findings {
        if area != Some(finding.area) {
            writeln!(out, "{}{}", if area.is_some() { "\n" } else { "" }, finding.area.name())?;
            area = Some(finding.area);
        }
        writeln!(out, "  {:<9}  {}: {}", finding.verdict.name(), finding.check, finding.found)?;
        for line in lines(finding.why) {
            writeln!(out, "{:13}{line}", "")?;
        }
        match (&finding.mend, finding.verdict) {
            (Some(mend), _) => writeln!(out, "{:13}→ {mend}", "")?,
            // What is not known may be fine or not.
            (None, Verdict::NotKnown) => {}
            (None, _) => writeln!(out, "{:13}→ nothing to do", "")?,
        }
    }
    let counts = Verdict::ALL.map(|verdict| (verdict, count(findings, verdict)));
    let counts =
        counts.iter().filter(|(_, count)| *count > 0).map(|(verdict, count)| format!("{count} {}", verdict.name()));
    writeln!(out, "\n{} checks: {}", findings.len(), counts.collect::<Vec<_>>().join(", "))
}

/// The sentence in lines that fit a terminal. Commands are not cut, so that they can be copied.
fn lines(sentence: &str) -> Vec<String> {
    const COLUMNS_MAX: usize = 100;
    let mut lines: Vec<String> = Vec::new();
    for word in sentence.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= COLUMNS_MAX => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn count(findings: &[Finding], verdict: Verdict) -> usize {
    findings.iter().filter(|finding| finding.verdict == verdict).count()
}

/// What a program reads.
#[derive(Serialize)]
struct Report<'a> {
    /// The worst of the findings'.
    verdict: Verdict,
    findings: &'a [Finding],
}

/// For programs.
pub fn json(findings: &[Finding]) -> String {
    let verdict = findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Ok);
    let report = Report { verdict, findings };
    let text = serde_json::to_string_pretty(&report).expect("text and enums are always JSON");
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(check: &'static str, verdict: Verdict, mend: Option<&str>) -> Finding {
        let mend = mend.map(str::to_owned);
        Finding { area: Area::Memory, check, verdict, found: "found \"it\"".to_owned(), why: "It matters.", mend }
    }

    #[test]
    fn a_report_for_people() {
        let findings = [finding("swap", Verdict::Warning, Some("swapoff -a")), finding("memory", Verdict::Ok, None)];
        assert_eq!(
            text(&findings),
            "memory\n  warning    swap: found \"it\"\n             It matters.\n             → swapoff -a\n  ok         memory: found \"it\"\n             \
             It matters.\n             → nothing to do\n\n2 checks: 1 warning, 1 ok\n"
        );
    }

    #[test]
    fn long_sentences_are_broken_between_words() {
        let sentence = "word ".repeat(50);
        let lines = lines(sentence.trim_end());
        assert!(lines.len() == 3 && lines.iter().all(|line| line.len() <= 100 && !line.ends_with(' ')), "{lines:?}");
        assert_eq!(lines.join(" "), sentence.trim_end());
    }

    #[test]
    fn a_report_for_programs() {
        let findings = [finding("swap", Verdict::NotKnown, Some("swapoff -a")), finding("memory", Verdict::Ok, None)];
        let value: serde_json::Value = serde_json::from_str(&json(&findings)).expect("it is JSON");
        assert_eq!(value["verdict"], "not known");
        assert_eq!(value["findings"][0]["found"], "found \"it\"");
        assert_eq!(value["findings"][0]["area"], "memory");
        assert_eq!(value["findings"][1]["mend"], serde_json::Value::Null);
    }
}
