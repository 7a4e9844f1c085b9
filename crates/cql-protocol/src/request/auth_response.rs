//! AUTH_RESPONSE: a step of authentication.

use stdx::Reader;

use crate::{DecodeError, notation};

/// A token for the server's authenticator.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AuthResponse<'a> {
    /// The token, which may hold a password.
    pub token: Option<&'a [u8]>,
}

impl std::fmt::Debug for AuthResponse<'_> {
    /// Keeps the secret out of logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthResponse").field("token_length", &self.token.map(<[u8]>::len)).finish()
    }
}

impl<'a> AuthResponse<'a> {
    /// Decodes a message.
    pub fn decode(message: &'a [u8]) -> Result<AuthResponse<'a>, DecodeError> {
        Ok(AuthResponse { token: notation::read_bytes(&mut Reader::new(message))? })
    }

    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        notation::write_bytes(out, self.token);
    }
}
