//! Statements and clauses of Cassandra's and ScyllaDB's CQL that have no rules here: they are known by their words, so that the answer can name them. A
//! misspelt one is a syntax error as any other.

use super::{Parser, Result};
use crate::ast::Statement;
use crate::lexer::TokenKind;

/// Two words, or one with an underscore between them.
pub(super) const SERVICE_LEVEL: &str = "SERVICE LEVEL";

/// What CREATE, ALTER and DROP may be followed by.
const ELEMENTS: [&str; 7] =
    ["INDEX", "CUSTOM INDEX", "MATERIALIZED VIEW", "FUNCTION", "AGGREGATE", "TRIGGER", SERVICE_LEVEL];

/// What LIST may be followed by.
const LISTS: [&str; 6] = [
    "SUPERUSERS",
    SERVICE_LEVEL,
    "ALL SERVICE LEVELS",
    "ATTACHED SERVICE LEVEL",
    "ALL ATTACHED SERVICE LEVELS",
    "EFFECTIVE SERVICE LEVEL",
];

/// Statements that begin with a word of their own.
const STATEMENTS: [&str; 3] = ["ATTACH SERVICE LEVEL", "DETACH SERVICE LEVEL", "PRUNE MATERIALIZED VIEW"];

impl Parser<'_> {
    /// What follows CREATE, ALTER or DROP, where no other rule takes it.
    pub(super) fn unsupported_element(&mut self, verb: &str) -> Result<Statement> {
        for words in ELEMENTS {
            if self.begins(words)? {
                return self.unsupported(&format!("{verb} {words}"));
            }
        }
        Err(self.unexpected())
    }

    /// What follows LIST.
    pub(super) fn unsupported_list(&mut self) -> Result<Option<Statement>> {
        for words in LISTS {
            if self.begins(words)? {
                return self.unsupported(&format!("LIST {words}")).map(Some);
            }
        }
        Ok(None)
    }

    /// A statement whose first word no rule knows.
    pub(super) fn unsupported_statement(&mut self) -> Result<Option<Statement>> {
        for words in STATEMENTS {
            if self.begins(words)? {
                return self.unsupported(words).map(Some);
            }
        }
        Ok(None)
    }

    /// The rest of the text is passed over, but must be tokens.
    pub(super) fn unsupported(&mut self, what: &str) -> Result<Statement> {
        while self.token.kind != TokenKind::End && !self.token.is_symbol(";") {
            self.advance()?;
        }
        Ok(Statement::Unsupported { what: what.to_owned() })
    }

    /// Whether these words stand here. `SERVICE LEVEL` may be written `SERVICE_LEVEL`, and so its plural.
    pub(super) fn begins(&self, words: &str) -> Result<bool> {
        let mut ahead = *self;
        let mut words = words.split(' ').peekable();
        while let Some(word) = words.next() {
            if word == "SERVICE"
                && let Some(level) = words.peek()
                && ahead.token.is_keyword(&format!("SERVICE_{level}"))
            {
                words.next();
            } else if !ahead.token.is_keyword(word) {
                return Ok(false);
            }
            // What no token begins with is an error where it is parsed.
            if words.peek().is_some() && ahead.advance().is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
