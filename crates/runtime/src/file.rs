//! Files: positioned reads and writes of owned, aligned buffers.

use std::io;
use std::rc::Rc;

use stdx::AlignedBuf;

use crate::core::Core;
use crate::reactor::{Handle, InFlight, Operation};
use crate::sys::check;

/// How to open a file. The default has every flag off; at least `read` or `write` must be set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// For reading.
    pub read: bool,
    /// For writing.
    pub write: bool,
    /// Make the file if it is not there.
    pub create: bool,
    /// Make the file; an error if it is there.
    pub create_new: bool,
    /// Cut the file to no bytes.
    pub truncate: bool,
    /// Past the page cache: buffers, lengths and offsets are multiples of [`stdx::aligned_buf::ALIGNMENT`].
    pub direct: bool,
    /// A write is done when its bytes are on the disk.
    pub dsync: bool,
    /// Its owner alone may read and write it, from now on (mode 0600).
    pub is_private: bool,
}

/// An open file. Clones share the descriptor, which closes with the last of them. A future of its methods that is
/// dropped early leaves the operation to run to its end.
#[derive(Clone)]
pub struct File {
    core: Rc<Core>,
    handle: Rc<Handle>,
}

impl File {
    pub(crate) fn new(core: Rc<Core>, handle: Rc<Handle>) -> Self {
        File { core, handle }
    }

    fn start(&self, operation: Operation) -> InFlight<'_> {
        InFlight::new(&self.core, operation)
    }

    /// Writes the whole buffer at `offset`, or fails. The buffer comes back as it was.
    pub async fn write_at(&self, buffer: AlignedBuf, offset: u64) -> (io::Result<()>, AlignedBuf) {
        if buffer.is_empty() {
            return (Ok(()), buffer);
        }
        match self.start(Operation::WriteAt { handle: self.handle.clone(), buffer, offset, done: 0 }).await {
            (Operation::WriteAt { buffer, .. }, result) => (check(result).map(|_| ()), buffer),
            _ => unreachable!("an operation comes back as what it was"),
        }
    }

    /// Reads from `offset` into the buffer's spare capacity until that is full or the file ends. Gives the bytes read.
    pub async fn read_at(&self, buffer: AlignedBuf, offset: u64) -> (io::Result<usize>, AlignedBuf) {
        if buffer.spare() == 0 {
            return (Ok(0), buffer);
        }
        match self.start(Operation::ReadAt { handle: self.handle.clone(), buffer, offset, done: 0 }).await {
            (Operation::ReadAt { buffer, done, .. }, result) => (check(result).map(|_| done), buffer),
            _ => unreachable!("an operation comes back as what it was"),
        }
    }

    async fn plain(&self, operation: Operation) -> io::Result<()> {
        let (_, result) = self.start(operation).await;
        check(result).map(|_| ())
    }

    /// Waits until the file's bytes, and as much of its metadata as reading them takes, are on the disk.
    pub async fn sync_data(&self) -> io::Result<()> {
        self.plain(Operation::Sync { handle: self.handle.clone(), is_data_only: true }).await
    }

    /// Waits until the file's bytes and metadata are on the disk.
    pub async fn sync_all(&self) -> io::Result<()> {
        self.plain(Operation::Sync { handle: self.handle.clone(), is_data_only: false }).await
    }

    /// Cuts or extends (with zeros) the file to `length` bytes.
    pub async fn set_len(&self, length: u64) -> io::Result<()> {
        self.plain(Operation::SetLength { handle: self.handle.clone(), length }).await
    }

    /// The file's length in bytes.
    pub async fn len(&self) -> io::Result<u64> {
        match self.start(Operation::Length { handle: self.handle.clone(), length: 0 }).await {
            (Operation::Length { length, .. }, result) => check(result).map(|_| length),
            _ => unreachable!("an operation comes back as what it was"),
        }
    }

    /// Whether the file has no bytes.
    pub async fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len().await? == 0)
    }

    /// Reserves room on the disk for `length` bytes from `offset` and extends the file over them. Where the file system
    /// cannot reserve, the file is only extended.
    pub async fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        match self.plain(Operation::Allocate { handle: self.handle.clone(), offset, length }).await {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                let end = offset.saturating_add(length);
                if self.len().await? < end { self.set_len(end).await } else { Ok(()) }
            }
            result => result,
        }
    }
}
