//! The socket: TCP, TLS on it, or a Unix socket.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use tls::ClientIdentity;

/// A server's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// A host or an address, and its port.
    Tcp { host: String, port: u16 },
    /// A maintenance socket.
    Unix(PathBuf),
}

impl Target {
    /// The place of a host and a port: a host with a slash is the path of a Unix socket.
    pub(crate) fn of(host: &str, port: u16) -> Target {
        match host.contains('/') {
            true => Target::Unix(PathBuf::from(host)),
            false => {
                let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
                Target::Tcp { host, port }
            }
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Tcp { host, port } => write!(f, "{host}:{port}"),
            Target::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A connected socket.
pub(super) enum Stream {
    Tcp(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
    Unix(UnixStream),
}

impl Stream {
    /// Connects to the first address of the host that accepts. The certificate must be for the host that was given.
    pub(super) fn connect(target: &Target, tls: Option<&ClientIdentity>, timeout: Duration) -> io::Result<Stream> {
        let (host, port) = match target {
            Target::Unix(path) => return UnixStream::connect(path).map(Stream::Unix),
            Target::Tcp { host, port } => (host, *port),
        };
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        let mut connected = None;
        for address in (host.as_str(), port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, timeout) {
                Ok(stream) => {
                    connected = Some(stream);
                    break;
                }
                Err(error) => failure = error,
            }
        }
        let tcp = connected.ok_or(failure)?;
        tcp.set_nodelay(true)?;
        let Some(identity) = tls else { return Ok(Stream::Tcp(tcp)) };
        let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
        let session = ClientConnection::new(identity.context(), name).map_err(io::Error::other)?;
        tcp.set_read_timeout(Some(timeout))?;
        tcp.set_write_timeout(Some(timeout))?;
        let mut stream = Box::new(StreamOwned::new(session, tcp));
        let StreamOwned { conn, sock } = &mut *stream;
        while conn.is_handshaking() {
            let failed = |error: io::Error| io::Error::new(error.kind(), format!("TLS handshake failed: {error}"));
            conn.complete_io(sock).map_err(failed)?;
        }
        Ok(Stream::Tls(stream))
    }

    /// Sets the time that a read and a write wait.
    pub(super) fn set_timeouts(&self, read: Duration, write: Duration) -> io::Result<()> {
        let tcp = match self {
            Stream::Unix(stream) => {
                stream.set_read_timeout(Some(read))?;
                return stream.set_write_timeout(Some(write));
            }
            Stream::Tcp(stream) => stream,
            Stream::Tls(stream) => &stream.sock,
        };
        tcp.set_read_timeout(Some(read))?;
        tcp.set_write_timeout(Some(write))
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(buffer),
            Stream::Tls(stream) => stream.read(buffer),
            Stream::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(buffer),
            Stream::Tls(stream) => stream.write(buffer),
            Stream::Unix(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.flush(),
            Stream::Tls(stream) => stream.flush(),
            Stream::Unix(stream) => stream.flush(),
        }
    }
}
