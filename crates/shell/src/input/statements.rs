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

/// Cuts tokens into statements as they come.
#[derive(Debug, Default)]
struct Cutter {
    /// Those that have ended; of a batch that goes on, its statements so far.
    statements: Vec<Statement>,
    /// The tokens of the one under way.
    current: Vec<Token>,
    is_in_batch: bool,
}

impl Cutter {
    fn take(&mut self, token: Token, text: &str) {
        let is_end = match token.kind {
            TokenKind::End => true,
            TokenKind::Line => {
                if !self.current.first().is_some_and(|first| is_line_command(first.text(text))) {
                    return;
                }
                true
            }
            _ => false,
        };
        self.current.push(token);
        if is_end {
            let current = &self.current;
            let applies = current.len() > 2 && current[current.len() - 3].is(text, "apply");
            let begins = current.len() > 2 && current[0].is(text, "begin");
            self.end();
            if applies {
                self.is_in_batch = false;
            } else if begins {
                self.is_in_batch = true;
            }
        }
    }

    /// Ends the statement under way; within a batch it is a part of the batch's.
    fn end(&mut self) {
        match self.statements.last_mut().filter(|_| self.is_in_batch) {
            Some(batch) => batch.tokens.append(&mut self.current),
            None => self.statements.push(Statement { tokens: std::mem::take(&mut self.current) }),
        }
    }

    fn is_whole(&self) -> bool {
        self.current.is_empty() && !self.is_in_batch
    }
}

fn is_line_command(word: &str) -> bool {
    LINE_COMMANDS.iter().any(|command| command.eq_ignore_ascii_case(word))
}

/// Lines that were read and not run yet.
///
/// A line is cut once, when it comes: a batch of thousands of lines would be cut from its start with each. What a quote, a comment or `$$` has left open is looked at again with the next line.
#[derive(Debug, Default)]
pub(crate) struct Input {
    text: String,
    /// The text before it is cut.
    cut: usize,
    cutter: Cutter,
}

impl Input {
    /// Adds a line with its end.
    pub(crate) fn push(&mut self, line: &str) {
        self.text.push_str(line);
    }

    /// True if nothing waits but spaces.
    pub(crate) fn is_blank(&self) -> bool {
        // Not `trim`, which goes through empty lines at the end too, with each of them again.
        self.text.chars().all(char::is_whitespace)
    }

    /// The text that waits.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Forgets what waits.
    pub(crate) fn clear(&mut self) {
        *self = Input::default();
    }

    /// The text and its statements, if it is whole, and nothing waits any more.
    ///
    /// # Errors
    /// A character that is of no token; nothing waits then either.
    pub(crate) fn take_whole(&mut self) -> Result<Option<Whole>, Unreadable> {
        let found = match tokens(&self.text[self.cut..]) {
            Ok(found) => found,
            Err(NoToken { at }) => {
                let Input { text, cut, .. } = std::mem::take(self);
                return Err(Unreadable { text, error: NoToken { at: cut + at } });
            }
        };
        let begin = self.cut;
        self.cut = self.text.len();
        for token in found {
            let token = Token { start: begin + token.start, end: begin + token.end, ..token };
            if matches!(token.kind, TokenKind::Unclosed | TokenKind::UnclosedDollars) {
                // The last one, since it has all that follows.
                self.cut = token.start;
                return Ok(None);
            }
            self.cutter.take(token, &self.text);
        }
        if !self.cutter.is_whole() {
            return Ok(None);
        }
        let Input { text, cutter, .. } = std::mem::take(self);
        Ok(Some(Whole { text, statements: cutter.statements }))
    }
}

/// The statements of a text, and of one that is not whole what there is of the last.
#[cfg(test)]
pub(crate) fn split(text: &str) -> Result<(Vec<Statement>, bool), NoToken> {
    let mut input = Input { text: text.to_owned(), ..Input::default() };
    match input.take_whole() {
        Ok(Some(whole)) => Ok((whole.statements, true)),
        Ok(None) => {
            input.cutter.end();
            Ok((input.cutter.statements, false))
        }
        Err(Unreadable { error, .. }) => Err(error),
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
