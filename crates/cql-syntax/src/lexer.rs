//! Text to tokens, one at a time, so that a statement of any length takes no memory beside its tree.

mod duration;

use std::borrow::Cow;

use crate::error::Failure;
use crate::long::{LongContent, LongPiece, LongPieces};

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name or keyword without quotes.
    Word,
    /// A name in double quotes; the text has them.
    QuotedName,
    /// A string; the text has its quotes.
    String,
    Integer,
    Float,
    Uuid,
    Hex,
    Duration,
    /// `( ) [ ] { } < > = ! , ; . : ? * + - / %`, and `<= >= != += -=`.
    Symbol,
    End,
}

/// A token: its kind, its text as written, and where it begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<'a> {
    pub kind: TokenKind,
    pub text: &'a str,
    pub offset: usize,
}

impl<'a> Token<'a> {
    /// Whether it is this keyword, given in upper case.
    pub fn is_keyword(&self, keyword: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(keyword)
    }

    pub fn is_symbol(&self, symbol: &str) -> bool {
        self.kind == TokenKind::Symbol && self.text == symbol
    }

    /// The content of a string or quoted name, without its quotes and their doubling.
    pub fn content(&self) -> Cow<'a, str> {
        if let Some(dollars) = self.text.strip_prefix("$$") {
            return Cow::Borrowed(dollars.strip_suffix("$$").unwrap_or(dollars));
        }
        let inner = self.text.get(1..self.text.len().saturating_sub(1)).unwrap_or_default();
        match self.kind {
            TokenKind::String if inner.contains('\'') => Cow::Owned(inner.replace("''", "'")),
            TokenKind::QuotedName if inner.contains('"') => Cow::Owned(inner.replace("\"\"", "\"")),
            _ => Cow::Borrowed(inner),
        }
    }
}

/// A cursor over the text. Copying it is how the parser looks ahead.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    offset: usize,
    /// The long pieces of the text, if it was looked through ahead.
    long: Option<&'a LongPieces>,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, offset: 0, long: None }
    }

    /// The same with the text's long pieces.
    pub fn with_long(text: &'a str, long: &'a LongPieces) -> Lexer<'a> {
        Lexer { text, offset: 0, long: Some(long) }
    }

    /// The long piece that begins there.
    pub fn long_piece(&self, offset: usize) -> Option<&'a LongPiece> {
        self.long?.at(offset)
    }

    /// All of the text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    fn rest(&self) -> &'a str {
        &self.text[self.offset..]
    }

    /// The next token; [`TokenKind::End`] for ever once the text is used up.
    pub fn next_token(&mut self) -> Result<Token<'a>, Failure> {
        self.skip_space_and_comments()?;
        let (offset, rest) = (self.offset, self.rest());
        let Some(&first) = rest.as_bytes().first() else {
            return Ok(Token { kind: TokenKind::End, text: "", offset });
        };
        let long = self.long_piece(offset);
        let (kind, length) = match first {
            b'"' if let Some(piece) = long => (TokenKind::QuotedName, piece.end - offset),
            b'0' if let Some(piece) = long => (TokenKind::Hex, piece.end - offset),
            _ if let Some(piece) = long => (TokenKind::String, piece.end - offset),
            b'\'' => (TokenKind::String, self.quoted(b'\'')?),
            b'"' => (TokenKind::QuotedName, self.quoted(b'"')?),
            b'$' if rest.starts_with("$$") => match rest[2..].find("$$") {
                Some(end) => (TokenKind::String, end + 4),
                None => {
                    let message = "mismatched character '<EOF>' expecting '$'".to_owned();
                    return Err(Failure::at(self.text.len(), message));
                }
            },
            b'0'..=b'9' | b'-' | b'a'..=b'z' | b'A'..=b'Z' => constant_or_word(rest),
            _ => (TokenKind::Symbol, symbol(rest)),
        };
        if length == 0 {
            let found = rest.chars().next().unwrap_or_default();
            return Err(Failure::at(offset, format!("no viable alternative at character '{found}'")));
        }
        self.offset += length;
        Ok(Token { kind, text: &rest[..length], offset })
    }

    fn skip_space_and_comments(&mut self) -> Result<(), Failure> {
        loop {
            if let Some(LongPiece { end, content: LongContent::Gap, .. }) = self.long_piece(self.offset) {
                self.offset = *end;
            }
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r']);
            self.offset += rest.len() - trimmed.len();
            if trimmed.starts_with("--") || trimmed.starts_with("//") {
                self.offset += trimmed.find(['\n', '\r']).map_or(trimmed.len(), |end| end + 1);
            } else if let Some(comment) = trimmed.strip_prefix("/*") {
                match comment.find("*/") {
                    Some(end) => self.offset += end + 4,
                    None => {
                        return Err(Failure::at(self.text.len(), "mismatched character '<EOF>' expecting '*'"));
                    }
                }
            } else {
                return Ok(());
            }
        }
    }

    /// The length of a quoted text at the cursor, in which a doubled quote stands for one.
    fn quoted(&self, quote: u8) -> Result<usize, Failure> {
        let bytes = self.rest().as_bytes();
        let mut at = 1;
        while at < bytes.len() {
            if bytes[at] != quote {
                at += 1;
            } else if bytes.get(at + 1) == Some(&quote) {
                at += 2;
            } else {
                return Ok(at + 1);
            }
        }
        let message = format!("mismatched character '<EOF>' expecting '{}'", char::from(quote));
        Err(Failure::at(self.text.len(), message))
    }
}

/// The length of a symbol, 0 if there is none.
fn symbol(text: &str) -> usize {
    if ["<=", ">=", "!=", "+=", "-=", ".."].iter().any(|two| text.starts_with(two)) {
        return 2;
    }
    usize::from(text.starts_with(|c| "()[]{}<>=!,;.:?*+-/%".contains(c)))
}

fn constant_or_word(text: &str) -> (TokenKind, usize) {
    let bytes = text.as_bytes();
    let word =
        |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    if is_uuid(bytes) {
        return (TokenKind::Uuid, 36);
    }
    let sign = usize::from(bytes[0] == b'-');
    if let Some(length) = duration::iso(&text[sign..]) {
        return (TokenKind::Duration, sign + length);
    }
    if !bytes.get(sign).is_some_and(u8::is_ascii_digit) {
        return if sign == 0 { (TokenKind::Word, word(0)) } else { signed_word(text) };
    }
    if sign == 0 && bytes[0] == b'0' && matches!(bytes.get(1), Some(b'x' | b'X')) {
        return (TokenKind::Hex, 2 + bytes[2..].iter().take_while(|b| b.is_ascii_hexdigit()).count());
    }
    number(text, sign)
}

/// `-NaN`, `-Infinity`, or the symbol `-` or `-=` alone. Behind a sign the first letter decides, as in Cassandra: `-n` is no sign with a
/// name behind it, but a `-NaN` that breaks off, and has the length 0.
fn signed_word(text: &str) -> (TokenKind, usize) {
    let word = match text.as_bytes().get(1) {
        Some(b'n' | b'N') => "nan",
        Some(b'i' | b'I') => "infinity",
        _ => return (TokenKind::Symbol, symbol(text)),
    };
    let is_whole = text.get(1..=word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word));
    (TokenKind::Float, if is_whole { 1 + word.len() } else { 0 })
}

fn is_uuid(bytes: &[u8]) -> bool {
    bytes.len() >= 36
        && bytes[..36].iter().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn number(text: &str, sign: usize) -> (TokenKind, usize) {
    let bytes = text.as_bytes();
    let digits = |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut end = digits(sign);
    if let Some(length) = duration::with_units(&text[sign..]) {
        return (TokenKind::Duration, sign + length);
    }
    let mut kind = TokenKind::Integer;
    // Two points are a range's, as in `m[1..3]`.
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1) != Some(&b'.') {
        kind = TokenKind::Float;
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let signed = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(signed).is_some_and(u8::is_ascii_digit) {
            kind = TokenKind::Float;
            end = digits(signed);
        }
    }
    (kind, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(TokenKind, &str)> {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        loop {
            let token = lexer.next_token().unwrap();
            if token.kind == TokenKind::End {
                return tokens;
            }
            tokens.push((token.kind, token.text));
        }
    }

    #[test]
    fn constants_are_told_apart() {
        use TokenKind as K;
        for (text, kind) in [
            ("12", K::Integer),
            ("-12", K::Integer),
            ("1.5", K::Float),
            ("1e5", K::Float),
            ("-1.5E-5", K::Float),
            ("-NaN", K::Float),
            ("1h30m", K::Duration),
            ("-2mo", K::Duration),
            ("P1Y2M", K::Duration),
            ("P0001-02-03T04:05:06", K::Duration),
            ("0xCAFE", K::Hex),
            ("123e4567-e89b-12d3-a456-426614174000", K::Uuid),
            ("'it''s'", K::String),
            ("$$it's$$", K::String),
            ("\"a\"\"b\"", K::QuotedName),
            ("P1x", K::Word),
            ("P1Yx", K::Word),
            ("PT", K::Word),
            ("-P3W", K::Duration),
            ("PT1H2S", K::Duration),
            ("P1YT5M", K::Duration),
            ("1MO2µs", K::Duration),
            ("select", K::Word),
            ("+=", K::Symbol),
        ] {
            assert_eq!(kinds(text), [(kind, text)]);
        }
    }

    #[test]
    fn a_ranges_points_belong_to_no_number() {
        let texts = |text| kinds(text).into_iter().map(|(_, text)| text.to_owned()).collect::<Vec<_>>();
        assert_eq!(texts("m[1..3]"), ["m", "[", "1", "..", "3", "]"]);
        assert_eq!(texts("m[1.5..'c']"), ["m", "[", "1.5", "..", "'c'", "]"]);
        assert_eq!(texts("m[..2]"), ["m", "[", "..", "2", "]"]);
    }

    #[test]
    fn comments_and_space_are_skipped() {
        let texts: Vec<_> = kinds("a -- b\n// c\n/* d \n */ = ?").into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["a", "=", "?"]);
        assert!(Lexer::new("/* a").next_token().is_err());
        assert!(Lexer::new("'a").next_token().is_err());
        assert!(Lexer::new("é").next_token().is_err());
        assert!(Lexer::new("_a").next_token().is_err());
        assert_eq!(kinds("-- b\ra").len(), 1);
    }
}
