//! What machines do with sockets: opening, connecting, moving bytes, ending.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::network::{
    BACKLOG, End, Link, Listener, Object, Owned, PATIENCE_NANOS, Packet, WINDOW_BYTES, is_any, is_meant,
};
use super::shared::{DescriptorId, Event, HostId, ProcessId, State, Waiter};

/// What an attempt at an operation came to.
#[derive(Debug)]
pub(crate) enum Attempt<T> {
    Done(T),
    Failed(i32),
    /// It will be tried again.
    Waits,
}

/// What is no longer than this moves as a whole.
const CUT_BYTES_MIN: usize = 16;

fn error(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

impl State {
    fn end(&mut self, id: DescriptorId) -> Option<&mut End> {
        match &mut self.descriptors.get_mut(id)?.object {
            Object::End(end) => Some(end),
            _ => None,
        }
    }

    pub(super) fn local_address(&self, id: DescriptorId) -> io::Result<SocketAddr> {
        match self.descriptors.get(id).map(|owned| &owned.object) {
            Some(Object::End(End { local: Some(address), .. })) => Ok(*address),
            Some(Object::Listener(listener)) => Ok(listener.address),
            _ => Err(error(libc::ENOTCONN)),
        }
    }

    pub(super) fn peer_address(&self, id: DescriptorId) -> io::Result<SocketAddr> {
        match self.descriptors.get(id).map(|owned| &owned.object) {
            Some(Object::End(End { remote: Some(address), error: None, .. })) => Ok(*address),
            _ => Err(error(libc::ENOTCONN)),
        }
    }

    fn free_port(&mut self, host: HostId) -> u16 {
        let host = &mut self.hosts[host.0];
        host.next_port = if host.next_port == u16::MAX { 32_768 } else { host.next_port + 1 };
        host.next_port
    }

    pub(super) fn bind(
        &mut self,
        host: HostId,
        process: ProcessId,
        mut address: SocketAddr,
    ) -> io::Result<DescriptorId> {
        let ip = address.ip();
        if !ip.is_loopback() && !is_any(ip) && !self.hosts[host.0].addresses.contains(&ip) {
            return Err(error(libc::EADDRNOTAVAIL));
        }
        if address.port() == 0 {
            address.set_port(self.free_port(host));
        }
        let is_taken = self
            .descriptors
            .listeners_at(host, address.port())
            .any(|(_, other)| is_meant(other.address, address) || is_meant(address, other.address));
        if is_taken {
            return Err(error(libc::EADDRINUSE));
        }
        let listener = Listener { host, address, listens: false, waiting: Default::default(), acceptor: None };
        Ok(self.descriptors.add(process, Object::Listener(listener)))
    }

    pub(super) fn listen(&mut self, id: DescriptorId) -> io::Result<()> {
        match self.descriptors.get_mut(id).map(|owned| &mut owned.object) {
            Some(Object::Listener(listener)) => {
                listener.listens = true;
                Ok(())
            }
            _ => Err(error(libc::EINVAL)),
        }
    }

    fn host_of(&self, from: HostId, address: IpAddr) -> Option<HostId> {
        if address.is_loopback() || is_any(address) {
            return Some(from);
        }
        self.host_of.get(&address).copied()
    }

    fn link(&self, from: HostId, to: HostId) -> Link {
        if from == to {
            return Link {
                latency_min_nanos: 5_000,
                latency_max_nanos: 30_000,
                lost_per_million: 0,
                ..Link::default()
            };
        }
        self.links.get(&(from, to)).copied().unwrap_or(self.default_link)
    }

    fn latency(&mut self, link: Link) -> u64 {
        let latency = self.between(link.latency_min_nanos, link.latency_max_nanos);
        let is_lost = link.lost_per_million > 0 && self.random.next() % 1_000_000 < u64::from(link.lost_per_million);
        if is_lost {
            stdx::sometimes!("segment lost");
        }
        latency + if is_lost { link.held_up_nanos } else { 0 }
    }

    /// Sends something on its way to an end, behind all that was sent to it before.
    fn dispatch(&mut self, now: u64, from: HostId, to: DescriptorId, packet: Packet) {
        let Some(host) = self.end(to).map(|end| end.host) else { return };
        let link = self.link(from, host);
        let at = now + self.latency(link);
        let end = self.end(to).expect("it was just there");
        let at = at.max(end.last_arrival + 1);
        end.last_arrival = at;
        self.schedule(at, Event::Arrive { to, from, packet });
    }

    /// Begins to connect.
    pub(super) fn knock(&mut self, now: u64, id: DescriptorId, address: SocketAddr, waiter: Waiter) {
        let Some(host) = self.end(id).map(|end| end.host) else { return };
        let ip = match (address.ip().is_loopback() || is_any(address.ip()), address.ip()) {
            (true, IpAddr::V4(_)) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            (true, IpAddr::V6(_)) => IpAddr::V6(Ipv6Addr::LOCALHOST),
            (false, _) => self.hosts[host.0].addresses.first().copied().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        };
        let local = SocketAddr::new(ip, self.free_port(host));
        let end = self.end(id).expect("it was just there");
        end.local = Some(local);
        end.remote = Some(address);
        end.writer = Some(waiter);
        let Some(target) = self.host_of(host, address.ip()) else {
            self.schedule(now + PATIENCE_NANOS, Event::GiveUp { end: id });
            return;
        };
        let link = self.link(host, target);
        let at = now + self.latency(link);
        self.schedule(at, Event::Knock { from: id, address });
    }

    /// Somebody stands at a machine's door.
    pub(super) fn answer_knock(&mut self, now: u64, from: DescriptorId, address: SocketAddr) {
        let Some((host, local)) = self.end(from).map(|end| (end.host, end.local)) else { return };
        let Some(target) = self.host_of(host, address.ip()) else { return };
        if self.link(host, target).is_cut {
            self.hold(now, host, target, from, Event::Knock { from, address });
            return;
        }
        let listener = self.descriptors.listeners_at(target, address.port()).find_map(|(id, listener)| {
            let process = self.descriptors.get(id)?.process;
            (listener.listens && is_meant(listener.address, address)).then_some((
                id,
                process,
                listener.waiting.len() < BACKLOG,
            ))
        });
        let Some((listener, process, true)) = listener else {
            self.dispatch(now, target, from, Packet::Refused);
            return;
        };
        let other = End { local: Some(address), remote: local, peer: Some(from), ..End::new(target) };
        let other = self.descriptors.add(process, Object::End(other));
        if let Some(end) = self.end(from) {
            end.peer = Some(other);
        }
        self.dispatch(now, target, from, Packet::Accepted);
        if let Some(Owned { object: Object::Listener(listener), .. }) = self.descriptors.get_mut(listener) {
            listener.waiting.push_back(other);
            let acceptor = listener.acceptor.take();
            self.retry(acceptor);
        }
    }

    /// A cut holds the event back, and in the end the connection is given up.
    fn hold(&mut self, now: u64, from: HostId, to: HostId, end: DescriptorId, event: Event) {
        let is_first = !self.held.iter().any(|(_, _, held)| match held {
            Event::Arrive { to, .. } => *to == end,
            Event::Knock { from, .. } => *from == end,
            _ => false,
        });
        self.held.push((from, to, event));
        self.held_count += 1;
        if is_first {
            self.schedule(now + PATIENCE_NANOS, Event::GiveUp { end });
        }
    }

    /// Lets through what cut links held, where they are whole again: at once, as what was sent behind it may be on its way already.
    pub(super) fn release_held(&mut self, now: u64) {
        for (from, to, event) in std::mem::take(&mut self.held) {
            if self.link(from, to).is_cut {
                self.held.push((from, to, event));
                continue;
            }
            match event {
                Event::Arrive { to, from, packet } => self.arrive(now, to, from, packet),
                other => self.schedule(now + 1_000, other),
            }
        }
    }

    /// A connection was held up by a cut for too long.
    pub(super) fn give_up(&mut self, now: u64, id: DescriptorId) {
        let is_held = self.held.iter().any(|(_, _, held)| match held {
            Event::Arrive { to, .. } => *to == id,
            Event::Knock { from, .. } => *from == id,
            _ => false,
        });
        let is_knocking = self.end(id).is_some_and(|end| end.peer.is_none() && end.error.is_none());
        if !is_held && !is_knocking {
            return;
        }
        self.held.retain(|(_, _, held)| match held {
            Event::Arrive { to, .. } => *to != id,
            Event::Knock { from, .. } => *from != id,
            _ => true,
        });
        let peer = self.end(id).and_then(|end| end.peer);
        // Neither end can tell the other; each finds out by itself.
        for end in [Some(id), peer].into_iter().flatten() {
            self.fail(end, libc::ETIMEDOUT);
        }
        let _ = now;
    }

    /// Ends the connection at this end with an error.
    fn fail(&mut self, id: DescriptorId, number: i32) {
        let Some(end) = self.end(id) else { return };
        end.error.get_or_insert(number);
        end.inbox.clear();
        let waiters = [end.reader.take(), end.writer.take()];
        for waiter in waiters {
            self.retry(waiter);
        }
    }

    /// Something reaches an end.
    pub(super) fn arrive(&mut self, now: u64, to: DescriptorId, from: HostId, packet: Packet) {
        let Some(host) = self.end(to).map(|end| end.host) else {
            return;
        };
        if self.link(from, host).is_cut {
            self.hold(now, from, host, to, Event::Arrive { to, from, packet });
            return;
        }
        let end = self.end(to).expect("it was just there");
        let waiter = match packet {
            Packet::Data(bytes) if end.error.is_none() => {
                end.inbox.extend(&bytes);
                end.reader.take()
            }
            Packet::Data(_) => None,
            Packet::Finish => {
                end.is_over = true;
                end.reader.take()
            }
            Packet::Room | Packet::Accepted => end.writer.take(),
            Packet::Reset => return self.fail(to, libc::ECONNRESET),
            Packet::Refused => return self.fail(to, libc::ECONNREFUSED),
        };
        self.retry(waiter);
    }

    /// Networks cut what is sent where they like, but hardly ever within a few bytes.
    fn perhaps_less(&mut self, count: usize) -> usize {
        let is_cut = count > CUT_BYTES_MIN && self.random.next().is_multiple_of(16);
        if is_cut { self.between(1, count as u64) as usize } else { count }
    }

    fn set_waiter(&mut self, place: fn(&mut End) -> &mut Option<Waiter>, id: DescriptorId, waiter: Waiter) -> bool {
        let Some(end) = self.end(id) else { return false };
        let place = place(end);
        if place.is_some_and(|other| other != waiter) {
            return false;
        }
        *place = Some(waiter);
        true
    }

    /// Takes at most `room` bytes of what has come; none at the end.
    pub(super) fn receive(&mut self, now: u64, id: DescriptorId, room: usize, waiter: Waiter) -> Attempt<Vec<u8>> {
        let Some(end) = self.end(id) else { return Attempt::Failed(libc::EBADF) };
        if !end.inbox.is_empty() {
            let most = end.inbox.len().min(room);
            // Now and then a reader gets less than there is.
            let count = self.perhaps_less(most);
            let end = self.end(id).expect("it was just there");
            let bytes: Vec<u8> = end.inbox.drain(..count).collect();
            end.unread -= count;
            let (host, peer) = (end.host, end.peer);
            if let Some(peer) = peer
                && self.end(peer).is_some_and(|peer| peer.writer.is_some())
            {
                self.dispatch(now, host, peer, Packet::Room);
            }
            return Attempt::Done(bytes);
        }
        if let Some(number) = end.error {
            if end.is_error_told {
                return Attempt::Done(Vec::new());
            }
            end.is_error_told = true;
            return Attempt::Failed(number);
        }
        if end.is_over {
            return Attempt::Done(Vec::new());
        }
        if end.peer.is_none() {
            return Attempt::Failed(libc::ENOTCONN);
        }
        if self.set_waiter(|end| &mut end.reader, id, waiter) { Attempt::Waits } else { Attempt::Failed(libc::EBUSY) }
    }

    /// Sends some of the bytes. How many.
    pub(super) fn send(&mut self, now: u64, id: DescriptorId, bytes: &[u8], waiter: Waiter) -> Attempt<usize> {
        let Some(end) = self.end(id) else { return Attempt::Failed(libc::EBADF) };
        if end.is_finished || end.is_error_told {
            return Attempt::Failed(libc::EPIPE);
        }
        if let Some(number) = end.error {
            end.is_error_told = true;
            return Attempt::Failed(number);
        }
        let (host, peer) = (end.host, end.peer);
        let Some(peer) = peer else { return Attempt::Failed(libc::ENOTCONN) };
        let Some(room) = self.end(peer).map(|peer| WINDOW_BYTES.saturating_sub(peer.unread)) else {
            // The other end is closed: the bytes go out, and a reset comes back.
            self.fail(id, libc::ECONNRESET);
            return Attempt::Done(bytes.len());
        };
        if room == 0 {
            let is_set = self.set_waiter(|end| &mut end.writer, id, waiter);
            return if is_set { Attempt::Waits } else { Attempt::Failed(libc::EBUSY) };
        }
        let count = self.perhaps_less(bytes.len().min(room));
        self.end(peer).expect("it was just there").unread += count;
        self.trace.note(count as u64);
        if self.is_reset_on_the_way(host, peer) {
            stdx::sometimes!("connection reset on the way");
            // What was sent before arrives, and then both ends learn of it, each by a packet of its own.
            let far = self.end(peer).map_or(host, |peer| peer.host);
            self.dispatch(now, host, peer, Packet::Reset);
            self.dispatch(now, far, id, Packet::Reset);
        } else {
            self.dispatch(now, host, peer, Packet::Data(bytes[..count].to_vec()));
        }
        Attempt::Done(count)
    }

    fn is_reset_on_the_way(&mut self, from: HostId, to: DescriptorId) -> bool {
        let Some(host) = self.end(to).map(|end| end.host) else { return false };
        let per_million = self.link(from, host).reset_per_million;
        per_million > 0 && self.random.next() % 1_000_000 < u64::from(per_million)
    }

    /// Looks whether the connection is there.
    pub(super) fn connected(&mut self, id: DescriptorId, waiter: Waiter) -> Attempt<()> {
        let Some(end) = self.end(id) else { return Attempt::Failed(libc::EBADF) };
        if let Some(number) = end.error {
            return Attempt::Failed(number);
        }
        if end.peer.is_some() {
            return Attempt::Done(());
        }
        end.writer = Some(waiter);
        Attempt::Waits
    }

    pub(super) fn accept(&mut self, id: DescriptorId, waiter: Waiter) -> Attempt<DescriptorId> {
        match self.descriptors.get_mut(id).map(|owned| &mut owned.object) {
            Some(Object::Listener(listener)) => match listener.waiting.pop_front() {
                Some(accepted) => Attempt::Done(accepted),
                None if listener.acceptor.is_some_and(|other| other != waiter) => Attempt::Failed(libc::EBUSY),
                None => {
                    listener.acceptor = Some(waiter);
                    Attempt::Waits
                }
            },
            _ => Attempt::Failed(libc::EBADF),
        }
    }

    /// The waiter waits no longer.
    pub(super) fn forget_waiter(&mut self, id: DescriptorId, waiter: Waiter) {
        let Some(owned) = self.descriptors.get_mut(id) else { return };
        let places: Vec<&mut Option<Waiter>> = match &mut owned.object {
            Object::End(end) => vec![&mut end.reader, &mut end.writer],
            Object::Listener(listener) => vec![&mut listener.acceptor],
            Object::Signals { reader } => vec![reader],
            _ => Vec::new(),
        };
        places.into_iter().filter(|place| **place == Some(waiter)).for_each(|place| *place = None);
    }

    pub(super) fn finish_sending(&mut self, now: u64, id: DescriptorId) -> io::Result<()> {
        let end = self.end(id).ok_or_else(|| error(libc::EBADF))?;
        let Some(peer) = end.peer.filter(|_| end.error.is_none()) else { return Err(error(libc::ENOTCONN)) };
        let host = end.host;
        if !std::mem::replace(&mut end.is_finished, true) {
            self.dispatch(now, host, peer, Packet::Finish);
        }
        Ok(())
    }

    /// Closes a descriptor.
    pub(super) fn close(&mut self, now: u64, id: DescriptorId) {
        let Some(owned) = self.descriptors.remove(id) else { return };
        match owned.object {
            Object::End(end) => {
                let Some(peer) = end.peer else { return };
                // Unread bytes make it a reset, also such as are still on their way.
                let packet =
                    if end.unread > 0 { Some(Packet::Reset) } else { (!end.is_finished).then_some(Packet::Finish) };
                if let Some(packet) = packet {
                    self.dispatch(now, end.host, peer, packet);
                }
                // A writer that waits for room waits in vain.
                if let Some(peer) = self.end(peer) {
                    let writer = peer.writer.take();
                    self.retry(writer);
                }
            }
            Object::Listener(listener) => {
                for waiting in listener.waiting {
                    self.reset(now, waiting);
                }
            }
            _ => {}
        }
    }

    fn reset(&mut self, now: u64, id: DescriptorId) {
        if let Some(end) = self.end(id) {
            let (host, peer) = (end.host, end.peer);
            self.descriptors.remove(id);
            if let Some(peer) = peer {
                self.dispatch(now, host, peer, Packet::Reset);
            }
        }
    }

    /// Resets all connections between two machines.
    pub(super) fn reset_between(&mut self, one: HostId, other: HostId) {
        let mut ids = Vec::new();
        for (id, owned) in self.descriptors.iter() {
            let Object::End(End { host, peer: Some(peer), .. }) = &owned.object else { continue };
            let Some(Owned { object: Object::End(far), .. }) = self.descriptors.get(*peer) else { continue };
            if (*host, far.host) == (one, other) || (*host, far.host) == (other, one) {
                ids.push(id);
            }
        }
        for id in ids {
            self.fail(id, libc::ECONNRESET);
        }
    }

    /// Takes away all that a process had open; its connections are reset.
    pub(super) fn close_all(&mut self, now: u64, process: ProcessId) {
        let ids = self.descriptors.take_of(process);
        for id in ids {
            self.reset(now, id);
            self.descriptors.remove(id);
        }
    }
}
