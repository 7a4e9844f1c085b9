//! The operations, with all that they own.

use std::io;
use std::rc::Rc;

use stdx::AlignedBuf;
use stdx::aligned_buf::ALIGNMENT;

use super::descriptor::{Descriptor, Handle, HandleKind};
use super::namespace::{NamespaceCall, NamespaceReply};
use crate::sys::socket::RawAddress;

/// One operation. What it gives back beyond a number, it holds when it has ended.
pub(crate) enum Operation {
    /// Appends what has arrived to the buffer, which has room. Ends with the count of bytes, 0 at the end.
    Receive { handle: Rc<Handle>, buffer: Vec<u8> },
    /// Sends the whole buffer.
    Send { handle: Rc<Handle>, buffer: Vec<u8>, done: usize },
    /// Accepts one connection.
    Accept { handle: Rc<Handle>, accepted: Option<Descriptor> },
    /// Connects the socket.
    Connect { handle: Rc<Handle>, address: Box<RawAddress>, is_begun: bool },
    /// Fills the buffer's spare room from the file. Ends with the count of bytes.
    ReadAt { handle: Rc<Handle>, buffer: AlignedBuf, offset: u64, done: usize },
    /// Writes the whole buffer into the file.
    WriteAt { handle: Rc<Handle>, buffer: AlignedBuf, offset: u64, done: usize },
    /// Waits until what was written is on the disk.
    Sync { handle: Rc<Handle>, is_data_only: bool },
    /// Reserves room for the file.
    Allocate { handle: Rc<Handle>, offset: u64, length: u64 },
    /// Cuts or extends the file.
    SetLength { handle: Rc<Handle>, length: u64 },
    /// Asks for the file's length.
    Length { handle: Rc<Handle>, length: u64 },
    /// Works on names.
    Namespace { call: Option<Box<NamespaceCall>>, reply: Option<io::Result<NamespaceReply>> },
    /// The slot is free, or what was in it has been taken.
    Nothing,
}

/// What follows when the kernel has done one call's worth of an operation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The operation has ended with this number.
    Ended(i32),
    /// There is more to do.
    Again,
}

fn count(bytes: usize) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX)
}

impl Operation {
    /// Takes note of one call's result, whose bytes are in the buffer already.
    pub(super) fn advance(&mut self, result: i32) -> Step {
        if result < 0 {
            let is_interrupted = result == -libc::EINTR && !matches!(self, Operation::Connect { .. });
            return if is_interrupted { Step::Again } else { Step::Ended(result) };
        }
        match self {
            Operation::Send { buffer, done, .. } => {
                let length = buffer.len();
                advance_write(length, done, result)
            }
            Operation::WriteAt { buffer, done, .. } => {
                let length = buffer.len();
                advance_write(length, done, result)
            }
            Operation::ReadAt { handle, buffer, done, .. } => {
                *done += result as usize;
                // A file past the page cache ends where a read ends off the blocks' grid; reading on would be refused.
                let is_cut = handle.kind() == HandleKind::File { is_direct: true } && !done.is_multiple_of(ALIGNMENT);
                if result == 0 || buffer.spare() == 0 || is_cut { Step::Ended(count(*done)) } else { Step::Again }
            }
            _ => Step::Ended(result),
        }
    }

    /// Whether the operation may wait for ever for another end, so that it is worth cancelling.
    pub(super) fn may_wait(&self) -> bool {
        use Operation::{Accept, Connect, Receive, Send};
        matches!(self, Receive { .. } | Send { .. } | Accept { .. } | Connect { .. })
    }
}

fn advance_write(length: usize, done: &mut usize, result: i32) -> Step {
    *done += result as usize;
    match (*done == length, result) {
        (true, _) => Step::Ended(0),
        // Nothing was taken and no error given: without an end here it would be tried for ever.
        (false, 0) => Step::Ended(-libc::EIO),
        (false, _) => Step::Again,
    }
}
