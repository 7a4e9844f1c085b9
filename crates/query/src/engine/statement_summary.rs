//! What a request asked, for people: the statement's text and its keyspace. Looked up when a request is worth a line, never before.

use cql_protocol::FrameHeader;
use cql_protocol::request::{BatchQuery, Request};

use super::Engine;
use super::prepare::TEXT_NOW_BYTES_MAX;
use crate::Session;
use crate::plan::Plan;

/// The most of a statement that is told, characters.
const STATEMENT_CHARACTERS_MAX: usize = 200;

/// What a request asked. Values that were bound are not part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatementSummary {
    /// That of the statement's table, or else that of the session; empty if neither is known.
    pub keyspace: String,
    /// The statement, cut; of a batch how many they are, and the first. Empty if it is not known any more.
    pub statement: String,
}

impl Engine {
    /// What the request in a frame asks.
    #[cold]
    pub fn summary(&self, session: &Session, header: &FrameHeader, body: &[u8]) -> StatementSummary {
        match Request::decode(header, body) {
            Ok(Request::Query(request)) => summary_of_text(self, session, request.params.keyspace, request.text),
            Ok(Request::Prepare(request)) => summary_of_text(self, session, request.keyspace, request.text),
            Ok(Request::Execute(request)) => self.summary_by_id(session, request.id),
            Ok(Request::Batch(request)) => {
                let first = match request.statements().next().map(|statement| statement.query) {
                    Some(BatchQuery::Prepared(id)) => self.summary_by_id(session, id),
                    Some(BatchQuery::Text(text)) => summary_of_text(self, session, request.params.keyspace, text),
                    None => StatementSummary::default(),
                };
                let statement = shown(&format!("BATCH of {}: {}", request.len(), first.statement));
                StatementSummary { statement, ..first }
            }
            _ => StatementSummary::default(),
        }
    }

    /// The whole text of a prepared statement, as it was prepared: with whatever password it has. `None`: it is not known any more.
    #[cold]
    pub fn prepared_text(&self, id: &[u8]) -> Option<Box<str>> {
        let id = <&[u8; 16]>::try_from(id).ok()?;
        self.inner.prepared.borrow_mut().get(id).map(|prepared| prepared.text.as_str().into())
    }

    /// What a prepared statement asks.
    #[cold]
    pub fn summary_by_id(&self, session: &Session, id: &[u8]) -> StatementSummary {
        let prepared = match <&[u8; 16]>::try_from(id) {
            Ok(id) => self.inner.prepared.borrow_mut().get(id).cloned(),
            Err(_) => None,
        };
        let Some(prepared) = prepared else {
            return StatementSummary { keyspace: of_session(session), ..StatementSummary::default() };
        };
        let keyspace = prepared.plan.keyspace().or(prepared.keyspace.as_deref());
        StatementSummary {
            keyspace: keyspace.map_or_else(|| of_session(session), str::to_owned),
            statement: shown(&prepared.text),
        }
    }
}

fn summary_of_text(engine: &Engine, session: &Session, keyspace: Option<&str>, text: &str) -> StatementSummary {
    let of_session = of_session(session);
    let keyspace = keyspace.or(Some(of_session.as_str()).filter(|keyspace| !keyspace.is_empty()));
    // A longer text would take long to plan.
    let plan = (text.len() <= TEXT_NOW_BYTES_MAX).then(|| engine.plan_text(text, keyspace));
    let of_table = plan.as_ref().and_then(|plan| plan.as_ref().ok()).and_then(Plan::keyspace);
    StatementSummary { keyspace: of_table.or(keyspace).unwrap_or_default().to_owned(), statement: shown(text) }
}

impl Plan {
    /// The keyspace of the table that it is about.
    fn keyspace(&self) -> Option<&str> {
        self.table().map(|table| table.keyspace.as_str())
    }
}

fn of_session(session: &Session) -> String {
    session.keyspace().as_deref().unwrap_or_default().to_owned()
}

/// A text as it is shown: cut, and without what follows the word PASSWORD and the options of roles.
fn shown(text: &str) -> String {
    const SECRET: &str = "password";
    const HIDDEN: &str = " *******";
    // Cut first: of the beginning of a text no password is missed.
    let longest = text.len().min(STATEMENT_CHARACTERS_MAX * 4);
    let end = (0..=longest).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    let told = auth::redact(&text[..end]);
    let is_secret = |at: &usize| {
        let word = told.as_bytes().get(*at..*at + SECRET.len());
        word.is_some_and(|word| word.eq_ignore_ascii_case(SECRET.as_bytes()))
    };
    if let Some(at) = (0..told.len()).find(is_secret) {
        // ASCII letters stand there: both ends are ends of characters.
        return cut(&format!("{}{HIDDEN}", &told[..at + SECRET.len()]), false);
    }
    cut(&told, end < text.len())
}

/// `is_beginning`: there is more of it.
fn cut(text: &str, is_beginning: bool) -> String {
    if text.chars().nth(STATEMENT_CHARACTERS_MAX).is_none() && !is_beginning {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(STATEMENT_CHARACTERS_MAX - 1).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_statement_is_cut_between_characters() {
        let fits = "ü".repeat(STATEMENT_CHARACTERS_MAX);
        assert_eq!(shown(&fits), fits);
        let long = format!("{fits}x");
        assert_eq!(shown(&long).chars().count(), STATEMENT_CHARACTERS_MAX);
        assert!(shown(&long).ends_with("ü…"));
    }

    #[test]
    fn passwords_are_not_told() {
        let hidden = shown("CREATE ROLE r WITH Password = 'secret' AND LOGIN = true");
        assert_eq!(hidden, "CREATE ROLE r WITH Password *******");
        let late = shown(&format!("ALTER ROLE r WITH OPTIONS = {{}} {} PASSWORD = 'secret'", "x".repeat(190)));
        assert!(!late.contains("secret"));
        let options = format!("ALTER ROLE r WITH OPTIONS = {{'pwd': '{}'}}", "secret".repeat(200));
        assert_eq!(shown(&options), "ALTER ROLE r WITH OPTIONS = '*******'…");
        assert_eq!(shown("ALTER ROL r WITH OPTIONS = {'a': 'x'}"), "ALTER ROL r WITH OPTIONS = '*******'");
    }
}
