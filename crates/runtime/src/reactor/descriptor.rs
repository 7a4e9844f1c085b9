//! Open sockets and files as the reactors hold them.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::workers::Closer;
use crate::sys;

/// An open socket or file that belongs to no shard. Dropped, it closes.
#[derive(Debug)]
pub(crate) enum Descriptor {
    /// The kernel's.
    Kernel(OwnedFd),
    /// A simulated machine's.
    #[cfg(feature = "sim")]
    Simulated(crate::sim::SimDescriptor),
}

impl From<OwnedFd> for Descriptor {
    fn from(fd: OwnedFd) -> Self {
        Descriptor::Kernel(fd)
    }
}

impl Descriptor {
    pub(crate) fn peer_address(&self) -> io::Result<SocketAddr> {
        match self {
            Descriptor::Kernel(fd) => sys::socket::peer_address(fd.as_raw_fd()),
            #[cfg(feature = "sim")]
            Descriptor::Simulated(simulated) => simulated.peer_address(),
        }
    }

    pub(crate) fn set_nodelay(&self) -> io::Result<()> {
        match self {
            Descriptor::Kernel(fd) => sys::socket::set_nodelay(fd.as_raw_fd()),
            #[cfg(feature = "sim")]
            Descriptor::Simulated(_) => Ok(()),
        }
    }

    fn local_address(&self) -> io::Result<SocketAddr> {
        match self {
            Descriptor::Kernel(fd) => sys::socket::local_address(fd.as_raw_fd()),
            #[cfg(feature = "sim")]
            Descriptor::Simulated(simulated) => simulated.local_address(),
        }
    }

    fn listen(&self) -> io::Result<()> {
        match self {
            Descriptor::Kernel(fd) => sys::socket::listen(fd.as_raw_fd()),
            #[cfg(feature = "sim")]
            Descriptor::Simulated(simulated) => simulated.listen(),
        }
    }

    fn finish_sending(&self) -> io::Result<()> {
        match self {
            Descriptor::Kernel(fd) => sys::socket::finish_sending(fd.as_raw_fd()),
            #[cfg(feature = "sim")]
            Descriptor::Simulated(simulated) => simulated.finish_sending(),
        }
    }
}

/// What a handle is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandleKind {
    Socket,
    /// What is read as a socket is, but with `read`.
    Pipe,
    File {
        is_direct: bool,
    },
}

/// An open socket or file of a shard, shared by its owner and the operations on it.
#[derive(Debug)]
pub(crate) struct Handle {
    descriptor: Option<Descriptor>,
    kind: HandleKind,
    closer: Option<Closer>,
    /// Whether the last receive took all there was, as far as the kernel said.
    is_drained: Cell<bool>,
}

impl Handle {
    pub(super) fn new(descriptor: Descriptor, kind: HandleKind, closer: Option<Closer>) -> Self {
        Handle { descriptor: Some(descriptor), kind, closer, is_drained: Cell::new(false) }
    }

    fn descriptor(&self) -> &Descriptor {
        self.descriptor.as_ref().expect("a handle has its descriptor until it is dropped")
    }

    #[inline]
    pub(super) fn fd(&self) -> RawFd {
        match self.descriptor() {
            Descriptor::Kernel(fd) => fd.as_raw_fd(),
            #[cfg(feature = "sim")]
            Descriptor::Simulated(_) => unreachable!("a simulated descriptor never meets the kernel"),
        }
    }

    /// The number by which a simulated world knows it.
    #[cfg(feature = "sim")]
    pub(super) fn simulated(&self) -> crate::sim::DescriptorId {
        match self.descriptor() {
            Descriptor::Simulated(simulated) => simulated.id(),
            Descriptor::Kernel(_) => unreachable!("a descriptor of the kernel never meets a simulated world"),
        }
    }

    pub(super) fn into_descriptor(mut self) -> Descriptor {
        self.descriptor.take().expect("a handle has its descriptor until it is dropped")
    }

    pub(crate) fn kind(&self) -> HandleKind {
        self.kind
    }

    pub(super) fn is_drained(&self) -> bool {
        self.is_drained.get()
    }

    pub(super) fn set_drained(&self, is_drained: bool) {
        self.is_drained.set(is_drained);
    }

    pub(crate) fn set_nodelay(&self) -> io::Result<()> {
        self.descriptor().set_nodelay()
    }

    pub(crate) fn peer_address(&self) -> io::Result<SocketAddr> {
        self.descriptor().peer_address()
    }

    pub(crate) fn local_address(&self) -> io::Result<SocketAddr> {
        self.descriptor().local_address()
    }

    pub(crate) fn listen(&self) -> io::Result<()> {
        self.descriptor().listen()
    }

    pub(crate) fn finish_sending(&self) -> io::Result<()> {
        self.descriptor().finish_sending()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let (Some(descriptor), Some(closer)) = (self.descriptor.take(), &self.closer) {
            closer.close(descriptor);
        }
    }
}
