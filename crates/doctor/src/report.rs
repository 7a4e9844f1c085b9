//! The findings as a person reads them, and as a program does.

use std::fmt::Write;

use serde::Serialize;

use crate::finding::{Finding, Verdict};

/// For people: first what there is to do, the worst before the rest, each with its reason and the command that mends it; then what could not be read, in a
/// line each. With `with_ok` the checks that passed follow, by area.
pub fn text(findings: &[Finding], with_ok: bool) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_text(findings, with_ok, &mut out);
    out
}

fn write_text(findings: &[Finding], with_ok: bool, out: &mut String) -> std::fmt::Result {
    for verdict in Verdict::ALL {
        if verdict == Verdict::Ok && !with_ok {
            continue;
        }
        let of_verdict = findings.iter().filter(|finding| finding.verdict == verdict);
        for finding in of_verdict {
            writeln!(out, "{:<9}  {}, {}: {}", verdict.name(), finding.area.name(), finding.check, finding.found)?;
            // There is nothing to do about what is not known, unless the finding says so.
            if verdict != Verdict::NotKnown || finding.mend.is_some() {
                lines(finding.why).iter().try_for_each(|line| writeln!(out, "{:11}{line}", ""))?;
            }
            if let Some(mend) = &finding.mend {
                writeln!(out, "{:11}→ {mend}", "")?;
            }
        }
    }
    let counts = Verdict::ALL.map(|verdict| (verdict, count(findings, verdict)));
    let counts: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(verdict, count)| format!("{count} {}", verdict.name()))
        .collect();
    let hint = if !with_ok && count(findings, Verdict::Ok) > 0 { " (--all shows them)" } else { "" };
    let gap = if out.is_empty() { "" } else { "\n" };
    writeln!(out, "{gap}{} checks: {}{hint}", findings.len(), counts.join(", "))
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
    use crate::finding::Area;

    fn finding(check: &'static str, verdict: Verdict, mend: Option<&str>) -> Finding {
        let mend = mend.map(str::to_owned);
        Finding { area: Area::Memory, check, verdict, found: "found \"it\"".to_owned(), why: "It matters.", mend }
    }

    #[test]
    fn a_report_for_people_begins_with_the_worst_and_has_no_ok_lines() {
        let findings = [
            finding("memory", Verdict::Ok, None),
            finding("turbo", Verdict::NotKnown, None),
            finding("swap", Verdict::Warning, Some("swapoff -a")),
            finding("disk", Verdict::Problem, Some("rm it")),
        ];
        assert_eq!(
            text(&findings, false),
            "problem    memory, disk: found \"it\"\n           It matters.\n           → rm it\n\
             warning    memory, swap: found \"it\"\n           It matters.\n           → swapoff -a\n\
             not known  memory, turbo: found \"it\"\n\n\
             4 checks: 1 problem, 1 warning, 1 not known, 1 ok (--all shows them)\n"
        );
    }

    #[test]
    fn a_report_for_people_with_all_checks() {
        let findings = [finding("memory", Verdict::Ok, None)];
        assert_eq!(text(&findings, false), "1 checks: 1 ok (--all shows them)\n");
        assert_eq!(
            text(&findings, true),
            "ok         memory, memory: found \"it\"\n           It matters.\n\n1 checks: 1 ok\n"
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
