//! Pages are read by newcomers: the README is short, and a page of the guide or of docs/internals begins with a paragraph that says what the
//! thing does and why a reader would care.
//!
//! The first paragraph is only seen to be one: prose right below the title, whose first word is neither a question nor the place of the code.
//! What it says is left to readers.

use super::Finding;
use super::plain_words::OPENERS;
use crate::source::Tree;

const README: &str = "README.md";

/// Words of the README at most, tables and code included, as `wc -w` counts.
const README_WORDS_MAX: usize = 700;

/// Folders whose pages, those in folders below too, have such a beginning and none of [the phrases](super::plain_words) that have a plainer one.
pub const FOLDERS: [&str; 2] = ["docs/guide/", "docs/internals/"];

/// Beginnings that name no subject, or name a place before anything is known of it.
const POINTERS: [&str; 3] = ["How", "Code:", "Crate"];

/// Words of a first paragraph at least: a shorter one only repeats the title.
const FIRST_WORDS_MIN: usize = 12;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(readme) = tree.file(README) {
        let words = readme.text.split_whitespace().count();
        if words > README_WORDS_MAX {
            let message =
                format!("{words} words; move what is not a first impression to docs/ (limit {README_WORDS_MAX})");
            findings.push(Finding::new(README, 0, message));
        }
    }
    for file in tree.files.iter().filter(|file| is_page(&file.path)) {
        if let Some((line, message)) = fault_of_beginning(&file.text) {
            findings.push(Finding::new(&file.path, line, message));
        }
    }
    findings
}

fn is_page(path: &str) -> bool {
    path.ends_with(".md") && FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// The line and the fault of a page's beginning, if it has one.
fn fault_of_beginning(text: &str) -> Option<(usize, String)> {
    let mut lines = text.lines().enumerate();
    if !lines.next().is_some_and(|(_, title)| title.starts_with("# ")) {
        return Some((1, "a page begins with its title".into()));
    }
    let Some((index, first)) = lines.find(|(_, line)| !line.trim().is_empty()) else {
        return Some((1, "a title alone is no page".into()));
    };
    let at = index + 1;
    if ["#", "|", "```", "- ", "* ", "!["].iter().any(|mark| first.starts_with(mark)) {
        return Some((at, "a paragraph comes first: what the thing does, and why a reader would care".into()));
    }
    let opens = |opener: &&&str| {
        first.strip_prefix(**opener).is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
    };
    if let Some(opener) = OPENERS.iter().chain(&POINTERS).find(opens) {
        return Some((
            at,
            format!("the first paragraph begins with `{opener}`: say what the thing does, its name first"),
        ));
    }
    let paragraph = text.lines().skip(index).take_while(|line| !line.trim().is_empty());
    let words: usize = paragraph.map(|line| line.split_whitespace().count()).sum();
    (words < FIRST_WORDS_MIN)
        .then(|| (at, format!("a first paragraph of {words} words says too little (at least {FIRST_WORDS_MIN})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> Vec<(usize, String)> {
        let tree = Tree::of(&[(path, text)]);
        check(&tree).into_iter().map(|finding| (finding.line, finding.message)).collect()
    }

    #[test]
    fn a_readme_over_its_words_is_found() {
        assert_eq!(faults(README, &"a | `b`\n".repeat(233)), []);
        let [(0, message)] = &faults(README, &"a | `b`\n".repeat(234))[..] else { panic!("702 words are found") };
        assert!(message.starts_with("702 words"), "{message}");
        assert_eq!(faults("CHANGELOG.md", &"word ".repeat(701)), []);
    }

    #[test]
    fn a_page_begins_with_its_title_and_a_paragraph() {
        let good =
            "# The log\n\nThe log keeps every write of a shard in order, so that\nno crash loses one.\n\n| a |\n";
        assert_eq!(faults("docs/guide/recovery/a.md", good), []);
        assert_eq!(faults("docs/internals/a.md", "No title.\n")[0].0, 1);
        assert_eq!(faults("docs/internals/a.md", "# A\n")[0].0, 1);
        assert_eq!(faults("docs/internals/a.md", "# A\n\n## Words\n")[0].0, 3);
        assert_eq!(faults("docs/internals/a.md", "# A\n\n| a | b |\n")[0].0, 3);
        assert_eq!(faults("docs/internals/a.md", "# A\n\nToo short to say anything.\n")[0].0, 3);
        assert_eq!(faults("docs/rfcs/a.md", "# A\n\n## Words\n"), []);
    }

    #[test]
    fn a_beginning_without_a_subject_is_found() {
        let rest = "a shard does with the files of a table once they are on the disk.";
        for opener in ["What", "How", "Code: `a`, which", "Crate `a`:", "Whether"] {
            assert_eq!(faults("docs/internals/a.md", &format!("# A\n\n{opener} {rest}\n")).len(), 1, "{opener}");
        }
        assert_eq!(faults("docs/internals/a.md", &format!("# A\n\nHowever, {rest}\n")), []);
        assert_eq!(faults("docs/internals/a.md", &format!("# A\n\nWhatever {rest}\n")), []);
    }
}
