//! One connection to a server, over which writes go many at a time.

use std::collections::HashMap;
use std::net::SocketAddr;

use client::Access;
use cql_protocol::segment::{self, Codec, Decoded};
use cql_protocol::{
    AuthResponse, Consistency, Execute, FrameHeader, HEADER_LENGTH, Prepare, Query, QueryParams, Request, Response,
    ResultBody, Startup, ValuesBuffer, Version,
};
use runtime::Runtime;
use tls::ClientStream;

use crate::error::ToolError;

/// Whose `now` can be told with a request, so that what expires does so at the same second as before.
const VERSION: Version = Version::V5;
/// Writes that are sent before any answer is waited for.
const WINDOW: u16 = 128;
const READ_BYTES: usize = 64 << 10;

/// A statement with its values.
pub(super) struct Write {
    /// The statement's text.
    pub text: String,
    /// Values for its markers; `None` is null.
    pub values: Vec<Option<Vec<u8>>>,
    /// Its timestamp, microseconds.
    pub timestamp: i64,
    /// The second at which it is said to be done: of it and of the ttl the second of expiry is made.
    pub now_in_seconds: i32,
    /// Whether all that was sent before must have been done: what appends to lists.
    pub is_ordered: bool,
}

/// A connection, the statements that were prepared over it, and what was sent and not answered.
pub(super) struct Connection {
    stream: ClientStream,
    address: SocketAddr,
    prepared: HashMap<String, (Vec<u8>, Vec<u8>), std::hash::BuildHasherDefault<std::hash::DefaultHasher>>,
    segments: Vec<u8>,
    frames: Vec<u8>,
    outgoing: Vec<u8>,
    in_flight: u16,
    is_begun: bool,
}

impl Connection {
    /// Connects, begins, and logs in if the server asks for it.
    pub(super) async fn open(runtime: &Runtime, address: SocketAddr, access: &Access) -> Result<Connection, ToolError> {
        let stream = ClientStream::connect(runtime, address, access.tls.as_ref()).await;
        let stream = stream.map_err(|source| ToolError::Connection { address, source })?;
        let mut connection = Connection {
            stream,
            address,
            prepared: HashMap::default(),
            segments: Vec::new(),
            frames: Vec::new(),
            outgoing: Vec::new(),
            in_flight: 0,
            is_begun: false,
        };
        let mut buffer = Vec::new();
        let startup = Startup::of(&[("CQL_VERSION", "3.0.0"), ("DRIVER_NAME", "helenus sstable")], &mut buffer);
        let (header, body) = connection.call(&Request::Startup(startup)).await?;
        connection.is_begun = true;
        match connection.response(&header, &body)? {
            Response::Ready => {}
            Response::Authenticate(_) => connection.log_in(access).await?,
            Response::Error(error) => return Err(connection.refused("STARTUP", error.to_string())),
            _ => return Err(connection.refused("STARTUP", format!("{:?}", header.opcode))),
        }
        Ok(connection)
    }

    async fn log_in(&mut self, access: &Access) -> Result<(), ToolError> {
        let Some(login) = &access.login else {
            return Err(self.refused("STARTUP", "it requires a login: set --username and --password-file".to_owned()));
        };
        let token = login.sasl_plain();
        let (header, body) = self.call(&Request::AuthResponse(AuthResponse { token: Some(&token) })).await?;
        match self.response(&header, &body)? {
            Response::AuthSuccess(_) => Ok(()),
            Response::Error(error) => Err(self.refused("the login", error.to_string())),
            _ => Err(self.refused("the login", format!("{:?}", header.opcode))),
        }
    }

    /// Asks for rows; each value's bytes.
    pub(super) async fn rows(&mut self, text: &str) -> Result<Vec<Vec<Option<Vec<u8>>>>, ToolError> {
        let params = QueryParams::new(Consistency::One);
        let (header, body) = self.call(&Request::Query(Query { text, params })).await?;
        let response = self.response(&header, &body)?;
        match response {
            Response::Result(ResultBody::Rows(rows)) => {
                Ok(rows.iter().map(|row| row.map(|value| value.map(<[u8]>::to_vec)).collect()).collect())
            }
            Response::Error(error) => Err(self.refused(text, error.to_string())),
            other => Err(self.refused(text, format!("{other:?}"))),
        }
    }

    /// Sends a write; waits for the answers when there are many.
    pub(super) async fn write(&mut self, write: &Write) -> Result<(), ToolError> {
        if write.is_ordered {
            self.settle().await?;
        }
        if !self.prepared.contains_key(&write.text) {
            self.settle().await?;
            self.prepare(&write.text).await?;
        }
        let (id, metadata) = &self.prepared[&write.text];
        let mut values = ValuesBuffer::new();
        for value in &write.values {
            let value = value.as_deref().map_or(cql_protocol::Value::Null, cql_protocol::Value::Bytes);
            let pushed = values.push(value);
            pushed.map_err(|_| ToolError::Refused {
                address: self.address,
                request: write.text.clone(),
                reason: "too many values".into(),
            })?;
        }
        let params = QueryParams {
            values: values.values(),
            timestamp: Some(write.timestamp),
            now_in_seconds: Some(write.now_in_seconds),
            ..QueryParams::new(Consistency::One)
        };
        let execute = Execute { id, result_metadata_id: Some(metadata), params };
        let mut frame = Vec::new();
        Request::Execute(execute).encode_frame(VERSION, self.in_flight.cast_signed(), &mut frame);
        segment::encode_frames(&frame, Codec::Plain, &mut self.outgoing);
        self.in_flight += 1;
        if self.in_flight == WINDOW || write.is_ordered {
            self.settle().await?;
        }
        Ok(())
    }

    /// Waits until all that was sent is answered. The first refusal is the error.
    pub(super) async fn settle(&mut self) -> Result<(), ToolError> {
        self.flush().await?;
        while self.in_flight > 0 {
            let (header, body) = self.receive().await?;
            self.in_flight -= 1;
            if let Response::Error(error) = self.response(&header, &body)? {
                return Err(self.refused("a write", error.to_string()));
            }
        }
        Ok(())
    }

    async fn prepare(&mut self, text: &str) -> Result<(), ToolError> {
        let (header, body) = self.call(&Request::Prepare(Prepare { text, keyspace: None })).await?;
        match self.response(&header, &body)? {
            Response::Result(ResultBody::Prepared(prepared)) => {
                let metadata = prepared.result_metadata_id.unwrap_or_default();
                self.prepared.insert(text.to_owned(), (prepared.id, metadata));
                Ok(())
            }
            Response::Error(error) => Err(self.refused(text, error.to_string())),
            other => Err(self.refused(text, format!("{other:?}"))),
        }
    }

    async fn call(&mut self, request: &Request<'_>) -> Result<(FrameHeader, Vec<u8>), ToolError> {
        let mut frame = Vec::new();
        request.encode_frame(VERSION, 0, &mut frame);
        match self.is_begun {
            true => segment::encode_frames(&frame, Codec::Plain, &mut self.outgoing),
            false => self.outgoing.extend_from_slice(&frame),
        }
        self.flush().await?;
        self.receive().await
    }

    async fn flush(&mut self) -> Result<(), ToolError> {
        let (result, mut buffer) = self.stream.write_all(std::mem::take(&mut self.outgoing)).await;
        buffer.clear();
        self.outgoing = buffer;
        result.map_err(|source| ToolError::Connection { address: self.address, source })
    }

    async fn receive(&mut self) -> Result<(FrameHeader, Vec<u8>), ToolError> {
        loop {
            if let Some(head) = self.frames.first_chunk::<HEADER_LENGTH>() {
                let header = FrameHeader::decode(head).map_err(|error| self.refused("a request", error.to_string()))?;
                let end = HEADER_LENGTH + header.length as usize;
                if self.frames.len() >= end {
                    let body = self.frames[HEADER_LENGTH..end].to_vec();
                    self.frames.drain(..end);
                    return Ok((header, body));
                }
            }
            let (result, bytes) = self.stream.read(Vec::with_capacity(READ_BYTES)).await;
            let count = result.map_err(|source| ToolError::Connection { address: self.address, source })?;
            if count == 0 {
                let source = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
                return Err(ToolError::Connection { address: self.address, source });
            }
            // Segments begin behind the answer to STARTUP.
            if !self.is_begun {
                self.frames.extend_from_slice(&bytes);
                continue;
            }
            self.segments.extend_from_slice(&bytes);
            loop {
                let decoded = segment::decode(&self.segments, Codec::Plain, &mut self.frames);
                match decoded.map_err(|error| self.refused("a request", error.to_string()))? {
                    Decoded::Segment { used, .. } => self.segments.drain(..used),
                    _ => break,
                };
            }
        }
    }

    fn response<'b>(&self, header: &FrameHeader, body: &'b [u8]) -> Result<Response<'b>, ToolError> {
        let decoded = Response::decode(header, body);
        decoded.map(|(_, response)| response).map_err(|error| self.refused("a request", error.to_string()))
    }

    fn refused(&self, request: &str, reason: String) -> ToolError {
        ToolError::Refused { address: self.address, request: request.to_owned(), reason }
    }
}
