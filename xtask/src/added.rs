//! The lines that the change at hand adds, as git tells them: those of the last commit, and the uncommitted ones.
//!
//! They only say which places a finding names first. Without git, or in a clone that is one commit deep, there are none.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

/// Added lines of each path, from one.
#[derive(Default)]
pub struct Added(BTreeMap<String, Vec<Range<usize>>>);

impl Added {
    /// Asks git.
    pub fn read(root: &Path) -> Added {
        let diff = git(root, &["diff", "--unified=0", "--no-ext-diff", "--no-color", "HEAD~1"]);
        Added::of(&diff, &git(root, &["ls-files", "--others", "--exclude-standard"]))
    }

    /// The lines of a diff without context, and all lines of new files.
    pub fn of(diff: &str, new_files: &str) -> Added {
        let mut added = Added::default();
        let mut path = None;
        for line in diff.lines() {
            if let Some(name) = line.strip_prefix("+++ ") {
                path = name.strip_prefix("b/");
            } else if let (Some(path), Some(lines)) = (path, line.strip_prefix("@@ ").and_then(added_lines)) {
                added.0.entry(path.to_string()).or_default().push(lines);
            }
        }
        for path in new_files.lines() {
            added.0.entry(path.to_string()).or_default().push(0..usize::MAX);
        }
        added
    }

    /// True if the change adds any line of this file.
    pub fn touches(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// True if the change adds this line.
    pub fn contains(&self, path: &str, line: usize) -> bool {
        self.0.get(path).is_some_and(|ranges| ranges.iter().any(|range| range.contains(&line)))
    }
}

/// The new side of a hunk's head, `-12,0 +13,2 @@ …`: lines 13 and 14.
fn added_lines(head: &str) -> Option<Range<usize>> {
    let side = head.split(' ').find_map(|word| word.strip_prefix('+'))?;
    let (from, count) = side.split_once(',').unwrap_or((side, "1"));
    let from: usize = from.parse().ok()?;
    Some(from..from + count.parse::<usize>().ok()?)
}

fn git(root: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").current_dir(root).args(arguments).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_say_which_lines_are_new() {
        let diff = "--- a/a.rs\n+++ b/a.rs\n@@ -3 +3,2 @@ fn f() {\n-x\n+y\n+z\n@@ -9,2 +9,0 @@\n-a\n-b\n--- a/gone.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
        let added = Added::of(diff, "b.rs\n");
        let found: Vec<usize> = (1..12).filter(|&line| added.contains("a.rs", line)).collect();
        assert_eq!(found, [3, 4]);
        assert!(
            added.contains("b.rs", 7)
                && !added.contains("gone.rs", 1)
                && added.touches("b.rs")
                && !added.touches("c.rs")
        );
    }
}
