//! Connections between machines. Inside a living connection bytes come whole and in order, as TCP promises: what a bad
//! network does is delay, and in the end reset. A lost segment is one that comes late.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};

use super::shared::{DescriptorId, HostId, ProcessId, Waiter};

/// Bytes on their way to, or waiting at, one end.
pub(super) const WINDOW_BYTES: usize = 128 << 10;
/// Connections that wait to be accepted.
pub(super) const BACKLOG: usize = 4096;

/// One end of a connection.
#[derive(Debug)]
pub(super) struct End {
    pub(super) host: HostId,
    pub(super) local: Option<SocketAddr>,
    pub(super) remote: Option<SocketAddr>,
    pub(super) peer: Option<DescriptorId>,
    /// What has come and was not read.
    pub(super) inbox: VecDeque<u8>,
    /// Bytes that were sent to this end and not read from it, those on their way included.
    pub(super) unread: usize,
    /// The other end has finished sending, and this one has been told.
    pub(super) is_over: bool,
    /// This end has finished sending.
    pub(super) is_finished: bool,
    /// Why nothing comes and goes any more.
    pub(super) error: Option<i32>,
    /// The error was told to a reader: from now on the connection is only over.
    pub(super) is_error_told: bool,
    pub(super) reader: Option<Waiter>,
    pub(super) writer: Option<Waiter>,
    /// The latest time at which something that was sent to this end arrives.
    pub(super) last_arrival: u64,
}

impl End {
    pub(super) fn new(host: HostId) -> Self {
        End {
            host,
            local: None,
            remote: None,
            peer: None,
            inbox: VecDeque::new(),
            unread: 0,
            is_over: false,
            is_finished: false,
            error: None,
            is_error_told: false,
            reader: None,
            writer: None,
            last_arrival: 0,
        }
    }
}

/// A socket that listens.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) host: HostId,
    pub(super) address: SocketAddr,
    /// It takes connections; before, it only has its address.
    pub(super) listens: bool,
    pub(super) waiting: VecDeque<DescriptorId>,
    pub(super) acceptor: Option<Waiter>,
}

/// What a descriptor is of.
#[derive(Debug)]
pub(super) enum Object {
    End(End),
    Listener(Listener),
    File { host: HostId, inode: super::disk::Inode, options: crate::OpenOptions },
    Lock { host: HostId, inode: super::disk::Inode },
    Signals { reader: Option<Waiter> },
}

/// A descriptor's owner and what it is of.
#[derive(Debug)]
pub(super) struct Owned {
    pub(super) process: ProcessId,
    pub(super) object: Object,
}

/// All that is open in a world.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    all: BTreeMap<DescriptorId, Owned>,
    of_process: BTreeMap<ProcessId, BTreeSet<DescriptorId>>,
    /// Sockets that listen, by machine and port, the oldest first.
    listeners: BTreeMap<(HostId, u16), Vec<DescriptorId>>,
    next: u64,
}

impl Descriptors {
    pub(super) fn add(&mut self, process: ProcessId, object: Object) -> DescriptorId {
        let id = DescriptorId(self.next);
        self.next += 1;
        if let Object::Listener(listener) = &object {
            self.listeners.entry((listener.host, listener.address.port())).or_default().push(id);
        }
        self.all.insert(id, Owned { process, object });
        self.of_process.entry(process).or_default().insert(id);
        id
    }

    pub(super) fn remove(&mut self, id: DescriptorId) -> Option<Owned> {
        let owned = self.all.remove(&id)?;
        if let Some(open) = self.of_process.get_mut(&owned.process) {
            open.remove(&id);
        }
        if let Object::Listener(listener) = &owned.object
            && let Some(listeners) = self.listeners.get_mut(&(listener.host, listener.address.port()))
        {
            listeners.retain(|listening| *listening != id);
        }
        Some(owned)
    }

    pub(super) fn get(&self, id: DescriptorId) -> Option<&Owned> {
        self.all.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: DescriptorId) -> Option<&mut Owned> {
        self.all.get_mut(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (DescriptorId, &Owned)> {
        self.all.iter().map(|(id, owned)| (*id, owned))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Owned> {
        self.all.values_mut()
    }

    /// All that a process has open, for its end.
    pub(super) fn take_of(&mut self, process: ProcessId) -> BTreeSet<DescriptorId> {
        self.of_process.remove(&process).unwrap_or_default()
    }

    /// The sockets of a machine that have a port to listen at, the oldest first.
    pub(super) fn listeners_at(&self, host: HostId, port: u16) -> impl Iterator<Item = (DescriptorId, &Listener)> {
        let ids = self.listeners.get(&(host, port)).into_iter().flatten();
        ids.filter_map(|id| match &self.get(*id)?.object {
            Object::Listener(listener) => Some((*id, listener)),
            _ => None,
        })
    }
}

/// What travels to an end.
#[derive(Debug)]
pub(super) enum Packet {
    Data(Vec<u8>),
    Finish,
    Reset,
    /// Room was made: a writer may go on.
    Room,
    /// The connection is there.
    Accepted,
    /// Nobody listens.
    Refused,
}

/// How one machine reaches another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The least time that something takes, nanoseconds.
    pub latency_min_nanos: u64,
    /// The most, but for what is held up.
    pub latency_max_nanos: u64,
    /// Of a million segments, how many come only after [`Link::held_up_nanos`] more: those that were lost and sent again.
    pub lost_per_million: u32,
    /// How much later.
    pub held_up_nanos: u64,
    /// Of a million segments, how many are lost with their connection: both ends find it reset.
    pub reset_per_million: u32,
    /// Nothing passes in this direction.
    pub is_cut: bool,
}

impl Default for Link {
    fn default() -> Self {
        Link {
            latency_min_nanos: 20_000,
            latency_max_nanos: 200_000,
            lost_per_million: 0,
            held_up_nanos: 200_000_000,
            reset_per_million: 0,
            is_cut: false,
        }
    }
}

/// How long a connection bears a cut before it is given up.
pub(super) const PATIENCE_NANOS: u64 = 60_000_000_000;

/// Whether who listens at `listening` is who is meant by `wanted`.
pub(super) fn is_meant(listening: SocketAddr, wanted: SocketAddr) -> bool {
    listening.port() == wanted.port() && (listening.ip() == wanted.ip() || is_any(listening.ip()))
}

/// Whether the address stands for all of a machine's.
pub(super) fn is_any(address: IpAddr) -> bool {
    address.is_unspecified()
}
