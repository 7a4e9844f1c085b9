//! A connection within the process, as a client of the native port has it: version 4, one request at a time.

use std::io;
use std::os::unix::net;

use cql_protocol::response::ResponsePrefix;
use cql_protocol::{
    AuthResponse, DecodeError, FrameHeader, HEADER_LENGTH, HeaderError, Request, Response, Startup, Version,
};
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// The longest answer that is taken: what 100 rows have room for, with some to spare.
const REPLY_BYTES_MAX: u32 = 16 << 20;

/// Who the client says it is.
#[derive(Clone, Copy)]
pub(super) struct Login<'a> {
    pub(super) user: &'a str,
    pub(super) password: &'a str,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub(super) enum ConnectionError {
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    #[error("invalid CQL response: {0}")]
    Header(#[from] HeaderError),
    #[error("invalid CQL response: {0}")]
    Body(#[from] DecodeError),
    #[error(
        "the response has {length} bytes, the limit is {REPLY_BYTES_MAX}: select fewer columns or rows, or use a driver"
    )]
    TooLong { length: u32 },
    #[error("the server requires a user and a password")]
    LoginMissing,
    #[error("{0}")]
    LoginRefused(String),
    #[error("the server rejected the connection: {0}")]
    Refused(String),
    #[error("the server requires an authentication other than user and password")]
    LoginUnknown,
}

impl ConnectionError {
    /// What the console calls it; the codes of errors that the server sends are its own.
    pub(super) fn code(&self) -> &'static str {
        match self {
            ConnectionError::Io(_) | ConnectionError::Refused(_) => "Connection",
            ConnectionError::Header(_) | ConnectionError::Body(_) => "Protocol",
            ConnectionError::TooLong { .. } => "TooLong",
            ConnectionError::LoginMissing | ConnectionError::LoginRefused(_) | ConnectionError::LoginUnknown => "Login",
        }
    }

    /// Whether another user or password may help.
    pub(super) fn asks_login(&self) -> bool {
        matches!(self, ConnectionError::LoginMissing | ConnectionError::LoginRefused(_))
    }
}

/// An answer as it came.
pub(super) struct Reply {
    header: FrameHeader,
    body: Vec<u8>,
}

impl Reply {
    pub(super) fn response(&self) -> Result<(ResponsePrefix, Response<'_>), DecodeError> {
        Response::decode(&self.header, &self.body)
    }
}

/// A connection that was greeted and, if it had to be, logged in.
pub(super) struct Connection {
    stream: UnixStream,
}

impl Connection {
    pub(super) async fn open(native: net::UnixStream, login: Option<Login<'_>>) -> Result<Connection, ConnectionError> {
        native.set_nonblocking(true)?;
        let stream = UnixStream::from_std(native)?;
        let mut connection = Connection { stream };
        let mut buffer = Vec::new();
        let options = [("CQL_VERSION", "3.0.0"), ("DRIVER_NAME", "Helenus console")];
        let greeted = connection.ask(&Request::Startup(Startup::of(&options, &mut buffer))).await?;
        match greeted.response()?.1 {
            Response::Ready => Ok(connection),
            Response::Authenticate(_) => connection.log_in(login.ok_or(ConnectionError::LoginMissing)?).await,
            Response::Error(error) => Err(ConnectionError::Refused(error.message)),
            _ => Err(ConnectionError::Refused("unexpected kind of response".to_owned())),
        }
    }

    /// SASL's PLAIN, which Cassandra's authenticator by password takes.
    async fn log_in(mut self, login: Login<'_>) -> Result<Connection, ConnectionError> {
        let token = [b"\0", login.user.as_bytes(), b"\0", login.password.as_bytes()].concat();
        let answered = self.ask(&Request::AuthResponse(AuthResponse { token: Some(&token) })).await?;
        match answered.response()?.1 {
            Response::AuthSuccess(_) => Ok(self),
            Response::Error(error) => Err(ConnectionError::LoginRefused(error.message)),
            _ => Err(ConnectionError::LoginUnknown),
        }
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn ask(&mut self, request: &Request<'_>) -> Result<Reply, ConnectionError> {
        let mut frame = Vec::new();
        request.encode_frame(Version::V4, 0, &mut frame);
        self.stream.write_all(&frame).await?;
        let mut header = [0; HEADER_LENGTH];
        self.stream.read_exact(&mut header).await?;
        let header = FrameHeader::decode(&header)?;
        if header.length > REPLY_BYTES_MAX {
            return Err(ConnectionError::TooLong { length: header.length });
        }
        // Memory is taken as bytes come, not as the length says.
        let mut body = Vec::new();
        let length = u64::from(header.length);
        let read = (&mut self.stream).take(length).read_to_end(&mut body).await?;
        if (read as u64) < length {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        Ok(Reply { header, body })
    }
}
