//! What all parts of a world share: the time, the machines, what is open on them, and what is going to happen when.
//!
//! Behind a lock because descriptors may be sent between shards; all users are on one thread, so it is always free.
//! Nothing that closes itself when dropped is kept in here.
#![allow(clippy::disallowed_types)]

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::clocks::Clocks;
use super::disk::{ChangeId, Disk, Inode, Numbers};
use super::fault::{self, DiskCall, DiskError, DiskFault};
use super::network::{Descriptors, Link, Object, Packet};
use super::trace::Trace;
use crate::DirEntry;
use crate::reactor::Token;
use crate::time::Instant;

/// A simulated machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostId(pub(super) usize);

/// One run of a process on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProcessId(pub(super) usize);

/// A descriptor's number, of which a world never has the same twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DescriptorId(pub(super) u64);

/// Who waits for something: a shard's operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Waiter {
    pub(crate) shard: usize,
    pub(crate) token: Token,
}

/// What an operation on a disk gives.
#[derive(Debug)]
pub(crate) enum Outcome {
    Done,
    Bytes(Vec<u8>),
    Length(u64),
    FreeBytes(u64),
    Opened(DescriptorId),
    Locked(Option<DescriptorId>),
    Entries(Vec<DirEntry>),
    Exists(bool),
    Failed(i32),
}

/// What an operation does to its disk when it ends.
#[derive(Debug)]
pub(super) enum Commit {
    Nothing,
    Ended(Vec<ChangeId>),
    Write(ChangeId),
    SyncFile { inode: Inode, mark: Vec<ChangeId> },
    SyncDirectory { path: String, mark: Vec<ChangeId> },
}

#[derive(Debug)]
pub(super) enum Event {
    /// A disk operation ends.
    Disk { host: HostId, epoch: u64, waiter: Waiter, outcome: Outcome, commit: Commit },
    /// Something reaches an end.
    Arrive { to: DescriptorId, from: HostId, packet: Packet },
    /// Somebody wants to connect.
    Knock { from: DescriptorId, address: SocketAddr },
    /// A connection that was held up by a cut is given up.
    GiveUp { end: DescriptorId },
}

#[derive(Debug)]
pub(super) struct Scheduled {
    pub(super) at: u64,
    /// Orders what happens at the same time.
    tie: u64,
    sequence: u64,
    pub(super) event: Event,
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // The earliest is the greatest, as the heap wants it.
        (other.at, other.tie, other.sequence).cmp(&(self.at, self.tie, self.sequence))
    }
}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Scheduled {}

/// How fast a machine's disk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpeed {
    /// The least time of an operation, nanoseconds.
    pub latency_min_nanos: u64,
    /// The most.
    pub latency_max_nanos: u64,
}

impl Default for DiskSpeed {
    fn default() -> Self {
        DiskSpeed { latency_min_nanos: 10_000, latency_max_nanos: 150_000 }
    }
}

pub(super) struct Host {
    pub(super) addresses: Vec<IpAddr>,
    pub(super) disk: Disk,
    pub(super) speed: DiskSpeed,
    pub(super) faults: Vec<DiskFault>,
    /// Disk operations begun, of all processes.
    pub(super) disk_calls: u64,
    /// Power cuts so far: what was under way in one is not in the next.
    pub(super) epoch: u64,
    pub(super) clocks: Arc<Clocks>,
    pub(super) next_port: u16,
    /// Forks of the disk at each boundary, when wanted.
    pub(super) boundaries: Option<Vec<Disk>>,
    pub(super) faults_hit: u64,
}

pub(super) struct ShardState {
    pub(super) is_alive: bool,
    pub(super) outcomes: Vec<(Token, Outcome)>,
    /// Operations on sockets that may get further now.
    pub(super) retries: Vec<Token>,
}

pub(crate) struct State {
    pub(super) random: Numbers,
    pub(super) trace: Trace,
    pub(super) hosts: Vec<Host>,
    /// The machine of each address.
    pub(super) host_of: BTreeMap<IpAddr, HostId>,
    pub(super) shards: Vec<ShardState>,
    /// Shards that something happened to since the last step.
    pub(super) notified: BTreeSet<usize>,
    pub(super) descriptors: Descriptors,
    /// Processes with a signal that none of their tasks has received.
    pub(super) signalled: BTreeSet<ProcessId>,
    pub(super) links: BTreeMap<(HostId, HostId), Link>,
    pub(super) default_link: Link,
    pub(super) events: BinaryHeap<Scheduled>,
    /// What a cut link holds back, in order.
    pub(super) held: Vec<(HostId, HostId, Event)>,
    /// How often a cut link held something back so far.
    pub(super) held_count: u64,
    sequence: u64,
}

/// What all parts of a world share.
pub(crate) struct Shared {
    state: Mutex<State>,
    time: AtomicU64,
    salt: u64,
}

/// Nanoseconds that asking for the time takes.
const ASKING_NANOS: u64 = 20;

impl Shared {
    pub(super) fn new(seed: u64) -> Arc<Self> {
        let state = State {
            random: Numbers { state: seed },
            trace: Trace::default(),
            hosts: Vec::new(),
            host_of: BTreeMap::new(),
            shards: Vec::new(),
            notified: BTreeSet::new(),
            descriptors: Descriptors::default(),
            signalled: BTreeSet::new(),
            links: BTreeMap::new(),
            default_link: Link::default(),
            events: BinaryHeap::new(),
            held: Vec::new(),
            held_count: 0,
            sequence: 0,
        };
        // Not zero: code may take a moment before its start for one that was long ago.
        Arc::new(Shared { state: Mutex::new(state), time: AtomicU64::new(1_000_000_000), salt: seed })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // A task that panics takes its world with it; nothing is half done in here then.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Nanoseconds since the world's origin.
    pub(super) fn time(&self) -> u64 {
        self.time.load(Ordering::Relaxed)
    }

    pub(super) fn advance_to(&self, nanos: u64) {
        self.time.fetch_max(nanos, Ordering::Relaxed);
    }

    fn advance_by(&self, nanos: u64) -> u64 {
        self.time.fetch_add(nanos, Ordering::Relaxed) + nanos
    }
}

/// The clocks of a machine.
#[derive(Clone)]
pub(crate) struct SimClock {
    shared: Arc<Shared>,
    clocks: Arc<Clocks>,
}

impl SimClock {
    pub(super) fn new(shared: Arc<Shared>, clocks: Arc<Clocks>) -> Self {
        SimClock { shared, clocks }
    }

    /// Asking takes a little time, so that who waits for the clock to go on is not waiting for ever.
    pub(crate) fn now(&self) -> Instant {
        Instant::from_nanos(self.clocks.monotonic(self.shared.advance_by(ASKING_NANOS)))
    }

    /// A poll takes half a microsecond to four, and one of 64 up to sixty.
    pub(crate) fn after_poll(&self) -> Instant {
        let mut numbers = Numbers { state: self.shared.salt ^ self.shared.time() };
        let (kind, number) = (numbers.next() % 64, numbers.next());
        let nanos = if kind == 0 { 4_000 + number % 56_000 } else { 500 + number % 3_500 };
        Instant::from_nanos(self.clocks.monotonic(self.shared.advance_by(nanos)))
    }

    pub(crate) fn wall_clock_micros(&self) -> i64 {
        self.clocks.wall_micros(self.shared.time())
    }
}

/// How the shards of one process wake each other.
#[derive(Clone)]
pub(crate) struct Waking {
    shared: Arc<Shared>,
    first_shard: usize,
}

impl Waking {
    pub(super) fn new(shared: Arc<Shared>, first_shard: usize) -> Self {
        Waking { shared, first_shard }
    }

    pub(crate) fn wake(&self, index: usize) -> bool {
        self.shared.state().notify(self.first_shard + index)
    }
}

impl State {
    pub(super) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.random.next() % (most.saturating_sub(least) + 1)
    }

    pub(super) fn schedule(&mut self, at: u64, event: Event) {
        let tie = self.random.next();
        self.sequence += 1;
        self.events.push(Scheduled { at, tie, sequence: self.sequence, event });
    }

    /// Has the shard look, in its next turn, at what happened to it. False if it was to do so already, or has ended.
    pub(super) fn notify(&mut self, shard: usize) -> bool {
        self.shards[shard].is_alive && self.notified.insert(shard)
    }

    /// The machine is reached at these addresses from now on, and at no other but the loopback ones.
    pub(super) fn give_addresses(&mut self, host: HostId, addresses: &[IpAddr]) {
        self.host_of.retain(|_, of| *of != host);
        for address in addresses {
            let of = self.host_of.insert(*address, host);
            assert!(of.is_none(), "{address} is the address of another machine");
        }
        self.hosts[host.0].addresses = addresses.to_vec();
    }

    /// Has the shard try the operation again.
    pub(super) fn retry(&mut self, waiter: Option<Waiter>) {
        let Some(waiter) = waiter else { return };
        let shard = &mut self.shards[waiter.shard];
        if shard.is_alive {
            shard.retries.push(waiter.token);
            self.notified.insert(waiter.shard);
        }
    }

    /// Counts a disk operation and says whether it fails.
    pub(super) fn disk_call(&mut self, host: HostId, call: DiskCall) -> Option<DiskError> {
        let number = self.hosts[host.0].disk_calls;
        self.hosts[host.0].disk_calls += 1;
        self.trace.note(0x10 + call as u64);
        self.trace.note(number);
        let failure = fault::fails(&self.hosts[host.0].faults, call, number, &mut self.random);
        self.hosts[host.0].faults_hit += u64::from(failure.is_some());
        failure
    }

    /// Keeps a fork of the disk, if forks are wanted.
    pub(super) fn boundary(&mut self, host: HostId) {
        let host = &mut self.hosts[host.0];
        if let Some(boundaries) = &mut host.boundaries {
            boundaries.push(host.disk.clone());
        }
    }

    /// Has the operation end after as long as the disk takes.
    pub(super) fn end_later(&mut self, now: u64, host: HostId, waiter: Waiter, outcome: Outcome, commit: Commit) {
        let DiskSpeed { latency_min_nanos, latency_max_nanos } = self.hosts[host.0].speed;
        let at = now + self.between(latency_min_nanos, latency_max_nanos);
        let epoch = self.hosts[host.0].epoch;
        self.boundary(host);
        self.schedule(at, Event::Disk { host, epoch, waiter, outcome, commit });
    }

    /// A disk operation ends.
    pub(super) fn disk_ended(&mut self, host: HostId, waiter: Waiter, outcome: Outcome, commit: Commit) {
        let disk = &mut self.hosts[host.0].disk;
        let has_changed = !matches!(commit, Commit::Nothing);
        match commit {
            Commit::Nothing => {}
            Commit::Ended(changes) => changes.into_iter().for_each(|change| disk.ended(change)),
            Commit::Write(change) => disk.sync_write(change),
            Commit::SyncFile { inode, mark } => disk.sync_file(inode, &mark),
            Commit::SyncDirectory { path, mark } => {
                disk.sync_directory(&path, &mark);
                self.forget_unreachable(host);
            }
        }
        if has_changed {
            self.boundary(host);
        }
        self.trace.note(waiter.shard as u64);
        let shard = &mut self.shards[waiter.shard];
        if shard.is_alive {
            shard.outcomes.push((waiter.token, outcome));
            self.notified.insert(waiter.shard);
        }
    }

    fn forget_unreachable(&mut self, host: HostId) {
        let open: Vec<Inode> = self
            .descriptors
            .iter()
            .filter_map(|(_, owned)| match owned.object {
                Object::File { host: of, inode, .. } | Object::Lock { host: of, inode } if of == host => Some(inode),
                _ => None,
            })
            .collect();
        self.hosts[host.0].disk.forget_unreachable(|inode| open.contains(&inode));
    }
}
