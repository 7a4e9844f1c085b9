//! One connection to a server, over which writes go many at a time.

use std::collections::HashMap;
use std::net::SocketAddr;

use client::Access;
use cql_client::{Dialog, DialogError, Reply, Step};
use cql_protocol::{
    Consistency, Execute, Flags, Prepare, Query, QueryParams, Request, Response, ResultBody, ValuesBuffer, Version,
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
    dialog: Dialog,
    in_flight: u16,
}

impl Connection {
    /// Connects, begins, and logs in if the server asks for it.
    pub(super) async fn open(runtime: &Runtime, address: SocketAddr, access: &Access) -> Result<Connection, ToolError> {
        let stream = ClientStream::connect(runtime, address, access.tls.as_ref()).await;
        let stream = stream.map_err(|source| ToolError::Connection { address, source })?;
        let mut connection =
            Connection { stream, address, prepared: HashMap::default(), dialog: Dialog::new(VERSION), in_flight: 0 };
        connection.dialog.greet("helenus sstable");
        loop {
            connection.flush().await?;
            let reply = connection.receive().await?;
            match connection.dialog.greeted(&reply, access.login.as_ref()) {
                Ok(Step::Ready) => return Ok(connection),
                Ok(Step::Send) => {}
                Err(DialogError::LoginRequired { .. }) => {
                    let reason = "it requires a login: set --username and --password-file".to_owned();
                    return Err(connection.refused("STARTUP", reason));
                }
                Err(error) => return Err(connection.refused("STARTUP", error.to_string())),
            }
        }
    }

    /// Asks for rows; each value's bytes.
    pub(super) async fn rows(&mut self, text: &str) -> Result<Vec<Vec<Option<Vec<u8>>>>, ToolError> {
        let params = QueryParams::new(Consistency::One);
        let reply = self.call(&Request::Query(Query { text, params })).await?;
        match self.response(&reply)? {
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
        self.dialog.request(&Request::Execute(execute), self.in_flight.cast_signed(), Flags::NONE);
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
            let reply = self.receive().await?;
            self.in_flight -= 1;
            if let Response::Error(error) = self.response(&reply)? {
                return Err(self.refused("a write", error.to_string()));
            }
        }
        Ok(())
    }

    async fn prepare(&mut self, text: &str) -> Result<(), ToolError> {
        let reply = self.call(&Request::Prepare(Prepare { text, keyspace: None })).await?;
        match self.response(&reply)? {
            Response::Result(ResultBody::Prepared(prepared)) => {
                let metadata = prepared.result_metadata_id.unwrap_or_default();
                self.prepared.insert(text.to_owned(), (prepared.id, metadata));
                Ok(())
            }
            Response::Error(error) => Err(self.refused(text, error.to_string())),
            other => Err(self.refused(text, format!("{other:?}"))),
        }
    }

    async fn call(&mut self, request: &Request<'_>) -> Result<Reply, ToolError> {
        self.dialog.request(request, 0, Flags::NONE);
        self.flush().await?;
        self.receive().await
    }

    async fn flush(&mut self) -> Result<(), ToolError> {
        let (result, _) = self.stream.write_all(self.dialog.take_outgoing()).await;
        result.map_err(|source| ToolError::Connection { address: self.address, source })
    }

    async fn receive(&mut self) -> Result<Reply, ToolError> {
        loop {
            let next = self.dialog.next_reply();
            if let Some(reply) = next.map_err(|error| self.refused("a request", error.to_string()))? {
                return Ok(reply);
            }
            let (result, bytes) = self.stream.read(Vec::with_capacity(READ_BYTES)).await;
            let count = result.map_err(|source| ToolError::Connection { address: self.address, source })?;
            if count == 0 {
                let source = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
                return Err(ToolError::Connection { address: self.address, source });
            }
            let received = self.dialog.received(&bytes);
            received.map_err(|error| self.refused("a request", error.to_string()))?;
        }
    }

    fn response<'b>(&self, reply: &'b Reply) -> Result<Response<'b>, ToolError> {
        let decoded = reply.decode();
        decoded.map(|(_, response)| response).map_err(|error| self.refused("a request", error.to_string()))
    }

    fn refused(&self, request: &str, reason: String) -> ToolError {
        ToolError::Refused { address: self.address, request: request.to_owned(), reason }
    }
}
