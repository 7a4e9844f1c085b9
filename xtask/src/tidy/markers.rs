//! No leftovers: unfinished-work marks, section banners, silenced dead code, debug prints.

use super::Finding;
use crate::source::{Tree, has_word};

/// Spelled in halves, so that this file passes its own check.
const MARKS: [&str; 4] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("HA", "CK")];
const UNFINISHED: [&str; 3] = [concat!("to", "do!("), concat!("un", "implemented!("), concat!("db", "g!(")];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let (code, comments) = (file.code(), file.comments());
        for (index, (code, comment)) in code.lines().zip(comments.lines()).enumerate() {
            if let Some(message) = unfinished(code).or_else(|| marked(comment)) {
                findings.push(Finding::new(&file.path, index + 1, message));
            }
        }
    }
    for file in tree
        .files
        .iter()
        .filter(|file| file.path.ends_with(".py") || file.path.ends_with(".sh") || file.path.ends_with(".toml"))
    {
        for (index, line) in file.text.lines().enumerate() {
            if let Some((_, comment)) = line.split_once('#')
                && let Some(message) = marked(&format!("//{comment}"))
            {
                findings.push(Finding::new(&file.path, index + 1, message));
            }
        }
    }
    findings
}

fn unfinished(code: &str) -> Option<String> {
    if let Some(mark) = UNFINISHED.iter().find(|mark| has_word(code, mark)) {
        return Some(format!("`{mark}…)` has no place in finished code"));
    }
    let silenced = ["allow(dead_code", "allow(unused"].iter().any(|attribute| code.contains(attribute));
    silenced.then(|| "dead code is taken out, not silenced".to_string())
}

fn marked(comment: &str) -> Option<String> {
    if let Some(mark) = MARKS.iter().find(|mark| has_word(comment, mark)) {
        return Some(format!("`{mark}`: do it, or say in a sentence why it is as it is"));
    }
    is_banner(comment).then(|| "a section banner: split the file instead".to_string())
}

/// A comment that draws a line: four equal signs of drawing side by side, with nothing of a table or a diagram in it.
fn is_banner(comment: &str) -> bool {
    let text = comment.trim().trim_start_matches(['/', '!', '*']).trim();
    let Some(first) = text.chars().next() else { return false };
    let run = text.chars().take_while(|character| *character == first).count();
    "=-#*~─═━".contains(first) && run >= 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_leftover_is_found() {
        let [mark, ..] = MARKS;
        let [unfinished, ..] = UNFINISHED;
        for bad in [
            format!("// {mark}: later"),
            "// ==== Section ====".to_string(),
            "// ──────── reading".to_string(),
            format!("fn f() {{ {unfinished}) }}"),
            "#[allow(dead_code)]".to_string(),
        ] {
            assert_eq!(check(&Tree::of(&[("crates/a/src/a.rs", &bad)])).len(), 1, "{bad}");
        }
    }

    #[test]
    fn ordinary_text_passes() {
        let good = "//! | a | b |\n//! |---|---|\n// 16 bytes ----- the header's end\nlet text = \"==== x\";\nlet list = a - b;";
        assert_eq!(check(&Tree::of(&[("crates/a/src/a.rs", good)])), []);
    }
}
