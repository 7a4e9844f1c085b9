//! The hints of one shard on its disk: by target, within their bounds.
//!
//! Keeping a hint never waits, and costs the same however many files there are: its bytes are put into the target's buffer, which the shard's writer
//! ([`super::writer`]) writes out. Files are found at a start by their folder's names alone. What is to be sent, and when, is not known here.

use std::cell::{Cell, Ref, RefCell};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use runtime::sync::Notify;
use runtime::{AlignedBuf, Group, Instant, OpenOptions, Runtime};
use topology::HostId;

use super::figures::PendingHints;
use super::options::HintOptions;
use super::promise::{OnDisk, Promise};
use super::record::{BODY_BYTES_MAX, HEAD, Start, body_len, position_bytes, push_record, read_position};
use super::target::{HintFile, Target, Targets};
use super::writer;

/// Bytes of a shard that may be on their way into files.
const UNWRITTEN_BYTES_MAX: usize = 8 << 20;
/// Buffered bytes of a target that are written at once.
const BUFFERED_BYTES_FULL: usize = 256 << 10;
/// Targets that may have hints.
const TARGETS_MAX: usize = 4096;
/// Passes over a file whose content cannot be read, after which it is put aside.
const FAILURES_MAX: u32 = 3;

/// The reason why a hint is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotKept {
    /// The commit log could not tell the write's start from a truncation.
    #[error("the commit log takes no records")]
    NoStart,
    /// This node leaves, and has handed on its hints.
    #[error("this node leaves")]
    Leaving,
    /// The node has missed writes for too long.
    #[error("past max_hint_window")]
    PastWindow,
    /// It is longer than any mutation.
    #[error("the hint has {0} bytes, more than {BODY_BYTES_MAX}")]
    TooLong(usize),
    /// A bound is reached.
    #[error("hints have no room: {0}")]
    NoRoom(&'static str),
    /// The disk did not take the last one.
    #[error("the disk of hints does not take any")]
    Disk,
}

/// One shard's hints. Clones are the same.
#[derive(Clone)]
pub(crate) struct HintStore {
    inner: Rc<Inner>,
}

pub(super) struct Inner {
    pub(super) runtime: Runtime,
    pub(super) options: HintOptions,
    /// The folder of all shards.
    pub(super) dir: PathBuf,
    /// Number of the process's start.
    pub(super) boot: u64,
    targets: RefCell<Targets>,
    /// Bytes that they may take; 0 until the disk was measured.
    pub(super) bytes_max: Cell<u64>,
    /// Files of earlier starts are found.
    pub(super) is_open: Cell<bool>,
    /// There is something to write, and it is not to wait.
    pub(super) is_urgent: Cell<bool>,
    pub(super) wake: Notify,
    /// A file was sealed or found, or there is something to deliver.
    pub(super) changed: Notify,
    last_created_ms: Cell<u64>,
    /// Hints that were kept and could not be written, or were removed before.
    pub(super) lost: Cell<u64>,
    /// The writer writes no more; what is buffered is written.
    pub(super) is_ending: Cell<bool>,
    pub(super) has_ended: Cell<bool>,
}

impl std::fmt::Debug for HintStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HintStore").field("dir", &self.inner.dir).finish_non_exhaustive()
    }
}

impl HintStore {
    /// An empty one, which keeps nothing until it is started.
    pub(super) fn new(runtime: &Runtime, options: HintOptions, dir: &Path, boot: u64) -> HintStore {
        let inner = Inner {
            runtime: runtime.clone(),
            options,
            dir: dir.to_owned(),
            boot,
            targets: RefCell::default(),
            bytes_max: Cell::new(0),
            is_open: Cell::new(false),
            is_urgent: Cell::new(false),
            wake: Notify::new(),
            changed: Notify::new(),
            last_created_ms: Cell::new(0),
            lost: Cell::new(0),
            is_ending: Cell::new(true),
            has_ended: Cell::new(true),
        };
        HintStore { inner: Rc::new(inner) }
    }

    /// Begins to look for files of earlier starts, and to write.
    pub(super) fn start(&self) {
        self.inner.is_ending.set(false);
        self.inner.has_ended.set(false);
        drop(self.inner.runtime.spawn(Group::Maintenance, writer::run(Rc::clone(&self.inner))));
    }

    /// Keeps a hint. With `waits` the writer syncs it with the next bytes that it writes, as long as the promise is held, and wakes who waits there.
    pub(super) fn keep(
        &self,
        host: HostId,
        start: &Start,
        mutations: &[&[u8]],
        waits: Option<&Notify>,
    ) -> Result<Option<Rc<Promise>>, NotKept> {
        let inner = &*self.inner;
        let length = body_len(mutations);
        if length > BODY_BYTES_MAX {
            return Err(NotKept::TooLong(length));
        }
        let more = (HEAD + length) as u64;
        inner.check_room(host, more)?;
        Ok(self.push(host, start, mutations, waits))
    }

    fn push(&self, host: HostId, start: &Start, mutations: &[&[u8]], waits: Option<&Notify>) -> Option<Rc<Promise>> {
        let inner = &*self.inner;
        let now = inner.runtime.now();
        let promise = waits.map(Promise::new);
        let is_full = inner.change(host, |target| {
            push_record(start, mutations, &mut target.buffer);
            target.put(now, promise.as_ref().map(Rc::downgrade));
            target.buffer.len() >= BUFFERED_BYTES_FULL
        });
        if is_full {
            inner.is_urgent.set(true);
        }
        inner.wake.notify();
        inner.changed.notify_all();
        promise
    }

    /// Keeps a hint again that is in an older file of the target, and waits until it is on the disk. False: it is not.
    pub(super) async fn put_back(&self, host: HostId, start: &Start, mutations: &[&[u8]]) -> bool {
        let changed = Notify::new();
        // Its bytes stand in both files for a while, of few hints at once. Where hints have all of their room it would never be put back otherwise.
        if self.inner.check_writer(host, (HEAD + body_len(mutations)) as u64).is_err() {
            return false;
        }
        let Some(promise) = self.push(host, start, mutations, Some(&changed)) else { return false };
        self.hurry();
        while promise.state() == OnDisk::Open {
            changed.notified().await;
        }
        promise.state() == OnDisk::Synced
    }

    /// Has the writer write at once.
    pub(super) fn hurry(&self) {
        self.inner.is_urgent.set(true);
        self.inner.wake.notify();
    }

    /// The time at which the oldest hints of a target were kept that it has not got, milliseconds since 1970.
    pub(super) fn oldest_ms(&self, host: HostId) -> Option<u64> {
        let targets = self.inner.targets();
        let target = targets.get(host)?;
        let oldest = target.sealed().front().or(target.open.as_ref().map(|open| &open.hints))?;
        Some(oldest.created_ms)
    }

    /// Targets with hints that wait.
    pub(super) fn pending_hosts(&self) -> Vec<HostId> {
        let targets = self.inner.targets();
        targets.iter().filter(|(_, target)| !target.is_empty()).map(|(host, _)| host).collect()
    }

    /// Waits until there may be something to deliver that was not there before.
    pub(super) async fn changed(&self) {
        self.inner.changed.notified().await;
    }

    /// The target's oldest file, sealed. `None`: nothing waits for it.
    pub(super) async fn next_file(&self, host: HostId) -> Option<HintFile> {
        loop {
            {
                let targets = self.inner.targets();
                let target = targets.get(host)?;
                if let Some(file) = target.sealed().front() {
                    return Some(file.clone());
                }
                if target.is_empty() {
                    return None;
                }
            }
            self.inner.change(host, |target| target.seals = true);
            self.hurry();
            self.inner.changed.notified().await;
        }
    }

    /// True if the file waits still: an operator may have removed it.
    pub(super) fn has(&self, host: HostId, file: &HintFile) -> bool {
        let targets = self.inner.targets();
        targets.get(host).is_some_and(|target| target.sealed().iter().any(|other| other.path == file.path))
    }

    /// True if more waits for the target than this file.
    pub(super) fn has_more(&self, host: HostId, file: &HintFile) -> bool {
        self.inner.targets().get(host).is_some_and(|target| target.bytes() > file.bytes)
    }

    /// The time of the newest file that this shard has, or had.
    pub(super) fn newest_ms(&self) -> u64 {
        self.inner.last_created_ms.get()
    }

    /// The time since a file was made.
    pub(super) fn age(&self, file: &HintFile) -> Duration {
        Duration::from_millis(self.inner.now_ms().saturating_sub(file.created_ms))
    }

    /// Removes a file that is delivered.
    pub(super) async fn remove(&self, host: HostId, file: &HintFile) {
        self.inner.forget(host, file);
        self.inner.remove_file(file).await;
    }

    /// A pass over the file ended with an error. The third time that its content cannot be read it is put aside. What the process lacks, such as memory or
    /// descriptors, says nothing of the file.
    pub(super) async fn failed(&self, host: HostId, file: &HintFile, error: &io::Error) {
        let path = file.path.display();
        let failures = match is_of_content(error) && self.has(host, file) {
            true => self.inner.change(host, |target| target.failed(&file.path)).unwrap_or(0),
            false => 0,
        };
        if failures < FAILURES_MAX {
            tracing::warn!(%path, %error, "cannot read hints; retrying");
            return;
        }
        tracing::error!(%path, %error, "cannot read hints; file renamed to .hints.damaged, its hints are not delivered");
        self.inner.forget(host, file);
        let _ = self.inner.runtime.remove_file(&file.position_path()).await;
        if let Err(error) = self.inner.runtime.rename(&file.path, &file.damaged_path()).await {
            tracing::error!(%path, %error, "cannot rename file of hints; the next start reads it again");
        }
    }

    /// The offset up to which a file is delivered.
    pub(super) async fn position(&self, file: &HintFile) -> u64 {
        let bytes = self.inner.runtime.read_file_at_most(&file.position_path(), 4096).await;
        bytes.map_or(0, |bytes| read_position(&bytes))
    }

    /// Keeps the offset up to which a file is delivered. Without it a restart delivers more than it must.
    pub(super) async fn note_position(&self, host: HostId, file: &HintFile, offset: u64) {
        if !self.has(host, file) {
            return;
        }
        let options = OpenOptions { write: true, create: true, dsync: true, ..OpenOptions::default() };
        let written = async {
            let position = self.inner.runtime.open(&file.position_path(), options).await?;
            position.write_at(aligned(&position_bytes(offset)), 0).await.0
        };
        if let Err(error) = written.await {
            tracing::debug!(path = %file.path.display(), %error, "cannot write the position of hints");
        }
    }

    /// Has all hints of a target removed, or those of all.
    pub(super) fn remove_all(&self, host: Option<HostId>) {
        let all = self.inner.hosts();
        for host in all.into_iter().filter(|target| host.is_none_or(|host| host == *target)) {
            self.inner.change(host, |target| target.removes = true);
        }
        self.hurry();
    }

    /// Writes and syncs what is buffered, and writes no more.
    pub(crate) async fn end(&self) {
        self.inner.is_ending.set(true);
        self.hurry();
        while !self.inner.has_ended.get() {
            self.inner.changed.notified().await;
        }
    }

    /// Hints that wait, by target.
    pub(super) fn pending(&self) -> Vec<PendingHints> {
        let targets = self.inner.targets();
        let now_ms = self.inner.now_ms();
        let pending = |(host, target): (HostId, &Target)| {
            let files: Vec<u64> = target
                .sealed()
                .iter()
                .chain(target.open.as_ref().map(|open| &open.hints))
                .map(|file| file.created_ms)
                .collect();
            PendingHints {
                host_id: host,
                files: files.len() as u64,
                bytes: target.bytes(),
                oldest_ms: files.iter().copied().min().unwrap_or(now_ms),
                newest_ms: files.iter().copied().max().unwrap_or(now_ms),
            }
        };
        targets.iter().filter(|(_, target)| !target.is_empty()).map(pending).collect()
    }

    /// Hints that were kept and did not get to the disk.
    pub(super) fn lost(&self) -> u64 {
        self.inner.lost.get()
    }

    /// Bytes that hints take, and bytes that they may take.
    pub(super) fn room(&self) -> (u64, u64) {
        (self.inner.bytes(), self.inner.bytes_max.get())
    }
}

impl Inner {
    pub(super) fn targets(&self) -> Ref<'_, Targets> {
        self.targets.borrow()
    }

    /// Changes a target, which is made if it is not there.
    pub(super) fn change<T>(&self, host: HostId, change: impl FnOnce(&mut Target) -> T) -> T {
        self.targets.borrow_mut().change(host, change)
    }

    /// All targets.
    pub(super) fn hosts(&self) -> Vec<HostId> {
        self.targets().iter().map(|(host, _)| host).collect()
    }

    /// Bytes of all hints.
    pub(super) fn bytes(&self) -> u64 {
        self.targets().bytes()
    }

    /// `Err`: the writer does not write so many bytes soon.
    fn check_writer(&self, host: HostId, more: u64) -> Result<(), NotKept> {
        let targets = self.targets();
        let target = targets.get(host);
        if self.is_ending.get() {
            return Err(NotKept::NoRoom("the node is shutting down"));
        }
        if target.and_then(|target| target.rests_until).is_some_and(|until| self.runtime.now() < until) {
            return Err(NotKept::Disk);
        }
        let unwritten = targets.unwritten() as u64;
        if unwritten > 0 && unwritten + more > UNWRITTEN_BYTES_MAX as u64 {
            return Err(NotKept::NoRoom("too many bytes wait to be written"));
        }
        if target.is_none() && targets.len() >= TARGETS_MAX {
            return Err(NotKept::NoRoom("too many nodes have hints"));
        }
        Ok(())
    }

    fn check_room(&self, host: HostId, more: u64) -> Result<(), NotKept> {
        self.check_writer(host, more)?;
        let targets = self.targets();
        let (of_host, all) = (targets.get(host).map_or(0, Target::bytes), targets.bytes());
        let bytes_max = self.bytes_max.get();
        let shards = u64::from(self.runtime.shard_count());
        let host_max = self.options.host_bytes_max.map_or(bytes_max / 4, |bytes| (bytes / shards).min(bytes_max));
        // Until the disk was measured only the buffer bounds them.
        if self.is_open.get() && of_host + more > host_max {
            return Err(NotKept::NoRoom("the hints of the node take all that one node's may"));
        }
        if self.is_open.get() && all + more > bytes_max {
            return Err(NotKept::NoRoom("hints take all that they may"));
        }
        Ok(())
    }

    pub(super) fn now_ms(&self) -> u64 {
        u64::try_from(self.runtime.wall_clock_micros() / 1000).unwrap_or(0)
    }

    /// The name of the next file: no two of this shard have the same time.
    pub(super) fn next_created_ms(&self) -> u64 {
        let next = self.now_ms().max(self.last_created_ms.get() + 1);
        self.last_created_ms.set(next);
        next
    }

    /// A file of an earlier start has this time.
    pub(super) fn note_created_ms(&self, created_ms: u64) {
        self.last_created_ms.set(self.last_created_ms.get().max(created_ms));
    }

    /// The folder of a shard's files.
    pub(super) fn folder(&self, shard: u16) -> PathBuf {
        self.dir.join(format!("shard-{shard}"))
    }

    fn forget(&self, host: HostId, file: &HintFile) {
        self.change(host, |target| target.forget(&file.path));
    }

    /// Removes a file and its position. One that stays is delivered again after the next start.
    pub(super) async fn remove_file(&self, file: &HintFile) {
        // The position first: without its file it means nothing.
        let _ = self.runtime.remove_file(&file.position_path()).await;
        match self.runtime.remove_file(&file.path).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(path = %file.path.display(), %error, "cannot remove delivered hints; the next start delivers them again");
            }
            _ => {}
        }
    }
}

/// True if an error says that what a file holds cannot be read: by its bytes, its version, or the medium under it.
fn is_of_content(error: &io::Error) -> bool {
    const EIO: i32 = 5;
    let of_bytes = [io::ErrorKind::InvalidData, io::ErrorKind::UnexpectedEof, io::ErrorKind::Unsupported];
    of_bytes.contains(&error.kind()) || error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(EIO)
}

/// The moment at which something is due that began at `since`.
pub(super) fn due(since: Option<Instant>, after: Duration) -> Option<Instant> {
    since.map(|since| since + after)
}

/// Bytes as a file takes them.
pub(super) fn aligned(bytes: &[u8]) -> AlignedBuf {
    let mut buffer = AlignedBuf::with_capacity(bytes.len());
    buffer.extend_from_slice(bytes);
    buffer
}
