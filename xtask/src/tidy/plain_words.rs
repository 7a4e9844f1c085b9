//! Plain words: how doc comments open, and phrases that have a plainer one, counted; each count may only fall.
//!
//! Openers are looked for at the first line of each doc comment; phrases in comments, in string literals of the product's code and on the pages that
//! users and contributors read. The README, the guide and docs/internals have none of the phrases, whatever is on record: a place there is a finding.
//! Words may part at a line's end and differ in case. What `FINE` lists is no place: "behind a proxy" says where a server
//! is, not when. Two banned senses are left to readers: "goes" for a deletion and "held" for a guarantee, since the words stand for other things
//! most of the time.

use super::Finding;
use super::pages::FOLDERS;
use super::records::{Counts, Record};
use crate::source::{SourceFile, Tree};

pub const RECORD: Record = Record {
    path: "xtask/plain-words.txt",
    head: "\
# How many doc comments open with a word, and how often a phrase stands that has a plainer one. The numbers only fall:
# `cargo xtask tidy --record` lowers them, and adds what xtask/src/tidy/plain_words.rs lists without a line here.
",
    limits: None,
};

/// A doc comment names its subject first, and so does a page.
pub const OPENERS: [&str; 5] = ["What", "Whether", "Who", "How long", "That"];

struct Phrase {
    name: &'static str,
    forms: &'static [&'static str],
    instead: &'static str,
}

const PHRASES: [Phrase; 11] = [
    Phrase { name: "anew", forms: &["anew"], instead: "again" },
    Phrase { name: "behind", forms: &["behind"], instead: "after, where time is meant" },
    Phrase {
        name: "is told",
        forms: &["is told", "are told", "was told", "were told", "be told"],
        instead: "receives, is notified",
    },
    Phrase {
        name: "comes to",
        forms: &["come to", "comes to", "came to", "coming to"],
        instead: "results in, resolves to",
    },
    Phrase { name: "taken in", forms: &["taken in", "take in", "takes in", "took in"], instead: "imported, accepted" },
    Phrase { name: "in the making", forms: &["in the making"], instead: "under construction" },
    Phrase { name: "let in", forms: &["let in", "lets in"], instead: "accepted" },
    Phrase { name: "ask of operators", forms: &["ask of operators", "asked of operators"], instead: "admin request" },
    Phrase { name: "reckon", forms: &["reckon", "reckons", "reckoned", "reckoning"], instead: "estimate" },
    Phrase { name: "nobody", forms: &["nobody"], instead: "no client, no node: name who is missing" },
    Phrase { name: "somebody", forms: &["somebody"], instead: "a client, a node: name who it is" },
];

/// Forms with words after them that mean something else: a place in a network, not a time.
const FINE: [&str; 6] = [
    "behind a proxy",
    "behind a reverse proxy",
    "behind a load balancer",
    "behind a firewall",
    "behind a router",
    "behind nat",
];

/// A page of copies: its sentences are those of `crates/planted/src/bug.rs`, and are counted with them.
const COPY: &str = "docs/internals/planted-bugs.md";

/// Places that a finding names, at most.
const PLACES_MAX: usize = 5;

/// Where something counted stands.
struct Place<'a> {
    rule: usize,
    path: &'a str,
    line: usize,
}

impl Place<'_> {
    /// The fault of a place that no record allows.
    fn finding(&self) -> Finding {
        let phrase = &PHRASES[self.rule - OPENERS.len()];
        let message = format!("`{}` stands on a page of plain words: say: {}", phrase.name, phrase.instead);
        Finding::new(self.path, self.line, message)
    }
}

pub fn check(tree: &Tree) -> Vec<Finding> {
    let places = places(tree);
    let mut findings = on_plain_pages(tree, &places);
    findings.extend(against_the_record(tree, &places));
    findings
}

/// Pages on which no phrase is allowed, and the exemption that is not needed any more.
fn on_plain_pages(tree: &Tree, places: &[Place<'_>]) -> Vec<Finding> {
    let strict = places.iter().filter(|place| is_plain_page(place.path));
    let mut findings: Vec<Finding> = strict.map(Place::finding).collect();
    if tree.file(COPY).is_some() && places.iter().all(|place| place.path != COPY) {
        findings.push(Finding::new(COPY, 0, "has none of the phrases: plain_words.rs need not exempt it any more"));
    }
    findings
}

fn against_the_record(tree: &Tree, places: &[Place<'_>]) -> Vec<Finding> {
    RECORD.compare(tree, &counts(places), |name, counted, recorded| {
        let rule = names().position(|each| each == name).expect("only these are counted");
        let advice = match PHRASES.get(rule.wrapping_sub(OPENERS.len())) {
            Some(phrase) => format!("say: {}", phrase.instead),
            None => "name the subject first".to_string(),
        };
        let message = format!("`{name}` stands {} times, on record are {}: {advice}", counted[0], recorded[0]);
        let all = || places.iter().filter(|place| place.rule == rule && !is_plain_page(place.path));
        let mut shown: Vec<&Place> = all().filter(|place| tree.added.contains(place.path, place.line)).collect();
        if shown.is_empty() {
            shown = all().collect();
        }
        shown.iter().take(PLACES_MAX).map(|place| Finding::new(place.path, place.line, message.clone())).collect()
    })
}

/// The record with each number lowered to what is counted now.
pub fn recorded(tree: &Tree) -> Result<String, Finding> {
    RECORD.lowered(tree, &counts(&places(tree)))
}

/// Names on record: openers first, then phrases.
fn names() -> impl Iterator<Item = String> {
    let openers = OPENERS.iter().map(|opener| format!("opener {opener}"));
    openers.chain(PHRASES.iter().map(|phrase| format!("phrase {}", phrase.name)))
}

/// The numbers for the record. Plain pages have no part in it: there the limit is none.
fn counts(places: &[Place]) -> Counts {
    let count = |rule| places.iter().filter(|place| place.rule == rule && !is_plain_page(place.path)).count();
    names().enumerate().map(|(rule, name)| (name, vec![count(rule)])).collect()
}

fn places(tree: &Tree) -> Vec<Place<'_>> {
    let mut found = Vec::new();
    for file in &tree.files {
        if file.path.ends_with(".rs") {
            openers(file, &mut found);
            phrases(&file.path, file.comments(), &mut found);
            if file.is_product() {
                phrases(&file.path, file.product_strings(), &mut found);
            }
        } else if is_page(&file.path) {
            phrases(&file.path, &file.text, &mut found);
        }
    }
    found
}

/// Pages that are written now; what a version's notes say is history.
fn is_page(path: &str) -> bool {
    let top = ["README.md", "ARCHITECTURE.md", "COMPAT.md", "CONTRIBUTING.md"];
    top.contains(&path) || (path.starts_with("docs/") && path.ends_with(".md"))
}

/// Pages without any of the phrases: what a newcomer reads, a user, an engineer.
fn is_plain_page(path: &str) -> bool {
    let is_in_folders = FOLDERS.iter().any(|folder| path.starts_with(folder));
    path == "README.md" || (is_in_folders && path.ends_with(".md") && path != COPY)
}

fn openers<'a>(file: &'a SourceFile, found: &mut Vec<Place<'a>>) {
    let mut before = "";
    for (index, line) in file.comments().lines().enumerate() {
        let line = line.trim_start();
        let mark = ["///", "//!"].into_iter().find(|mark| line.starts_with(mark)).unwrap_or_default();
        if !mark.is_empty() && mark != before {
            let text = line[mark.len()..].trim_start();
            let opens = |opener: &&str| {
                text.strip_prefix(*opener).is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
            };
            if let Some(rule) = OPENERS.iter().position(opens) {
                found.push(Place { rule, path: &file.path, line: index + 1 });
            }
        }
        before = mark;
    }
}

/// Finds the phrases of a text in which only comments, only strings or all words count.
fn phrases<'a>(path: &'a str, text: &str, found: &mut Vec<Place<'a>>) {
    let lower = text.to_ascii_lowercase();
    for (index, phrase) in PHRASES.iter().enumerate() {
        for form in phrase.forms {
            let (first, rest) = form.split_once(' ').unwrap_or((form, ""));
            for (at, _) in lower.match_indices(first) {
                let is_whole = !lower[..at].ends_with(is_of_word);
                let after = &lower[at + first.len()..];
                let is_fine =
                    || FINE.iter().any(|fine| fine.strip_prefix(first).is_some_and(|more| follows(after, more)));
                if is_whole && follows(after, rest) && !is_fine() {
                    let line = lower[..at].bytes().filter(|&byte| byte == b'\n').count() + 1;
                    found.push(Place { rule: OPENERS.len() + index, path, line });
                }
            }
        }
    }
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// True if a word has ended where `text` begins and the words of `rest` come next, a line's end and comment marks between them at most.
fn follows(text: &str, rest: &str) -> bool {
    let mut text = text;
    for word in rest.split_whitespace() {
        let next = text.trim_start_matches([' ', '\n', '\\', '/', '!', '*', '>']);
        let between = &text[..text.len() - next.len()];
        if between.is_empty() || between.matches('\n').count() > 1 {
            return false;
        }
        let Some(after) = next.strip_prefix(word) else { return false };
        text = after;
    }
    !text.starts_with(is_of_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(String, usize)> {
        let tree = Tree::of(&[(path, text)]);
        places(&tree).iter().map(|place| (names().nth(place.rule).expect("a name"), place.line)).collect()
    }

    #[test]
    fn doc_comments_that_open_with_a_question_are_found() {
        let text = "//! What it is.\n//! Whether so.\n\n/// How long it waits.\nfn f() {}\n\n/// Whatever.\n/// That too.\n// What is plain.\n/// Who?\n";
        let expected = [("opener What".into(), 1), ("opener How long".into(), 4), ("opener Who".into(), 10)];
        assert_eq!(found("crates/a/src/a.rs", text), expected);
        assert_eq!(found("crates/a/src/a.rs", "let s = \"\n/// What\n\";"), []);
    }

    #[test]
    fn phrases_are_whole_words_in_any_case_over_a_line_s_end() {
        let named = |text: &str| found("docs/a.md", text).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(named("Anew. It comes to\nthis."), ["phrase anew", "phrase comes to"]);
        assert_eq!(named("Renewed, mistaken in this; it comes. To be."), Vec::<String>::new());
        assert_eq!(named("It is\n\n\ntold."), Vec::<String>::new());
        assert_eq!(found("a.rs", "/// The client is\n    /// told.\n"), [("phrase is told".into(), 1)]);
    }

    #[test]
    fn strings_count_in_the_product_only_and_code_nowhere() {
        let text = "fn anew() { f(\"made anew\") }\n#[cfg(test)]\nmod tests { const A: &str = \"anew\"; }\n";
        assert_eq!(found("crates/a/src/a.rs", text).len(), 1);
        assert_eq!(found("xtask/src/a.rs", text), []);
        assert_eq!(found("CHANGELOG.md", "Made anew."), []);
        assert_eq!(found("README.md", "Made anew.").len(), 1);
    }

    #[test]
    fn plain_pages_have_no_phrase_whatever_is_on_record() {
        let record = recorded(&Tree::of(&[("docs/a.md", "anew\nanew\n")])).expect("a record");
        for path in ["README.md", "docs/guide/recovery/a.md", "docs/internals/a.md"] {
            let tree =
                Tree::of(&[(RECORD.path, &record), ("docs/a.md", "anew\nanew\n"), (path, "fine\nIt is\ntold.\n")]);
            let found: Vec<(String, usize)> = check(&tree).into_iter().map(|each| (each.path, each.line)).collect();
            assert_eq!(found, [(path.to_string(), 2)]);
            assert_eq!(recorded(&tree).as_ref(), Ok(&record));
        }
    }

    #[test]
    fn the_exempt_page_is_a_finding_once_it_needs_no_exemption() {
        let found = |text: &str| {
            let record = recorded(&Tree::of(&[(COPY, text)])).expect("a record");
            check(&Tree::of(&[(RECORD.path, &record), (COPY, text)])).len()
        };
        assert_eq!((found("It comes to this.\n"), found("It is so.\n")), (0, 1));
    }

    #[test]
    fn behind_a_proxy_is_a_place_and_behind_a_write_is_a_time() {
        let lines = |text: &str| found("docs/guide/a.md", text).into_iter().map(|(_, line)| line).collect::<Vec<_>>();
        assert_eq!(lines("Behind a proxy, behind a load\nbalancer or behind NAT.\n"), []);
        assert_eq!(lines("What comes behind a write.\nBehind a\nproxyless node.\n"), [1, 2]);
    }

    #[test]
    fn a_count_above_its_record_names_added_places() {
        let record = recorded(&Tree::of(&[("docs/a.md", "anew\nanew\n")])).expect("a record");
        assert!(record.contains("\nphrase anew 2\n"), "{record}");
        let mut tree = Tree::of(&[(RECORD.path, &record), ("docs/a.md", "anew\nanew\nanew\n")]);
        assert_eq!(check(&tree).len(), 3);
        tree.added = crate::added::Added::of("+++ b/docs/a.md\n@@ -1,0 +2 @@\n+anew\n", "");
        let lines: Vec<usize> = check(&tree).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [2]);
    }
}
