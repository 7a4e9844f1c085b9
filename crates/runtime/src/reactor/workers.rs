//! Threads that make the calls which may wait in the kernel and have no asynchronous form: work on names, and with
//! epoll all of the files' I/O. They are made when first needed, and at most [`THREADS_MAX`] per shard, so that a slow
//! removal does not keep the commit log from writing. Jobs own their buffers, as operations do.
// The one lock of a shard: its workers share a queue with it, which no request's way touches on io_uring.
#![allow(clippy::disallowed_types)]

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;

use stdx::AlignedBuf;

use super::descriptor::Descriptor;
use super::namespace::{NamespaceCall, NamespaceReply};
use super::operation::{Operation, Step};
use super::peers::Peers;
use super::slots::{Slots, Token};
use crate::sys;

/// The most workers of one shard.
const THREADS_MAX: usize = 4;

/// One call. A descriptor's number stays valid while the job runs, because the operation's slot holds its handle.
enum Job {
    Namespace(Box<NamespaceCall>),
    ReadAt { fd: RawFd, buffer: AlignedBuf, offset: u64 },
    WriteAt { fd: RawFd, buffer: AlignedBuf, offset: u64, done: usize },
    Sync { fd: RawFd, is_data_only: bool },
    Allocate { fd: RawFd, offset: u64, length: u64 },
    SetLength { fd: RawFd, length: u64 },
    Length { fd: RawFd },
    Close(Descriptor),
}

/// What came of a job.
enum Outcome {
    Namespace(io::Result<NamespaceReply>),
    Buffer(i32, AlignedBuf),
    Number(i32),
    Length(io::Result<u64>),
}

impl Job {
    fn run(self) -> Option<Outcome> {
        Some(match self {
            Job::Namespace(call) => Outcome::Namespace(call.run()),
            Job::ReadAt { fd, mut buffer, offset } => {
                let result = sys::disk::read_at(fd, &mut buffer, offset);
                Outcome::Buffer(result, buffer)
            }
            Job::WriteAt { fd, buffer, offset, done } => {
                let result = sys::disk::write_at(fd, &buffer[done..], offset);
                Outcome::Buffer(result, buffer)
            }
            Job::Sync { fd, is_data_only } => Outcome::Number(sys::disk::sync(fd, is_data_only)),
            Job::Allocate { fd, offset, length } => Outcome::Number(sys::disk::allocate(fd, offset, length)),
            Job::SetLength { fd, length } => Outcome::Number(sys::disk::set_length(fd, length)),
            Job::Length { fd } => Outcome::Length(sys::disk::length(fd)),
            Job::Close(descriptor) => {
                drop(descriptor);
                return None;
            }
        })
    }
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<(Option<Token>, Job)>,
    idle: usize,
    is_stopping: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    has_job: Condvar,
    done: Mutex<Vec<(Token, Outcome)>>,
    has_done: AtomicBool,
    peers: Peers,
    index: usize,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no worker panics while it holds a lock")
}

impl Shared {
    fn work(&self) {
        let mut queue = locked(&self.queue);
        loop {
            if let Some((token, job)) = queue.jobs.pop_front() {
                drop(queue);
                if let (Some(outcome), Some(token)) = (job.run(), token) {
                    locked(&self.done).push((token, outcome));
                    self.has_done.store(true, Ordering::Release);
                    self.peers.wake(self.index);
                }
                queue = locked(&self.queue);
                continue;
            }
            if queue.is_stopping {
                return;
            }
            queue.idle += 1;
            queue = self.has_job.wait(queue).expect("no worker panics while it holds a lock");
            queue.idle -= 1;
        }
    }
}

/// Closes descriptors away from the shard's thread.
#[derive(Clone)]
pub(super) struct Closer {
    shared: Arc<Shared>,
}

impl Closer {
    /// Closes soon, or now if there is no worker to do it.
    pub(super) fn close(&self, descriptor: Descriptor) {
        let mut queue = locked(&self.shared.queue);
        if queue.is_stopping {
            return;
        }
        queue.jobs.push_back((None, Job::Close(descriptor)));
        self.shared.has_job.notify_one();
    }
}

impl std::fmt::Debug for Closer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Closer")
    }
}

/// The workers of one shard, from the shard's side.
pub(crate) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    in_flight: usize,
}

impl Workers {
    pub(super) fn new(peers: Peers, index: usize) -> Self {
        let shared = Shared {
            queue: Mutex::default(),
            has_job: Condvar::new(),
            done: Mutex::default(),
            has_done: AtomicBool::new(false),
            peers,
            index,
        };
        Workers { shared: Arc::new(shared), threads: Vec::new(), in_flight: 0 }
    }

    pub(super) fn closer(&self) -> Closer {
        Closer { shared: self.shared.clone() }
    }

    /// Gives the slot's operation, which is one on files or names, to a worker. If none can be made, it ends with that.
    pub(super) fn begin(&mut self, slots: &mut Slots, token: Token) {
        let job = job(slots.operation(token));
        let mut queue = locked(&self.shared.queue);
        queue.jobs.push_back((Some(token), job));
        let needs_thread = queue.jobs.len() > queue.idle && self.threads.len() < THREADS_MAX;
        drop(queue);
        self.shared.has_job.notify_one();
        self.in_flight += 1;
        if needs_thread {
            self.add_thread(slots);
        }
    }

    fn add_thread(&mut self, slots: &mut Slots) {
        let shared = self.shared.clone();
        let name = format!("worker-{}-{}", self.shared.index, self.threads.len());
        match std::thread::Builder::new().name(name).spawn(move || shared.work()) {
            Ok(thread) => self.threads.push(thread),
            // Those there are do the work, only later.
            Err(_) if !self.threads.is_empty() => {}
            Err(error) => {
                let unserved: Vec<_> = locked(&self.shared.queue).jobs.drain(..).collect();
                for token in unserved.into_iter().filter_map(|(token, _)| token) {
                    self.in_flight -= 1;
                    if let Operation::Namespace { reply, .. } = slots.operation(token) {
                        *reply = Some(Err(io::Error::from(error.kind())));
                    }
                    slots.end(token, -error.raw_os_error().unwrap_or(libc::EAGAIN));
                }
            }
        }
    }

    /// Whether there is something to collect.
    #[inline]
    pub(super) fn has_done(&self) -> bool {
        self.in_flight > 0 && self.shared.has_done.load(Ordering::Acquire)
    }

    /// Ends what the workers have finished.
    pub(super) fn collect(&mut self, slots: &mut Slots) {
        if !self.has_done() {
            return;
        }
        self.shared.has_done.store(false, Ordering::Relaxed);
        let done = std::mem::take(&mut *locked(&self.shared.done));
        for (token, outcome) in done {
            self.in_flight -= 1;
            let step = accept(slots.operation(token), outcome);
            match step {
                Step::Ended(result) => slots.end(token, result),
                Step::Again => self.begin(slots, token),
            }
        }
    }

    /// Lets the workers finish what is queued and waits for them. What they finish is still collected.
    pub(super) fn stop(&mut self) {
        locked(&self.shared.queue).is_stopping = true;
        self.shared.has_job.notify_all();
        for thread in self.threads.drain(..) {
            // A worker that panicked took its job with it, which shutdown counts as not ended.
            let _ = thread.join();
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Takes out of the operation what a worker needs to do the next call's worth of it.
fn job(operation: &mut Operation) -> Job {
    match operation {
        Operation::ReadAt { handle, buffer, offset, done } => {
            Job::ReadAt { fd: handle.fd(), buffer: std::mem::take(buffer), offset: *offset + *done as u64 }
        }
        Operation::WriteAt { handle, buffer, offset, done } => {
            let (fd, buffer) = (handle.fd(), std::mem::take(buffer));
            Job::WriteAt { fd, buffer, offset: *offset + *done as u64, done: *done }
        }
        Operation::Sync { handle, is_data_only } => Job::Sync { fd: handle.fd(), is_data_only: *is_data_only },
        Operation::Allocate { handle, offset, length } => {
            Job::Allocate { fd: handle.fd(), offset: *offset, length: *length }
        }
        Operation::SetLength { handle, length } => Job::SetLength { fd: handle.fd(), length: *length },
        Operation::Length { handle, .. } => Job::Length { fd: handle.fd() },
        Operation::Namespace { call, .. } => {
            Job::Namespace(call.take().expect("work on names is given to a worker once"))
        }
        _ => unreachable!("sockets need no worker"),
    }
}

/// Puts what came of a job into the operation.
fn accept(operation: &mut Operation, outcome: Outcome) -> Step {
    match (outcome, operation) {
        (Outcome::Buffer(result, owned), operation) => {
            if let Operation::ReadAt { buffer, .. } | Operation::WriteAt { buffer, .. } = operation {
                *buffer = owned;
            }
            operation.advance(result)
        }
        (Outcome::Number(result), operation) => operation.advance(result),
        (Outcome::Length(Ok(found)), Operation::Length { length, .. }) => {
            *length = found;
            Step::Ended(0)
        }
        (Outcome::Length(found), _) => {
            Step::Ended(found.err().and_then(|error| error.raw_os_error()).map_or(0, |number| -number))
        }
        (Outcome::Namespace(result), Operation::Namespace { reply, .. }) => {
            *reply = Some(result);
            Step::Ended(0)
        }
        (Outcome::Namespace(_), _) => unreachable!("an outcome goes to its own operation"),
    }
}
