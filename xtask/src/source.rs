//! The work tree as tidy reads it: every text file, and Rust code with comments, strings and tests blanked out.
//!
//! This is a lexer of a few dozen lines, not a parser: the checks look for words, and need to know only whether a word
//! stands in code, in a comment or in a string. Blanking keeps line numbers, so findings point at the right line.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use crate::added::Added;

/// Folders that hold nothing of ours, by name.
const SKIPPED_FOLDERS: [&str; 7] =
    ["target", ".git", "helenus-data", "__pycache__", ".pytest_cache", "artifacts", ".venv"];

/// The work tree.
#[derive(Default)]
pub struct Tree {
    /// Every text file.
    pub files: Vec<SourceFile>,
    /// Every path, folders and binary files too.
    pub paths: BTreeSet<String>,
    /// The lines that the change at hand adds.
    pub added: Added,
}

/// One text file.
pub struct SourceFile {
    /// Path below the root, with `/`.
    pub path: String,
    /// Its content.
    pub text: String,
    parts: OnceCell<Parts>,
}

/// A Rust text in parts: each as long as the text, with all else turned into spaces.
struct Parts {
    code: String,
    comments: String,
    product_code: String,
    product_strings: String,
}

impl Tree {
    /// Reads the tree below `root`.
    pub fn read(root: &Path) -> Result<Tree, String> {
        let mut tree = Tree { added: Added::read(root), ..Tree::default() };
        tree.walk(root, "")?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// A tree of the given files, for the checks' own tests.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for (path, text) in files {
            tree.paths.insert((*path).to_string());
            tree.files.push(SourceFile::new((*path).to_string(), (*text).to_string()));
        }
        tree
    }

    /// Rust files only.
    pub fn rust(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// The file of that path.
    pub fn file(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }

    fn walk(&mut self, folder: &Path, prefix: &str) -> Result<(), String> {
        let unreadable = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
            let kind = entry.file_type().map_err(unreadable)?;
            if kind.is_dir() {
                if !SKIPPED_FOLDERS.contains(&name.as_str()) && path != "fuzz/corpus" {
                    self.paths.insert(path.clone());
                    self.walk(&entry.path(), &path)?;
                }
            } else if kind.is_file() {
                // A file may vanish between the listing and the read: an editor's temporary file, say.
                if let Ok(bytes) = std::fs::read(entry.path()) {
                    if let Ok(text) = String::from_utf8(bytes) {
                        self.files.push(SourceFile::new(path.clone(), text));
                    }
                    self.paths.insert(path);
                }
            }
        }
        Ok(())
    }
}

impl SourceFile {
    fn new(path: String, text: String) -> SourceFile {
        SourceFile { path, text, parts: OnceCell::new() }
    }

    /// True if the whole file is test code.
    pub fn is_test(&self) -> bool {
        let mut parts = self.path.split('/');
        self.path.starts_with("tests/")
            || parts.any(|part| part == "tests" || part == "tests.rs" || part == "testing" || part == "benches")
    }

    /// True if the file belongs to a crate that ends up in the binary.
    pub fn is_product(&self) -> bool {
        self.path.starts_with("crates/") && !self.is_test()
    }

    /// The code without comments and the insides of strings, line for line.
    pub fn code(&self) -> &str {
        &self.parts().code
    }

    /// The comments alone, line for line.
    pub fn comments(&self) -> &str {
        &self.parts().comments
    }

    /// The code without comments, strings and test modules, line for line.
    pub fn product_code(&self) -> &str {
        &self.parts().product_code
    }

    /// The string literals outside of test modules, in their quotes, line for line.
    pub fn product_strings(&self) -> &str {
        &self.parts().product_strings
    }

    /// Made when a check first asks: most checks ask for the same.
    fn parts(&self) -> &Parts {
        self.parts.get_or_init(|| {
            let Split { code, comments, strings } = split(&self.text);
            let tests = test_items(&code);
            let product_code = blank(&code, &tests);
            let product_strings = blank(&strings, &tests);
            Parts { code, comments, product_code, product_strings }
        })
    }
}

/// A Rust text as three of the same length, in each of which the two others are blank.
struct Split {
    code: String,
    comments: String,
    strings: String,
}

fn split(text: &str) -> Split {
    let bytes = text.as_bytes();
    let spaces: Vec<String> = text.split('\n').map(|line| " ".repeat(line.len())).collect();
    let blank = spaces.join("\n").into_bytes();
    let (mut code, mut comments, mut strings) = (blank.clone(), blank.clone(), blank);
    let mut at = 0;
    while at < bytes.len() {
        let (end, kind) = token(bytes, at);
        let part = match kind {
            Kind::Code => &mut code,
            Kind::Comment => &mut comments,
            Kind::Text => &mut strings,
        };
        part[at..end].copy_from_slice(&bytes[at..end]);
        at = end;
    }
    // Tokens end at ASCII bytes, so no part is cut within a character.
    let text = |part: Vec<u8>| String::from_utf8_lossy(&part).into_owned();
    Split { code: text(code), comments: text(comments), strings: text(strings) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Text,
}

/// The end of what begins at `at`, and what it is.
fn token(bytes: &[u8], at: usize) -> (usize, Kind) {
    let rest = &bytes[at..];
    // Most of a file is plain code, which goes in one piece up to what may begin something else.
    let plain = rest.iter().position(|byte| matches!(byte, b'/' | b'"' | b'\'' | b'r' | b'b' | b'c'));
    match plain {
        Some(0) => {}
        _ => return (at + plain.unwrap_or(rest.len()), Kind::Code),
    }
    if rest.starts_with(b"//") {
        let length = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        return (at + length, Kind::Comment);
    }
    if rest.starts_with(b"/*") {
        return (at + block_comment(rest), Kind::Comment);
    }
    if rest[0] == b'"' {
        return (at + quoted(rest, b'"'), Kind::Text);
    }
    let in_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    if !in_word && let Some(length) = raw_string(rest) {
        return (at + length, Kind::Text);
    }
    if rest[0] == b'\'' {
        return match character(rest) {
            Some(length) => (at + length, Kind::Text),
            None => (at + 1, Kind::Code), // a lifetime
        };
    }
    (at + 1, Kind::Code)
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

fn raw_string(rest: &[u8]) -> Option<usize> {
    let prefix = if rest.starts_with(b"br") || rest.starts_with(b"cr") { 2 } else { usize::from(rest[0] == b'r') };
    if prefix == 0 {
        return None;
    }
    let hashes = rest[prefix..].iter().take_while(|&&byte| byte == b'#').count();
    if rest.get(prefix + hashes) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'"'];
    close.extend(std::iter::repeat_n(b'#', hashes));
    let from = prefix + hashes + 1;
    let length = rest[from..].windows(close.len()).position(|window| window == close);
    Some(length.map_or(rest.len(), |length| from + length + close.len()))
}

/// The length of a character literal, or `None` where the quote begins a lifetime.
fn character(rest: &[u8]) -> Option<usize> {
    if rest.get(1) == Some(&b'\\') {
        return Some(quoted(rest, b'\''));
    }
    // One character of up to four bytes, then the closing quote.
    (2..=5)
        .find(|&at| {
            rest.get(at) == Some(&b'\'')
                && std::str::from_utf8(&rest[1..at]).is_ok_and(|text| text.chars().count() == 1)
        })
        .map(|at| at + 1)
}

/// Where the items under `#[cfg(test)]` stand.
fn test_items(code: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = code[from..].find("#[cfg(test)]") {
        let start = from + at;
        from = item_end(code.as_bytes(), start + "#[cfg(test)]".len());
        found.push(start..from);
    }
    found
}

/// The text with those places turned into spaces.
fn blank(text: &str, places: &[Range<usize>]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for place in places {
        for byte in bytes[place.clone()].iter_mut().filter(|byte| **byte != b'\n') {
            *byte = b' ';
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The end of the item that begins after `at`: its `;`, or the brace that closes its body.
fn item_end(code: &[u8], at: usize) -> usize {
    let mut depth = 0_usize;
    for (index, &byte) in code.iter().enumerate().skip(at) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return index + 1;
                }
            }
            b';' if depth == 0 => return index + 1,
            _ => {}
        }
    }
    code.len()
}

/// Where `word` stands in `line` as a whole word: its neighbours are no part of an identifier.
pub fn has_word(line: &str, word: &str) -> bool {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = line.as_bytes();
    line.match_indices(word).any(|(at, _)| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before)).copied();
        let after = bytes.get(at + word.len()).copied();
        let starts_open = word.as_bytes().first().is_some_and(|&byte| !part(byte));
        let ends_open = word.as_bytes().last().is_some_and(|&byte| !part(byte));
        (starts_open || !before.is_some_and(part)) && (ends_open || !after.is_some_and(part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_blanked() {
        let text = "let a = \"std::fs\"; // std::net\nlet b = 'x'; /* a /* b */ c */ let c = r#\"q\"#;\nfn f<'a>() {}";
        let Split { code, comments, strings } = split(text);
        assert!(!code.contains("std::"), "{code}");
        assert!(code.contains("let c ="), "{code}");
        assert!(code.contains("fn f<'a>()"), "{code}");
        assert_eq!(code.lines().count(), 3);
        assert!(comments.contains("std::net") && !comments.contains("std::fs"));
        assert_eq!(strings.split_whitespace().collect::<Vec<_>>(), ["\"std::fs\"", "'x'", "r#\"q\"#"]);
    }

    #[test]
    fn escaped_quotes_do_not_end_a_string() {
        assert!(!split(r#"let a = "x\"std::fs"; let b = '\'';"#).code.contains("std::fs"));
    }

    #[test]
    fn test_items_are_blanked() {
        let text =
            "use a;\n#[cfg(test)]\nmod tests {\n fn f() { std::fs }\n}\nfn g() {}\n#[cfg(test)]\nmod more;\nfn h() {}";
        let code = blank(text, &test_items(text));
        assert!(!code.contains("std::fs") && !code.contains("more"));
        assert!(code.contains("fn g()") && code.contains("fn h()"));
    }

    #[test]
    fn words_have_edges() {
        assert!(has_word("a unsafe {", "unsafe"));
        assert!(!has_word("#![allow(unsafe_code)]", "unsafe"));
    }
}
