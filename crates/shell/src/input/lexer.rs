//! Text to tokens, with their places.
//!
//! Unlike the server's lexer this one has tokens for what is not closed yet, since more lines may follow, and for ends of lines, which end shell commands.

/// A token's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A word without quotes: a keyword, a name, also `true` or a duration's letters.
    Word,
    /// A name in double quotes.
    QuotedName,
    /// A string in single quotes or between `$$`.
    String,
    /// Digits, a UUID, or a blob.
    Number,
    /// An operator, a bracket, a comma, a point, a question mark.
    Symbol,
    /// `;`
    End,
    /// The end of a line.
    Line,
    /// A quoted name, a string or a comment without its end.
    Unclosed,
    /// A `$$` string without its end.
    UnclosedDollars,
}

/// A token: its kind, and its bytes from `start` to `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Token {
    /// Its text.
    pub(crate) fn text<'t>(&self, of: &'t str) -> &'t str {
        &of[self.start..self.end]
    }

    /// True if it is that word, in any case.
    pub(crate) fn is(&self, of: &str, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text(of).eq_ignore_ascii_case(word)
    }
}

/// A character that begins no token: its byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoToken {
    pub(crate) at: usize,
}

impl NoToken {
    /// Its line and its place there, both from 1, and the line itself.
    pub(crate) fn place<'t>(&self, text: &'t str) -> (usize, usize, &'t str) {
        let before = &text[..self.at];
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
        (line + 1, column + 1, text.split('\n').nth(line).unwrap_or_default())
    }
}

/// All tokens; comments and spaces are left out.
///
/// # Errors
/// A character outside of quotes and comments that CQL has no use for.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, NoToken> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, length) = match first {
            '\n' => (Some(TokenKind::Line), 1),
            ' ' | '\t' | '\r' | '\x0b' | '\x0c' => (None, 1),
            '-' if rest.starts_with("--") => comment(rest),
            '/' if rest.starts_with("//") => comment(rest),
            '/' if rest.starts_with("/*") => match rest[2..].find("*/") {
                Some(length) => (None, length + 4),
                None => (Some(TokenKind::Unclosed), rest.len()),
            },
            '\'' => quoted(rest, '\'', TokenKind::String),
            '"' => quoted(rest, '"', TokenKind::QuotedName),
            '$' if rest.starts_with("$$") => match rest[2..].find("$$") {
                Some(length) => (Some(TokenKind::String), length + 4),
                None => (Some(TokenKind::UnclosedDollars), rest.len()),
            },
            ';' => (Some(TokenKind::End), 1),
            'a'..='z' | 'A'..='Z' => (Some(TokenKind::Word), word(rest)),
            '0'..='9' => (Some(TokenKind::Number), word(rest)),
            '-' | '+' | '=' | '%' | '/' | ',' | '(' | ')' | '.' | '<' | '>' | '!' | '[' | ']' | '{' | '}' | ':'
            | '*' | '?' => (Some(TokenKind::Symbol), 1),
            _ => return Err(NoToken { at }),
        };
        if let Some(kind) = kind {
            found.push(Token { kind, start: at, end: at + length });
        }
        at += length;
    }
    Ok(found)
}

/// A comment to the end of its line, which stays: it may end a command. A carriage return alone ends the line too, as it does for a server.
fn comment(rest: &str) -> (Option<TokenKind>, usize) {
    (None, rest.find(['\n', '\r']).unwrap_or(rest.len()))
}

fn word(rest: &str) -> usize {
    rest.find(|character: char| !character.is_ascii_alphanumeric() && character != '_').unwrap_or(rest.len())
}

/// Text from one quote to the next that is not doubled.
fn quoted(rest: &str, quote: char, kind: TokenKind) -> (Option<TokenKind>, usize) {
    let mut at = 1;
    loop {
        match rest[at..].find(quote) {
            None => return (Some(TokenKind::Unclosed), rest.len()),
            Some(length) if rest[at + length + 1..].starts_with(quote) => at += length + 2,
            Some(length) => return (Some(kind), at + length + 1),
        }
    }
}
