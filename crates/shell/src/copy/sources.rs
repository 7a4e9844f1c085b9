//! The files of COPY FROM: their names, their lines, and bytes of a record that are no text.

use std::borrow::Cow;
use std::io::{self, BufRead};
use std::path::{Component, Path, PathBuf};

use crate::files;

/// A name or a pattern without a file.
#[derive(Debug, thiserror::Error)]
#[error("no matching file found")]
pub(super) struct NoFile {
    pub(super) pattern: String,
}

/// The files that a list of names and patterns stands for, those of a pattern in the order of their names. In each part of a path a `*` and a `?` are for any letters and `[…]` for one of those
/// within; of a name with a point at its start the pattern has it too.
pub(super) fn named(patterns: &str) -> Result<Vec<PathBuf>, NoFile> {
    let mut found = Vec::new();
    for pattern in patterns.split(',').map(str::trim) {
        let path = files::expanded(Path::new(pattern));
        let matching = if path.exists() { vec![path] } else { matching(&path) };
        if matching.is_empty() {
            return Err(NoFile { pattern: pattern.to_owned() });
        }
        found.extend(matching);
    }
    Ok(found)
}

fn matching(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        let name = match component {
            Component::Normal(name) => name.to_str().unwrap_or_default(),
            _ => "",
        };
        found = match name.contains(['*', '?', '[']) {
            true => found.iter().flat_map(|folder| entries(folder, name)).collect(),
            false => found.iter().map(|folder| folder.join(component)).collect(),
        };
    }
    found.retain(|path| path.exists());
    found
}

/// Entries of a folder whose names are of a pattern. A folder that cannot be read has none.
fn entries(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let read = std::fs::read_dir(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    let names = read.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let is_hidden = |name: &str| name.starts_with('.') && !pattern.starts_with('.');
    let mut names: Vec<String> = names.filter(|name| !is_hidden(name) && matches(pattern, name)).collect();
    names.sort();
    names.iter().map(|name| folder.join(name)).collect()
}

/// True if a name is of a pattern.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let mut characters = pattern.chars();
    let mut others = name.chars();
    match characters.next() {
        None => name.is_empty(),
        Some('*') => {
            let rest = characters.as_str();
            (0..=name.len()).filter(|at| name.is_char_boundary(*at)).any(|at| matches(rest, &name[at..]))
        }
        Some(first) => {
            let Some(other) = others.next() else { return false };
            let (is_it, rest) = match class(characters.as_str()).filter(|_| first == '[') {
                Some((class, rest)) => (is_of(class, other), rest),
                None => (first == '?' || first == other, characters.as_str()),
            };
            is_it && matches(rest, others.as_str())
        }
    }
}

/// The letters of a class, and what follows its `]`. One at the start is of the class.
fn class(pattern: &str) -> Option<(&str, &str)> {
    let begin = usize::from(pattern.starts_with('!'));
    let skipped = pattern.get(begin..)?.chars().next()?.len_utf8();
    let end = pattern.get(begin + skipped..)?.find(']')? + begin + skipped;
    Some((&pattern[..end], &pattern[end + 1..]))
}

fn is_of(class: &str, character: char) -> bool {
    let (is_negated, mut rest) = match class.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, class),
    };
    let mut is_in = false;
    while let Some(first) = rest.chars().next() {
        rest = &rest[first.len_utf8()..];
        let last = rest.strip_prefix('-').and_then(|after| after.chars().next());
        if let Some(last) = last {
            rest = &rest[1 + last.len_utf8()..];
        }
        is_in |= (first..=last.unwrap_or(first)).contains(&character);
    }
    is_in != is_negated
}

/// Appends a line with its end to `line`: a line feed, a carriage return, or both. How many bytes it has; 0 at the file's end.
pub(super) fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let before = line.len();
    loop {
        let buffer = reader.fill_buf()?;
        let end = buffer.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let taken = end.map_or(buffer.len(), |end| end + 1);
        line.extend_from_slice(&buffer[..taken]);
        reader.consume(taken);
        if end.is_some() && line.last() == Some(&b'\r') && reader.fill_buf()?.first() == Some(&b'\n') {
            line.push(b'\n');
            reader.consume(1);
        }
        if end.is_some() || taken == 0 {
            return Ok(line.len() - before);
        }
    }
}

/// The bytes of a record that is read, as its file has them.
#[derive(Default)]
pub(super) struct Raw {
    bytes: Vec<u8>,
    is_damaged: bool,
}

impl Raw {
    /// Takes a line. Its text; with other letters in the place of bytes that are none.
    pub(super) fn text<'l>(&mut self, line: &'l [u8]) -> Cow<'l, str> {
        self.bytes.extend_from_slice(line);
        let text = String::from_utf8_lossy(line);
        self.is_damaged |= matches!(text, Cow::Owned(_));
        text
    }

    /// The bytes, if they are no text.
    pub(super) fn damaged(&self) -> Option<&[u8]> {
        self.is_damaged.then_some(&self.bytes)
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.is_damaged = false;
    }
}
