//! A blocking client of one connection, in any version of the protocol.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use cql_protocol::request::{AuthResponse, Request, Startup};
use cql_protocol::response::ResponsePrefix;
use cql_protocol::segment::{self, Codec, Decoded};
use cql_protocol::{FrameHeader, HEADER_LENGTH, Opcode, Response, Version};

/// A schema change of a cold server on a busy machine takes some seconds.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);

/// Where a frame's flags lie, and the one that asks for a trace.
const FLAGS_AT: usize = 1;
const TRACING: u8 = 0x02;

/// What an error says when the server ended the connection.
pub const CLOSED: &str = "the server closed the connection";

/// A connection that has been greeted.
pub struct Client {
    stream: TcpStream,
    version: Version,
    /// Bytes of segments that have come but are not decoded.
    segments: Vec<u8>,
    /// Bytes of frames that have come but are not given out.
    frames: Vec<u8>,
    /// Requests ask to be traced.
    pub is_traced: bool,
    /// The id under which the last request was traced.
    pub trace: Option<[u8; 16]>,
}

/// A response as it came.
pub struct Reply {
    header: FrameHeader,
    body: Vec<u8>,
}

impl Reply {
    /// The response, decoded.
    pub fn response(&self) -> Result<(ResponsePrefix, Response<'_>), String> {
        Response::decode(&self.header, &self.body).map_err(|error| format!("a response cannot be decoded: {error}"))
    }
}

impl Client {
    /// Connects and greets a server that asks for no name.
    pub fn connect(address: &str, version: Version) -> Result<Client, String> {
        let (client, reply) = Client::greet(address, version)?;
        match reply.header.opcode {
            Opcode::Ready => Ok(client),
            _ => Err(format!("STARTUP was answered {:?}", reply.response()?.1)),
        }
    }

    /// Connects, greets and logs in. The inner error is the server's refusal.
    pub fn log_in(
        address: &str,
        version: Version,
        name: &str,
        password: &str,
    ) -> Result<Result<Client, Reply>, String> {
        let (mut client, reply) = Client::greet(address, version)?;
        if reply.header.opcode != Opcode::Authenticate {
            return Err(format!("STARTUP was answered {:?}, not by asking for a name", reply.response()?.1));
        }
        let token = format!("\0{name}\0{password}");
        let reply = client.ask(&Request::AuthResponse(AuthResponse { token: Some(token.as_bytes()) }))?;
        Ok(if reply.header.opcode == Opcode::AuthSuccess { Ok(client) } else { Err(reply) })
    }

    /// Connects and sends STARTUP.
    fn greet(address: &str, version: Version) -> Result<(Client, Reply), String> {
        let stream = open(address).map_err(|error| format!("cannot connect to {address}: {error}"))?;
        // The answer to STARTUP comes as in version 4; segments begin after it.
        let (segments, frames, version_at_first) = (Vec::new(), Vec::new(), Version::V4);
        let mut client = Client { stream, version: version_at_first, segments, frames, is_traced: false, trace: None };
        let mut buffer = Vec::new();
        let startup = Startup::of(&[("CQL_VERSION", "3.0.0")], &mut buffer);
        let mut frame = Vec::new();
        Request::Startup(startup).encode_frame(version, 0, &mut frame);
        let reply = client.exchange(&frame).map_err(|error| format!("STARTUP: {error}"))?;
        client.version = version;
        Ok((client, reply))
    }

    /// Sends a request and waits for its response.
    pub fn ask(&mut self, request: &Request<'_>) -> Result<Reply, String> {
        let mut frame = Vec::new();
        request.encode_frame(self.version, 1, &mut frame);
        if self.is_traced {
            frame[FLAGS_AT] |= TRACING;
        }
        if self.version == Version::V5 {
            let mut segments = Vec::new();
            segment::encode_frames(&frame, Codec::Plain, &mut segments);
            frame = segments;
        }
        let reply = self.exchange(&frame).map_err(|error| format!("no answer: {error}"))?;
        if self.is_traced {
            self.trace = reply.response()?.0.tracing_id;
        }
        Ok(reply)
    }

    fn exchange(&mut self, bytes: &[u8]) -> io::Result<Reply> {
        self.stream.write_all(bytes)?;
        self.need(HEADER_LENGTH)?;
        let header = self.frames.first_chunk::<HEADER_LENGTH>().expect("waited for");
        let header = FrameHeader::decode(header).map_err(io::Error::other)?;
        let end = HEADER_LENGTH + header.length as usize;
        self.need(end)?;
        let body = self.frames[HEADER_LENGTH..end].to_vec();
        self.frames.drain(..end);
        Ok(Reply { header, body })
    }

    /// Reads until that many bytes of frames are there.
    fn need(&mut self, count: usize) -> io::Result<()> {
        let mut scratch = [0; 64 * 1024];
        while self.frames.len() < count {
            let read = self.stream.read(&mut scratch)?;
            if read == 0 {
                return Err(io::Error::other(CLOSED));
            }
            if self.version != Version::V5 {
                self.frames.extend_from_slice(&scratch[..read]);
                continue;
            }
            self.segments.extend_from_slice(&scratch[..read]);
            while let Decoded::Segment { used, .. } =
                segment::decode(&self.segments, Codec::Plain, &mut self.frames).map_err(io::Error::other)?
            {
                self.segments.drain(..used);
            }
        }
        Ok(())
    }
}

fn open(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
    stream.set_write_timeout(Some(ANSWER_TIME_MAX))?;
    Ok(stream)
}
