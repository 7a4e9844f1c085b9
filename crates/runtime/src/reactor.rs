//! The seam between a shard and the world. A shard hands over [`Operation`]s, which own their buffers and descriptors,
//! and learns of their ends when it calls [`Reactor::turn`]. In between an operation sits in its slot of [`Slots`], where
//! nothing moves or frees its buffers until its last completion: whoever started it may lose interest, but cannot take
//! it out.
//!
//! An enum, not a trait: which reactor runs is decided at start, and neither a type parameter nor a `dyn` of it reaches
//! any caller. Descriptors, clocks and randomness are behind this seam too, so that a further reactor may bring its own.

mod aio;
mod clock;
mod descriptor;
mod epoll;
mod io;
mod namespace;
mod operation;
mod peers;
#[cfg(feature = "sim")]
mod sim;
mod slots;
mod uring;
mod workers;

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;

pub(crate) use clock::{Clock, Random};
pub(crate) use descriptor::{Descriptor, Handle, HandleKind};
pub(crate) use io::{InFlight, Io};
pub(crate) use namespace::{NamespaceCall, NamespaceReply};
pub(crate) use operation::Operation;
pub(crate) use peers::Peers;
pub(crate) use slots::{Slots, Token};
pub(crate) use workers::Workers;

use crate::options::ReactorKind;
use crate::sys;
use crate::time::Instant;

/// How long a turn may wait for something to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Not at all: there is other work.
    No,
    /// Until the moment, or for as long as it takes.
    Until(Option<Instant>),
}

/// The reactors.
pub(crate) enum Reactor {
    Uring(Box<uring::Uring>),
    Epoll(Box<epoll::Epoll>),
    #[cfg(feature = "sim")]
    Sim(Box<sim::Sim>),
}

impl Reactor {
    /// Makes a reactor for the calling thread, which is shard `index` of `peers`.
    pub(crate) fn new(kind: ReactorKind, peers: &Peers, index: usize) -> std::io::Result<Self> {
        let workers = Workers::new(peers.clone(), index);
        match kind {
            ReactorKind::Uring => Ok(Reactor::Uring(Box::new(uring::Uring::new(peers, index, workers)?))),
            ReactorKind::Epoll => Ok(Reactor::Epoll(Box::new(epoll::Epoll::with_aio(peers, index, workers)?))),
            ReactorKind::EpollWorkers => Ok(Reactor::Epoll(Box::new(epoll::Epoll::new(peers, index, workers)?))),
            #[cfg(feature = "sim")]
            ReactorKind::Sim { .. } => unreachable!("a simulated shard is made by its world"),
        }
    }

    /// A reactor for a shard of a simulated world.
    #[cfg(feature = "sim")]
    pub(crate) fn simulated(machine: crate::sim::Machine) -> Self {
        Reactor::Sim(Box::new(sim::Sim::new(machine)))
    }

    /// Whether io_uring works here, found out by having a ring of the shards' kind complete an operation.
    pub(crate) fn probe_uring() -> std::io::Result<()> {
        uring::probe()
    }

    /// Whether linux-aio may be used here.
    pub(crate) fn probe_aio() -> std::io::Result<()> {
        sys::aio::probe()
    }

    /// The name that is logged.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Reactor::Uring(_) => "uring",
            Reactor::Epoll(epoll) => epoll.name(),
            #[cfg(feature = "sim")]
            Reactor::Sim(_) => "sim",
        }
    }

    /// Begins the operation in the slot. Its end is reported by a later turn.
    pub(crate) fn begin(&mut self, slots: &mut Slots, token: Token) {
        match self {
            Reactor::Uring(uring) => uring.begin(slots, token),
            Reactor::Epoll(epoll) => epoll.begin(slots, token),
            #[cfg(feature = "sim")]
            Reactor::Sim(sim) => sim.begin(token),
        }
    }

    /// Hurries the operation's end, if it waits for another end that may never do anything. It ends in a later turn
    /// all the same.
    pub(crate) fn cancel(&mut self, slots: &mut Slots, token: Token) {
        match self {
            Reactor::Uring(uring) => uring.cancel(token),
            Reactor::Epoll(epoll) => epoll.cancel(slots, token),
            #[cfg(feature = "sim")]
            Reactor::Sim(sim) => sim.cancel(slots, token),
        }
    }

    /// Hands all that was begun to the kernel, waits for something to end, and ends it in its slot.
    pub(crate) fn turn(&mut self, slots: &mut Slots, wait: Wait) {
        match self {
            Reactor::Uring(uring) => uring.turn(slots, wait),
            Reactor::Epoll(epoll) => epoll.turn(slots, wait),
            #[cfg(feature = "sim")]
            Reactor::Sim(sim) => sim.turn(slots),
        }
    }

    /// Whether a worker has finished something that no turn has reported yet. Seen by a shard about to sleep.
    pub(crate) fn has_finished_work(&self) -> bool {
        match self {
            Reactor::Uring(uring) => uring.workers().has_done(),
            Reactor::Epoll(epoll) => epoll.workers().has_done(),
            #[cfg(feature = "sim")]
            Reactor::Sim(_) => false,
        }
    }

    /// Ends the workers, which finish what they have.
    pub(crate) fn stop(&mut self) {
        match self {
            Reactor::Uring(uring) => uring.workers_mut().stop(),
            Reactor::Epoll(epoll) => epoll.workers_mut().stop(),
            #[cfg(feature = "sim")]
            Reactor::Sim(_) => {}
        }
    }

    /// Whether all that is in flight ends with the shard, without waiting for the machine: buffers are not shared with it.
    pub(crate) fn ends_at_once(&self) -> bool {
        match self {
            Reactor::Uring(_) | Reactor::Epoll(_) => false,
            #[cfg(feature = "sim")]
            Reactor::Sim(_) => true,
        }
    }

    /// Takes a socket in.
    pub(crate) fn adopt(&mut self, descriptor: Descriptor, kind: HandleKind) -> Rc<Handle> {
        let handle = Rc::new(Handle::new(descriptor, kind, None));
        if let Reactor::Epoll(epoll) = self {
            epoll.adopt(&handle);
        }
        handle
    }

    /// Takes a file in. Its descriptor is closed by a worker: the last close of a removed file frees its blocks,
    /// which may take long.
    pub(crate) fn adopt_file(&mut self, descriptor: Descriptor, is_direct: bool) -> Rc<Handle> {
        let workers = match self {
            Reactor::Uring(uring) => uring.workers(),
            Reactor::Epoll(epoll) => epoll.workers(),
            #[cfg(feature = "sim")]
            Reactor::Sim(_) => return Rc::new(Handle::new(descriptor, HandleKind::File { is_direct }, None)),
        };
        Rc::new(Handle::new(descriptor, HandleKind::File { is_direct }, Some(workers.closer())))
    }

    /// Lets a socket go, for another shard.
    pub(crate) fn release(&mut self, handle: Handle) -> Descriptor {
        if let Reactor::Epoll(epoll) = self {
            epoll.forget(&handle);
        }
        handle.into_descriptor()
    }

    /// Descriptors wait inside io_uring by themselves, which a nonblocking one would refuse; epoll needs the opposite.
    fn is_nonblocking(&self) -> bool {
        matches!(self, Reactor::Epoll(_))
    }

    /// A socket that has an address, and does not listen yet.
    pub(crate) fn bind(&mut self, address: SocketAddr) -> std::io::Result<Rc<Handle>> {
        #[cfg(feature = "sim")]
        if let Reactor::Sim(sim) = self {
            let descriptor = Descriptor::Simulated(sim.machine().bind(address)?);
            return Ok(self.adopt(descriptor, HandleKind::Socket));
        }
        let socket = sys::socket::bind(address, self.is_nonblocking())?;
        Ok(self.adopt(Descriptor::from(socket), HandleKind::Socket))
    }

    /// A Unix socket that has an address, and does not listen yet.
    pub(crate) fn bind_unix(&mut self, path: &std::path::Path) -> std::io::Result<Rc<Handle>> {
        #[cfg(feature = "sim")]
        if let Reactor::Sim(_) = self {
            return Err(std::io::ErrorKind::Unsupported.into());
        }
        let socket = sys::unix::bind(path, self.is_nonblocking())?;
        Ok(self.adopt(Descriptor::from(socket), HandleKind::Socket))
    }

    /// A socket that is connected already, and the other end for a thread that is no shard.
    pub(crate) fn pair(&self) -> std::io::Result<(Descriptor, UnixStream)> {
        #[cfg(feature = "sim")]
        if let Reactor::Sim(_) = self {
            return Err(std::io::ErrorKind::Unsupported.into());
        }
        let (own, other) = UnixStream::pair()?;
        Ok((Descriptor::from(OwnedFd::from(own)), other))
    }

    /// A socket that can be connected to `address`.
    pub(crate) fn open_socket(&mut self, address: &SocketAddr) -> std::io::Result<Rc<Handle>> {
        #[cfg(feature = "sim")]
        if let Reactor::Sim(sim) = self {
            let descriptor = Descriptor::Simulated(sim.machine().open_socket());
            return Ok(self.adopt(descriptor, HandleKind::Socket));
        }
        let socket = sys::socket::open(address, self.is_nonblocking())?;
        Ok(self.adopt(Descriptor::from(socket), HandleKind::Socket))
    }

    /// A descriptor that reads the signals which ask the process to end.
    pub(crate) fn open_signals(&mut self) -> std::io::Result<Rc<Handle>> {
        #[cfg(feature = "sim")]
        if let Reactor::Sim(sim) = self {
            let descriptor = Descriptor::Simulated(sim.machine().open_signals());
            return Ok(self.adopt(descriptor, HandleKind::Pipe));
        }
        let signals = sys::event::termination_signals(self.is_nonblocking())?;
        Ok(self.adopt(Descriptor::from(signals), HandleKind::Pipe))
    }
}
