//! The server as a session sees it: a connection that is made again when it was lost, and rows that were asked for.

use cql_protocol::response::DecodedSpec;
use cql_protocol::{Consistency, Flags, Query, QueryParams, Request, Response, ResultBody};

use crate::connection::{Answer, Connection, Way};
use crate::error::{CallError, ConnectError};

/// Rows of a page of what the shell asks for itself.
const PAGE_ROWS: i32 = 1000;

/// A server, and the keyspace of the connection.
pub(crate) struct Server {
    connection: Connection,
    is_lost: bool,
    keyspace: Option<String>,
    /// Schema changes that were made over it: what was learnt before them may not be so any more.
    pub(crate) schema_changes: u64,
}

/// Rows, whole.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) columns: Vec<DecodedSpec>,
    pub(crate) rows: Vec<Vec<Option<Vec<u8>>>>,
}

impl Found {
    fn place(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// A value's bytes.
    pub(crate) fn bytes(&self, row: usize, name: &str) -> Option<&[u8]> {
        self.rows.get(row)?.get(self.place(name)?)?.as_deref()
    }

    /// A text; empty for a null.
    pub(crate) fn text(&self, row: usize, name: &str) -> String {
        String::from_utf8_lossy(self.bytes(row, name).unwrap_or_default()).into_owned()
    }

    /// An int.
    pub(crate) fn int(&self, row: usize, name: &str) -> Option<i32> {
        self.bytes(row, name)?.try_into().ok().map(i32::from_be_bytes)
    }

    /// Adds the rows of a page.
    pub(crate) fn add(&mut self, page: &cql_protocol::Rows<'_>) {
        if self.columns.is_empty() {
            self.columns.clone_from(&page.columns);
        }
        self.rows.extend(page.iter().map(|row| row.map(|value| value.map(<[u8]>::to_vec)).collect::<Vec<_>>()));
    }
}

impl Server {
    /// Connects.
    pub(crate) fn open(way: &Way) -> Result<Server, ConnectError> {
        let connection = Connection::open(way)?;
        Ok(Server { connection, is_lost: false, keyspace: None, schema_changes: 0 })
    }

    /// The keyspace of the connection.
    pub(crate) fn keyspace(&self) -> Option<&str> {
        self.keyspace.as_deref()
    }

    /// How it is reached.
    pub(crate) fn way(&self) -> &Way {
        self.connection.way()
    }

    /// The connection, made again if it was lost.
    pub(crate) fn connection(&mut self) -> Result<&mut Connection, CallError> {
        if self.is_lost {
            let host = self.way().target.to_string();
            let reopened = Connection::open(self.connection.way());
            self.connection = reopened.map_err(|error| CallError::Lost { host, reason: error.reason })?;
            self.is_lost = false;
            if let Some(keyspace) = self.keyspace.clone() {
                self.enter(&keyspace)?;
            }
        }
        Ok(&mut self.connection)
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn call(&mut self, request: &Request<'_>, flags: Flags) -> Result<Answer, CallError> {
        let called = self.connection()?.call(request, flags);
        self.noted(called)
    }

    /// The outcome of a call, from which the next one knows whether there is a connection.
    pub(crate) fn noted<T>(&mut self, outcome: Result<T, CallError>) -> Result<T, CallError> {
        if matches!(outcome, Err(CallError::Lost { .. } | CallError::Unexpected { .. })) {
            self.is_lost = true;
        }
        outcome
    }

    /// Makes a keyspace that of the connection; its name as it is, without quotes.
    pub(crate) fn enter(&mut self, keyspace: &str) -> Result<(), CallError> {
        let text = format!("USE {}", cql_syntax::quote_identifier(keyspace));
        self.call(&Request::Query(Query { text: &text, params: QueryParams::new(Consistency::One) }), Flags::NONE)?;
        self.keyspace = Some(keyspace.to_owned());
        Ok(())
    }

    /// The server says that the connection's keyspace is another.
    pub(crate) fn entered(&mut self, keyspace: &str) {
        self.keyspace = Some(keyspace.to_owned());
    }

    /// Makes the keyspace that of the connection, if it has another. A connection has no way back to none, and none to a keyspace that is gone: the next request makes another connection then.
    pub(crate) fn return_to(&mut self, keyspace: Option<&str>) {
        if self.keyspace.as_deref() == keyspace {
            return;
        }
        let is_entered = keyspace.is_some_and(|keyspace| !self.is_lost && self.enter(keyspace).is_ok());
        self.keyspace = keyspace.map(str::to_owned);
        self.is_lost = !is_entered;
    }

    /// The rows of a statement, of all pages.
    pub(crate) fn rows(&mut self, text: &str, level: Consistency) -> Result<Found, CallError> {
        let mut found = Found::default();
        let mut state: Option<Vec<u8>> = None;
        loop {
            let params =
                QueryParams { page_size: Some(PAGE_ROWS), paging_state: state.as_deref(), ..QueryParams::new(level) };
            let answer = self.call(&Request::Query(Query { text, params }), Flags::NONE)?;
            let Response::Result(ResultBody::Rows(rows)) = answer.response()? else { return Ok(found) };
            found.add(&rows);
            state = rows.paging_state.map(<[u8]>::to_vec);
            if state.is_none() {
                return Ok(found);
            }
        }
    }
}
