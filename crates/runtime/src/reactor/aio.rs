//! The epoll reactor's direct reads and writes of files, on linux-aio: what io_uring does for files, by means that are
//! allowed where it is refused.
//!
//! A request is submitted with RWF_NOWAIT, because submitting may wait otherwise (for room to be allocated, for the
//! device's queue), and with it the shard. One that would wait, or that the file's kind cannot do so, comes back with
//! an error number and goes to a worker. Ends are signalled by an eventfd in epoll; nobody reads its counter.
//!
//! Soundness: a request's pointers lead into the buffer that the operation in its slot owns. A slot lets go of its operation
//! only when `end` is called for it, which for an operation that was submitted happens with its completion in hand; a
//! worker gets the buffer after that only. Shutdown leaks what has not ended. Buffers of a running operation are neither
//! grown nor read by anyone.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::descriptor::HandleKind;
use super::operation::{Operation, Step};
use super::slots::{Slots, Token};
use super::workers::Workers;
use crate::sys::aio::{BATCH, Completion, Context, Request};
use crate::sys::{self, CALL_BYTES_MAX};

/// Requests in flight; more wait here. A process's shards share `fs.aio-max-nr`, 65,536 by default.
const DEPTH: u32 = 128;

pub(super) struct Aio {
    /// Taken out only by a shutdown that could not wait for all ends.
    context: Option<Context>,
    event: OwnedFd,
    /// Operations to submit, in the order in which they were begun.
    begun: VecDeque<Token>,
    in_flight: usize,
    requests: Vec<Request>,
    completions: Vec<Completion>,
}

impl Aio {
    /// Whether the operation is one for it: positioned, past the page cache.
    pub(super) fn takes(operation: &Operation) -> bool {
        match operation {
            Operation::ReadAt { handle, .. } | Operation::WriteAt { handle, .. } => {
                handle.kind() == HandleKind::File { is_direct: true }
            }
            _ => false,
        }
    }

    pub(super) fn new() -> io::Result<Self> {
        let context = Some(Context::new(DEPTH)?);
        let (begun, requests) = (VecDeque::new(), Vec::with_capacity(BATCH));
        let completions = Vec::with_capacity(DEPTH as usize);
        Ok(Aio { context, event: sys::event::event(true)?, begun, in_flight: 0, requests, completions })
    }

    /// What becomes readable, once more with each, when requests have ended.
    pub(super) fn event(&self) -> RawFd {
        self.event.as_raw_fd()
    }

    pub(super) fn begin(&mut self, token: Token) {
        self.begun.push_back(token);
    }

    /// Hands what was begun to the kernel, or to the workers what the kernel does not take.
    pub(super) fn submit(&mut self, slots: &mut Slots, workers: &mut Workers) {
        while !self.begun.is_empty() && self.in_flight < DEPTH as usize {
            let count = self.begun.len().min(BATCH).min(DEPTH as usize - self.in_flight);
            let event = self.event();
            self.requests.clear();
            self.requests.extend(self.begun.iter().take(count).map(|token| request(slots, *token, event)));
            let context = self.context.as_ref().expect("a context that was let go of is used no more");
            // SAFETY: the pointers lead into the slots' operations; see the module's text.
            let result = unsafe { context.submit(&mut self.requests) };
            match result {
                1.. => {
                    self.in_flight += result as usize;
                    self.begun.drain(..result as usize);
                }
                // The kernel has no room just now. An end makes some, and is followed by another turn.
                error if error == -libc::EAGAIN && self.in_flight > 0 => return,
                error if error == -libc::EINTR => {}
                // Whatever is wrong with the first, a worker's plain call will say it.
                _ => {
                    let refused = self.begun.pop_front().expect("something was submitted");
                    workers.begin(slots, refused);
                }
            }
        }
    }

    /// Ends what the kernel has finished.
    pub(super) fn collect(&mut self, slots: &mut Slots, workers: &mut Workers) {
        let mut completions = std::mem::take(&mut self.completions);
        while self.in_flight > 0 {
            let context = self.context.as_ref().expect("a context that was let go of is used no more");
            context.take_ended(&mut completions).unwrap_or_else(|error| panic!("linux-aio failed: {error}"));
            if completions.is_empty() {
                break;
            }
            self.in_flight -= completions.len();
            for completion in &completions {
                self.complete(slots, workers, completion);
            }
        }
        self.completions = completions;
    }

    fn complete(&mut self, slots: &mut Slots, workers: &mut Workers, completion: &Completion) {
        let token = Token::from_u64(completion.user_data);
        let result = completion.result();
        if result == -libc::EAGAIN || result == -libc::EOPNOTSUPP {
            // It would have waited. What a part of it did already is done again with the same bytes.
            workers.begin(slots, token);
            return;
        }
        let operation = slots.operation(token);
        if let (Operation::ReadAt { buffer, .. }, Ok(count)) = (&mut *operation, usize::try_from(result)) {
            // SAFETY: the kernel wrote `count` bytes into the spare room, which it was given whole at most.
            unsafe { buffer.set_len(buffer.len() + count) };
        }
        match operation.advance(result) {
            Step::Ended(result) => slots.end(token, result),
            Step::Again => self.begin(token),
        }
    }
}

impl Drop for Aio {
    fn drop(&mut self) {
        if self.in_flight > 0 {
            // Destroying it would wait for a disk that has not answered for longer than a shard waits.
            std::mem::forget(self.context.take());
        }
    }
}

/// The request for the next call's worth of the operation.
fn request(slots: &mut Slots, token: Token, event: RawFd) -> Request {
    let name = token.to_u64();
    match slots.operation(token) {
        Operation::ReadAt { handle, buffer, offset, done } => {
            let room = (buffer.spare_ptr(), buffer.spare().min(CALL_BYTES_MAX));
            Request::read(name, event, handle.fd(), room, *offset + *done as u64)
        }
        Operation::WriteAt { handle, buffer, offset, done } => {
            let rest = &buffer[*done..];
            let bytes = (rest.as_ptr(), rest.len().min(CALL_BYTES_MAX));
            Request::write(name, event, handle.fd(), bytes, *offset + *done as u64)
        }
        _ => unreachable!("only reads and writes are begun here"),
    }
}
