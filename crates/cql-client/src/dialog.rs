//! The dialog: what is to be sent, what has arrived, and the order of a greeting.

use client::Login;
use cql_protocol::response::ResponsePrefix;
use cql_protocol::segment::{self, Codec, Decoded};
use cql_protocol::{AuthResponse, Flags, FrameHeader, HEADER_LENGTH, Request, Response, Startup, Version};

use crate::error::DialogError;

/// The longest reply that is kept in memory: the protocol's own limit of a frame.
const REPLY_BYTES_MAX: usize = cql_protocol::FRAME_LENGTH_MAX as usize;
/// The byte of a frame with its flags.
const FLAGS_AT: usize = 1;

/// One connection's dialog. Requests go in whole frames; from version 5 on within segments, once STARTUP is answered.
pub struct Dialog {
    version: Version,
    /// The layout of segments; `None`: frames go plain.
    codec: Option<Codec>,
    arrived: Vec<u8>,
    frames: Vec<u8>,
    /// Bytes at the start of `frames` that belong to replies that were given.
    used: usize,
    outgoing: Vec<u8>,
}

/// A reply, whole.
#[derive(Debug)]
pub struct Reply {
    /// Its header.
    pub header: FrameHeader,
    /// All after it.
    pub body: Vec<u8>,
}

/// The next step after a reply to the greeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The login was laid down: send it, and hand its reply over too.
    Send,
    /// Requests may follow.
    Ready,
}

impl Reply {
    /// The stream of the request that it answers; negative: an event.
    pub fn stream(&self) -> i16 {
        self.header.stream
    }

    /// Decodes the message, with warnings and the trace's id before it.
    ///
    /// # Errors
    /// The body is not what its opcode says.
    pub fn decode(&self) -> Result<(ResponsePrefix, Response<'_>), DialogError> {
        Ok(Response::decode(&self.header, &self.body)?)
    }
}

impl Dialog {
    /// A dialog in that version, on a new connection.
    pub fn new(version: Version) -> Dialog {
        Dialog { version, codec: None, arrived: Vec::new(), frames: Vec::new(), used: 0, outgoing: Vec::new() }
    }

    /// The version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Lays down STARTUP, with the tool's name for the server's list of clients.
    pub fn greet(&mut self, tool: &str) {
        let mut buffer = Vec::new();
        let startup = Startup::of(&[("CQL_VERSION", "3.0.0"), ("DRIVER_NAME", tool)], &mut buffer);
        self.request(&Request::Startup(startup), 0, Flags::NONE);
    }

    /// Takes a reply to STARTUP or to the login.
    ///
    /// # Errors
    /// The server refuses, or asks for a login where there is none.
    pub fn greeted(&mut self, reply: &Reply, login: Option<&Login>) -> Result<Step, DialogError> {
        let (_, response) = reply.decode()?;
        match response {
            Response::Ready | Response::AuthSuccess(_) => {
                self.begin_segments();
                Ok(Step::Ready)
            }
            Response::Authenticate(authenticator) => {
                // The answer to STARTUP is outside of version 5's segments, and all after it within.
                self.begin_segments();
                let required = || DialogError::LoginRequired { authenticator: authenticator.to_owned() };
                let token = login.ok_or_else(required)?.sasl_plain();
                self.request(&Request::AuthResponse(AuthResponse { token: Some(&token) }), 0, Flags::NONE);
                Ok(Step::Send)
            }
            Response::Error(error) => Err(DialogError::Refused(error)),
            _ => Err(DialogError::Unexpected { request: "STARTUP", reply: reply.header.opcode.name() }),
        }
    }

    fn begin_segments(&mut self) {
        if self.version == Version::V5 {
            self.codec = Some(Codec::Plain);
        }
    }

    /// Lays down a request on a stream, with these flags beside its own.
    pub fn request(&mut self, request: &Request<'_>, stream: i16, flags: Flags) {
        let mut frame = Vec::new();
        request.encode_frame(self.version, stream, &mut frame);
        frame[FLAGS_AT] |= flags.0;
        match self.codec {
            Some(codec) => segment::encode_frames(&frame, codec, &mut self.outgoing),
            None => self.outgoing.extend_from_slice(&frame),
        }
    }

    /// Takes the requests that were laid down since the last call.
    pub fn take_outgoing(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.outgoing)
    }

    /// Takes bytes that arrived.
    ///
    /// # Errors
    /// A segment is damaged.
    pub fn received(&mut self, bytes: &[u8]) -> Result<(), DialogError> {
        let Some(codec) = self.codec else {
            self.frames.extend_from_slice(bytes);
            return Ok(());
        };
        self.arrived.extend_from_slice(bytes);
        let mut used = 0;
        while let Decoded::Segment { used: length, .. } =
            segment::decode(&self.arrived[used..], codec, &mut self.frames)?
        {
            used += length;
        }
        self.arrived.drain(..used);
        Ok(())
    }

    /// The next whole reply, if it has arrived.
    ///
    /// # Errors
    /// The bytes are no reply, or too long for one.
    pub fn next_reply(&mut self) -> Result<Option<Reply>, DialogError> {
        let rest = &self.frames[self.used..];
        let Some(head) = rest.first_chunk::<HEADER_LENGTH>() else {
            self.forget_used();
            return Ok(None);
        };
        let header = FrameHeader::decode(head)?;
        let length = HEADER_LENGTH + header.length as usize;
        if length > REPLY_BYTES_MAX {
            return Err(DialogError::TooLong { length, max: REPLY_BYTES_MAX });
        }
        let Some(frame) = rest.get(..length) else {
            self.forget_used();
            return Ok(None);
        };
        let body = frame[HEADER_LENGTH..].to_vec();
        self.used += length;
        Ok(Some(Reply { header, body }))
    }

    fn forget_used(&mut self) {
        self.frames.drain(..self.used);
        self.used = 0;
    }
}
