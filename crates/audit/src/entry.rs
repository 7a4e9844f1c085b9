//! An entry: a request or a login, as its shard knows it.

use std::net::SocketAddr;

use auth::{redact, redact_message};
use planted::{Bug, Planted};

use crate::kind::EntryType;

/// The most bytes of a statement's text: what redaction looks at holds the core.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Signs of a message that quotes a piece of its statement.
const QUOTES: [char; 5] = ['\'', '"', '[', '$', '`'];
/// Bytes that an entry weighs beside its texts: itself, its place, and the rest of its line.
const WEIGHT: usize = 512;

/// A request or a login. Texts are redacted.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The type.
    pub kind: EntryType,
    /// The role that asked, or the name that a login gave.
    pub user: String,
    /// Where the client is; `None`: on the maintenance socket, or gone.
    pub source: Option<SocketAddr>,
    /// The request's arrival, milliseconds since 1970.
    pub timestamp_ms: i64,
    /// The keyspace of names without one: that of the request, of its prepared statement or of its session.
    pub keyspace: Option<String>,
    /// The statement, or what is said of it.
    pub operation: Operation,
    /// The batch that it is of.
    pub batch: Option<[u8; 16]>,
    /// The prepared statement's id.
    pub prepared: Option<[u8; 16]>,
    /// The refusal.
    pub error: Option<String>,
}

/// The text of an entry, without passwords.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Operation {
    pub(crate) text: String,
    /// Bytes of the whole text where it was cut.
    pub(crate) cut_of: Option<usize>,
    /// True if it is a statement, which names what it is about.
    pub(crate) is_statement: bool,
}

impl Operation {
    /// A statement. A long one is cut, and says so.
    pub fn statement(text: &str, planted: Planted) -> Operation {
        let cut_of = (text.len() > TEXT_BYTES_MAX).then_some(text.len());
        // Cut first: of the beginning of a text no password is missed, and a redaction's time is bounded.
        let shown = beginning(text);
        let text = match planted.is(Bug::PasswordInAudit) {
            true => shown.to_owned(),
            false => redact(shown).into_owned(),
        };
        Operation { text, cut_of, is_statement: true }
    }

    /// A text of our own, which is no statement.
    pub fn told(text: impl Into<String>) -> Operation {
        Operation { text: text.into(), cut_of: None, is_statement: false }
    }

    /// A message about a statement, such as a syntax error, without the statement's passwords.
    pub fn message(message: &str, statement: &str, planted: Planted) -> String {
        let message = beginning(message);
        if planted.is(Bug::PasswordInAudit) {
            return message.to_owned();
        }
        // Of a long statement the passwords are not looked for, and what quotes nothing has none.
        match statement.len() > TEXT_BYTES_MAX && message.contains(QUOTES) {
            true => format!("a message about a statement of {} bytes, left out", statement.len()),
            false => redact_message(message, beginning(statement)),
        }
    }
}

/// The beginning of a text: whole characters, [`TEXT_BYTES_MAX`] bytes at most.
fn beginning(text: &str) -> &str {
    let end = (0..=TEXT_BYTES_MAX.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

impl Entry {
    /// The text of its operation.
    pub fn text(&self) -> &str {
        &self.operation.text
    }

    /// Its part of the queue, bytes.
    pub(crate) fn weight(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        WEIGHT + self.user.len() + self.operation.text.len() + length(&self.keyspace) + length(&self.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line;

    fn planted() -> Planted {
        #[cfg(feature = "planted")]
        if let Ok(name) = std::env::var("HELENUS_PLANT") {
            return Planted::named(&name).expect("it is one of the list");
        }
        Planted::NONE
    }

    fn entry(text: &str, error: Option<&str>) -> Entry {
        Entry {
            kind: EntryType::RequestFailure,
            user: "ada".to_owned(),
            source: None,
            timestamp_ms: 0,
            keyspace: None,
            operation: Operation::statement(text, planted()),
            batch: None,
            prepared: None,
            error: error.map(|message| Operation::message(message, text, planted())),
        }
    }

    #[test]
    fn no_password_is_in_a_line() {
        let long = format!("/*{}*/ ALTER ROLE r WITH PASSWORD = 'tiger'", "x".repeat(TEXT_BYTES_MAX - 30));
        for (text, secret) in [
            ("CREATE ROLE r WITH PASSWORD = 'tiger' AND LOGIN = true", "'tiger'"),
            ("CREATE USER u WITH PASSWORD 'tiger' SUPERUSER", "'tiger'"),
            ("ALTER ROLE r WITH HASHED PASSWORD = '$2a$10$tiger'", "'$2a$10$tiger'"),
            ("ALTER ROLE r WITH PASSWORD = $$tiger$$", "tiger"),
            ("BEGIN BATCH ALTER USER u WITH PASSWORD 'tiger'; APPLY BATCH", "'tiger'"),
            ("CREATE ROLE r WITH PASSWORD = 'tiger", "'tiger"),
            (&long, "'tiger'"),
        ] {
            let error = format!("line 1:30 no viable alternative at input (...PASSWORD = [{secret}] AND)");
            let line = line::of(&entry(text, Some(&error)), "127.0.0.1:7000", None, None);
            assert!(!line.contains("tiger"), "{line}");
        }
    }

    #[test]
    fn a_long_text_is_cut_and_says_of_how_much() {
        let text = format!("SELECT '{}'", "é".repeat(TEXT_BYTES_MAX));
        let operation = Operation::statement(&text, Planted::NONE);
        assert!(operation.text.len() <= TEXT_BYTES_MAX && operation.cut_of == Some(text.len()));
        assert_eq!(Operation::statement("SELECT 1", Planted::NONE).cut_of, None);
    }
}
