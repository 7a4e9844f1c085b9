//! A client's connection as the tasks use it: plain, or under TLS.
//!
//! The plain one is the runtime's stream itself: no copy, no buffer, nothing but the choice.

use std::io;
use std::time::Duration;

use runtime::{Runtime, TcpStream};
use tls::TlsStream;

/// Bytes read at a time of what is dropped: of a client that was served, and of one that was refused.
const DROPPED_BYTES: usize = 16 << 10;
const DROPPED_OF_REFUSED: usize = 512;

/// A connection.
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream>),
}

impl Stream {
    /// The socket.
    pub(crate) fn tcp(&self) -> &TcpStream {
        match self {
            Stream::Plain(tcp) => tcp,
            Stream::Tls(tls) => tls.tcp(),
        }
    }

    /// Reads, as [`TcpStream::read`].
    #[inline]
    pub(crate) async fn read(&self, buffer: Vec<u8>) -> (io::Result<usize>, Vec<u8>) {
        match self {
            Stream::Plain(tcp) => tcp.read(buffer).await,
            Stream::Tls(tls) => tls.read(buffer).await,
        }
    }

    /// Writes, as [`TcpStream::write_all`].
    #[inline]
    pub(crate) async fn write_all(&self, buffer: Vec<u8>) -> (io::Result<()>, Vec<u8>) {
        match self {
            Stream::Plain(tcp) => tcp.write_all(buffer).await,
            Stream::Tls(tls) => tls.write_all(buffer).await,
        }
    }
}

/// Drops what still comes, until the client has finished too. The bytes are the socket's, also with TLS: a session may have ended.
pub(crate) async fn discard(tcp: &TcpStream) {
    discard_by(tcp, DROPPED_BYTES).await;
}

async fn discard_by(tcp: &TcpStream, bytes: usize) {
    let mut buffer = Vec::with_capacity(bytes);
    while let (Ok(1..), read) = tcp.read(buffer).await {
        buffer = read;
        buffer.clear();
    }
}

/// Ends sending on a connection that was refused, and drops what still comes for a while: closed with bytes unread, the connection would be reset, and the client might
/// lose the reason.
pub(crate) async fn end_refused(runtime: &Runtime, tcp: &TcpStream) {
    const LINGER: Duration = Duration::from_millis(500);
    if tcp.shutdown().is_ok() {
        let _ = runtime.timeout(LINGER, discard_by(tcp, DROPPED_OF_REFUSED)).await;
    }
}
