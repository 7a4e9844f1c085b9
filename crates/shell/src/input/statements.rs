//! Tokens to statements, and lines to whole texts.

use super::lexer::{NoToken, Token, TokenKind, tokens};

/// Commands of the shell that end with their line too.
const LINE_COMMANDS: [&str; 18] = [
    "help",
    "?",
    "consistency",
    "serial",
    "describe",
    "desc",
    "show",
    "source",
    "capture",
    "login",
    "tracing",
    "expand",
    "paging",
    "exit",
    "quit",
    "clear",
    "cls",
    "history",
];

/// A statement or command of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    /// The tokens; the last is its end. A batch has those of its statements.
    pub(crate) tokens: Vec<Token>,
}

impl Statement {
    /// The text, from its first token to its end, as it goes to the server.
    pub(crate) fn text<'t>(&self, of: &'t str) -> &'t str {
        match (self.tokens.first(), self.tokens.last()) {
            (Some(first), Some(last)) => &of[first.start..last.end],
            _ => "",
        }
    }

    /// The tokens without the end.
    pub(crate) fn words(&self) -> &[Token] {
        match self.tokens.split_last() {
            Some((Token { kind: TokenKind::End | TokenKind::Line, .. }, words)) => words,
            _ => &self.tokens,
        }
    }
}

/// The statements of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Split {
    /// In order; the last may be without its end.
    pub(crate) statements: Vec<Statement>,
    /// The last one is whole.
    pub(crate) is_whole: bool,
}

/// Cuts a text.
///
/// # Errors
/// A character that is of no token.
pub(crate) fn split(text: &str) -> Result<Split, NoToken> {
    let found = tokens(text)?;
    let is_in_dollars = found.iter().any(|token| token.kind == TokenKind::UnclosedDollars);
    let mut statements: Vec<Statement> = Vec::new();
    let mut current: Vec<Token> = Vec::new();
    let mut is_in_batch = false;
    for token in found {
        let is_end = match token.kind {
            TokenKind::End => true,
            TokenKind::Line => {
                if !current.first().is_some_and(|first| is_line_command(first.text(text))) {
                    continue;
                }
                true
            }
            _ => false,
        };
        current.push(token);
        if is_end {
            let applies = current.len() > 2 && current[current.len() - 3].is(text, "apply");
            let begins = current.len() > 2 && current[0].is(text, "begin");
            match statements.last_mut().filter(|_| is_in_batch) {
                Some(batch) => batch.tokens.append(&mut current),
                None => statements.push(Statement { tokens: std::mem::take(&mut current) }),
            }
            if applies {
                is_in_batch = false;
            } else if begins {
                is_in_batch = true;
            }
        }
    }
    let is_ended = current.is_empty();
    if !is_ended {
        match statements.last_mut().filter(|_| is_in_batch) {
            Some(batch) => batch.tokens.append(&mut current),
            None => statements.push(Statement { tokens: current }),
        }
    }
    Ok(Split { statements, is_whole: is_ended && !is_in_batch && !is_in_dollars })
}

fn is_line_command(word: &str) -> bool {
    LINE_COMMANDS.iter().any(|command| command.eq_ignore_ascii_case(word))
}

/// Lines that were read and not run yet.
#[derive(Debug, Default)]
pub(crate) struct Input {
    text: String,
}

impl Input {
    /// Adds a line with its end.
    pub(crate) fn push(&mut self, line: &str) {
        self.text.push_str(line);
    }

    /// True if nothing waits but spaces.
    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The text that waits.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Forgets what waits.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
    }

    /// The text and its statements, if it is whole, and nothing waits any more.
    ///
    /// # Errors
    /// A character that is of no token; nothing waits then either.
    pub(crate) fn take_whole(&mut self) -> Result<Option<Whole>, Unreadable> {
        match split(&self.text) {
            Ok(Split { statements, is_whole: true }) => {
                Ok(Some(Whole { text: std::mem::take(&mut self.text), statements }))
            }
            Ok(_) => Ok(None),
            Err(error) => Err(Unreadable { text: std::mem::take(&mut self.text), error }),
        }
    }
}

/// A text whose statements can be run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Whole {
    pub(crate) text: String,
    pub(crate) statements: Vec<Statement>,
}

/// A text with a character that is of no token.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    pub(crate) text: String,
    pub(crate) error: NoToken,
}
