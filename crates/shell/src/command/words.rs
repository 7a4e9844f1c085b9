//! A command's words, taken one after the other.

use cql_protocol::Consistency;

use crate::input::{Token, TokenKind};

/// The rest of a command.
#[derive(Clone, Copy)]
pub(super) struct Words<'t> {
    text: &'t str,
    tokens: &'t [Token],
}

impl<'t> Words<'t> {
    pub(super) fn new(text: &'t str, tokens: &'t [Token]) -> Words<'t> {
        Words { text, tokens }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.tokens.is_empty()
    }

    /// `value`, if nothing follows.
    pub(super) fn ended<T>(&self, value: T) -> Option<T> {
        self.is_at_end().then_some(value)
    }

    fn token(&mut self) -> Option<Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(*first)
    }

    /// The next token's text.
    pub(super) fn any(&mut self) -> Option<&'t str> {
        Some(self.token()?.text(self.text))
    }

    /// All of them.
    pub(super) fn all(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.any()).map(str::to_owned).collect()
    }

    /// The text of all that is left, with the spaces in it.
    pub(super) fn rest(&mut self) -> &'t str {
        match (self.tokens.first(), self.tokens.last()) {
            (Some(first), Some(last)) => {
                self.tokens = &[];
                &self.text[first.start..last.end]
            }
            _ => "",
        }
    }

    /// Takes the word.
    pub(super) fn word(&mut self, word: &str) -> Option<()> {
        self.tokens.first()?.is(self.text, word).then(|| self.tokens = &self.tokens[1..])
    }

    /// Takes the symbol.
    pub(super) fn symbol(&mut self, symbol: &str) -> Option<()> {
        let first = self.tokens.first()?;
        let is_it = first.kind == TokenKind::Symbol && first.text(self.text) == symbol;
        is_it.then(|| self.tokens = &self.tokens[1..])
    }

    /// Nothing more, or what `take` takes and nothing more. `None`: something else is there.
    pub(super) fn optional<T>(&mut self, take: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.is_at_end() {
            return Some(None);
        }
        let taken = take(self)?;
        self.ended(Some(taken))
    }

    pub(super) fn switch(&mut self) -> Option<bool> {
        match self.any()? {
            word if word.eq_ignore_ascii_case("on") => Some(true),
            word if word.eq_ignore_ascii_case("off") => Some(false),
            _ => None,
        }
    }

    pub(super) fn level(&mut self) -> Option<Consistency> {
        Consistency::of_name(self.any()?)
    }

    /// A string's content.
    pub(super) fn string(&mut self) -> Option<String> {
        let token = self.token().filter(|token| token.kind == TokenKind::String)?;
        let text = token.text(self.text);
        Some(match text.strip_prefix("$$").and_then(|text| text.strip_suffix("$$")) {
            Some(inner) => inner.to_owned(),
            None => text[1..text.len() - 1].replace("''", "'"),
        })
    }

    /// A name: without quotes in lower case.
    pub(super) fn name(&mut self) -> Option<String> {
        let token = self.token()?;
        let text = token.text(self.text);
        match token.kind {
            TokenKind::Word => Some(text.to_ascii_lowercase()),
            TokenKind::QuotedName => Some(text[1..text.len() - 1].replace("\"\"", "\"")),
            _ => None,
        }
    }

    /// A name in quotes, or a word that is not reserved.
    pub(super) fn unreserved_name(&mut self) -> Option<()> {
        let token = self.token()?;
        let is_name = match token.kind {
            TokenKind::Word => !cql_syntax::is_reserved(token.text(self.text)),
            kind => kind == TokenKind::QuotedName,
        };
        is_name.then_some(())
    }

    /// A name, or one in a keyspace.
    pub(super) fn path(&mut self) -> Option<()> {
        self.unreserved_name()?;
        match self.symbol(".") {
            Some(()) => self.unreserved_name(),
            None => Some(()),
        }
    }

    /// A role: as written, since logins have no lower case, or a string.
    pub(super) fn role(&mut self) -> Option<String> {
        match self.tokens.first()?.kind {
            TokenKind::String => self.string(),
            TokenKind::Word => self.any().map(str::to_owned),
            _ => self.name(),
        }
    }

    /// The value of an option: a string, or words and numbers up to AND or the end.
    pub(super) fn option_value(&mut self) -> Option<String> {
        if self.tokens.first()?.kind == TokenKind::String {
            return self.string();
        }
        let count = self.tokens.iter().take_while(|token| !token.is(self.text, "and")).count();
        let (mut value, rest) = (Words { text: self.text, tokens: &self.tokens[..count] }, &self.tokens[count..]);
        self.tokens = rest;
        Some(value.rest().to_owned()).filter(|value| !value.is_empty())
    }
}
