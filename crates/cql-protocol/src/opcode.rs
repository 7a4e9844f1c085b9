//! What a frame is.

/// A message's kind. Each kind goes in one direction only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Opcode {
    /// Response: the request failed.
    Error = 0x00,
    /// Request: begins the connection.
    Startup = 0x01,
    /// Response: done, nothing to say.
    Ready = 0x02,
    /// Response: the client must authenticate.
    Authenticate = 0x03,
    /// Request: asks what is supported.
    Options = 0x05,
    /// Response: what is supported.
    Supported = 0x06,
    /// Request: a statement as text.
    Query = 0x07,
    /// Response: a statement's result.
    Result = 0x08,
    /// Request: prepares a statement.
    Prepare = 0x09,
    /// Request: runs a prepared statement.
    Execute = 0x0a,
    /// Request: asks for events.
    Register = 0x0b,
    /// Response without a request: something happened.
    Event = 0x0c,
    /// Request: several statements at once.
    Batch = 0x0d,
    /// Response: a step of authentication.
    AuthChallenge = 0x0e,
    /// Request: a step of authentication.
    AuthResponse = 0x0f,
    /// Response: authentication has succeeded.
    AuthSuccess = 0x10,
}

impl Opcode {
    /// The opcode of a header's byte.
    #[inline]
    pub fn of(byte: u8) -> Option<Opcode> {
        Some(match byte {
            0x00 => Opcode::Error,
            0x01 => Opcode::Startup,
            0x02 => Opcode::Ready,
            0x03 => Opcode::Authenticate,
            0x05 => Opcode::Options,
            0x06 => Opcode::Supported,
            0x07 => Opcode::Query,
            0x08 => Opcode::Result,
            0x09 => Opcode::Prepare,
            0x0a => Opcode::Execute,
            0x0b => Opcode::Register,
            0x0c => Opcode::Event,
            0x0d => Opcode::Batch,
            0x0e => Opcode::AuthChallenge,
            0x0f => Opcode::AuthResponse,
            0x10 => Opcode::AuthSuccess,
            _ => return None,
        })
    }

    /// Whether clients send it.
    #[inline]
    pub fn is_request(self) -> bool {
        matches!(
            self,
            Opcode::Startup
                | Opcode::Options
                | Opcode::Query
                | Opcode::Prepare
                | Opcode::Execute
                | Opcode::Register
                | Opcode::Batch
                | Opcode::AuthResponse
        )
    }

    /// The name that the protocol's text uses.
    pub fn name(self) -> &'static str {
        match self {
            Opcode::Error => "ERROR",
            Opcode::Startup => "STARTUP",
            Opcode::Ready => "READY",
            Opcode::Authenticate => "AUTHENTICATE",
            Opcode::Options => "OPTIONS",
            Opcode::Supported => "SUPPORTED",
            Opcode::Query => "QUERY",
            Opcode::Result => "RESULT",
            Opcode::Prepare => "PREPARE",
            Opcode::Execute => "EXECUTE",
            Opcode::Register => "REGISTER",
            Opcode::Event => "EVENT",
            Opcode::Batch => "BATCH",
            Opcode::AuthChallenge => "AUTH_CHALLENGE",
            Opcode::AuthResponse => "AUTH_RESPONSE",
            Opcode::AuthSuccess => "AUTH_SUCCESS",
        }
    }
}
