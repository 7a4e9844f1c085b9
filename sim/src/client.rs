//! A connection that speaks CQL's native protocol, version 4, one request at a time. Every other one prepares the statements that have
//! values: what is prepared goes other ways through a node than a text.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use cql_protocol::request::{AuthResponse, Execute, Prepare};
use cql_protocol::{
    Batch, BatchBuilder, BatchKind, BatchQuery, Consistency, ErrorBody, Event, EventKinds, FrameHeader, HEADER_LENGTH,
    Query, QueryParams, Register, Request, Response, ResultBody, Startup, Value, ValuesBuffer, Version,
};
use runtime::{Runtime, TcpStream};

const VERSION: Version = Version::V4;

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The connection failed: whether the request was done is not known.
    #[error("connection failed: {0}")]
    Connection(#[from] std::io::Error),
    /// The connection ended: whether the request was done is not known.
    #[error("connection closed")]
    Closed,
    /// What came makes no sense.
    #[error("invalid response: {0}")]
    Malformed(String),
    /// The node said no.
    #[error("{:?}: {}", .0.code(), .0.message)]
    Refused(Box<ErrorBody>),
}

pub use histories::{Row, Statement};

/// The values of a statement's markers.
fn buffer_of(statement: &Statement) -> ValuesBuffer {
    let mut buffer = ValuesBuffer::new();
    for value in &statement.values {
        buffer.push(Value::Bytes(value)).expect("a statement has few markers");
    }
    buffer
}

/// A connection.
pub struct Client {
    /// The level of all that is asked.
    pub consistency: Consistency,
    /// The serial level of conditional statements; `None`: SERIAL, as nothing else is asked for.
    pub serial_consistency: Option<Consistency>,
    stream: TcpStream,
    arrived: Vec<u8>,
    stream_number: i16,
    /// The ids of what was prepared, by text; none if this connection sends texts.
    prepared: Option<BTreeMap<&'static str, Vec<u8>>>,
}

/// What a request was answered with.
#[derive(Default)]
struct Answer {
    rows: Vec<Row>,
    paging_state: Option<Vec<u8>>,
    prepared: Option<Vec<u8>>,
    is_schema_change: bool,
}

impl Client {
    /// Connects and begins.
    pub async fn connect(runtime: &Runtime, address: SocketAddr) -> Result<Client, ClientError> {
        let stream = runtime.connect(address).await?;
        let prepared = runtime.random_u64().is_multiple_of(2).then(BTreeMap::new);
        let mut client = Client {
            consistency: Consistency::One,
            serial_consistency: None,
            stream,
            arrived: Vec::new(),
            stream_number: 0,
            prepared,
        };
        let mut buffer = Vec::new();
        let startup = Startup::of(&[("CQL_VERSION", "3.0.0")], &mut buffer);
        client.call(&Request::Startup(startup)).await.map(|_| client)
    }

    /// Connects, and logs in by name and password where the node asks for them.
    pub async fn log_in(
        runtime: &Runtime,
        address: SocketAddr,
        name: &str,
        password: &str,
    ) -> Result<Client, ClientError> {
        let mut client = Client::connect(runtime, address).await?;
        let token = format!("\0{name}\0{password}");
        let response = AuthResponse { token: Some(token.as_bytes()) };
        client.call(&Request::AuthResponse(response)).await.map(|_| client)
    }

    /// Runs a statement without values.
    pub async fn execute(&mut self, text: &'static str) -> Result<Vec<Row>, ClientError> {
        self.run(&Statement { text, values: Vec::new() }, None).await
    }

    /// Runs a statement; at `timestamp`, microseconds since the epoch, if there is one.
    pub async fn run(&mut self, statement: &Statement, timestamp: Option<i64>) -> Result<Vec<Row>, ClientError> {
        let buffer = buffer_of(statement);
        let serial_consistency = self.serial_consistency;
        let values = buffer.values();
        let params = QueryParams { values, timestamp, serial_consistency, ..QueryParams::new(self.consistency) };
        self.ask(statement, params).await.map(|answer| answer.rows)
    }

    /// Runs a schema statement. True if the node says that the schema changed.
    pub async fn change(&mut self, text: &str) -> Result<bool, ClientError> {
        let params = QueryParams::new(self.consistency);
        self.call(&Request::Query(Query { text, params })).await.map(|answer| answer.is_schema_change)
    }

    /// Runs a text without values, which need not be known beforehand.
    pub async fn query(&mut self, text: &str) -> Result<Vec<Row>, ClientError> {
        let params = QueryParams::new(self.consistency);
        self.call(&Request::Query(Query { text, params })).await.map(|answer| answer.rows)
    }

    /// Sends a statement with its values, by its id or as text.
    async fn ask(&mut self, statement: &Statement, params: QueryParams<'_>) -> Result<Answer, ClientError> {
        match self.id(statement).await? {
            Some(id) => self.call(&Request::Execute(Execute { id: &id, result_metadata_id: None, params })).await,
            None => self.call(&Request::Query(Query { text: statement.text, params })).await,
        }
    }

    /// The id of a statement that is to be sent by it.
    async fn id(&mut self, statement: &Statement) -> Result<Option<Vec<u8>>, ClientError> {
        let Some(prepared) = self.prepared.as_ref().filter(|_| !statement.values.is_empty()) else { return Ok(None) };
        if let Some(id) = prepared.get(statement.text) {
            return Ok(Some(id.clone()));
        }
        let answer = self.call(&Request::Prepare(Prepare { text: statement.text, keyspace: None })).await?;
        let id = answer.prepared.ok_or_else(|| ClientError::Malformed("no id of a prepared statement".into()))?;
        if let Some(prepared) = &mut self.prepared {
            prepared.insert(statement.text, id.clone());
        }
        Ok(Some(id))
    }

    /// All rows of a statement without values, page by page.
    pub async fn rows(&mut self, text: &'static str, page_rows: i32) -> Result<Vec<Row>, ClientError> {
        self.pages(&Statement { text, values: Vec::new() }, page_rows).await
    }

    /// All rows of a statement, page by page.
    pub async fn pages(&mut self, statement: &Statement, page_rows: i32) -> Result<Vec<Row>, ClientError> {
        let buffer = buffer_of(statement);
        let mut all = Vec::new();
        let mut state: Option<Vec<u8>> = None;
        loop {
            let plain = QueryParams { values: buffer.values(), ..QueryParams::new(self.consistency) };
            let params = QueryParams { page_size: Some(page_rows), paging_state: state.as_deref(), ..plain };
            let Answer { rows, paging_state: next, .. } = self.ask(statement, params).await?;
            if rows.len() > usize::try_from(page_rows).unwrap_or(0) {
                return Err(ClientError::Malformed(format!("a page of {} rows, not {page_rows}", rows.len())));
            }
            all.extend(rows);
            match next {
                Some(next) => state = Some(next),
                None => return Ok(all),
            }
        }
    }

    /// Runs a batch.
    pub async fn batch(
        &mut self,
        kind: BatchKind,
        statements: &[Statement],
        timestamp: Option<i64>,
    ) -> Result<(), ClientError> {
        let mut builder = BatchBuilder::new();
        for statement in statements {
            let (id, buffer) = (self.id(statement).await?, buffer_of(statement));
            let query = id.as_deref().map_or(BatchQuery::Text(statement.text), BatchQuery::Prepared);
            builder.push(query, buffer.values()).expect("a batch has few statements");
        }
        let params = QueryParams { timestamp, ..QueryParams::new(self.consistency) };
        let batch: Batch<'_> = builder.batch(kind, params);
        self.call(&Request::Batch(batch)).await.map(drop)
    }

    /// Asks for events of nodes. Nothing else is to be asked on this connection from then on.
    pub async fn register(&mut self) -> Result<(), ClientError> {
        let events = EventKinds::TOPOLOGY_CHANGE.with(EventKinds::STATUS_CHANGE);
        self.call(&Request::Register(Register { events })).await.map(drop)
    }

    /// The next event of a connection that has registered.
    pub async fn event(&mut self) -> Result<Event, ClientError> {
        let frame = self.frame().await?;
        let malformed = |error: &dyn std::fmt::Display| ClientError::Malformed(error.to_string());
        let (head, body) = frame.split_first_chunk::<HEADER_LENGTH>().expect("a whole frame has a header");
        let header = FrameHeader::decode(head).map_err(|error| malformed(&error))?;
        match Response::decode(&header, body).map_err(|error| malformed(&error))? {
            (_, Response::Event(event)) => Ok(event),
            _ => Err(ClientError::Malformed("a reply where an event is due".to_owned())),
        }
    }

    async fn call(&mut self, request: &Request<'_>) -> Result<Answer, ClientError> {
        let mut out = Vec::new();
        self.stream_number = (self.stream_number + 1) % 128;
        request.encode_frame(VERSION, self.stream_number, &mut out);
        self.stream.write_all(out).await.0?;
        let frame = self.frame().await?;
        self.decode(&frame)
    }

    /// The next frame.
    async fn frame(&mut self) -> Result<Vec<u8>, ClientError> {
        let length = loop {
            if let Some([.., a, b, c, d]) = self.arrived.first_chunk::<HEADER_LENGTH>() {
                let length = HEADER_LENGTH + u32::from_be_bytes([*a, *b, *c, *d]) as usize;
                if self.arrived.len() >= length {
                    break length;
                }
            }
            let mut buffer = std::mem::take(&mut self.arrived);
            buffer.reserve(16 << 10);
            let (count, buffer) = self.stream.read(buffer).await;
            self.arrived = buffer;
            if count? == 0 {
                return Err(ClientError::Closed);
            }
        };
        let rest = self.arrived.split_off(length);
        Ok(std::mem::replace(&mut self.arrived, rest))
    }

    fn decode(&self, frame: &[u8]) -> Result<Answer, ClientError> {
        let malformed = |error: &dyn std::fmt::Display| ClientError::Malformed(error.to_string());
        let (head, body) = frame.split_first_chunk::<HEADER_LENGTH>().expect("a whole frame has a header");
        let header = FrameHeader::decode(head).map_err(|error| malformed(&error))?;
        if header.stream != self.stream_number {
            return Err(ClientError::Malformed(format!("a reply on stream {}, where none is due", header.stream)));
        }
        let (_, response) = Response::decode(&header, body).map_err(|error| malformed(&error))?;
        match response {
            Response::Error(error) => Err(ClientError::Refused(Box::new(error))),
            Response::Result(ResultBody::Rows(rows)) => {
                let own = |row: cql_protocol::response::RowValues<'_>| {
                    row.map(|value| value.map(<[u8]>::to_vec)).collect::<Row>()
                };
                let paging_state = rows.paging_state.map(<[u8]>::to_vec);
                Ok(Answer { rows: rows.iter().map(own).collect(), paging_state, ..Answer::default() })
            }
            Response::Result(ResultBody::Prepared(prepared)) => {
                Ok(Answer { prepared: Some(prepared.id.to_vec()), ..Answer::default() })
            }
            Response::Result(ResultBody::SchemaChange(_)) => Ok(Answer { is_schema_change: true, ..Answer::default() }),
            _ => Ok(Answer::default()),
        }
    }
}
