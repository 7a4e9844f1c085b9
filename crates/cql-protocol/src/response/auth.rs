//! AUTHENTICATE, AUTH_CHALLENGE and AUTH_SUCCESS: the server's side of authentication.

use crate::response::ResponseFrame;
use crate::{Opcode, Version, notation};

/// Appends AUTHENTICATE: the client must authenticate with the authenticator of this Java class, which is how drivers
/// know authenticators.
pub fn write_authenticate(out: &mut Vec<u8>, version: Version, stream: i16, class: &str) {
    let frame = ResponseFrame::begin(out, version, stream, Opcode::Authenticate);
    notation::write_string(out, class);
    ResponseFrame::finish(out, frame);
}

/// Appends AUTH_CHALLENGE: asks for another step.
pub fn write_auth_challenge(out: &mut Vec<u8>, version: Version, stream: i16, token: Option<&[u8]>) {
    let frame = ResponseFrame::begin(out, version, stream, Opcode::AuthChallenge);
    notation::write_bytes(out, token);
    ResponseFrame::finish(out, frame);
}

/// Appends AUTH_SUCCESS: the client is who it says.
pub fn write_auth_success(out: &mut Vec<u8>, version: Version, stream: i16, token: Option<&[u8]>) {
    let frame = ResponseFrame::begin(out, version, stream, Opcode::AuthSuccess);
    notation::write_bytes(out, token);
    ResponseFrame::finish(out, frame);
}
