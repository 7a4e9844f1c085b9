//! A statement of the console, run over a connection within the process as any client would run it.
//!
//! No port is needed, so it is no matter if those speak TLS alone. The admin thread sees neither tables nor roles: what a client may not do, the console may not. One connection per statement, so that there is nothing
//! to keep, and nothing left behind by a page that was closed.

mod cells;
mod connection;

use std::os::unix::net::UnixStream;
use std::time::Duration;

use cql_protocol::response::{DecodedSpec, RowValues};
use cql_protocol::{Consistency, Query, QueryParams, Request, Response, ResultBody, Rows, SchemaChange, SchemaTarget};
use login::Ticket;
use serde_json::{Map, Value, json};

use connection::{Connection, ConnectionError, Login};

/// The longest statement.
const STATEMENT_BYTES_MAX: usize = 64 << 10;
/// Rows of a page.
const PAGE_ROWS: i32 = 100;
/// The longest time of a statement, its login included.
const TIME_MAX: Duration = Duration::from_secs(10);

/// What the console asks. It may hold a password: there is no `Debug`.
#[derive(Default)]
pub(crate) struct Asked {
    statement: String,
    keyspace: Option<String>,
    /// Where the page begins, as the answer before said.
    page: Option<Vec<u8>>,
    user: Option<String>,
    password: Option<String>,
}

impl Asked {
    /// Reads a request's body; the error is a sentence.
    pub(crate) fn read(body: &[u8]) -> Result<Asked, String> {
        let body: Value = serde_json::from_slice(body).map_err(|error| format!("the body is not JSON: {error}"))?;
        let Value::Object(fields) = body else { return Err("the body is not a JSON object".to_owned()) };
        let mut asked = Asked::default();
        for (name, value) in fields {
            let text = match value {
                Value::String(text) => text,
                Value::Null => continue,
                _ => return Err(format!("'{name}' is not a string")),
            };
            match name.as_str() {
                "statement" => asked.statement = text,
                "keyspace" => asked.keyspace = Some(text).filter(|text| !text.is_empty()),
                "page" => {
                    asked.page = Some(bytes_of_hex(&text).ok_or("'page' is not a paging state of an earlier response")?)
                }
                "user" => asked.user = Some(text).filter(|text| !text.is_empty()),
                "password" => asked.password = Some(text),
                _ => return Err(format!("unknown member '{name}'")),
            }
        }
        match asked.statement.len() {
            0 => Err("the statement is missing".to_owned()),
            1..=STATEMENT_BYTES_MAX => Ok(asked),
            length => Err(format!("the statement has {length} bytes; the limit is {STATEMENT_BYTES_MAX}")),
        }
    }

    /// True if a user was typed in.
    pub(crate) fn has_login(&self) -> bool {
        self.user.is_some()
    }

    /// The same, and the statement runs as the ticket's role.
    pub(crate) fn with_ticket(self, ticket: &Ticket) -> Asked {
        Asked { user: Some(ticket.role.clone()), password: Some(ticket.password()), ..self }
    }

    fn login(&self) -> Option<Login<'_>> {
        Some(Login { user: self.user.as_deref()?, password: self.password.as_deref().unwrap_or_default() })
    }
}

/// Runs the statement. What goes wrong with it is an answer too.
pub(crate) async fn run(native: UnixStream, asked: &Asked) -> Value {
    match tokio::time::timeout(TIME_MAX, try_run(native, asked)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => failed(error.code(), &error.to_string(), error.asks_login()),
        Err(_) => {
            let seconds = TIME_MAX.as_secs();
            failed("Timeout", &format!("no response within {seconds} s; statement outcome unknown"), false)
        }
    }
}

async fn try_run(native: UnixStream, asked: &Asked) -> Result<Value, ConnectionError> {
    let mut connection = Connection::open(native, asked.login()).await?;
    if let Some(keyspace) = &asked.keyspace {
        let text = format!("USE \"{}\"", keyspace.replace('"', "\"\""));
        let used = connection.ask(&Request::Query(Query { text: &text, params: params(None) })).await?;
        if let (prefix, Response::Error(error)) = used.response()? {
            return Ok(told(&prefix.warnings, &Response::Error(error)));
        }
    }
    let params = params(asked.page.as_deref());
    let reply = connection.ask(&Request::Query(Query { text: &asked.statement, params })).await?;
    let (prefix, response) = reply.response()?;
    Ok(told(&prefix.warnings, &response))
}

fn params(page: Option<&[u8]>) -> QueryParams<'_> {
    QueryParams { page_size: Some(PAGE_ROWS), paging_state: page, ..QueryParams::new(Consistency::One) }
}

/// An answer in which all is there and says nothing.
fn nothing() -> Map<String, Value> {
    let empty = json!({
        "columns": [], "rows": [], "more": false, "page": null, "keyspace": null, "done": null, "warnings": [],
        "error": null,
    });
    match empty {
        Value::Object(fields) => fields,
        _ => unreachable!("it was written as an object"),
    }
}

fn failed(code: &str, message: &str, asks_login: bool) -> Value {
    let mut fields = nothing();
    fields.insert("error".to_owned(), json!({"code": code, "message": message, "asks_login": asks_login}));
    fields.into()
}

fn told(warnings: &[String], response: &Response<'_>) -> Value {
    let mut fields = nothing();
    let mut say = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
    say("warnings", warnings.into());
    match response {
        Response::Error(error) => {
            let code = format!("{:?}", error.code());
            say("error", json!({"code": code, "message": error.message, "asks_login": false}));
        }
        Response::Result(ResultBody::Void) => say("done", "done".into()),
        Response::Result(ResultBody::SetKeyspace(keyspace)) => {
            say("keyspace", (*keyspace).into());
            say("done", format!("using keyspace {keyspace}").into());
        }
        Response::Result(ResultBody::SchemaChange(change)) => say("done", changed(change).into()),
        Response::Result(ResultBody::Rows(rows)) => {
            let column = |name: &str, ty: String| json!({"name": name, "type": ty});
            let columns = rows.columns.iter().map(|spec| column(&spec.name, cells::type_name(&spec.ty)));
            say("columns", columns.collect());
            say("rows", rows_of(rows));
            say("more", rows.paging_state.is_some().into());
            say("page", rows.paging_state.map(hex_of_bytes).into());
        }
        _ => say("error", json!({"code": "Protocol", "message": "unexpected kind of response", "asks_login": false})),
    }
    fields.into()
}

fn rows_of(rows: &Rows<'_>) -> Value {
    let mut room = cells::Room::default();
    let row = |values: RowValues<'_>| -> Value {
        let pairs = rows.columns.iter().zip(values);
        let shown = |(column, value): (&DecodedSpec, Option<&[u8]>)| {
            Value::from(value.map(|value| cells::shown(&column.ty, value, &mut room)))
        };
        pairs.map(shown).collect()
    };
    rows.iter().map(row).collect()
}

/// `created table k.t`.
fn changed(change: &SchemaChange) -> String {
    let kind = format!("{:?}", change.kind).to_lowercase();
    let keyspace = &change.keyspace;
    match &change.target {
        SchemaTarget::Keyspace => format!("{kind} keyspace {keyspace}"),
        SchemaTarget::Table { name } => format!("{kind} table {keyspace}.{name}"),
        SchemaTarget::Type { name } => format!("{kind} type {keyspace}.{name}"),
        SchemaTarget::Function { name, .. } => format!("{kind} function {keyspace}.{name}"),
        SchemaTarget::Aggregate { name, .. } => format!("{kind} aggregate {keyspace}.{name}"),
    }
}

fn hex_of_bytes(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pair = |pair: &[u8]| Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8);
    text.as_bytes().chunks_exact(2).map(pair).collect()
}

#[cfg(test)]
mod tests;
