//! A disk that forgets: what was written and not flushed is lost when the power goes, or some of it is, as on a real one.
//!
//! It is one file in a FUSE file system, under the loop device that the server's data lies on. The kernel sends a write for each
//! that reaches the disk, and an `fsync` for each flush; between the two nothing is promised. [`Disk::cut`] is the power cut: from
//! that instant every write and flush fails, so that nothing can be acknowledged on the strength of it, and of the unflushed
//! sectors a seeded choice remains. [`Disk::power_on`] shows what remained under a new file name, so that no cache of
//! the kernel remembers more.

use std::ffi::OsStr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner, OpenFlags,
    ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, WriteFlags,
};
use helenus_tests::Random;

/// What a disk writes whole or not at all.
const SECTOR: usize = 512;
const PAGE: usize = 4096;
/// Nothing of the file system may be remembered by the kernel.
const NO_TIME: Duration = Duration::ZERO;

/// What a cut leaves of the writes that were not flushed.
#[derive(Clone, Copy, Debug)]
pub enum Remains {
    /// Nothing.
    Nothing,
    /// The first of them in their order, the last of these torn at a sector.
    Prefix,
    /// Any sectors of any of them.
    AnySectors,
}

/// The disk's content; pages that were never written take no memory.
#[derive(Clone)]
pub struct Content {
    pages: Vec<Option<Arc<[u8; PAGE]>>>,
}

impl Content {
    /// The bytes of an image.
    pub fn of(bytes: &[u8]) -> Content {
        assert!(bytes.len().is_multiple_of(PAGE));
        // As a whole: byte by byte, in a build that is not optimised, an empty disk takes seconds.
        let page = |bytes: &[u8]| match *bytes == [0; PAGE] {
            true => None,
            false => Some(Arc::new(bytes.try_into().expect("chunks of a page"))),
        };
        Content { pages: bytes.chunks_exact(PAGE).map(page).collect() }
    }

    fn len(&self) -> u64 {
        (self.pages.len() * PAGE) as u64
    }

    fn write(&mut self, mut offset: usize, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (index, at) = (offset / PAGE, offset % PAGE);
            let count = bytes.len().min(PAGE - at);
            let page = self.pages[index].get_or_insert_with(|| Arc::new([0; PAGE]));
            Arc::make_mut(page)[at..at + count].copy_from_slice(&bytes[..count]);
            (offset, bytes) = (offset + count, &bytes[count..]);
        }
    }

    fn read(&self, mut offset: usize, length: usize) -> Vec<u8> {
        let end = (offset + length).min(self.pages.len() * PAGE);
        let mut bytes = Vec::with_capacity(end.saturating_sub(offset));
        while offset < end {
            let (index, at) = (offset / PAGE, offset % PAGE);
            let count = (end - offset).min(PAGE - at);
            match &self.pages[index] {
                Some(page) => bytes.extend_from_slice(&page[at..at + count]),
                None => bytes.resize(bytes.len() + count, 0),
            }
            offset += count;
        }
        bytes
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Health {
    Good,
    /// Writes and flushes fail; what is there can be read.
    Failing,
    /// There is no power.
    Off,
}

/// What the disk did between two looks at it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Flushes that were carried out.
    pub flushes: u64,
    /// Bytes that were written and not flushed when the power went, and of them those that are lost.
    pub unflushed: u64,
    /// See there.
    pub lost: u64,
}

struct State {
    health: Health,
    /// The time that each flush takes beside the work.
    flush_time: Duration,
    /// What reads see.
    current: Content,
    /// What a power cut leaves.
    durable: Content,
    /// Writes since the last flush, in their order.
    pending: Vec<(usize, Vec<u8>)>,
    /// Counts the names under which the content was shown.
    generation: u64,
    counts: Counts,
}

/// The disk. Clones are the same one: a test holds one, the file system another.
#[derive(Clone)]
pub struct Disk(Arc<Mutex<State>>);

impl Disk {
    /// A disk with that content, switched on.
    pub fn new(content: Content) -> Disk {
        Disk(Arc::new(Mutex::new(State {
            health: Health::Good,
            flush_time: Duration::ZERO,
            current: content.clone(),
            durable: content,
            pending: Vec::new(),
            generation: 0,
            counts: Counts::default(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no request panics")
    }

    /// The power goes.
    pub fn cut(&self, random: &mut Random, remains: Remains) {
        let mut state = self.state();
        let state = &mut *state;
        state.health = Health::Off;
        let pending = std::mem::take(&mut state.pending);
        let bytes: usize = pending.iter().map(|(_, bytes)| bytes.len()).sum();
        let mut sectors_left = match remains {
            Remains::Nothing => 0,
            Remains::Prefix => random.below(bytes / SECTOR + 1),
            Remains::AnySectors => usize::MAX,
        };
        let mut kept = 0;
        for (offset, bytes) in &pending {
            for (index, sector) in bytes.chunks(SECTOR).enumerate() {
                let is_kept = match remains {
                    Remains::AnySectors => random.below(2) == 0,
                    Remains::Nothing | Remains::Prefix => sectors_left > 0,
                };
                sectors_left = sectors_left.saturating_sub(1);
                if is_kept {
                    state.durable.write(offset + index * SECTOR, sector);
                    kept += sector.len();
                }
            }
        }
        state.counts.unflushed += bytes as u64;
        state.counts.lost += (bytes - kept) as u64;
    }

    /// From now on each flush takes so long: a power cut most likely comes in the middle of one.
    pub fn slow_down(&self, flush_time: Duration) {
        self.state().flush_time = flush_time;
    }

    /// From now on writes and flushes fail, until the power was off.
    pub fn fail(&self) {
        self.state().health = Health::Failing;
    }

    /// Shows what the cut left.
    pub fn power_on(&self) {
        let mut state = self.state();
        state.health = Health::Good;
        state.flush_time = Duration::ZERO;
        state.current = state.durable.clone();
        state.generation += 1;
    }

    /// A new disk in the place of the old one.
    pub fn replace(&self, content: &Content) {
        let mut state = self.state();
        state.pending.clear();
        state.durable = content.clone();
        drop(state);
        self.power_on();
    }

    /// The name of the file that shows the content now.
    pub fn file_name(&self) -> String {
        format!("disk-{}", self.state().generation)
    }

    /// What was counted since the disk was made.
    pub fn counts(&self) -> Counts {
        self.state().counts
    }

    fn attributes(&self, inode: u64) -> FileAttr {
        let is_root = inode == INodeNo::ROOT.0;
        let size = if is_root { 0 } else { self.state().current.len() };
        FileAttr {
            ino: INodeNo(inode),
            size,
            blocks: size / SECTOR as u64,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_root { FileType::Directory } else { FileType::RegularFile },
            perm: if is_root { 0o700 } else { 0o600 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: PAGE as u32,
            flags: 0,
        }
    }
}

/// A generation's file has the inode after it; the root has the first.
fn inode_of(generation: u64) -> u64 {
    INodeNo::ROOT.0 + 1 + generation
}

impl Filesystem for Disk {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let generation = self.state().generation;
        if name.to_str() != Some(&format!("disk-{generation}")) {
            return reply.error(Errno::ENOENT);
        }
        reply.entry(&NO_TIME, &self.attributes(inode_of(generation)), Generation(0));
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&NO_TIME, &self.attributes(inode.0));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::empty());
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let state = self.state();
        if state.health == Health::Off || inode.0 != inode_of(state.generation) {
            return reply.error(Errno::EIO);
        }
        let bytes = state.current.read(offset as usize, size as usize);
        drop(state);
        reply.data(&bytes);
    }

    fn write(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut state = self.state();
        if state.health != Health::Good || inode.0 != inode_of(state.generation) {
            return reply.error(Errno::EIO);
        }
        if offset + data.len() as u64 > state.current.len() {
            return reply.error(Errno::ENOSPC);
        }
        state.current.write(offset as usize, data);
        state.pending.push((offset as usize, data.to_vec()));
        drop(state);
        reply.written(u32::try_from(data.len()).expect("the kernel's requests are small"));
    }

    fn fsync(&self, _: &Request, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        // Not while the state is held: a power cut comes at any time.
        let flush_time = self.state().flush_time;
        std::thread::sleep(flush_time);
        let mut state = self.state();
        let state = &mut *state;
        if state.health != Health::Good || inode.0 != inode_of(state.generation) {
            return reply.error(Errno::EIO);
        }
        for (offset, bytes) in state.pending.drain(..) {
            state.durable.write(offset, &bytes);
        }
        state.counts.flushes += 1;
        reply.ok();
    }

    /// Closing a file promises nothing.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_read_as_written_across_pages() {
        let mut content = Content::of(&vec![0; 4 * PAGE]);
        content.write(PAGE - 3, b"abcdef");
        assert_eq!(content.read(PAGE - 4, 8), b"\0abcdef\0");
        assert_eq!(content.read(4 * PAGE - 2, 100), [0, 0]);
    }

    #[test]
    fn a_cut_keeps_flushed_bytes_and_loses_the_others() {
        let disk = Disk::new(Content::of(&vec![0; 4 * PAGE]));
        {
            let mut state = disk.state();
            state.durable.write(0, &[1; PAGE]);
            state.pending.push((PAGE, vec![2; PAGE]));
        }
        disk.cut(&mut Random::new(1), Remains::Nothing);
        disk.power_on();
        assert_eq!(disk.state().current.read(0, 2 * PAGE), [[1; PAGE], [0; PAGE]].concat());
        disk.state().pending.push((PAGE, vec![3; PAGE]));
        disk.cut(&mut Random::new(1), Remains::AnySectors);
        disk.power_on();
        let left = disk.state().current.read(PAGE, PAGE);
        let sectors: Vec<u8> = left.chunks(SECTOR).map(|sector| sector[0]).collect();
        assert!(sectors.contains(&3) && sectors.contains(&0), "{sectors:?}");
        assert!(left.chunks(SECTOR).all(|sector| sector.iter().all(|byte| *byte == sector[0])), "sectors are whole");
    }
}
