//! `UNSAFE.md` names exactly the files that hold `unsafe`.

use super::Finding;
use crate::source::{Tree, has_word};

const LIST: &str = "UNSAFE.md";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let listed = tree.file(LIST).map(|file| entries(&file.text)).unwrap_or_default();
    for file in tree.rust() {
        let code = file.code();
        let line = code.lines().position(|line| has_word(line, "unsafe"));
        let entry = listed.iter().find(|(_, path)| *path == file.path);
        match (line, entry) {
            (Some(line), None) => {
                findings.push(Finding::new(&file.path, line + 1, "holds `unsafe` and has no line in UNSAFE.md"));
            }
            (None, Some((line, path))) => {
                findings.push(Finding::new(LIST, *line, format!("`{path}` holds no `unsafe`: take the line out")));
            }
            _ => {}
        }
    }
    for (line, path) in &listed {
        if tree.file(path).is_none() {
            findings.push(Finding::new(LIST, *line, format!("`{path}` does not exist")));
        }
    }
    findings
}

/// The paths of the list's entries: lines of the form "- `path`: why".
fn entries(list: &str) -> Vec<(usize, &str)> {
    let path =
        |line: &'_ str| -> Option<(usize, usize)> { line.strip_prefix("- `")?.find("`:").map(|end| (3, 3 + end)) };
    list.lines()
        .enumerate()
        .filter_map(|(index, line)| path(line).map(|(from, to)| (index + 1, &line[from..to])))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_are_compared() {
        let tree = Tree::of(&[
            ("UNSAFE.md", "# Unsafe\n- `a.rs`: fine\n- `b.rs`: nothing there\n- `gone.rs`: no file\n"),
            ("a.rs", "unsafe { f() }"),
            ("b.rs", "// unsafe in a comment\n#![allow(unsafe_code)]"),
            ("c.rs", "\nunsafe impl Send for X {}"),
        ]);
        let found: Vec<(String, usize)> =
            check(&tree).into_iter().map(|finding| (finding.path, finding.line)).collect();
        assert_eq!(found, [("UNSAFE.md".into(), 3), ("c.rs".into(), 2), ("UNSAFE.md".into(), 4)]);
    }
}
