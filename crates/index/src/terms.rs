//! The terms of a value.
//!
//! | value | term |
//! |---|---|
//! | of any type but text, ascii and blob | the project's byte-comparable form |
//! | blob | its bytes |
//! | text, ascii | what the analysis makes of it, as UTF-8 |
//! | an entry of a map | the key's byte-comparable form, then the value's |
//! | a text in mode CONTAINS | of each part that the analyzer makes: each suffix that begins at a character, cut after 64 bytes |
//!
//! An empty text is a term but for SASI, and an empty value of another type is one for secondary indexes alone, as in Cassandra. (Source: Cassandra 5.0.6,
//! `IndexTermType.skipsEmptyValue`, `PerSSTableIndexWriter`.)

mod ascii_folding;
mod fold;
mod words;

use cql_types::{CqlType, comparable};

use crate::collect::TERM_BYTES_MAX;
use crate::definition::{Analysis, Analyzer, Case, Definition, Mode, Target};

/// The longest suffix of mode CONTAINS, bytes.
pub const SUFFIX_BYTES_MAX: usize = 64;
/// SASI leaves out terms of as many bytes and more. (Source: Cassandra's `OnDiskIndexBuilder.MAX_TERM_SIZE`.)
const SASI_TERM_BYTES: usize = 1024;

/// Terms, which share memory that is used again.
#[derive(Debug, Default)]
pub struct Terms {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    too_long: u32,
    /// The part whose suffixes are being made.
    part: Vec<u8>,
}

impl Terms {
    /// Removes all, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.too_long = 0;
    }

    /// The terms, some of them perhaps several times.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| &self.bytes[begin..end])
    }

    /// Terms that were left out, being longer than their kind of index takes.
    pub fn too_long(&self) -> u32 {
        self.too_long
    }

    /// Ends the term whose bytes were appended, if it has at most `most`.
    fn end(&mut self, most: usize) {
        let begin = self.begin();
        if self.bytes.len() - begin > most {
            self.bytes.truncate(begin);
            self.too_long += 1;
        } else {
            self.ends.push(self.bytes.len());
        }
    }

    fn begin(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }
}

impl Definition {
    /// Appends the terms of a column's value: of [`Target::Column`] and [`Target::Full`]. The value is valid for its type.
    pub fn terms_of_value(&self, value: &[u8], out: &mut Terms) {
        self.push(value, true, out);
    }

    /// Appends the terms of an element of a collection: of a map its key and value, of a list and a set the element and nothing.
    pub fn terms_of_element(&self, key: &[u8], value: &[u8], out: &mut Terms) {
        match (self.target(), self.ty()) {
            (Target::Entries, CqlType::Map { key: of_key, value: of_value, .. }) => {
                comparable::encode(of_key, key, false, &mut out.bytes);
                comparable::encode(of_value, value, false, &mut out.bytes);
                out.end(TERM_BYTES_MAX);
            }
            (Target::Values, CqlType::Map { .. }) => self.push(value, true, out),
            _ => self.push(key, true, out),
        }
    }

    /// Appends the terms to look for rows with this value, or one that begins with it or contains it: as its own, but without suffixes. In mode CONTAINS
    /// they are cut as suffixes are, so the rows that are found have to be compared, as all are.
    pub fn terms_of_question(&self, value: &[u8], out: &mut Terms) {
        self.push(value, false, out);
    }

    fn push(&self, value: &[u8], is_row: bool, out: &mut Terms) {
        let ty = self.term_type();
        if value.is_empty() && self.skips_empty() {
            return;
        }
        if !self.is_text() {
            match ty {
                CqlType::Blob => out.bytes.extend_from_slice(value),
                ty => comparable::encode(ty, value, false, &mut out.bytes),
            }
            return out.end(self.term_bytes_max());
        }
        // Bytes that are no text, from a foreign file, are a term as they are.
        let text = std::str::from_utf8(value);
        match (self.analysis(), text) {
            (Analysis::Sai { case_sensitive, normalize, ascii }, Ok(text)) => {
                let case = if *case_sensitive { Case::Kept } else { Case::Lower };
                fold::push(text, case, *normalize, *ascii, &mut out.bytes);
                out.end(TERM_BYTES_MAX);
            }
            (Analysis::Sasi { mode, analyzer }, Ok(text)) => {
                let mut end = |out: &mut Terms| end_part(*mode, is_row, out);
                push_parts(analyzer, text, out, &mut end);
            }
            _ => {
                out.bytes.extend_from_slice(value);
                out.end(self.term_bytes_max());
            }
        }
    }

    fn skips_empty(&self) -> bool {
        match self.analysis() {
            Analysis::None => false,
            Analysis::Sai { .. } => !self.is_text() && !self.term_type().is_frozen(),
            Analysis::Sasi { .. } => true,
        }
    }

    fn term_bytes_max(&self) -> usize {
        if matches!(self.analysis(), Analysis::Sasi { .. }) { SASI_TERM_BYTES - 1 } else { TERM_BYTES_MAX }
    }
}

/// Appends the parts that an analyzer makes, calling `end` after each.
fn push_parts(analyzer: &Analyzer, text: &str, out: &mut Terms, end: &mut impl FnMut(&mut Terms)) {
    match analyzer {
        Analyzer::NoOp => {
            out.bytes.extend_from_slice(text.as_bytes());
            end(out);
        }
        Analyzer::NonTokenizing { case } => {
            fold::push(text, *case, true, false, &mut out.bytes);
            end(out);
        }
        Analyzer::Delimiter(delimiter) => {
            for part in text.split(*delimiter).filter(|part| !part.is_empty()) {
                out.bytes.extend_from_slice(part.as_bytes());
                end(out);
            }
        }
        Analyzer::Standard { case } => {
            for word in words::of(text) {
                fold::push(word, *case, true, false, &mut out.bytes);
                end(out);
            }
        }
    }
}

/// Ends a part of a text for SASI: with its suffixes if they are to be found, and it is a row's.
fn end_part(mode: Mode, is_row: bool, out: &mut Terms) {
    let begin = out.begin();
    let length = out.bytes.len() - begin;
    if mode != Mode::Contains || length >= SASI_TERM_BYTES {
        return out.end(SASI_TERM_BYTES - 1);
    }
    if !is_row {
        out.bytes.truncate(begin + length.min(SUFFIX_BYTES_MAX));
        return out.end(SUFFIX_BYTES_MAX);
    }
    let Terms { bytes, ends, part, .. } = out;
    part.clear();
    part.extend_from_slice(&bytes[begin..]);
    bytes.truncate(begin);
    // Bytes within a character are those of 0x80 to 0xbf.
    for at in (0..part.len()).filter(|&at| part[at] & 0xc0 != 0x80) {
        bytes.extend_from_slice(&part[at..part.len().min(at + SUFFIX_BYTES_MAX)]);
        ends.push(bytes.len());
    }
}

#[cfg(test)]
mod tests;
