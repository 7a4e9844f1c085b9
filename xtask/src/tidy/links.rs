//! Relative links in Markdown lead somewhere, and so do anchors within them.

use super::Finding;
use crate::source::Tree;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, link) in links(&file.text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let path = if path.is_empty() { file.path.clone() } else { resolve(folder, path) };
            if !path.is_empty() && !tree.paths.contains(&path) {
                findings.push(Finding::new(&file.path, line, format!("dead link `{link}`: there is no {path}")));
            } else if !anchor.is_empty()
                && let Some(text) = tree.file(&path)
                && !has_anchor(&text.text, anchor)
            {
                findings.push(Finding::new(
                    &file.path,
                    line,
                    format!("dead anchor `{link}`: {path} has no such heading"),
                ));
            }
        }
    }
    findings
}

/// Link targets with their lines; code blocks and code spans hold none.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut fenced = false;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        for (at, _) in line.match_indices("](") {
            let in_code = line[..at].matches('`').count() % 2 == 1;
            let target = &line[at + 2..];
            if !in_code && let Some(end) = target.find(')') {
                let target = target[..end].split(' ').next().unwrap_or_default();
                found.push((index + 1, target.trim_matches(['<', '>'])));
            }
        }
    }
    found
}

/// `path` as seen from `folder`, with `.` and `..` taken out.
fn resolve(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

fn has_anchor(text: &str, anchor: &str) -> bool {
    text.lines().filter(|line| line.starts_with('#')).any(|line| slug(line.trim_start_matches('#').trim()) == anchor)
}

/// A heading's anchor as the forges make it: small letters, digits, `-` and `_`; spaces become `-`.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|character| character.is_alphanumeric() || " -_".contains(*character));
    kept.flat_map(char::to_lowercase).map(|character| if character == ' ' { '-' } else { character }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_paths_and_anchors_are_found() {
        let tree = Tree::of(&[
            (
                "README.md",
                "[a](docs/a.md) [b](docs/b.md) [c](docs/a.md#the-way) [d](docs/a.md#nowhere) [e](https://x.y/z)\n```\n[f](gone.md)\n```\n",
            ),
            ("docs/a.md", "# The way\n[up](../README.md) [self](#the-way) [bad](../gone.rs)\n"),
        ]);
        let found: Vec<String> = check(&tree).into_iter().map(|finding| finding.message).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].contains("docs/b.md") && found[1].contains("nowhere") && found[2].contains("gone.rs"));
    }
}
