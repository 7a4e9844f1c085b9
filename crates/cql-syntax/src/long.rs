//! Long texts are looked through ahead of the parser, piece by piece: where a constant or a gap of spaces and comments is long, its end is
//! found and its content made here. The lexer then passes it at once, as often as the parser looks at it.
//!
//! Only what is longer than [`LONG_MIN`] is kept, so there is little of it. A number or name as long is refused: nothing has such a one.

use std::rc::Rc;

use crate::SyntaxError;
use crate::error::Failure;
use crate::parser::check_length;

/// A piece of more bytes than this is long.
pub(crate) const LONG_MIN: usize = 64 << 10;

/// Bytes that one step looks at or copies.
const STEP_BYTES: usize = 64 << 10;

/// The beginning of a long hexadecimal constant, which is all that messages show of it.
const SHOWN_BYTES: usize = 1 << 10;

/// A long piece of a text.
#[derive(Debug, Clone)]
pub(crate) struct LongPiece {
    /// Where it begins and ends.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) content: LongContent,
}

/// The kind of a long piece.
#[derive(Debug, Clone)]
pub(crate) enum LongContent {
    /// Spaces and comments.
    Gap,
    /// A name between quotes.
    Name,
    /// A string, without its quotes.
    String(Rc<String>),
    /// The beginning of a hexadecimal constant, and its bytes: none if its digits are odd in number.
    Hex(Rc<String>, Option<Rc<Vec<u8>>>),
}

/// The long pieces of a text, in order.
#[derive(Debug, Clone, Default)]
pub struct LongPieces {
    pieces: Vec<LongPiece>,
}

impl LongPieces {
    /// The piece that begins there.
    pub(crate) fn at(&self, start: usize) -> Option<&LongPiece> {
        let index = self.pieces.binary_search_by_key(&start, |piece| piece.start).ok()?;
        self.pieces.get(index)
    }
}

/// A look through a text that can pause.
pub struct Scan<'a> {
    text: &'a str,
    /// How far it has looked.
    at: usize,
    /// Where what it is in began.
    start: usize,
    state: State,
    pieces: Vec<LongPiece>,
}

#[derive(Debug)]
enum State {
    /// Between tokens, whose gap began at the start.
    Gap,
    /// In a comment of a gap, which ends with the line.
    Line,
    /// In a comment of a gap, which `*/` ends.
    Comment,
    /// Between quotes; whether one was doubled.
    Quoted { quote: u8, has_doubled: bool },
    /// Between dollars.
    Dollars,
    /// In hexadecimal digits.
    Hex,
    /// In a number or a name.
    Word,
    /// Copies the string that ends at `end`, with quotes of which two stand for one.
    CopyString { end: usize, content: String, has_doubled: bool },
    /// Reads the digits up to `end`.
    CopyHex { end: usize, bytes: Vec<u8> },
}

impl<'a> Scan<'a> {
    /// Begins with a text, unless it is longer than any statement may be.
    pub fn begin(text: &'a str) -> Result<Self, SyntaxError> {
        check_length(text).map_err(|failure| failure.locate(""))?;
        Ok(Scan { text, at: 0, start: 0, state: State::Gap, pieces: Vec::new() })
    }

    /// Looks at some more of it. Gives what was found at the end, and is not called again then.
    pub fn step(&mut self) -> Result<Option<LongPieces>, SyntaxError> {
        let until = self.text.len().min(self.at.saturating_add(STEP_BYTES));
        while self.at < until {
            let before = self.at;
            self.advance(until).map_err(|failure| failure.locate(self.text))?;
            // A constant's content is copied from its beginning on.
            if self.at < before {
                return Ok(None);
            }
        }
        if self.at < self.text.len() {
            return Ok(None);
        }
        let unclosed = |symbol: char| {
            Failure::at(self.text.len(), format!("mismatched character '<EOF>' expecting '{symbol}'")).locate(self.text)
        };
        match self.state {
            State::Gap | State::Line => self.end_gap(self.text.len()),
            State::Comment => return Err(unclosed('*')),
            State::Quoted { quote, .. } => return Err(unclosed(char::from(quote))),
            State::Dollars => return Err(unclosed('$')),
            State::Hex => {
                if self.begin_copy(self.text.len()) {
                    return Ok(None);
                }
            }
            State::Word | State::CopyString { .. } | State::CopyHex { .. } => {}
        }
        Ok(Some(LongPieces { pieces: std::mem::take(&mut self.pieces) }))
    }

    /// Goes on within what it is in, at least a byte, at most up to `until` but for the end of a pair.
    fn advance(&mut self, until: usize) -> Result<(), Failure> {
        let bytes = self.text.as_bytes();
        let piece = bytes.get(self.at..until).unwrap_or_default();
        let begins = |with: &[u8]| bytes.get(self.at..).is_some_and(|rest| rest.starts_with(with));
        match &mut self.state {
            State::Gap => match piece.iter().position(|byte| !b" \t\n\r".contains(byte)) {
                None => self.at = until,
                Some(0) if begins(b"--") || begins(b"//") => (self.state, self.at) = (State::Line, self.at + 2),
                Some(0) if begins(b"/*") => (self.state, self.at) = (State::Comment, self.at + 2),
                Some(0) => self.begin_token(),
                Some(count) => self.at += count,
            },
            State::Line => match piece.iter().position(|byte| b"\n\r".contains(byte)) {
                None => self.at = until,
                Some(count) => (self.state, self.at) = (State::Gap, self.at + count + 1),
            },
            State::Comment => match piece.iter().position(|byte| *byte == b'*') {
                None => self.at = until,
                Some(0) if begins(b"*/") => (self.state, self.at) = (State::Gap, self.at + 2),
                Some(count) => self.at += count.max(1),
            },
            State::Quoted { quote, has_doubled } => match piece.iter().position(|byte| byte == quote) {
                None => self.at = until,
                Some(count) if bytes.get(self.at + count + 1) == Some(quote) => {
                    *has_doubled = true;
                    self.at += count + 2;
                }
                Some(count) => self.end_quoted(self.at + count + 1),
            },
            State::Dollars => match piece.iter().position(|byte| *byte == b'$') {
                None => self.at = until,
                Some(0) if begins(b"$$") => self.end_quoted(self.at + 2),
                Some(count) => self.at += count.max(1),
            },
            State::Hex => match piece.iter().position(|byte| !byte.is_ascii_hexdigit()) {
                None => self.at = until,
                Some(count) => {
                    self.at += count;
                    if !self.begin_copy(self.at) {
                        self.begin_gap();
                    }
                }
            },
            State::Word => {
                let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
                let count = piece.iter().position(|byte| !is_of_word(byte));
                self.at += count.unwrap_or(piece.len());
                if self.at - self.start > LONG_MIN {
                    let shown: String = self.text[self.start..].chars().take(100).collect();
                    return Err(Failure::at(self.start, format!("no viable alternative at input '{shown}'")));
                }
                if count.is_some() {
                    self.begin_gap();
                }
            }
            State::CopyString { .. } | State::CopyHex { .. } => self.copy(until),
        }
        Ok(())
    }

    /// The piece that begins here, after a gap.
    fn begin_token(&mut self) {
        self.end_gap(self.at);
        let bytes = self.text.as_bytes();
        let next = bytes.get(self.at + 1).copied().unwrap_or(0);
        self.start = self.at;
        let (state, length) = match (bytes[self.at], next) {
            (quote @ (b'\'' | b'"'), _) => (State::Quoted { quote, has_doubled: false }, 1),
            (b'$', b'$') => (State::Dollars, 2),
            (b'0', b'x' | b'X') => (State::Hex, 2),
            // Behind a minus no 0x is one.
            (b'-', b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z') => (State::Word, 2),
            (byte, _) if byte.is_ascii_alphanumeric() => (State::Word, 1),
            _ => {
                self.at += 1;
                return self.begin_gap();
            }
        };
        (self.state, self.at) = (state, self.at + length);
    }

    fn begin_gap(&mut self) {
        (self.state, self.start) = (State::Gap, self.at);
    }

    fn end_gap(&mut self, end: usize) {
        if end - self.start > LONG_MIN {
            self.pieces.push(LongPiece { start: self.start, end, content: LongContent::Gap });
        }
    }

    /// The quotes that began are closed before `end`.
    fn end_quoted(&mut self, end: usize) {
        self.at = end;
        if end - self.start > LONG_MIN && self.text.as_bytes()[self.start] == b'"' {
            self.pieces.push(LongPiece { start: self.start, end, content: LongContent::Name });
        } else if self.begin_copy(end) {
            return;
        }
        self.begin_gap();
    }

    /// Goes back to a constant's beginning, to make its content, if it is long.
    fn begin_copy(&mut self, end: usize) -> bool {
        if end - self.start <= LONG_MIN {
            return false;
        }
        let state = match self.state {
            State::Quoted { has_doubled, .. } => {
                let content = String::with_capacity(end - self.start);
                (State::CopyString { end, content, has_doubled }, 1)
            }
            State::Dollars => {
                let content = String::with_capacity(end - self.start);
                (State::CopyString { end, content, has_doubled: false }, 2)
            }
            _ => (State::CopyHex { end, bytes: Vec::with_capacity((end - self.start) / 2) }, 2),
        };
        (self.state, self.at) = (state.0, self.start + state.1);
        true
    }

    /// Copies some of a constant.
    fn copy(&mut self, until: usize) {
        let done = match &mut self.state {
            State::CopyString { end, content, has_doubled } => {
                let close = if self.text.as_bytes()[self.start] == b'$' { 2 } else { 1 };
                let last = *end - close;
                let mut to = until.min(last).max(self.at);
                // Characters stay whole, and so do the two quotes of a pair.
                while !self.text.is_char_boundary(to) {
                    to += 1;
                }
                let mut piece = &self.text[self.at..to];
                if *has_doubled {
                    while let Some(place) = piece.find('\'') {
                        content.push_str(&piece[..=place]);
                        // The second of the two may be after the piece.
                        self.at += place + 2;
                        piece = self.text.get(self.at..to).unwrap_or_default();
                    }
                    self.at = self.at.max(to - piece.len());
                }
                content.push_str(piece);
                self.at = self.at.max(to);
                (self.at >= last).then(|| (*end, LongContent::String(Rc::new(std::mem::take(content)))))
            }
            State::CopyHex { end, bytes } => {
                // Digits are read in pairs.
                let to = until.min(*end);
                let to = if (to - self.at).is_multiple_of(2) { to } else { (to + 1).min(*end) };
                let digits = self.text.as_bytes().get(self.at..to).unwrap_or_default();
                let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                bytes.extend(digits.chunks_exact(2).filter_map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)));
                self.at = to;
                (to == *end).then(|| {
                    // What is shown is refused for the reason that all of it is.
                    let is_whole = (*end - self.start).is_multiple_of(2);
                    let shown = SHOWN_BYTES + usize::from(!is_whole);
                    let shown = Rc::new(self.text[self.start..self.start + shown].to_owned());
                    (*end, LongContent::Hex(shown, is_whole.then(|| Rc::new(std::mem::take(bytes)))))
                })
            }
            _ => panic!("a constant is copied"),
        };
        if let Some((end, content)) = done {
            self.pieces.push(LongPiece { start: self.start, end, content });
            self.at = end;
            self.begin_gap();
        }
    }
}

#[cfg(test)]
mod tests;
