//! The reactor on epoll. Sockets are tried first and waited for only when they would block; each is registered once, for
//! changes of readiness (EPOLLET), so that waiting again costs no call. Reads and writes of files past the page cache go
//! to linux-aio, if it is there; the rest of files, and names, are left to the workers.
//!
//! Operations begun in a turn are tried at its end, not at once, as io_uring does it: a task that always finds data
//! gives way to others.

use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use super::Wait;
use super::aio::Aio;
use super::descriptor::{Descriptor, Handle, HandleKind};
use super::operation::{Operation, Step};
use super::peers::Peers;
use super::slots::{Slots, Token};
use super::workers::Workers;
use crate::reactor::Clock;
use crate::sys;
use crate::sys::event::{Event, Poller, Readiness};

/// Events that one wait reports; more are reported by the next.
const EVENTS: usize = 256;
/// The key of the event that wakes the shard: no descriptor has this number.
const WAKE: u64 = u64::MAX;
/// The key of the event that tells of ended requests of linux-aio.
const AIO: u64 = u64::MAX - 1;
/// Turns in a row that may do without looking for events, because operations ended without waiting.
const TURNS_WITHOUT_EVENTS_MAX: u32 = 3;

/// What is known of a descriptor, by its number.
#[derive(Debug, Default)]
struct Watched {
    is_registered: bool,
    /// Whether a read, or a write, may find something to do: false after it would have blocked, true after an event.
    is_readable: bool,
    is_writable: bool,
    /// The other end has finished: there will be no further event, so that short reads say nothing.
    is_over: bool,
    reader: Option<Token>,
    writer: Option<Token>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Reads,
    Writes,
}

/// Who reads and writes files past the page cache.
enum DirectFiles {
    Workers,
    /// Linux-aio, which is made for the first of them: it takes tens of milliseconds to end, which a shard without such
    /// files need not wait for.
    AioWhenNeeded,
    Aio(Box<Aio>),
}

pub(crate) struct Epoll {
    poller: Poller,
    watched: Vec<Watched>,
    /// Operations to try.
    begun: Vec<Token>,
    events: Vec<Event>,
    workers: Workers,
    files: DirectFiles,
    turns_without_events: u32,
}

fn side(operation: &Operation) -> Option<(RawFd, Side)> {
    match operation {
        Operation::Receive { handle, .. } | Operation::Accept { handle, .. } => Some((handle.fd(), Side::Reads)),
        Operation::Send { handle, .. } | Operation::Connect { handle, .. } => Some((handle.fd(), Side::Writes)),
        _ => None,
    }
}

impl Watched {
    fn waiter(&mut self, side: Side) -> &mut Option<Token> {
        match side {
            Side::Reads => &mut self.reader,
            Side::Writes => &mut self.writer,
        }
    }

    fn is_ready(&mut self, side: Side) -> &mut bool {
        match side {
            Side::Reads => &mut self.is_readable,
            Side::Writes => &mut self.is_writable,
        }
    }
}

impl Epoll {
    pub(super) fn new(peers: &Peers, index: usize, workers: Workers) -> std::io::Result<Self> {
        let poller = Poller::new()?;
        poller.add(peers.event(index).as_raw_fd(), WAKE)?;
        let (watched, begun, events) = (Vec::new(), Vec::new(), Vec::with_capacity(EVENTS));
        Ok(Epoll { poller, watched, begun, events, workers, files: DirectFiles::Workers, turns_without_events: 0 })
    }

    /// With linux-aio, which the process may use.
    pub(super) fn with_aio(peers: &Peers, index: usize, workers: Workers) -> std::io::Result<Self> {
        Ok(Epoll { files: DirectFiles::AioWhenNeeded, ..Epoll::new(peers, index, workers)? })
    }

    pub(super) fn name(&self) -> &'static str {
        match self.files {
            DirectFiles::Workers => "epoll",
            DirectFiles::AioWhenNeeded | DirectFiles::Aio(_) => "epoll+aio",
        }
    }

    /// Linux-aio for the first operation that wants it, or not: the kernel has only so much for all processes together.
    #[cold]
    fn make_aio(&mut self) {
        let made = Aio::new().and_then(|aio| self.poller.add(aio.event(), AIO).map(|()| aio));
        self.files = match made {
            Ok(aio) => DirectFiles::Aio(Box::new(aio)),
            Err(error) => {
                tracing::warn!(%error, "linux-aio is not available; using worker threads for this shard's files, or raise fs.aio-max-nr");
                DirectFiles::Workers
            }
        };
    }

    pub(super) fn workers(&self) -> &Workers {
        &self.workers
    }

    pub(super) fn workers_mut(&mut self) -> &mut Workers {
        &mut self.workers
    }

    /// Forgets what was known of the number's earlier bearer.
    pub(super) fn adopt(&mut self, handle: &Handle) {
        let index = handle.fd() as usize;
        if self.watched.len() <= index {
            self.watched.resize_with(index + 1, Watched::default);
        }
        self.watched[index] = Watched { is_readable: true, is_writable: true, ..Watched::default() };
    }

    /// Hears no more of the descriptor, which lives on elsewhere.
    pub(super) fn forget(&mut self, handle: &Handle) {
        let watched = &mut self.watched[handle.fd() as usize];
        if watched.is_registered {
            self.poller.remove(handle.fd());
        }
        *watched = Watched::default();
    }

    pub(super) fn begin(&mut self, slots: &mut Slots, token: Token) {
        let operation = slots.operation(token);
        let Some((fd, side)) = side(operation) else {
            if Aio::takes(operation) && matches!(self.files, DirectFiles::AioWhenNeeded) {
                self.make_aio();
            }
            match &mut self.files {
                DirectFiles::Aio(aio) if Aio::takes(slots.operation(token)) => aio.begin(token),
                _ => self.workers.begin(slots, token),
            }
            return;
        };
        let watched = &mut self.watched[fd as usize];
        if *watched.is_ready(side) {
            self.begun.push(token);
        } else {
            self.park(slots, token, fd, side);
        }
    }

    /// Lets the operation wait for an event.
    fn park(&mut self, slots: &mut Slots, token: Token, fd: RawFd, side: Side) {
        let watched = &mut self.watched[fd as usize];
        if watched.waiter(side).is_some_and(|other| slots.is_running(other)) {
            slots.end(token, -libc::EBUSY);
            return;
        }
        *watched.waiter(side) = Some(token);
        if watched.is_registered {
            return;
        }
        match self.poller.add(fd, fd as u64) {
            Ok(()) => watched.is_registered = true,
            Err(error) => {
                *watched.waiter(side) = None;
                slots.end(token, -error.raw_os_error().unwrap_or(libc::EIO));
            }
        }
    }

    pub(super) fn cancel(&mut self, slots: &mut Slots, token: Token) {
        let Some((fd, side)) = side(slots.operation(token)) else { return };
        let waiter = self.watched[fd as usize].waiter(side);
        if *waiter == Some(token) {
            *waiter = None;
        }
        slots.end(token, -libc::ECANCELED);
    }

    pub(super) fn turn(&mut self, slots: &mut Slots, wait: Wait) {
        let mut begun = std::mem::take(&mut self.begun);
        for token in begun.drain(..) {
            // It may have been cancelled since.
            if slots.is_running(token) {
                self.try_now(slots, token);
            }
        }
        self.begun.append(&mut begun);
        if let DirectFiles::Aio(aio) = &mut self.files {
            aio.submit(slots, &mut self.workers);
        }
        self.workers.collect(slots);
        let has_ended = slots.has_woken() || !self.begun.is_empty();
        if has_ended && self.turns_without_events < TURNS_WITHOUT_EVENTS_MAX {
            self.turns_without_events += 1;
            return;
        }
        self.turns_without_events = 0;
        let timeout = match wait {
            Wait::Until(None) if !has_ended => None,
            Wait::Until(Some(deadline)) if !has_ended => Some(deadline - Clock::kernel().now()),
            _ => Some(Duration::ZERO),
        };
        let mut events = std::mem::take(&mut self.events);
        self.poller.wait(&mut events, timeout).unwrap_or_else(|error| panic!("epoll failed: {error}"));
        for event in &events {
            let ready = Readiness::from(event);
            match &mut self.files {
                DirectFiles::Aio(aio) if ready.key == AIO => aio.collect(slots, &mut self.workers),
                _ => self.notice(slots, ready),
            }
        }
        self.events = events;
        self.workers.collect(slots);
    }

    /// Tries whoever waits for what has become ready.
    fn notice(&mut self, slots: &mut Slots, ready: Readiness) {
        // The wake event has no entry; its only effect is that the wait is over.
        let Some(watched) = usize::try_from(ready.key).ok().and_then(|index| self.watched.get_mut(index)) else {
            return;
        };
        watched.is_readable |= ready.is_readable;
        watched.is_writable |= ready.is_writable;
        watched.is_over |= ready.is_over;
        let reader = if watched.is_readable { watched.reader.take() } else { None };
        let writer = if watched.is_writable { watched.writer.take() } else { None };
        for token in [reader, writer].into_iter().flatten() {
            self.try_now(slots, token);
        }
    }

    /// Makes the operation's calls until it ends or would block.
    fn try_now(&mut self, slots: &mut Slots, token: Token) {
        let operation = slots.operation(token);
        let Some((fd, side)) = side(operation) else { return };
        loop {
            let (result, is_drained) = attempt(operation);
            if result == -libc::EAGAIN || result == -libc::EINPROGRESS {
                *self.watched[fd as usize].is_ready(side) = false;
                self.park(slots, token, fd, side);
                return;
            }
            if let Step::Ended(result) = operation.advance(result) {
                let watched = &mut self.watched[fd as usize];
                if is_drained && !watched.is_over && watched.is_registered {
                    watched.is_readable = false;
                }
                slots.end(token, result);
                return;
            }
        }
    }
}

/// One call's worth of the operation: its result, and whether it took all that there was to read.
fn attempt(operation: &mut Operation) -> (i32, bool) {
    match operation {
        Operation::Receive { handle, buffer } if handle.kind() == HandleKind::Socket => {
            let result = sys::socket::receive(handle.fd(), buffer);
            (result, result > 0 && buffer.len() < buffer.capacity())
        }
        Operation::Receive { handle, buffer } => (sys::event::read(handle.fd(), buffer), false),
        Operation::Send { handle, buffer, done } => (sys::socket::send(handle.fd(), &buffer[*done..]), false),
        Operation::Accept { handle, accepted } => match sys::socket::accept(handle.fd()) {
            Ok(fd) => {
                *accepted = Some(Descriptor::from(fd));
                (0, false)
            }
            Err(error) => (error, false),
        },
        Operation::Connect { handle, is_begun: true, .. } => (sys::socket::connect_result(handle.fd()), false),
        Operation::Connect { handle, address, is_begun } => {
            *is_begun = true;
            (sys::socket::connect(handle.fd(), address), false)
        }
        _ => unreachable!("files are left to the workers"),
    }
}
