//! Numbers on record that may only fall: a text file a rule, a line a name.
//!
//! A number above its record is a finding, and so is one below it, until `cargo xtask tidy --record` has lowered the record. Recording never raises
//! a number: only a hand that edits the file does, and a review sees that.

use std::collections::BTreeMap;

use super::Finding;
use crate::source::Tree;

/// The numbers that a rule counts, by name.
pub type Counts = BTreeMap<String, Vec<usize>>;

/// A file of records.
pub struct Record {
    /// Path below the root.
    pub path: &'static str,
    /// Comment lines at the top of the file.
    pub head: &'static str,
    /// The numbers of a name without a line. Where there are none, each name must have a line, which recording adds.
    pub limits: Option<&'static [usize]>,
}

struct Line {
    at: usize,
    name: String,
    numbers: Vec<usize>,
}

impl Record {
    /// Compares counted numbers with the file's; `above` words what has grown, given the name, the count and the record.
    pub fn compare(
        &self,
        tree: &Tree,
        counts: &Counts,
        mut above: impl FnMut(&str, &[usize], &[usize]) -> Vec<Finding>,
    ) -> Vec<Finding> {
        let lines = match self.lines(tree) {
            Ok(lines) => lines,
            Err(finding) => return vec![finding],
        };
        let again = "`cargo xtask tidy --record` writes it";
        let mut findings = Vec::new();
        for (name, counted) in counts {
            let line = lines.iter().find(|line| line.name == *name);
            let Some(recorded) = line.map(|line| line.numbers.as_slice()).or(self.limits) else {
                findings.push(Finding::new(self.path, 0, format!("`{name}` has no line: {again}")));
                continue;
            };
            let at = line.map_or(0, |line| line.at);
            if recorded.len() != counted.len() {
                findings.push(Finding::new(self.path, at, format!("`{name}` has {} numbers", counted.len())));
            } else if counted.iter().zip(recorded).any(|(counted, recorded)| counted > recorded) {
                findings.extend(above(name, counted, recorded));
            } else if counted != recorded {
                let message = format!("`{name}` has fallen to {}: {again}", spaced(counted));
                findings.push(Finding::new(self.path, at, message));
            }
        }
        for line in lines.iter().filter(|line| !counts.contains_key(&line.name)) {
            let message = format!("`{}` needs no line any more: {again}", line.name);
            findings.push(Finding::new(self.path, line.at, message));
        }
        findings
    }

    /// The file with each number lowered to its count, and none raised.
    pub fn lowered(&self, tree: &Tree, counts: &Counts) -> Result<String, Finding> {
        let lines = self.lines(tree)?;
        let mut text = String::from(self.head);
        for (name, counted) in counts {
            let line = lines.iter().find(|line| line.name == *name);
            let lowered = match line.map(|line| line.numbers.as_slice()).or(self.limits) {
                Some(recorded) => {
                    counted.iter().zip(recorded).map(|(counted, recorded)| *counted.min(recorded)).collect()
                }
                None => counted.clone(),
            };
            if Some(lowered.as_slice()) != self.limits {
                text += &format!("{name} {}\n", spaced(&lowered));
            }
        }
        Ok(text)
    }

    /// No file is a file without lines.
    fn lines(&self, tree: &Tree) -> Result<Vec<Line>, Finding> {
        let mut lines: Vec<Line> = Vec::new();
        for (index, line) in tree.file(self.path).map_or("", |file| &file.text).lines().enumerate() {
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            let (names, numbers): (Vec<&str>, Vec<&str>) =
                line.split_whitespace().partition(|word| word.parse::<usize>().is_err());
            let name = names.join(" ");
            if numbers.is_empty() || lines.iter().any(|line| line.name == name) {
                return Err(Finding::new(self.path, index + 1, "a line is a name, once, and its numbers"));
            }
            let numbers = numbers.iter().filter_map(|number| number.parse().ok()).collect();
            lines.push(Line { at: index + 1, name, numbers });
        }
        Ok(lines)
    }
}

fn spaced(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: Record = Record { path: "listed.txt", head: "# Head\n", limits: None };
    const LIMITED: Record = Record { path: "limited.txt", head: "", limits: Some(&[40, 4]) };

    fn counts(counts: &[(&str, &[usize])]) -> Counts {
        counts.iter().map(|(name, numbers)| ((*name).to_string(), numbers.to_vec())).collect()
    }

    fn messages(record: &Record, text: &str, counts: &Counts) -> Vec<String> {
        let tree = Tree::of(&[(record.path, text)]);
        let above = |name: &str, _: &[usize], _: &[usize]| vec![Finding::new("a.rs", 1, format!("{name} above"))];
        record.compare(&tree, counts, above).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn above_below_new_and_forgotten_are_found() {
        let text = "# Head\na thing 2\nb 2\nc 2\ngone 1\n";
        let found = messages(&LISTED, text, &counts(&[("a thing", &[3]), ("b", &[1]), ("c", &[2]), ("d", &[5])]));
        let [a, b, d, gone] = &found[..] else { panic!("{found:?}") };
        assert_eq!(a, "a thing above");
        assert!(b.contains("fallen to 1") && d.contains("no line") && gone.contains("any more"), "{found:?}");
    }

    #[test]
    fn a_name_without_a_line_has_the_limits() {
        let found = messages(&LIMITED, "big 50 9\n", &counts(&[("big", &[50, 9]), ("new", &[41, 4])]));
        assert_eq!(found, ["new above"]);
    }

    #[test]
    fn recording_lowers_and_adds_and_never_raises() {
        let tree = Tree::of(&[("listed.txt", "a 2\nb 2\ngone 1\n"), ("limited.txt", "big 50 9\nsmall 41 5\n")]);
        let listed = LISTED.lowered(&tree, &counts(&[("a", &[3]), ("b", &[1]), ("d", &[5])]));
        assert_eq!(listed.as_deref(), Ok("# Head\na 2\nb 1\nd 5\n"));
        let limited = LIMITED.lowered(&tree, &counts(&[("big", &[45, 11]), ("new", &[41, 4]), ("small", &[40, 4])]));
        assert_eq!(limited.as_deref(), Ok("big 45 9\n"));
    }

    #[test]
    fn a_line_without_a_number_and_a_name_twice_are_found() {
        assert_eq!(messages(&LISTED, "a\n", &Counts::new()).len(), 1);
        assert_eq!(messages(&LISTED, "a 1\na 2\n", &Counts::new()).len(), 1);
    }
}
