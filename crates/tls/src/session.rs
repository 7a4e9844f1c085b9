//! A TLS session between buffers: bytes received go in, bytes to be sent come out, and plain text beside them. It does no I/O.
//!
//! rustls' buffered interface is under it. Its other one, without buffers of its own, saves a copy of each record and has a write wait for what was received
//! before it to be read, which would tie the two directions of a connection to each other.
//!
//! Bounds: of received bytes at most a record is kept, or a handshake message of 64 KiB; of plain text as much as one [`Session::receive`] decrypted, since no
//! more is taken until it is read; of bytes to be sent [`OUTPUT_BYTES_MAX`] beside the handshake.

use std::fmt;
use std::io::{Read, Write};
use std::net::IpAddr;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{
    ClientConfig, ClientConnection, Connection, HandshakeKind, ProtocolVersion, ServerConfig, ServerConnection,
};

use crate::names::{CertificateNames, NamesError};
use crate::session_error::SessionError;

/// Bytes to be sent that a session holds before it takes no more plain text.
pub const OUTPUT_BYTES_MAX: usize = 64 << 10;
/// Bytes of a session's keying material.
pub const KEYING_BYTES: usize = 32;

/// One end of a session.
pub struct Session {
    connection: Connection,
    /// Plain text that waits to be read.
    plain_bytes: usize,
    /// The other end has said that it sends nothing more.
    is_finished: bool,
    /// The first error, after which nothing is taken or given.
    failed: Option<SessionError>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("is_handshaking", &self.is_handshaking()).finish_non_exhaustive()
    }
}

impl Session {
    pub(crate) fn dial(context: Arc<ClientConfig>, address: IpAddr) -> Session {
        let connection = ClientConnection::new(context, ServerName::from(address)).expect("an address is a name");
        Session::new(connection.into())
    }

    pub(crate) fn accept(context: Arc<ServerConfig>) -> Session {
        let connection = ServerConnection::new(context).expect("the settings are consistent");
        Session::new(connection.into())
    }

    fn new(mut connection: Connection) -> Session {
        connection.set_buffer_limit(Some(OUTPUT_BYTES_MAX));
        Session { connection, plain_bytes: 0, is_finished: false, failed: None }
    }

    /// True until both ends are proven: nothing else is exchanged before.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// True if the other end has said that it sends nothing more, and all that it sent is read.
    pub fn is_finished(&self) -> bool {
        self.is_finished && self.plain_bytes == 0
    }

    /// True if [`Session::send`] has bytes to give.
    pub fn has_output(&self) -> bool {
        self.connection.wants_write()
    }

    /// Takes bytes that were received. Gives how many: fewer than there are while plain text waits, which is to be read first. After an error the session is over.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<usize, SessionError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let mut rest = bytes;
        while !rest.is_empty() && self.plain_bytes == 0 {
            if self.is_finished {
                // What follows the other end's last word is ignored (RFC 8446, section 6.1).
                return Ok(bytes.len());
            }
            let taken = self.take(&mut rest);
            taken.inspect_err(|error| self.failed = Some(error.clone()))?;
        }
        Ok(bytes.len() - rest.len())
    }

    fn take(&mut self, rest: &mut &[u8]) -> Result<(), SessionError> {
        let room = self.connection.read_tls(rest);
        room.map_err(|error| SessionError::Damaged { reason: error.to_string() })?;
        let state = self.connection.process_new_packets()?;
        self.plain_bytes = state.plaintext_bytes_to_read();
        self.is_finished = state.peer_has_closed();
        Ok(())
    }

    /// Appends plain text that was received to the spare capacity of `out`. Gives how many bytes; 0: none is there.
    pub fn read(&mut self, out: &mut Vec<u8>) -> usize {
        let before = out.len();
        while self.plain_bytes > 0 && out.len() < out.capacity() {
            let (start, count) = (out.len(), self.plain_bytes.min(out.capacity() - out.len()));
            out.resize(start + count, 0);
            let read = self.connection.reader().read(&mut out[start..]).expect("plain text is there");
            assert!(read > 0, "plain text is there");
            out.truncate(start + read);
            self.plain_bytes -= read;
        }
        out.len() - before
    }

    /// Takes plain text that is to be sent. Gives how many bytes: fewer than there are when [`Session::send`] is to be called first, and none during the
    /// handshake: plain text would wait in the session for an end that is not proven yet. Fails with the error that ended the session.
    pub fn write(&mut self, plain: &[u8]) -> Result<usize, SessionError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if self.is_handshaking() {
            return Ok(0);
        }
        let written = self.connection.writer().write(plain);
        written.map_err(|error| SessionError::Damaged { reason: error.to_string() })
    }

    /// The certificates by which the other end has proven itself, its own first, in DER; `None`: the handshake is not over, it has presented none, or the session has
    /// failed. All were judged in this session: one with certificates is never resumed.
    pub fn peer_chain(&self) -> Option<impl Iterator<Item = &[u8]>> {
        if self.is_handshaking() || self.failed.is_some() {
            return None;
        }
        Some(self.connection.peer_certificates()?.iter().map(|certificate| &**certificate))
    }

    /// The names of the certificate by which the other end has proven itself; `None`: as [`Session::peer_chain`]. Fails if the certificate has none that can be used.
    pub fn peer_names(&self) -> Option<Result<CertificateNames, NamesError>> {
        self.peer_chain()?.next().map(CertificateNames::parse)
    }

    /// The version and the cipher suite that the two ends agreed on, by the names that Java has for them; `None`: the handshake is not over.
    pub fn agreed(&self) -> Option<(&'static str, String)> {
        let version = match self.connection.protocol_version()? {
            ProtocolVersion::TLSv1_2 => "TLSv1.2",
            _ => "TLSv1.3",
        };
        let suite = format!("{:?}", self.connection.negotiated_cipher_suite()?.suite());
        (!self.is_handshaking()).then(|| (version, suite.replacen("TLS13_", "TLS_", 1)))
    }

    /// True if the two ends went on with a session of before.
    pub fn is_resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Bytes that the two ends of this session have in common and no other session has, for the use that the label names (RFC 5705; RFC 8446, section 7.5).
    /// Fails during the handshake, and once the session has failed.
    pub fn keying_material(&self, label: &[u8]) -> Result<[u8; KEYING_BYTES], SessionError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        Ok(self.connection.export_keying_material([0; KEYING_BYTES], label, None)?)
    }

    /// Says that nothing more is sent: the last bytes to be sent.
    pub fn close(&mut self) {
        self.connection.send_close_notify();
    }

    /// Appends what is to be sent.
    pub fn send(&mut self, out: &mut Vec<u8>) {
        while self.connection.wants_write() {
            self.connection.write_tls(out).expect("a vector takes all");
        }
    }
}
