//! A connection between nodes as the rest of this crate uses it: plain, or under TLS.
//!
//! The plain one is the runtime's stream itself: no copy, no buffer, nothing but the choice.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use runtime::{Runtime, Socket, TcpStream};
use tls::{HandshakeError, TlsState, TlsStream};

use crate::handshake::{GreetingError, is_greeting};
use crate::local_node::LocalNode;
use crate::secret::Binding;

/// Time that the other end has to read why it was refused.
const LINGER: Duration = Duration::from_millis(500);
/// Bytes read at a time of what is not answered any more.
const LINGER_BYTES: usize = 16 << 10;

/// The use of a session's keying material (RFC 5705).
const BINDING_LABEL: &[u8] = b"EXPORTER-helenus-internode";

/// A connection.
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream>),
}

/// A connection on its way between shards.
#[derive(Debug)]
pub(crate) struct Detached {
    socket: Socket,
    tls: Option<Box<TlsState>>,
}

impl Stream {
    /// Dials. With TLS, both ends are proven when it returns, as far as this end can know: a refusal of its own certificate comes with the first read.
    pub(crate) async fn dial(
        runtime: &Runtime,
        address: SocketAddr,
        local: &LocalNode,
    ) -> Result<Stream, GreetingError> {
        let tcp = runtime.connect(address).await?;
        let Some(identity) = local.tls() else { return Ok(Stream::Plain(tcp)) };
        let session = identity.dial(runtime.wall_clock_micros(), address.ip());
        Stream::shake(runtime, tcp, TlsState::new(session)).await
    }

    /// Accepts a connection from `from`. With TLS, both ends are proven when it returns.
    pub(crate) async fn accept(
        runtime: &Runtime,
        socket: Socket,
        from: SocketAddr,
        local: &LocalNode,
    ) -> Result<Stream, GreetingError> {
        let tcp = runtime.adopt(socket);
        let Some(identity) = local.tls() else { return Ok(Stream::Plain(tcp)) };
        let session = identity.accept(runtime.wall_clock_micros(), from.ip());
        Stream::shake(runtime, tcp, TlsState::new(session)).await
    }

    async fn shake(runtime: &Runtime, tcp: TcpStream, state: TlsState) -> Result<Stream, GreetingError> {
        let stream = TlsStream::new(runtime, tcp, state);
        match stream.shake().await {
            Ok(()) => Ok(Stream::Tls(Box::new(stream))),
            Err(error) => {
                // The reason is on its way: closed with unread bytes, the connection would be reset and the reason be lost.
                let _ = stream.tcp().shutdown();
                let _ = runtime.timeout(LINGER, discard(stream.tcp())).await;
                Err(match error {
                    HandshakeError::Io(error) => GreetingError::Io(error),
                    HandshakeError::Closed => GreetingError::Closed,
                    // An end without TLS sends its greeting.
                    HandshakeError::Session(_) if is_greeting(&stream.received()) => GreetingError::PlainPeer,
                    HandshakeError::Session(error) => GreetingError::Tls(error),
                })
            }
        }
    }

    /// Reads, as [`TcpStream::read`].
    pub(crate) async fn read(&self, buffer: Vec<u8>) -> (io::Result<usize>, Vec<u8>) {
        match self {
            Stream::Plain(tcp) => tcp.read(buffer).await,
            Stream::Tls(tls) => tls.read(buffer).await,
        }
    }

    /// Writes, as [`TcpStream::write_all`].
    pub(crate) async fn write_all(&self, buffer: Vec<u8>) -> (io::Result<()>, Vec<u8>) {
        match self {
            Stream::Plain(tcp) => tcp.write_all(buffer).await,
            Stream::Tls(tls) => tls.write_all(buffer).await,
        }
    }

    /// Ends sending: the other end reads 0 after what was sent.
    pub(crate) async fn shutdown(&self) -> io::Result<()> {
        match self {
            Stream::Plain(tcp) => tcp.shutdown(),
            Stream::Tls(tls) => tls.shutdown().await,
        }
    }

    /// Bytes that both ends have in common and no other connection has; `None`: it is plain.
    pub(crate) fn binding(&self) -> Result<Option<Binding>, GreetingError> {
        match self {
            Stream::Plain(_) => Ok(None),
            Stream::Tls(tls) => tls.keying_material(BINDING_LABEL).map(Some).map_err(GreetingError::Tls),
        }
    }

    /// Takes the connection from this shard, for another to attach. Nothing may be under way on it.
    pub(crate) fn detach(self) -> io::Result<Detached> {
        match self {
            Stream::Plain(tcp) => Ok(Detached { socket: tcp.into_socket()?, tls: None }),
            Stream::Tls(tls) => {
                let (tcp, state) = tls.into_parts();
                Ok(Detached { socket: tcp.into_socket()?, tls: Some(Box::new(state)) })
            }
        }
    }
}

impl Detached {
    /// Takes the connection into this shard.
    pub(crate) fn attach(self, runtime: &Runtime) -> Stream {
        let tcp = runtime.adopt(self.socket);
        match self.tls {
            None => Stream::Plain(tcp),
            Some(state) => Stream::Tls(Box::new(TlsStream::new(runtime, tcp, *state))),
        }
    }
}

/// Says that nothing more is sent, and reads until the other end says so too: closed with unread bytes, a connection is reset, and the
/// other end may lose what it has not read yet.
///
/// The bytes are the socket's, also with TLS: those of a read that was dropped may be lost, after which the session could not read on.
pub(crate) async fn read_out(stream: &Stream) {
    if stream.shutdown().await.is_err() {
        return;
    }
    match stream {
        Stream::Plain(tcp) => discard(tcp).await,
        Stream::Tls(tls) => discard(tls.tcp()).await,
    }
}

/// Reads until the other end sends nothing more.
async fn discard(tcp: &TcpStream) {
    let mut buffer = Vec::with_capacity(LINGER_BYTES);
    while let (Ok(1..), read) = tcp.read(buffer).await {
        buffer = read;
        buffer.clear();
    }
}

#[cfg(test)]
mod tests;
