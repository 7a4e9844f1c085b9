//! One word for one thing: `docs/glossary.md` names the word and, per word, the synonyms that are not used.
//!
//! The glossary's tables have three columns: word, meaning, and the words in backticks that must not stand for it. They are
//! looked for in Markdown, in comments and in identifiers; words may be joined by a space, a hyphen or an underscore.

use std::collections::HashMap;

use super::Finding;
use crate::source::{SourceFile, Tree};

const GLOSSARY: &str = "docs/glossary.md";

/// A word that is not used, as its parts in small letters, and the one that is.
struct Synonym {
    parts: Vec<String>,
    word: String,
}

pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(glossary) = tree.file(GLOSSARY) else { return vec![Finding::new(GLOSSARY, 0, "the glossary is missing")] };
    let synonyms = synonyms(&glossary.text);
    if synonyms.is_empty() {
        return vec![Finding::new(GLOSSARY, 0, "no table names a synonym: the check would find nothing")];
    }
    let mut by_first_word: HashMap<&str, Vec<&Synonym>> = HashMap::new();
    for synonym in &synonyms {
        by_first_word.entry(synonym.parts.first().map_or("", String::as_str)).or_default().push(synonym);
    }
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.path != GLOSSARY) {
        let text = match file.path.rsplit_once('.') {
            Some((_, "md")) => without_http_paths(&file.text),
            Some((_, "rs")) => prose(file),
            _ => continue,
        };
        for (index, line) in text.lines().enumerate() {
            let words = words(line);
            let begun = |at: usize| by_first_word.get(words[at].as_str()).into_iter().flatten().copied();
            let found = (0..words.len())
                .flat_map(|at| begun(at).filter(|synonym| words[at..].starts_with(&synonym.parts)).collect::<Vec<_>>());
            for synonym in found {
                findings.push(Finding::new(
                    &file.path,
                    index + 1,
                    format!("`{}` is called {} (docs/glossary.md)", synonym.parts.join(" "), synonym.word),
                ));
            }
        }
    }
    findings
}

/// Markdown without the HTTP paths in it, whose names are another system's: code that begins with a slash.
fn without_http_paths(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let spans = line.split('`').enumerate();
        let kept = spans.map(|(index, span)| if index % 2 == 1 && span.starts_with('/') { "" } else { span });
        kept.collect::<Vec<_>>().join("`")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Code and comments without strings: a message may quote what Cassandra says.
fn prose(file: &SourceFile) -> String {
    let both = file
        .code()
        .lines()
        .zip(file.comments().lines())
        .map(|(code, comment)| format!("{} {}\n", code.trim_end(), comment.trim()))
        .collect::<Vec<_>>();
    both.concat()
}

/// The words of a line in small letters; `CamelCase` and `snake_case` fall apart into theirs, and punctuation is a word of its own
/// so that two sentences do not make a phrase.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = ' ';
    for character in line.chars() {
        if character.is_alphanumeric() {
            let begins = !last.is_alphanumeric() || (character.is_uppercase() && last.is_lowercase());
            if begins {
                words.push(String::new());
            }
            words.last_mut().expect("pushed at the word's start").extend(character.to_lowercase());
        } else if !matches!(character, ' ' | '-' | '_') {
            words.push(character.to_string());
        }
        last = character;
    }
    words
}

fn synonyms(glossary: &str) -> Vec<Synonym> {
    let mut found = Vec::new();
    for line in glossary.lines().filter(|line| line.starts_with("| ")) {
        let columns: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [word, _, banned] = columns[..] else { continue };
        let quoted = banned.split('`').skip(1).step_by(2);
        found.extend(quoted.map(|synonym| Synonym { parts: words(synonym), word: word.trim_matches('*').to_string() }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# Glossary\n\n| word | meaning | not |\n|---|---|---|\n| **memtable** | in memory | `mem table`, `write buffer` |\n| **shard** | a core | |\n";

    #[test]
    fn synonyms_are_found_in_prose_comments_and_identifiers() {
        let tree = Tree::of(&[
            (GLOSSARY, TABLE),
            ("docs/a.md", "The mem-table.\n"),
            ("a.rs", "// a write buffer\nstruct WriteBuffer;\nlet write_buffer = 1;\nlet s = \"write buffer\";\n"),
        ]);
        let lines: Vec<(String, usize)> =
            check(&tree).into_iter().map(|finding| (finding.path, finding.line)).collect();
        assert_eq!(lines, [("docs/a.md".into(), 1), ("a.rs".into(), 1), ("a.rs".into(), 2), ("a.rs".into(), 3)]);
    }

    #[test]
    fn http_paths_have_their_own_names() {
        let of = |line: &str| check(&Tree::of(&[(GLOSSARY, TABLE), ("docs/a.md", line)])).len();
        assert_eq!(of("GET `/write_buffer/name` tells names.\n"), 0);
        assert_eq!(of("GET `/write_buffer/name` of a `write_buffer`.\n"), 1);
    }

    #[test]
    fn a_sentence_end_parts_words() {
        assert_eq!(check(&Tree::of(&[(GLOSSARY, TABLE), ("a.md", "First write. Buffer it. The memtable.")])), []);
    }

    #[test]
    fn a_missing_or_empty_glossary_is_found() {
        assert_eq!(check(&Tree::of(&[])).len(), 1);
        assert_eq!(check(&Tree::of(&[(GLOSSARY, "# Glossary\n")])).len(), 1);
    }
}
