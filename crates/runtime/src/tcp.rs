//! TCP: listeners, streams, and sockets on their way between shards.

use std::io;
use std::net::SocketAddr;

/// A connected socket that belongs to no shard yet; it can be sent to one, which takes it with
/// [`crate::Runtime::adopt`]. Dropped, it closes.
#[derive(Debug)]
pub struct Socket {
    descriptor: std::os::fd::OwnedFd,
}

impl Socket {
    /// The address of the other end.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        let _ = &self.descriptor;
        todo!()
    }
}

/// A connection. Clones share it; it closes with the last of them. TCP_NODELAY is set.
#[derive(Clone)]
pub struct TcpStream {}

impl TcpStream {
    /// Reads what has arrived, at least a byte, into the buffer's spare capacity, of which there must be some. Gives the
    /// bytes read; 0 when the other end has finished sending.
    pub async fn read(&self, buffer: Vec<u8>) -> (io::Result<usize>, Vec<u8>) {
        let _ = buffer;
        todo!()
    }

    /// Sends the whole buffer, or fails. The buffer comes back as it was, for reuse.
    pub async fn write_all(&self, buffer: Vec<u8>) -> (io::Result<()>, Vec<u8>) {
        let _ = buffer;
        todo!()
    }

    /// Ends sending: the other end reads 0 after what was sent. A write that is under way may be cut.
    pub fn shutdown(&self) -> io::Result<()> {
        todo!()
    }

    /// The address of the other end.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        todo!()
    }

    /// This end's address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        todo!()
    }

    /// Takes the connection from this shard, for another to adopt.
    pub fn into_socket(self) -> io::Result<Socket> {
        todo!()
    }
}

/// A listening socket.
#[derive(Clone)]
pub struct TcpListener {}

impl TcpListener {
    /// Waits for a connection.
    pub async fn accept(&self) -> io::Result<(Socket, SocketAddr)> {
        todo!()
    }

    /// The address that it listens on.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        todo!()
    }
}
