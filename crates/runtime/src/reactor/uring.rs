//! The reactor on io_uring. A turn enters the kernel once, for submitting all that was begun and for waiting; a turn
//! that has neither to do does not enter at all. The ring belongs to the shard's thread alone (SINGLE_ISSUER), and the
//! kernel finishes operations only while the thread waits in it (DEFER_TASKRUN), not by interrupting its work.
//!
//! Soundness: an entry's pointers lead into buffers that the operation in the slot owns. A slot lets go of its operation
//! only when `end` is called for it, which happens here with the operation's completion in hand, and shutdown leaks what
//! has not ended. Buffers of a running operation are neither grown nor read by anyone.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use io_uring::{IoUring, cqueue, opcode, squeue, types};

use super::Wait;
use super::descriptor::{Descriptor, HandleKind};
use super::operation::{Operation, Step};
use super::peers::Peers;
use super::slots::{NO_GENERATION, Slots, Token};
use super::workers::Workers;
use crate::reactor::Clock;
use crate::sys::{self, CALL_BYTES_MAX};

/// Entries that one enter can submit; more are submitted in between.
const SUBMISSIONS: u32 = 256;
/// Completions that the ring holds; the kernel keeps what exceeds them.
const COMPLETIONS: u32 = 2048;

/// Marks of this reactor's own entries: no operation has this generation.
const WAKE: u64 = (NO_GENERATION as u64) << 32;
const CANCELLED: u64 = WAKE | 1;

/// `IORING_RECVSEND_POLL_FIRST`: wait for data before trying to receive.
const POLL_FIRST: u16 = 1;

pub(crate) struct Uring {
    ring: IoUring,
    event: RawFd,
    is_event_armed: bool,
    workers: Workers,
    /// The completions of a turn, kept for its memory.
    completions: Vec<cqueue::Entry>,
}

fn build() -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.dontfork().setup_cqsize(COMPLETIONS).setup_submit_all().setup_single_issuer();
    match builder.clone().setup_defer_taskrun().setup_taskrun_flag().build(SUBMISSIONS) {
        Ok(ring) => Ok(ring),
        // Kernel 6.0 has no deferring yet.
        Err(_) => builder.setup_coop_taskrun().setup_taskrun_flag().build(SUBMISSIONS),
    }
}

/// Makes a ring of the shards' kind and has it do something: seccomp profiles and sysctls refuse at various points.
pub(super) fn probe() -> io::Result<()> {
    let mut ring = build()?;
    if !ring.params().is_feature_ext_arg() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "io_uring waits without a timeout here"));
    }
    let entry = opcode::Nop::new().build().user_data(CANCELLED);
    // SAFETY: a no-op refers to no memory.
    unsafe { ring.submission().push(&entry) }.map_err(io::Error::other)?;
    ring.submit_and_wait(1)?;
    match ring.completion().next() {
        Some(completion) if completion.result() == 0 => Ok(()),
        _ => Err(io::Error::other("io_uring did not complete an operation")),
    }
}

impl Uring {
    pub(super) fn new(peers: &Peers, index: usize, workers: Workers) -> io::Result<Self> {
        let event = peers.event(index).as_raw_fd();
        Ok(Uring { ring: build()?, event, is_event_armed: false, workers, completions: Vec::new() })
    }

    pub(super) fn workers(&self) -> &Workers {
        &self.workers
    }

    pub(super) fn workers_mut(&mut self) -> &mut Workers {
        &mut self.workers
    }

    pub(super) fn begin(&mut self, slots: &mut Slots, token: Token) {
        match entry(slots.operation(token)) {
            // SAFETY: the pointers lead into the slot's operation; see the module's text.
            Some(entry) => unsafe { self.push(&entry.user_data(token.to_u64())) },
            None => self.workers.begin(slots, token),
        }
    }

    pub(super) fn cancel(&mut self, token: Token) {
        let entry = opcode::AsyncCancel::new(token.to_u64()).build().user_data(CANCELLED);
        // SAFETY: a cancel refers to no memory.
        unsafe { self.push(&entry) };
    }

    /// # Safety
    /// What the entry points to stays valid until its completion.
    #[inline]
    unsafe fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: the caller's.
        if unsafe { self.ring.submission().push(entry) }.is_ok() {
            return;
        }
        self.enter(0, None);
        // SAFETY: the caller's.
        unsafe { self.ring.submission().push(entry) }.expect("submitting makes room");
    }

    pub(super) fn turn(&mut self, slots: &mut Slots, wait: Wait) {
        self.arm_event();
        match wait {
            Wait::No => self.enter_if_needed(),
            Wait::Until(_) if !self.ring.completion().is_empty() || slots.has_woken() => self.enter_if_needed(),
            Wait::Until(None) => self.enter(1, None),
            Wait::Until(Some(deadline)) => {
                let timeout = deadline - Clock::kernel().now();
                let time = types::Timespec::new().sec(timeout.as_secs()).nsec(timeout.subsec_nanos());
                self.enter(1, Some(&time));
            }
        }
        let mut completions = std::mem::take(&mut self.completions);
        completions.extend(self.ring.completion());
        for completion in completions.drain(..) {
            self.complete(slots, &completion);
        }
        self.completions = completions;
        self.workers.collect(slots);
    }

    /// A shard that has other work enters only if there is something to submit, or something has ended that the kernel
    /// holds back until then.
    fn enter_if_needed(&mut self) {
        let queue = self.ring.submission();
        let is_needed = !queue.is_empty() || queue.taskrun() || queue.cq_overflow();
        drop(queue);
        if is_needed {
            self.enter(0, None);
        }
    }

    fn enter(&mut self, want: usize, timeout: Option<&types::Timespec>) {
        let submitter = self.ring.submitter();
        let result = match timeout {
            None => submitter.submit_and_wait(want),
            Some(time) => submitter.submit_with_args(want, &types::SubmitArgs::new().timespec(time)),
        };
        match result.map_err(|error| error.raw_os_error().unwrap_or(0)) {
            Ok(_) => {}
            // The time is over, a signal came, or the kernel wants completions taken first: the next turn goes on.
            Err(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => {}
            Err(error) => panic!("io_uring failed: {}", io::Error::from_raw_os_error(error)),
        }
    }

    /// Watches this shard's event for ever. Each signal completes once; nobody reads the event's counter.
    fn arm_event(&mut self) {
        if self.is_event_armed {
            return;
        }
        self.is_event_armed = true;
        let entry = opcode::PollAdd::new(types::Fd(self.event), libc::POLLIN as u32).multi(true).build();
        // SAFETY: a poll refers to no memory.
        unsafe { self.push(&entry.user_data(WAKE)) };
    }

    fn complete(&mut self, slots: &mut Slots, completion: &cqueue::Entry) {
        match completion.user_data() {
            WAKE => {
                self.is_event_armed = cqueue::more(completion.flags());
                return;
            }
            CANCELLED => return,
            _ => {}
        }
        let token = Token::from_u64(completion.user_data());
        let operation = slots.operation(token);
        // SAFETY: this is the operation's completion.
        unsafe { commit(operation, completion) };
        match operation.advance(completion.result()) {
            Step::Ended(result) => slots.end(token, result),
            Step::Again if slots.is_orphaned(token) => slots.end(token, -libc::ECANCELED),
            Step::Again => self.begin(slots, token),
        }
    }
}

/// Puts what the kernel gave into the operation.
///
/// # Safety
/// `completion` is that of `operation`.
unsafe fn commit(operation: &mut Operation, completion: &cqueue::Entry) {
    let Ok(count) = usize::try_from(completion.result()) else { return };
    match operation {
        Operation::Receive { handle, buffer } => {
            handle.set_drained(!cqueue::sock_nonempty(completion.flags()));
            // SAFETY: the kernel wrote `count` bytes into the spare capacity, which it was given whole at most.
            unsafe { buffer.set_len(buffer.len() + count) };
        }
        // SAFETY: as above.
        Operation::ReadAt { buffer, .. } => unsafe { buffer.set_len(buffer.len() + count) },
        Operation::Accept { accepted, .. } => {
            // SAFETY: the kernel just made this descriptor, and this is the only word of it.
            let fd = unsafe { OwnedFd::from_raw_fd(completion.result()) };
            *accepted = Some(Descriptor::from(fd));
        }
        _ => {}
    }
}

fn length(bytes: usize) -> u32 {
    bytes.min(CALL_BYTES_MAX) as u32
}

/// The entry for the next call's worth of the operation, or `None` if it is for a worker.
fn entry(operation: &mut Operation) -> Option<squeue::Entry> {
    Some(match operation {
        Operation::Receive { handle, buffer } => {
            let fd = types::Fd(handle.fd());
            let spare = buffer.spare_capacity_mut();
            let (address, length) = (spare.as_mut_ptr().cast::<u8>(), length(spare.len()));
            if handle.kind() == HandleKind::Socket {
                let flags = if handle.is_drained() { POLL_FIRST } else { 0 };
                opcode::Recv::new(fd, address, length).ioprio(flags).build()
            } else {
                opcode::Read::new(fd, address, length).offset(u64::MAX).build()
            }
        }
        Operation::Send { handle, buffer, done } => {
            let rest = &buffer[*done..];
            let send = opcode::Send::new(types::Fd(handle.fd()), rest.as_ptr(), length(rest.len()));
            send.flags(sys::socket::SEND_WHOLE_FLAGS).build()
        }
        Operation::Accept { handle, .. } => {
            let accept = opcode::Accept::new(types::Fd(handle.fd()), std::ptr::null_mut(), std::ptr::null_mut());
            accept.flags(sys::socket::CLOSE_ON_EXEC).build()
        }
        Operation::Connect { handle, address, .. } => {
            opcode::Connect::new(types::Fd(handle.fd()), address.as_ptr(), address.length()).build()
        }
        Operation::ReadAt { handle, buffer, offset, done } => {
            let length = length(buffer.spare());
            let read = opcode::Read::new(types::Fd(handle.fd()), buffer.spare_ptr(), length);
            read.offset(*offset + *done as u64).build()
        }
        Operation::WriteAt { handle, buffer, offset, done } => {
            let rest = &buffer[*done..];
            let write = opcode::Write::new(types::Fd(handle.fd()), rest.as_ptr(), length(rest.len()));
            write.offset(*offset + *done as u64).build()
        }
        Operation::Sync { handle, is_data_only } => {
            let flags = if *is_data_only { types::FsyncFlags::DATASYNC } else { types::FsyncFlags::empty() };
            opcode::Fsync::new(types::Fd(handle.fd())).flags(flags).build()
        }
        Operation::Allocate { handle, offset, length } => {
            opcode::Fallocate::new(types::Fd(handle.fd()), *length).offset(*offset).build()
        }
        Operation::SetLength { .. } | Operation::Length { .. } | Operation::Namespace { .. } => return None,
        Operation::Nothing => unreachable!("a slot in use has an operation"),
    })
}
