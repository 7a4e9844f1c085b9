//! A client that writes frames as bytes, so that it can also write wrong ones.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use cql_protocol::request::{AuthResponse, Execute, Prepare, Value, ValuesBuffer};
use cql_protocol::{
    Codec, Consistency, Event, FrameHeader, HEADER_LENGTH, Query, QueryParams, Request, Response, Startup, Version,
    segment,
};

/// Bytes around the payload of a segment that is not compressed: length, flag and checksum before it, a checksum behind it.
const SEGMENT_HEADER_LENGTH: usize = 6;
const SEGMENT_TRAILER_LENGTH: usize = 4;

/// How long an answer may take before the test gives up.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(20);

/// A response's header and body.
#[derive(Debug)]
pub struct Frame {
    /// The flags, as they came.
    pub flags: u8,
    /// The opcode.
    pub opcode: u8,
    /// The stream it answers.
    pub stream: i16,
    /// The body, as it came.
    pub body: Vec<u8>,
}

/// A blocking connection, by default a plain one.
pub struct Connection<S = TcpStream> {
    stream: S,
}

impl Connection {
    /// Connects and says nothing yet.
    pub fn open(address: &str) -> io::Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
        stream.set_write_timeout(Some(ANSWER_TIME_MAX))?;
        Ok(Connection { stream })
    }

    /// Connects and greets in version 4, and gives up on whatever takes longer than `patience` from then on.
    pub fn start_within(address: &str, patience: Duration) -> io::Result<Connection> {
        let address = address.parse().map_err(io::Error::other)?;
        let stream = TcpStream::connect_timeout(&address, patience)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        Connection { stream }.greeted()
    }

    /// Connects and greets in version 4.
    pub fn start(address: &str) -> io::Result<Connection> {
        Connection::open(address)?.greeted()
    }

    /// Reads and drops whatever comes until the server closes or `time` passes without a byte.
    pub fn drain(&mut self, time: Duration) {
        let mut scratch = [0; 64 * 1024];
        if self.stream.set_read_timeout(Some(time)).is_err() {
            return;
        }
        while matches!(self.stream.read(&mut scratch), Ok(count) if count > 0) {}
    }

    /// Gives up on a write that the other side does not take within `time`.
    pub fn set_write_timeout(&mut self, time: Duration) {
        self.stream.set_write_timeout(Some(time)).expect("more than zero");
    }

    /// Says that nothing more will be sent.
    pub fn finish_sending(&mut self) {
        // The other side may have closed already.
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
    }
}

impl<S: Read + Write> Connection<S> {
    /// A connection on a stream that is there, which says nothing yet.
    pub fn over(stream: S) -> Connection<S> {
        Connection { stream }
    }

    /// The stream under it.
    pub fn stream(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Greets in version 4.
    pub fn greeted(mut self) -> io::Result<Connection<S>> {
        let ready = self.ask(&startup_frame(Version::V4, None))?;
        if ready.opcode == 0x02 { Ok(self) } else { Err(io::Error::other(format!("STARTUP was answered {ready:?}"))) }
    }

    /// Greets in version 4 and logs in. An error has the server's words.
    pub fn logged_in(mut self, name: &str, password: &str) -> io::Result<Connection<S>> {
        let asked = self.ask(&startup_frame(Version::V4, None))?;
        if asked.opcode != 0x03 {
            return Err(io::Error::other(format!("STARTUP was answered {asked:?}")));
        }
        let token = format!("\0{name}\0{password}");
        let mut frame = Vec::new();
        let response = AuthResponse { token: Some(token.as_bytes()) };
        Request::AuthResponse(response).encode_frame(Version::V4, 1, &mut frame);
        let answer = self.ask(&frame)?;
        match answer.opcode {
            0x10 => Ok(self),
            _ => Err(io::Error::other(String::from_utf8_lossy(&answer.body).into_owned())),
        }
    }

    /// Writes bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Reads a frame.
    pub fn receive(&mut self) -> io::Result<Frame> {
        let mut header = [0; 9];
        self.stream.read_exact(&mut header)?;
        let length = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
        let mut body = vec![0; length as usize];
        self.stream.read_exact(&mut body)?;
        Ok(Frame { flags: header[1], opcode: header[4], stream: i16::from_be_bytes([header[2], header[3]]), body })
    }

    /// Reads a segment that was not compressed and holds one frame, which version 5 sends after READY.
    pub fn receive_segment(&mut self) -> io::Result<Frame> {
        let mut bytes = vec![0; SEGMENT_HEADER_LENGTH];
        self.stream.read_exact(&mut bytes)?;
        let length = usize::from(bytes[0]) | usize::from(bytes[1]) << 8 | usize::from(bytes[2] & 1) << 16;
        bytes.resize(SEGMENT_HEADER_LENGTH + length + SEGMENT_TRAILER_LENGTH, 0);
        self.stream.read_exact(&mut bytes[SEGMENT_HEADER_LENGTH..])?;
        let mut payload = Vec::new();
        segment::decode(&bytes, Codec::Plain, &mut payload).map_err(io::Error::other)?;
        let (header, body) =
            payload.split_at_checked(9).ok_or_else(|| io::Error::other("a segment without a frame"))?;
        Ok(Frame {
            flags: header[1],
            opcode: header[4],
            stream: i16::from_be_bytes([header[2], header[3]]),
            body: body.to_vec(),
        })
    }

    /// Writes a frame and reads one, its header as it came.
    pub fn ask_whole(&mut self, frame: &[u8]) -> io::Result<(Vec<u8>, Vec<u8>)> {
        self.send(frame)?;
        let mut head = vec![0; HEADER_LENGTH];
        self.stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let mut body = vec![0; length as usize];
        self.stream.read_exact(&mut body)?;
        Ok((head, body))
    }

    /// Writes a frame and reads one.
    pub fn ask(&mut self, frame: &[u8]) -> io::Result<Frame> {
        self.send(frame)?;
        self.receive()
    }

    /// Runs a statement in version 4 at ONE; an error response is an error.
    pub fn query(&mut self, text: &str) -> io::Result<Frame> {
        self.query_at(text, Consistency::One)
    }

    /// The same at another consistency level.
    pub fn query_at(&mut self, text: &str, consistency: Consistency) -> io::Result<Frame> {
        let answer = self.ask(&query_frame_at(Version::V4, 1, text, consistency))?;
        if answer.opcode == 0x08 {
            Ok(answer)
        } else {
            Err(io::Error::other(format!("{text:.200}: {}", String::from_utf8_lossy(&answer.body))))
        }
    }

    /// Prepares a statement and gives its id.
    pub fn prepare(&mut self, text: &str) -> io::Result<Vec<u8>> {
        let mut frame = Vec::new();
        Request::Prepare(Prepare { text, keyspace: None }).encode_frame(Version::V4, 1, &mut frame);
        let answer = self.ask(&frame)?;
        // The kind of the result, the id's length, the id.
        let id = answer.body.get(6..22).filter(|_| answer.opcode == 0x08);
        id.map(<[u8]>::to_vec).ok_or_else(|| io::Error::other(format!("PREPARE was answered {answer:?}")))
    }

    /// Runs a prepared statement with these values.
    pub fn execute(&mut self, id: &[u8], values: &[&[u8]]) -> io::Result<Frame> {
        let mut buffer = ValuesBuffer::new();
        for value in values {
            buffer.push(Value::Bytes(value)).map_err(io::Error::other)?;
        }
        let params = QueryParams { values: buffer.values(), ..QueryParams::new(Consistency::One) };
        let mut frame = Vec::new();
        Request::Execute(Execute { id, result_metadata_id: None, params }).encode_frame(Version::V4, 1, &mut frame);
        let answer = self.ask(&frame)?;
        match answer.opcode {
            0x08 => Ok(answer),
            _ => Err(io::Error::other(String::from_utf8_lossy(&answer.body).into_owned())),
        }
    }

    /// Asks for events of these kinds.
    pub fn register(&mut self, kinds: &[&str]) -> io::Result<()> {
        let short = |length: usize| u16::try_from(length).expect("a short list of short names").to_be_bytes();
        let mut body = short(kinds.len()).to_vec();
        for kind in kinds {
            body.extend(short(kind.len()));
            body.extend(kind.as_bytes());
        }
        let mut frame = vec![4, 0, 0, 1, 0x0b];
        frame.extend(u32::try_from(body.len()).expect("a short body").to_be_bytes());
        frame.extend(body);
        let answer = self.ask(&frame)?;
        if answer.opcode == 0x02 { Ok(()) } else { Err(io::Error::other(format!("REGISTER was answered {answer:?}"))) }
    }

    /// Reads a frame that is an event, in version 4. An answer is an error.
    pub fn receive_event(&mut self) -> io::Result<Event> {
        let mut head = [0; HEADER_LENGTH];
        self.stream.read_exact(&mut head)?;
        let header = FrameHeader::decode(&head).map_err(io::Error::other)?;
        let mut body = vec![0; header.length as usize];
        self.stream.read_exact(&mut body)?;
        match Response::decode(&header, &body).map_err(io::Error::other)? {
            (_, Response::Event(event)) => Ok(event),
            (_, response) => Err(io::Error::other(format!("no event: {response:?}"))),
        }
    }
}

/// A STARTUP frame.
pub fn startup_frame(version: Version, compression: Option<&str>) -> Vec<u8> {
    let mut options = vec![("CQL_VERSION", "3.0.0")];
    options.extend(compression.map(|name| ("COMPRESSION", name)));
    let mut buffer = Vec::new();
    let startup = Startup::of(&options, &mut buffer);
    let mut frame = Vec::new();
    Request::Startup(startup).encode_frame(version, 0, &mut frame);
    frame
}

/// A QUERY frame without values, at ONE.
pub fn query_frame(version: Version, stream: i16, text: &str) -> Vec<u8> {
    query_frame_at(version, stream, text, Consistency::One)
}

fn query_frame_at(version: Version, stream: i16, text: &str, consistency: Consistency) -> Vec<u8> {
    let mut frame = Vec::new();
    let query = Query { text, params: QueryParams::new(consistency) };
    Request::Query(query).encode_frame(version, stream, &mut frame);
    frame
}
