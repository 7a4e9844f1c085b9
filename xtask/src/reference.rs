//! `cargo xtask oracle reference`: which of CQL's statements, clauses, functions, types and system tables the oracle's scripts show.
//!
//! `tests/oracle/reference.txt` lists what CQL 3.4.7 has, a line each; a line is also the pattern that finds it in statements: its words
//! in their order, and `…` for anything between. The table in `docs/cql-coverage.md` is made of it, and `tidy` holds the page against it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::source::Tree;
use crate::workspace;

/// The list, and the page that is made of it.
const LIST: &str = "tests/oracle/reference.txt";
pub const PAGE: &str = "docs/cql-coverage.md";
/// More scripts than these are counted, not named.
const SCRIPTS_NAMED: usize = 3;

/// Writes the page anew.
pub fn write() -> Result<(), String> {
    let root = workspace::root();
    let page = page(&Tree::read(&root)?)?;
    std::fs::write(root.join(PAGE), page).map_err(|error| format!("cannot write {PAGE}: {error}"))
}

/// The page as it must be.
pub fn page(tree: &Tree) -> Result<String, String> {
    let list = tree.file(LIST).ok_or_else(|| format!("there is no {LIST}"))?;
    let statements = statements(tree);
    let by_word = by_word(&statements);
    let mut page = String::from(HEAD);
    let (mut all, mut shown) = (0, 0);
    let mut body = String::new();
    for line in list.text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(title) = line.strip_prefix("# ") {
            let _ = write!(body, "\n## {title}\n\n| | scripts | statements | not yet |\n|---|---|---|---|\n");
            continue;
        }
        let (name, pattern) = line.split_once(" := ").unwrap_or((line, line));
        let found = Found::of(&words(pattern), &statements, &by_word);
        all += 1;
        shown += usize::from(!found.scripts.is_empty());
        let _ = writeln!(body, "{}", found.row(name));
    }
    let _ = writeln!(page, "{shown} of {all} are shown by a script.");
    Ok(page + &body)
}

const HEAD: &str = "\
# What of CQL the oracle shows

Each line is something that CQL 3.4.7, that is Cassandra 5.0, has; beside it the [scripts](internals/oracle.md) in which a real
Cassandra was asked about it and Helenus answers the same, how many statements of them, and how many of these Helenus answers otherwise so far. A line
without a script is a gap. `cargo xtask oracle reference` makes this page of `tests/oracle/reference.txt`.

";

/// A statement of a script.
struct Statement<'a> {
    script: &'a str,
    words: Vec<String>,
    is_pending: bool,
}

/// Where a pattern was found.
#[derive(Default)]
struct Found<'a> {
    scripts: BTreeMap<&'a str, usize>,
    pending: usize,
}

impl<'a> Found<'a> {
    fn of(pattern: &[String], statements: &[Statement<'a>], by_word: &BTreeMap<&str, Vec<usize>>) -> Found<'a> {
        let mut found = Found::default();
        // Only those that have the pattern's rarest word are looked at.
        let having = |word: &String| by_word.get(word.as_str()).map_or(&[][..], Vec::as_slice);
        let fewest = pattern.iter().filter(|word| *word != "…").map(having).min_by_key(|having| having.len());
        let fewest = fewest.unwrap_or_default().iter().map(|&index| &statements[index]);
        for statement in fewest.filter(|statement| matches(pattern, &statement.words)) {
            *found.scripts.entry(statement.script).or_default() += 1;
            found.pending += usize::from(statement.is_pending);
        }
        found
    }

    fn row(&self, name: &str) -> String {
        let statements: usize = self.scripts.values().sum();
        // Those that say most of it first.
        let mut scripts: Vec<_> = self.scripts.iter().collect();
        scripts.sort_by_key(|(path, count)| (std::cmp::Reverse(**count), **path));
        let named: Vec<String> = scripts
            .iter()
            .take(SCRIPTS_NAMED)
            .map(|(path, _)| {
                let short = path.trim_start_matches("tests/oracle/").trim_end_matches(".cql");
                format!("[{short}](../{path})")
            })
            .collect();
        let more = match scripts.len().saturating_sub(SCRIPTS_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let scripts = if named.is_empty() { "**none**".into() } else { named.join(", ") + &more };
        let pending = if self.pending == 0 { String::new() } else { self.pending.to_string() };
        format!("| `{}` | {scripts} | {statements} | {pending} |", name.replace('|', "\\|"))
    }
}

/// All statements of all scripts.
fn statements(tree: &Tree) -> Vec<Statement<'_>> {
    let mut all = Vec::new();
    for file in &tree.files {
        if !(file.path.starts_with("tests/oracle/") && file.path.ends_with(".cql")) {
            continue;
        }
        for block in file.text.split("\n\n") {
            let lines = block.lines().filter(|line| !line.starts_with(['-', '@', '>', '<']));
            let text: Vec<&str> = lines.collect();
            if !text.is_empty() {
                let is_pending = block.lines().any(|line| line.starts_with("@pending"));
                all.push(Statement { script: &file.path, words: words(&text.join(" ")), is_pending });
            }
        }
    }
    all
}

/// Which statements have a word, by the word.
fn by_word<'s>(statements: &'s [Statement]) -> BTreeMap<&'s str, Vec<usize>> {
    let mut found: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, statement) in statements.iter().enumerate() {
        for word in &statement.words {
            let having = found.entry(word).or_default();
            if having.last() != Some(&index) {
                having.push(index);
            }
        }
    }
    found
}

/// Words in lower case, and each other character on its own.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    for character in text.chars() {
        let is_word = character.is_alphanumeric() || character == '_';
        match words.last_mut() {
            Some(word) if is_word && is_open => word.extend(character.to_lowercase()),
            _ if character.is_whitespace() => {}
            _ => words.push(character.to_lowercase().collect()),
        }
        is_open = is_word;
    }
    words
}

/// Whether the words of the pattern stand in the text, next to each other but where it has `…`.
fn matches(pattern: &[String], text: &[String]) -> bool {
    let mut from = 0;
    for run in pattern.split(|word| word == "…").filter(|run| !run.is_empty()) {
        let Some(at) = text[from..].windows(run.len()).position(|window| window == run) else { return false };
        from += at + run.len();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_found(pattern: &str, text: &str) -> bool {
        matches(&words(pattern), &words(text))
    }

    #[test]
    fn a_pattern_is_words_in_order_with_anything_at_its_dots() {
        assert!(is_found("INSERT … IF NOT EXISTS", "insert into t (a) values (1) if not exists;"));
        assert!(!is_found("INSERT … IF NOT EXISTS", "CREATE TABLE IF NOT EXISTS t (a int)"));
        assert!(is_found("abs(", "SELECT abs (v) FROM t"));
        assert!(!is_found("abs(", "SELECT xabs(v) FROM t"));
        assert!(is_found("+ …", "SELECT a + b FROM t"));
    }

    #[test]
    fn what_no_script_shows_is_a_gap() {
        let row = Found::default().row("A | B");
        assert_eq!(row, "| `A \\| B` | **none** | 0 |  |");
    }
}
