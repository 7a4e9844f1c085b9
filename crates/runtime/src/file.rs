//! Files: positioned reads and writes of owned, aligned buffers.

use std::io;

use stdx::AlignedBuf;

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
}

/// An open file. Clones share the descriptor, which closes with the last of them.
#[derive(Clone)]
pub struct File {}

impl File {
    /// Writes the whole buffer at `offset`, or fails. The buffer comes back as it was.
    pub async fn write_at(&self, buffer: AlignedBuf, offset: u64) -> (io::Result<()>, AlignedBuf) {
        let _ = (buffer, offset);
        todo!()
    }

    /// Reads from `offset` into the buffer's spare capacity until that is full or the file ends. Gives the bytes read.
    pub async fn read_at(&self, buffer: AlignedBuf, offset: u64) -> (io::Result<usize>, AlignedBuf) {
        let _ = (buffer, offset);
        todo!()
    }

    /// Waits until the file's bytes, and as much of its metadata as reading them takes, are on the disk.
    pub async fn sync_data(&self) -> io::Result<()> {
        todo!()
    }

    /// Waits until the file's bytes and metadata are on the disk.
    pub async fn sync_all(&self) -> io::Result<()> {
        todo!()
    }

    /// Cuts or extends (with zeros) the file to `length` bytes.
    pub async fn set_len(&self, length: u64) -> io::Result<()> {
        let _ = length;
        todo!()
    }

    /// The file's length in bytes.
    pub async fn len(&self) -> io::Result<u64> {
        todo!()
    }

    /// Whether the file has no bytes.
    pub async fn is_empty(&self) -> io::Result<bool> {
        todo!()
    }

    /// Reserves room on the disk for `length` bytes from `offset` and extends the file over them. Where the file system
    /// cannot reserve, the file is only extended.
    pub async fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        let _ = (offset, length);
        todo!()
    }
}
