//! A server that the driver takes for a node: it keeps rows in a map, answers late as it is told, and fails as it is told.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cql_protocol::{
    ColumnSpec, ErrorBody, FrameHeader, HEADER_LENGTH, PreparedReply, Request, RowsHead, RowsWriter, Specs,
    write_error, write_prepared, write_ready, write_supported, write_void,
};
use cql_types::CqlType;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// What the server does beside answering.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Habits {
    /// How long each operation takes.
    pub(super) delay: Duration,
    /// From which operation on nothing is answered for how long.
    pub(super) stall: Option<(u64, Duration)>,
    /// Which of so many operations is refused.
    pub(super) refuses_each: Option<u64>,
    /// A row that reads do not find.
    pub(super) loses: Option<&'static [u8]>,
    /// A row whose last value is another.
    pub(super) changes: Option<&'static [u8]>,
}

type Row = Vec<Vec<u8>>;

#[derive(Debug)]
struct Shared {
    habits: Habits,
    rows: Mutex<BTreeMap<Vec<u8>, Row>>,
    operations: AtomicU64,
    /// Those of them that arrived in the stall.
    stalled: AtomicU64,
    stalled_until: Mutex<Option<Instant>>,
    /// The statements that were no SELECT of the driver's own.
    statements: Mutex<Vec<String>>,
}

/// A server on a port of its own, as long as tokio runs.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) address: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    pub(super) async fn start(habits: Habits) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Shared {
            habits,
            rows: Mutex::default(),
            operations: AtomicU64::new(0),
            stalled: AtomicU64::new(0),
            stalled_until: Mutex::default(),
            statements: Mutex::default(),
        });
        let server = Server { address, shared };
        tokio::spawn(server.clone().accept(listener));
        server
    }

    pub(super) fn row_count(&self) -> usize {
        self.shared.rows.lock().unwrap().len()
    }

    /// Operations that arrived.
    pub(super) fn operation_count(&self) -> u64 {
        self.shared.operations.load(Ordering::Relaxed)
    }

    /// Operations that arrived in the stall.
    pub(super) fn stalled_count(&self) -> u64 {
        self.shared.stalled.load(Ordering::Relaxed)
    }

    pub(super) fn statements(&self) -> Vec<String> {
        self.shared.statements.lock().unwrap().clone()
    }

    async fn accept(self, listener: TcpListener) {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(self.clone().converse(stream));
        }
    }

    async fn converse(self, stream: TcpStream) {
        stream.set_nodelay(true).expect("is a socket");
        let (mut read, mut write) = stream.into_split();
        let (sender, mut replies) = unbounded_channel::<Vec<u8>>();
        tokio::spawn(async move {
            while let Some(reply) = replies.recv().await {
                if write.write_all(&reply).await.is_err() {
                    return;
                }
            }
        });
        while let Some((header, body)) = read_frame(&mut read).await {
            tokio::spawn(self.clone().answer(header, body, sender.clone()));
        }
    }

    async fn answer(self, header: FrameHeader, body: Vec<u8>, replies: UnboundedSender<Vec<u8>>) {
        let request = Request::decode(&header, &body).expect("the driver speaks the protocol");
        let (version, stream) = (header.version, header.stream);
        let mut out = Vec::new();
        match &request {
            Request::Options(_) => write_supported(&mut out, version, stream, &[("CQL_VERSION", &["3.4.7"])]),
            Request::Startup(_) | Request::Register(_) => write_ready(&mut out, version, stream),
            Request::Query(query) => self.query(query.text, &header, &mut out),
            Request::Prepare(prepare) => {
                let (markers, columns) = (specs(&markers(prepare.text)), specs(&columns(prepare.text)));
                let key = [markers.len().saturating_sub(1) as u16];
                let reply = PreparedReply {
                    id: prepare.text.as_bytes(),
                    result_metadata_id: b"columns",
                    markers: &spec_refs(&markers),
                    partition_key: if prepare.text.contains("standard1") { &key } else { &[] },
                    columns: &spec_refs(&columns),
                };
                write_prepared(&mut out, version, stream, &reply);
            }
            Request::Execute(execute) => {
                let text = std::str::from_utf8(execute.id).expect("an id is a text here");
                if text.contains("standard1") {
                    let values: Row =
                        execute.params.values.iter().map(|value| value.bytes().unwrap().to_vec()).collect();
                    let number = self.shared.operations.fetch_add(1, Ordering::Relaxed) + 1;
                    self.wait(number).await;
                    self.operate(number, text, values, &header, &mut out);
                } else {
                    self.query(text, &header, &mut out);
                }
            }
            other => panic!("{other:?} was not expected"),
        }
        let _ = replies.send(out);
    }

    async fn wait(&self, number: u64) {
        let habits = self.shared.habits;
        if let Some((_, length)) = habits.stall.filter(|(begin, _)| *begin == number) {
            *self.shared.stalled_until.lock().unwrap() = Some(Instant::now() + length);
        }
        let stalled = *self.shared.stalled_until.lock().unwrap();
        if stalled.is_some_and(|until| until > Instant::now()) {
            self.shared.stalled.fetch_add(1, Ordering::Relaxed);
        }
        let until = (Instant::now() + habits.delay).max(stalled.unwrap_or_else(Instant::now));
        if until > Instant::now() {
            tokio::time::sleep_until(until.into()).await;
        }
    }

    fn operate(&self, number: u64, text: &str, mut values: Row, header: &FrameHeader, out: &mut Vec<u8>) {
        let (version, stream, habits) = (header.version, header.stream, self.shared.habits);
        let key = values.pop().expect("the key is the last marker");
        if habits.refuses_each.is_some_and(|each| number.is_multiple_of(each)) {
            return write_error(out, version, stream, &ErrorBody::overloaded("full"));
        }
        if text.starts_with("UPDATE") {
            self.shared.rows.lock().unwrap().insert(key, values);
            return write_void(out, version, stream);
        }
        let head = RowsHead { columns: Specs::Skip { count: columns(text).len() }, new_metadata_id: None };
        let mut writer = RowsWriter::begin(out, version, stream, &head);
        let rows = self.shared.rows.lock().unwrap();
        if let Some(row) = rows.get(&key).filter(|_| habits.loses != Some(&*key)) {
            for (index, value) in row.iter().enumerate() {
                let mut value = value.clone();
                if habits.changes == Some(&*key) && index + 1 == row.len() {
                    value[0] ^= 1;
                }
                writer.value(out, Some(&value));
            }
            writer.end_row();
        }
        writer.finish(out, None);
    }

    /// What is asked once, about the node or to make tables.
    fn query(&self, text: &str, header: &FrameHeader, out: &mut Vec<u8>) {
        let (version, stream) = (header.version, header.stream);
        if !text.starts_with("SELECT") {
            self.shared.statements.lock().unwrap().push(text.to_owned());
            return write_void(out, version, stream);
        }
        if text.contains("scylla") {
            return write_error(out, version, stream, &ErrorBody::invalid("there is no such table"));
        }
        let columns = specs(&columns(text));
        let head = RowsHead { columns: Specs::Columns(&spec_refs(&columns)), new_metadata_id: None };
        let mut writer = RowsWriter::begin(out, version, stream, &head);
        if text.contains("system.local") {
            for (name, _) in &columns {
                let value: Option<&[u8]> = match name.as_str() {
                    "host_id" | "schema_version" => Some(&[7; 16]),
                    "rpc_address" => Some(&[127, 0, 0, 1]),
                    "tokens" => Some(b"\0\0\0\x01\0\0\0\x010"),
                    _ => Some(b"one"),
                };
                writer.value(out, value);
            }
            writer.end_row();
        }
        writer.finish(out, None);
    }
}

async fn read_frame(stream: &mut OwnedReadHalf) -> Option<(FrameHeader, Vec<u8>)> {
    let mut head = [0; HEADER_LENGTH];
    stream.read_exact(&mut head).await.ok()?;
    let header = FrameHeader::decode(&head).expect("the driver speaks the protocol");
    let mut body = vec![0; header.length as usize];
    stream.read_exact(&mut body).await.ok()?;
    Some((header, body))
}

/// The columns that a SELECT names, in its text's spelling.
fn columns(text: &str) -> Vec<String> {
    let Some((list, _)) = text.strip_prefix("SELECT ").and_then(|rest| rest.split_once(" FROM ")) else {
        return Vec::new();
    };
    list.split(',').map(|name| name.trim().trim_matches('"').to_owned()).collect()
}

/// A name for each marker: the words before a `?` that are names.
fn markers(text: &str) -> Vec<String> {
    let mut before: Vec<&str> = text.split('?').collect();
    before.pop();
    let name = |piece: &&str| {
        let mut words =
            piece.rsplit([' ', '=', '"', ',']).filter(|word| !word.is_empty() && !word.eq_ignore_ascii_case("in"));
        words.next().expect("a marker has a name before it").to_owned()
    };
    before.iter().map(name).collect()
}

fn specs(names: &[String]) -> Vec<(String, CqlType)> {
    let text = || Box::new(CqlType::Text);
    let of = |name: &str| match name {
        "host_id" | "schema_version" => CqlType::Uuid,
        "rpc_address" => CqlType::Inet,
        "tokens" => CqlType::Set { element: text(), frozen: false },
        "replication" => CqlType::Map { key: text(), value: text(), frozen: true },
        "durable_writes" => CqlType::Boolean,
        "keyspace_name" => CqlType::Text,
        name if name.starts_with('C') || name == "key" => CqlType::Blob,
        _ => CqlType::Text,
    };
    names.iter().map(|name| (name.clone(), of(name))).collect()
}

fn spec_refs(specs: &[(String, CqlType)]) -> Vec<ColumnSpec<'_>> {
    specs.iter().map(|(name, ty)| ColumnSpec { keyspace: "ks", table: "standard1", name, ty }).collect()
}
