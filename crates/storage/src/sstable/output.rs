//! A component on its way to the disk: bytes gather and are written in large pieces past the page cache, one of them while the next
//! gathers, and their checksums are made on the way.

use std::io;
use std::path::{Path, PathBuf};

use runtime::{AlignedBuf, File, Group, OpenOptions, Runtime, TaskHandle};
use sstable::Component;
use sstable::helenus_component::{ComponentSum, PAGE_BYTES, is_paged};
use stdx::aligned_buf::ALIGNMENT;

use crate::commitlog::open_direct;
use crate::sstable::error::WriteError;

/// The bytes of one write.
pub(super) const WRITE_BYTES: usize = 256 << 10;

/// A file that is written from its beginning to its end.
pub(super) struct OutputFile {
    runtime: Runtime,
    component: Component,
    path: PathBuf,
    file: File,
    /// What was not handed to the disk yet; it begins at `offset`, a multiple of the disk's block.
    buffer: AlignedBuf,
    offset: u64,
    in_flight: Option<TaskHandle<(io::Result<()>, AlignedBuf)>>,
    spare: Option<AlignedBuf>,
    crc: crc32fast::Hasher,
    page: crc32fast::Hasher,
    pages: Vec<u32>,
}

impl OutputFile {
    /// Makes the file `path`, of no bytes yet.
    pub(super) async fn create(runtime: &Runtime, component: Component, path: PathBuf) -> Result<Self, WriteError> {
        let options = OpenOptions { write: true, create: true, truncate: true, ..OpenOptions::default() };
        let file = open_direct(runtime, &path, options).await.map_err(WriteError::io(&path))?;
        Ok(OutputFile {
            runtime: runtime.clone(),
            component,
            path,
            file,
            buffer: AlignedBuf::new(),
            offset: 0,
            in_flight: None,
            spare: None,
            crc: crc32fast::Hasher::new(),
            page: crc32fast::Hasher::new(),
            pages: Vec::new(),
        })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Its bytes so far.
    pub(super) fn length(&self) -> u64 {
        self.offset + self.buffer.len() as u64
    }

    /// Whether a write's worth has gathered.
    pub(super) fn is_due(&self) -> bool {
        self.buffer.len() >= WRITE_BYTES
    }

    /// Appends `bytes`.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.crc.update(bytes);
        if is_paged(self.component) {
            let mut rest = bytes;
            let mut length = self.length();
            while !rest.is_empty() {
                let room = PAGE_BYTES - (length % PAGE_BYTES as u64) as usize;
                let (part, left) = rest.split_at(rest.len().min(room));
                self.page.update(part);
                length += part.len() as u64;
                if part.len() == room {
                    self.end_page();
                }
                rest = left;
            }
        }
        self.buffer.extend_from_slice(bytes);
    }

    fn end_page(&mut self) {
        let page = std::mem::take(&mut self.page);
        self.pages.push(page.finalize());
    }

    /// Begins a write of what has gathered, if it is enough for one. Waits for the one before it.
    pub(super) async fn write_out(&mut self) -> Result<(), WriteError> {
        if self.is_due() { self.begin_write().await } else { Ok(()) }
    }

    /// Begins a write of all whole blocks.
    async fn begin_write(&mut self) -> Result<(), WriteError> {
        self.end_write().await?;
        let whole = self.buffer.len() / ALIGNMENT * ALIGNMENT;
        let mut next = self.spare.take().unwrap_or_default();
        next.clear();
        next.extend_from_slice(&self.buffer[whole..]);
        let mut bytes = std::mem::replace(&mut self.buffer, next);
        bytes.truncate(whole);
        let (file, offset) = (self.file.clone(), self.offset);
        self.offset += whole as u64;
        self.in_flight = Some(self.runtime.spawn(Group::Flush, async move { file.write_at(bytes, offset).await }));
        Ok(())
    }

    async fn end_write(&mut self) -> Result<(), WriteError> {
        let Some(write) = self.in_flight.take() else { return Ok(()) };
        let (result, buffer) = write.await;
        self.spare = Some(buffer);
        result.map_err(WriteError::io(&self.path))
    }

    /// Writes what is left and waits until the file is on the disk.
    pub(super) async fn finish(mut self) -> Result<ComponentSum, WriteError> {
        let length = self.length();
        if is_paged(self.component) && !length.is_multiple_of(PAGE_BYTES as u64) {
            self.end_page();
        }
        let padded = self.buffer.len().next_multiple_of(ALIGNMENT);
        self.buffer.resize(padded, 0);
        self.begin_write().await?;
        self.end_write().await?;
        let on_disk = WriteError::io(&self.path);
        if !length.is_multiple_of(ALIGNMENT as u64) {
            self.file.set_len(length).await.map_err(&on_disk)?;
        }
        self.file.sync_all().await.map_err(&on_disk)?;
        Ok(ComponentSum { component: self.component, length, crc: self.crc.finalize(), pages: self.pages })
    }

    /// Waits until nothing of it is in flight any more: it can be removed.
    pub(super) async fn give_up(mut self) {
        // That the write failed too is of no interest any more.
        let _ = self.end_write().await;
    }
}
