//! A client that speaks either version with or without compression, and writes its requests' bodies itself: it can ask for what
//! no driver would.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use cql_protocol::{Codec, Compression, Flags, Version, segment};
use helenus_tests::{Frame, startup_frame};

/// How long an answer may take before the test gives up.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);

pub const QUERY: u8 = 0x07;
pub const PREPARE: u8 = 0x09;
pub const EXECUTE: u8 = 0x0a;
pub const BATCH: u8 = 0x0d;

/// How frames lie on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    V4,
    V3Snappy,
    V4Lz4,
    V5,
    V5Lz4,
}

impl Wire {
    pub const ALL: [Wire; 5] = [Wire::V4, Wire::V3Snappy, Wire::V4Lz4, Wire::V5, Wire::V5Lz4];

    fn version(self) -> Version {
        match self {
            Wire::V3Snappy => Version::V3,
            Wire::V4 | Wire::V4Lz4 => Version::V4,
            Wire::V5 | Wire::V5Lz4 => Version::V5,
        }
    }

    /// How bodies are compressed, where they are.
    fn compression(self) -> Option<Compression> {
        match self {
            Wire::V3Snappy => Some(Compression::Snappy),
            Wire::V4Lz4 => Some(Compression::Lz4),
            Wire::V4 | Wire::V5 | Wire::V5Lz4 => None,
        }
    }

    fn codec(self) -> Option<Codec> {
        match self {
            Wire::V5 => Some(Codec::Plain),
            Wire::V5Lz4 => Some(Codec::Lz4),
            Wire::V4 | Wire::V3Snappy | Wire::V4Lz4 => None,
        }
    }
}

/// A blocking connection with one request under way at a time.
pub struct Client {
    stream: TcpStream,
    wire: Wire,
    arrived: Vec<u8>,
}

impl Client {
    pub fn connect(address: &str, wire: Wire) -> Client {
        let stream = TcpStream::connect(address).expect("connects");
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(ANSWER_TIME_MAX)).expect("a socket");
        stream.set_write_timeout(Some(ANSWER_TIME_MAX)).expect("a socket");
        let mut client = Client { stream, wire: Wire::V4, arrived: Vec::new() };
        let compression = match wire {
            Wire::V3Snappy => Some("snappy"),
            Wire::V4Lz4 | Wire::V5Lz4 => Some("lz4"),
            Wire::V4 | Wire::V5 => None,
        };
        client.stream.write_all(&startup_frame(wire.version(), compression)).expect("writes");
        let ready = client.receive().expect("is answered");
        assert_eq!(ready.opcode, 0x02, "{}", String::from_utf8_lossy(&ready.body));
        client.wire = wire;
        client
    }

    /// Sends a request and gives the reply's body; panics with the server's words if it is an error.
    pub fn must(&mut self, opcode: u8, body: &[u8]) -> Vec<u8> {
        let frame = self.ask(opcode, body);
        assert_ne!(frame.opcode, 0, "{}", String::from_utf8_lossy(&frame.body));
        frame.body
    }

    /// Sends a request and gives the reply, whatever it is.
    pub fn ask(&mut self, opcode: u8, body: &[u8]) -> Frame {
        let bytes = self.sealed(opcode, body);
        self.stream.write_all(&bytes).expect("is taken");
        self.receive().expect("is answered")
    }

    /// Runs a text without values.
    pub fn query(&mut self, text: &str) -> Vec<u8> {
        let body = self.query_body(text, &[]);
        self.must(QUERY, &body)
    }

    /// A QUERY's body.
    pub fn query_body(&self, text: &str, values: &[&[u8]]) -> Vec<u8> {
        let mut body = u32::try_from(text.len()).expect("a text").to_be_bytes().to_vec();
        body.extend_from_slice(text.as_bytes());
        self.parameters(values, &mut body);
        body
    }

    /// Prepares a text; its id, and in version 5 that of its result's columns.
    pub fn prepare(&mut self, text: &str) -> (Vec<u8>, Vec<u8>) {
        let mut body = u32::try_from(text.len()).expect("a text").to_be_bytes().to_vec();
        body.extend_from_slice(text.as_bytes());
        if self.wire.version() == Version::V5 {
            body.extend_from_slice(&[0; 4]);
        }
        let reply = self.must(PREPARE, &body);
        let short = |at: usize| {
            let length = usize::from(u16::from_be_bytes([reply[at], reply[at + 1]]));
            reply[at + 2..at + 2 + length].to_vec()
        };
        let id = short(4);
        let columns = if self.wire.version() == Version::V5 { short(6 + id.len()) } else { Vec::new() };
        (id, columns)
    }

    /// An EXECUTE's body.
    pub fn execute_body(&self, id: &(Vec<u8>, Vec<u8>), values: &[&[u8]]) -> Vec<u8> {
        let mut body = Vec::new();
        push_short(&id.0, &mut body);
        if self.wire.version() == Version::V5 {
            push_short(&id.1, &mut body);
        }
        self.parameters(values, &mut body);
        body
    }

    /// The body of an unlogged BATCH of one prepared statement with several rows of values.
    pub fn batch_body(&self, id: &[u8], rows: &[Vec<Vec<u8>>]) -> Vec<u8> {
        let mut body = vec![1];
        body.extend(u16::try_from(rows.len()).expect("a batch").to_be_bytes());
        for row in rows {
            body.push(1);
            push_short(id, &mut body);
            push_values(row.iter().map(Vec::as_slice), &mut body);
        }
        body.extend([0, 1]);
        body.extend(self.flags(0));
        body
    }

    fn parameters(&self, values: &[&[u8]], body: &mut Vec<u8>) {
        body.extend([0, 1]);
        body.extend(self.flags(u8::from(!values.is_empty())));
        if !values.is_empty() {
            push_values(values.iter().copied(), body);
        }
    }

    fn flags(&self, flags: u8) -> Vec<u8> {
        match self.wire.version() {
            Version::V3 | Version::V4 => vec![flags],
            Version::V5 => vec![0, 0, 0, flags],
        }
    }

    fn sealed(&self, opcode: u8, body: &[u8]) -> Vec<u8> {
        let version = self.wire.version().number();
        let (mut flags, mut compressed) = (0, Vec::new());
        if let Some(compression) = self.wire.compression() {
            compression.compress(body, &mut compressed);
            flags = Flags::COMPRESSED.0;
        }
        let body = if flags == 0 { body } else { &compressed };
        let mut frame = vec![version, flags, 0, 1, opcode];
        frame.extend(u32::try_from(body.len()).expect("a frame").to_be_bytes());
        frame.extend_from_slice(body);
        let Some(codec) = self.wire.codec() else { return frame };
        let mut sealed = Vec::new();
        let whole = frame.len() <= segment::PAYLOAD_MAX;
        for piece in frame.chunks(segment::PAYLOAD_MAX) {
            segment::encode(piece, whole, codec, &mut sealed);
        }
        sealed
    }

    fn receive(&mut self) -> io::Result<Frame> {
        let mut frame = Vec::new();
        loop {
            self.unseal(&mut frame);
            if let Some(header) = frame.first_chunk::<9>() {
                let length = u32::from_be_bytes([header[5], header[6], header[7], header[8]]) as usize;
                if frame.len() >= 9 + length {
                    assert_eq!(frame.len(), 9 + length, "one reply to one request");
                    let (flags, opcode) = (header[1], header[4]);
                    let mut body = frame.split_off(9);
                    if flags & Flags::COMPRESSED.0 != 0 {
                        let mut whole = Vec::new();
                        let compression = self.wire.compression().expect("it was asked for");
                        compression.decompress(&body, 256 << 20, &mut whole).map_err(io::Error::other)?;
                        body = whole;
                    }
                    return Ok(Frame { flags, opcode, stream: 1, body });
                }
            }
            let mut piece = vec![0; 256 << 10];
            let count = self.stream.read(&mut piece)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.arrived.extend_from_slice(&piece[..count]);
        }
    }

    /// Moves what has arrived to `frame`, out of its segments.
    fn unseal(&mut self, frame: &mut Vec<u8>) {
        let Some(codec) = self.wire.codec() else {
            frame.append(&mut self.arrived);
            return;
        };
        let mut done = 0;
        while let segment::Decoded::Segment { used, .. } =
            segment::decode(&self.arrived[done..], codec, frame).expect("the server's segments are right")
        {
            done += used;
        }
        self.arrived.drain(..done);
    }
}

fn push_short(bytes: &[u8], body: &mut Vec<u8>) {
    body.extend(u16::try_from(bytes.len()).expect("short").to_be_bytes());
    body.extend_from_slice(bytes);
}

fn push_values<'v>(values: impl ExactSizeIterator<Item = &'v [u8]>, body: &mut Vec<u8>) {
    body.extend(u16::try_from(values.len()).expect("few values").to_be_bytes());
    for value in values {
        body.extend(u32::try_from(value.len()).expect("a value").to_be_bytes());
        body.extend_from_slice(value);
    }
}
