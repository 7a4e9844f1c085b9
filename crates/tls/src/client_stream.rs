//! A client's connection on the runtime: plain, or under TLS.

use std::io;
use std::net::SocketAddr;

use runtime::{Runtime, TcpStream};

use crate::client::ClientIdentity;
use crate::tls_stream::{HandshakeError, TlsState, TlsStream};

/// A connection to a server. One read and one write may be under way at a time.
pub enum ClientStream {
    /// The runtime's stream itself.
    Plain(TcpStream),
    /// A session on it.
    Tls(Box<TlsStream>),
}

impl ClientStream {
    /// Connects; with an identity under TLS, and the server is proven when it returns.
    pub async fn connect(
        runtime: &Runtime,
        address: SocketAddr,
        identity: Option<&ClientIdentity>,
    ) -> io::Result<ClientStream> {
        let tcp = runtime.connect(address).await?;
        let Some(identity) = identity else { return Ok(ClientStream::Plain(tcp)) };
        let stream = TlsStream::new(runtime, tcp, TlsState::new(identity.dial(address.ip())));
        match stream.shake().await {
            Ok(()) => Ok(ClientStream::Tls(Box::new(stream))),
            Err(HandshakeError::Io(error)) => Err(error),
            Err(error) => Err(io::Error::other(format!("TLS handshake failed: {error}"))),
        }
    }

    /// Reads, as [`TcpStream::read`].
    #[inline]
    pub async fn read(&self, buffer: Vec<u8>) -> (io::Result<usize>, Vec<u8>) {
        match self {
            ClientStream::Plain(tcp) => tcp.read(buffer).await,
            ClientStream::Tls(tls) => tls.read(buffer).await,
        }
    }

    /// Writes, as [`TcpStream::write_all`].
    #[inline]
    pub async fn write_all(&self, buffer: Vec<u8>) -> (io::Result<()>, Vec<u8>) {
        match self {
            ClientStream::Plain(tcp) => tcp.write_all(buffer).await,
            ClientStream::Tls(tls) => tls.write_all(buffer).await,
        }
    }

    /// The socket.
    pub fn tcp(&self) -> &TcpStream {
        match self {
            ClientStream::Plain(tcp) => tcp,
            ClientStream::Tls(tls) => tls.tcp(),
        }
    }
}
