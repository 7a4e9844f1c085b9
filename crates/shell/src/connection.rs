//! One connection to a server, with a socket that blocks.
//!
//! A shell waits for its user or for its server and does nothing beside that, so it needs no runtime: a reader of lines that blocks would stop one. A request has a stream of its own; the
//! answer to one that was given up is dropped when it comes. While it waits the connection looks for Ctrl-C ten times a second.

mod interrupts;
mod socket;

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use client::Access;
use cql_client::{Dialog, DialogError, Reply, Step};
use cql_protocol::response::ResponsePrefix;
use cql_protocol::{ErrorKind, Flags, Request, Response, Version};

use crate::error::{CallError, ConnectError, server_error};
pub(crate) use interrupts::Interrupts;
use socket::Stream;
pub(crate) use socket::Target;

const READ_BYTES: usize = 64 << 10;
/// A read waits so long before it looks for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(100);
/// The highest stream; the next is the first again.
const STREAM_MAX: i16 = i16::MAX;

/// How a server is reached.
#[derive(Clone)]
pub(crate) struct Way {
    pub(crate) target: Target,
    pub(crate) access: Access,
    pub(crate) connect_timeout: Duration,
    pub(crate) request_timeout: Duration,
    /// `None`: 5, or what the server has below that.
    pub(crate) version: Option<Version>,
    pub(crate) interrupts: Interrupts,
}

/// A connection that has logged in.
pub(crate) struct Connection {
    way: Way,
    stream: Stream,
    dialog: Dialog,
    next_stream: i16,
    buffer: Vec<u8>,
}

/// An answer that is no error.
pub(crate) struct Answer {
    reply: Reply,
    prefix: ResponsePrefix,
}

impl Answer {
    /// Warnings of the server.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.prefix.warnings
    }

    /// The id of the request's trace.
    pub(crate) fn tracing_id(&self) -> Option<[u8; 16]> {
        self.prefix.tracing_id
    }

    /// The message.
    pub(crate) fn response(&self) -> Result<Response<'_>, CallError> {
        let unexpected = |error: DialogError| CallError::Unexpected { reason: error.to_string() };
        self.reply.decode().map(|(_, response)| response).map_err(unexpected)
    }
}

impl Connection {
    /// Connects and logs in, in the highest version that both sides have.
    ///
    /// # Errors
    /// The server is not there, or refuses.
    pub(crate) fn open(way: &Way) -> Result<Connection, ConnectError> {
        let first = way.version.unwrap_or(Version::V5);
        match Connection::open_in(way, first) {
            Err(error) if error.is_version && way.version.is_none() => Connection::open_in(way, Version::V4),
            opened => opened,
        }
    }

    fn open_in(way: &Way, version: Version) -> Result<Connection, ConnectError> {
        let host = way.target.to_string();
        let stream = Stream::connect(&way.target, way.access.tls.as_ref(), way.connect_timeout)
            .map_err(ConnectError::io(&host))?;
        stream.set_timeouts(PATIENCE, way.connect_timeout).map_err(ConnectError::io(&host))?;
        let dialog = Dialog::new(version);
        let mut connection =
            Connection { way: way.clone(), stream, dialog, next_stream: 0, buffer: vec![0; READ_BYTES] };
        connection.dialog.greet("helenus cql");
        let deadline = Instant::now() + way.connect_timeout.max(Duration::from_secs(1));
        let failed = |error: CallError| match error {
            CallError::Lost { reason, .. } => ConnectError::io(&host)(std::io::Error::other(reason)),
            CallError::TimedOut { .. } => ConnectError::io(&host)(std::io::ErrorKind::TimedOut.into()),
            // A server of before answers in the version that it has.
            error => ConnectError { is_version: error.to_string().contains("version"), reason: error.to_string() },
        };
        loop {
            connection.flush().map_err(failed)?;
            let reply = connection.receive(Some(deadline)).map_err(failed)?;
            match connection.dialog.greeted(&reply, way.access.login.as_ref()) {
                Ok(Step::Ready) => {
                    let timeout = way.request_timeout.max(Duration::from_secs(1));
                    connection.stream.set_timeouts(PATIENCE, timeout).map_err(ConnectError::io(&host))?;
                    return Ok(connection);
                }
                Ok(Step::Send) => {}
                Err(DialogError::Refused(error)) => {
                    let is_version = matches!(error.kind, ErrorKind::ProtocolError);
                    let reason = match error.kind {
                        ErrorKind::BadCredentials => format!(
                            "Failed to authenticate to {host}: Error from server: code=0100 [Bad credentials] message=\"{}\"",
                            error.message
                        ),
                        _ => format!("{host} refused the connection: {}", server_error(&error)),
                    };
                    return Err(ConnectError { reason, is_version });
                }
                Err(error @ DialogError::LoginRequired { .. }) => {
                    let reason = format!("Failed to authenticate to {host}: {error}; give a user with -u");
                    return Err(ConnectError { reason, is_version: false });
                }
                Err(error) => return Err(ConnectError { reason: error.to_string(), is_version: false }),
            }
        }
    }

    /// How it was made.
    pub(crate) fn way(&self) -> &Way {
        &self.way
    }

    /// The protocol's version.
    pub(crate) fn version(&self) -> Version {
        self.dialog.version()
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// It has none in time, or one that says no.
    pub(crate) fn call(&mut self, request: &Request<'_>, flags: Flags) -> Result<Answer, CallError> {
        let stream = self.send(request, flags)?;
        let timeout = self.way.request_timeout;
        // No timeout is for ever, as in the driver.
        let deadline = (!timeout.is_zero()).then(|| Instant::now() + timeout);
        loop {
            let reply = self.receive(deadline)?;
            if reply.stream() == stream {
                return answer(reply);
            }
        }
    }

    /// Sends a request, whose answer is to be waited for with [`Connection::next_answer`]. Gives its stream.
    pub(crate) fn send(&mut self, request: &Request<'_>, flags: Flags) -> Result<i16, CallError> {
        let stream = self.next_stream;
        self.next_stream = if stream == STREAM_MAX { 0 } else { stream + 1 };
        self.dialog.request(request, stream, flags);
        self.flush()?;
        Ok(stream)
    }

    /// The next answer to any request, and its stream; an answer that says no is within.
    pub(crate) fn next_answer(&mut self) -> Result<(i16, Result<Answer, CallError>), CallError> {
        let timeout = self.way.request_timeout;
        let deadline = (!timeout.is_zero()).then(|| Instant::now() + timeout);
        let reply = self.receive(deadline)?;
        Ok((reply.stream(), answer(reply)))
    }

    fn flush(&mut self) -> Result<(), CallError> {
        let outgoing = self.dialog.take_outgoing();
        let written = self.stream.write_all(&outgoing).and_then(|()| self.stream.flush());
        written.map_err(|error| self.lost(&error.to_string()))
    }

    fn receive(&mut self, deadline: Option<Instant>) -> Result<Reply, CallError> {
        loop {
            let unexpected = |error: DialogError| CallError::Unexpected { reason: error.to_string() };
            if let Some(reply) = self.dialog.next_reply().map_err(unexpected)? {
                return Ok(reply);
            }
            match self.stream.read(&mut self.buffer) {
                Ok(0) => return Err(self.lost("the server closed it")),
                Ok(count) => self.dialog.received(&self.buffer[..count]).map_err(unexpected)?,
                Err(error) if is_pause(error.kind()) => {
                    if self.way.interrupts.take() {
                        return Err(CallError::Interrupted);
                    }
                    if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                        let seconds = self.way.request_timeout.as_secs();
                        return Err(CallError::TimedOut { host: self.way.target.to_string(), seconds });
                    }
                }
                Err(error) => return Err(self.lost(&error.to_string())),
            }
        }
    }

    fn lost(&self, reason: &str) -> CallError {
        CallError::Lost { host: self.way.target.to_string(), reason: reason.to_owned() }
    }
}

fn is_pause(kind: std::io::ErrorKind) -> bool {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(kind, WouldBlock | TimedOut | Interrupted)
}

fn answer(reply: Reply) -> Result<Answer, CallError> {
    let decoded = reply.decode();
    match decoded.map_err(|error| CallError::Unexpected { reason: error.to_string() })? {
        (_, Response::Error(error)) => Err(CallError::Server(error)),
        (prefix, _) => Ok(Answer { prefix, reply }),
    }
}
