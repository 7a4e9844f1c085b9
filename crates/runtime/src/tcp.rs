//! TCP: listeners, streams, and sockets on their way between shards.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use crate::Runtime;
use crate::core::Core;
use crate::reactor::{Descriptor, Handle, HandleKind, InFlight, Operation};
use crate::sys::check;
use crate::sys::socket::RawAddress;

/// A connected socket that belongs to no shard yet; it can be sent to one, which takes it with
/// [`crate::Runtime::adopt`]. Dropped, it closes.
#[derive(Debug)]
pub struct Socket {
    descriptor: Descriptor,
}

impl Socket {
    pub(crate) fn of(descriptor: Descriptor) -> Socket {
        Socket { descriptor }
    }

    /// The address of the other end.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.descriptor.peer_address()
    }
}

/// A connection. Clones share it; it closes with the last of them, once nothing is in flight on it. TCP_NODELAY is set.
///
/// One read and one write may be under way at a time. A read whose future is dropped early may have taken bytes, which
/// are lost then; of a write, any part may have been sent: such a connection is good for closing only.
#[derive(Clone)]
pub struct TcpStream {
    core: Rc<Core>,
    handle: Rc<Handle>,
}

impl TcpStream {
    pub(crate) fn adopt(core: Rc<Core>, socket: Socket) -> Self {
        // It can only fail for a connection that has failed, as its first read will say.
        let _ = socket.descriptor.set_nodelay();
        let handle = core.io.borrow_mut().reactor.adopt(socket.descriptor, HandleKind::Socket);
        TcpStream { core, handle }
    }

    pub(crate) async fn connect(core: Rc<Core>, address: SocketAddr) -> io::Result<Self> {
        let handle = core.io.borrow_mut().reactor.open_socket(&address)?;
        handle.set_nodelay()?;
        let address = Box::new(RawAddress::from(address));
        let connect = Operation::Connect { handle: handle.clone(), address, is_begun: false };
        let (_, result) = InFlight::new(&core, connect).await;
        check(result)?;
        Ok(TcpStream { core, handle })
    }

    /// Reads what has arrived, at least a byte, into the buffer's spare capacity, of which there must be some. Gives the
    /// bytes read; 0 when the other end has finished sending.
    pub async fn read(&self, buffer: Vec<u8>) -> (io::Result<usize>, Vec<u8>) {
        assert!(buffer.len() < buffer.capacity(), "a read needs room");
        match InFlight::new(&self.core, Operation::Receive { handle: self.handle.clone(), buffer }).await {
            (Operation::Receive { buffer, .. }, result) => (check(result).map(|count| count as usize), buffer),
            _ => unreachable!("an operation comes back as what it was"),
        }
    }

    /// Sends the whole buffer, or fails. The buffer comes back as it was, for reuse.
    pub async fn write_all(&self, buffer: Vec<u8>) -> (io::Result<()>, Vec<u8>) {
        if buffer.is_empty() {
            return (Ok(()), buffer);
        }
        match InFlight::new(&self.core, Operation::Send { handle: self.handle.clone(), buffer, done: 0 }).await {
            (Operation::Send { buffer, .. }, result) => (check(result).map(|_| ()), buffer),
            _ => unreachable!("an operation comes back as what it was"),
        }
    }

    /// Ends sending: the other end reads 0 after what was sent. A write that is under way may be cut.
    pub fn shutdown(&self) -> io::Result<()> {
        self.handle.finish_sending()
    }

    /// The address of the other end.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.handle.peer_address()
    }

    /// This end's address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.handle.local_address()
    }

    /// Takes the connection from this shard, for another to adopt. An error of the kind `ResourceBusy` if it has other
    /// clones or anything in flight.
    pub fn into_socket(self) -> io::Result<Socket> {
        let handle = Rc::try_unwrap(self.handle).map_err(|_| io::Error::from(io::ErrorKind::ResourceBusy))?;
        Ok(Socket { descriptor: self.core.io.borrow_mut().reactor.release(handle) })
    }
}

/// A socket with an address of its own, which takes connections once it listens.
#[derive(Clone)]
pub struct TcpListener {
    core: Rc<Core>,
    handle: Rc<Handle>,
}

impl TcpListener {
    /// Takes an address for TCP connections, which are refused until [`TcpListener::listen`].
    pub fn bound(runtime: &Runtime, address: SocketAddr) -> io::Result<Self> {
        let core = runtime.core.clone();
        let handle = core.io.borrow_mut().reactor.bind(address)?;
        Ok(TcpListener { core, handle })
    }

    /// Takes connections from now on. Fails with `AddrInUse` if another socket, bound to the address too, has listened first.
    pub fn listen(&self) -> io::Result<()> {
        self.handle.listen()
    }

    /// Waits for a connection. One accept may be under way at a time.
    pub async fn accept(&self) -> io::Result<(Socket, SocketAddr)> {
        loop {
            let accept = Operation::Accept { handle: self.handle.clone(), accepted: None };
            let (operation, result) = InFlight::new(&self.core, accept).await;
            check(result)?;
            let Operation::Accept { accepted: Some(descriptor), .. } = operation else {
                unreachable!("a successful accept has its connection")
            };
            match descriptor.peer_address() {
                Ok(address) => return Ok((Socket { descriptor }, address)),
                // Reset before it could be looked at: nobody's connection.
                Err(error) if error.kind() == io::ErrorKind::NotConnected => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The address that it listens on.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.handle.local_address()
    }
}
