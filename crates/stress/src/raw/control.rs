//! One request after another: what comes before the load.

use std::net::SocketAddr;
use std::time::Duration;

use client::Login;
use cql_protocol::{
    AuthResponse, Consistency, FrameHeader, HEADER_LENGTH, HeaderError, Prepare, Query, QueryParams, Request, Response,
    ResultBody, Startup, Version,
};
use runtime::Runtime;

use crate::StressError;
use crate::raw::arguments::Arguments;
use crate::raw::template::Statement;
use crate::raw::wire::{self, Receiver, Sender, whole_frame};

/// A connection that has begun.
pub(crate) struct Control {
    runtime: Runtime,
    silence_max: Duration,
    sender: Sender,
    receiver: Receiver,
    version: Version,
}

impl Control {
    /// Connects to a node and begins.
    pub(crate) async fn open(
        runtime: &Runtime,
        arguments: &Arguments,
        node: SocketAddr,
    ) -> Result<Control, StressError> {
        let (version, silence_max) = (arguments.protocol, arguments.silence_max);
        let (sender, receiver) = wire::connect(runtime, node, arguments.access.tls.as_ref()).await?;
        let mut control = Control { runtime: runtime.clone(), silence_max, sender, receiver, version };
        let mut buffer = Vec::new();
        let startup = Startup::of(&[("CQL_VERSION", "3.0.0"), ("DRIVER_NAME", "helenus stress")], &mut buffer);
        match control.call("STARTUP", &Request::Startup(startup)).await? {
            Reply::Ready => control.receiver.began(version),
            Reply::Authenticate(authenticator) => {
                // The answer is outside of version 5's segments, and what follows it within.
                control.receiver.began(version);
                let login = arguments.access.login.as_ref();
                control.log_in(login.ok_or(StressError::Authentication { authenticator })?).await?;
            }
            other => return Err(control.unexpected("STARTUP", &other)),
        }
        Ok(control)
    }

    async fn log_in(&mut self, login: &Login) -> Result<(), StressError> {
        let token = login.sasl_plain();
        match self.call("the login", &Request::AuthResponse(AuthResponse { token: Some(&token) })).await? {
            Reply::LoggedIn => Ok(()),
            other => Err(self.unexpected("AUTH_RESPONSE", &other)),
        }
    }

    /// Runs a statement that gives no rows.
    pub(crate) async fn execute(&mut self, text: &str) -> Result<(), StressError> {
        let params = QueryParams::new(Consistency::One);
        match self.call(text, &Request::Query(Query { text, params })).await? {
            Reply::Done => Ok(()),
            other => Err(self.unexpected(text, &other)),
        }
    }

    /// The version of the node's schema.
    pub(crate) async fn schema_version(&mut self) -> Result<Vec<u8>, StressError> {
        let text = "SELECT schema_version FROM system.local";
        let params = QueryParams::new(Consistency::One);
        match self.call(text, &Request::Query(Query { text, params })).await? {
            Reply::Page { first: Some(version), .. } => Ok(version),
            other => Err(self.unexpected(text, &other)),
        }
    }

    /// Asks for a page of a statement's rows: how many there are, and where the next page begins.
    pub(crate) async fn page(
        &mut self,
        text: &str,
        level: Consistency,
        rows: u32,
        paging_state: Option<&[u8]>,
    ) -> Result<(u64, Option<Vec<u8>>), StressError> {
        let params = QueryParams { page_size: Some(rows as i32), paging_state, ..QueryParams::new(level) };
        match self.call(text, &Request::Query(Query { text, params })).await? {
            Reply::Page { rows, next, .. } => Ok((rows, next)),
            other => Err(self.unexpected(text, &other)),
        }
    }

    /// Prepares a statement.
    pub(crate) async fn prepare(&mut self, text: &str) -> Result<Statement, StressError> {
        match self.call(text, &Request::Prepare(Prepare { text, keyspace: None })).await? {
            Reply::Prepared(statement) => Ok(statement),
            other => Err(self.unexpected(text, &other)),
        }
    }

    /// The node's address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.receiver.address
    }

    /// The connection, to be used for load.
    pub(crate) fn into_ends(self) -> (Sender, Receiver) {
        (self.sender, self.receiver)
    }

    fn unexpected(&self, request: &str, reply: &Reply) -> StressError {
        StressError::Malformed {
            address: self.receiver.address,
            reason: format!("unexpected reply to {request}: {reply:?}"),
        }
    }

    /// Sends a request and waits for its reply.
    async fn call(&mut self, what: &str, request: &Request<'_>) -> Result<Reply, StressError> {
        let (address, version) = (self.receiver.address, self.version);
        self.sender.send(|out| request.encode_frame(version, 0, out));
        loop {
            let received = self.runtime.timeout(self.silence_max, self.receiver.receive(1)).await;
            let bytes = received.map_err(|_| StressError::Silent { address, time: self.silence_max })??;
            let Some(length) = whole_frame(bytes, address)? else {
                continue;
            };
            let reply = decode(&bytes[..length], address)?;
            self.receiver.consume(length);
            return match reply {
                Reply::Error(error) => Err(StressError::Refused { request: what.to_owned(), error }),
                reply => Ok(reply),
            };
        }
    }
}

/// A reply, as far as it matters here.
#[derive(Debug)]
enum Reply {
    Ready,
    Authenticate(String),
    LoggedIn,
    Done,
    Prepared(Statement),
    Page {
        rows: u64,
        next: Option<Vec<u8>>,
        /// The first value of the first row.
        first: Option<Vec<u8>>,
    },
    Error(cql_protocol::ErrorBody),
    Other,
}

fn decode(frame: &[u8], address: SocketAddr) -> Result<Reply, StressError> {
    let (head, body) = frame.split_first_chunk::<HEADER_LENGTH>().expect("a whole frame has a header");
    let malformed = |error: HeaderError| StressError::Malformed { address, reason: error.to_string() };
    let header = FrameHeader::decode(head).map_err(malformed)?;
    let (_, response) = Response::decode(&header, body).map_err(|error| StressError::malformed(address, &error))?;
    Ok(match response {
        Response::Ready => Reply::Ready,
        Response::Authenticate(authenticator) => Reply::Authenticate(authenticator.to_owned()),
        Response::AuthSuccess(_) => Reply::LoggedIn,
        Response::Error(error) => Reply::Error(error),
        Response::Result(ResultBody::Prepared(prepared)) => Reply::Prepared(Statement {
            id: prepared.id,
            result_metadata_id: prepared.result_metadata_id.unwrap_or_default(),
            markers: prepared.markers.into_iter().map(|marker| marker.ty).collect(),
        }),
        Response::Result(ResultBody::Rows(rows)) => {
            let first = rows.iter().next().and_then(|mut row| row.next().flatten());
            let (next, first) = (rows.paging_state.map(<[u8]>::to_vec), first.map(<[u8]>::to_vec));
            Reply::Page { rows: rows.row_count as u64, next, first }
        }
        Response::Result(_) => Reply::Done,
        _ => Reply::Other,
    })
}
