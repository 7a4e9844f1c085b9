//! The hints of one shard on its disk: by target, within their bounds.
//!
//! Keeping a hint never waits: its bytes are put into the target's buffer, which the shard's writer ([`super::writer`]) writes out. Files are found
//! at a start by their folder's names alone. What is to be sent, and when, is not known here.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use runtime::sync::{Notify, Receiver, oneshot};
use runtime::{AlignedBuf, Group, Instant, OpenOptions, Runtime};
use topology::HostId;

use super::figures::PendingHints;
use super::options::HintOptions;
use super::record::{BODY_BYTES_MAX, HEAD, Start, body_len, position_bytes, push_record, read_position};
use super::target::{HintFile, Target};
use super::writer;

/// Bytes of a shard that may wait to be written.
const BUFFERED_BYTES_MAX: usize = 8 << 20;
/// Buffered bytes of a target that are written at once.
const BUFFERED_BYTES_FULL: usize = 256 << 10;
/// Targets that may have hints.
const TARGETS_MAX: usize = 4096;
/// Passes over a file that cannot be read, after which it is put aside.
const FAILURES_MAX: u32 = 3;

/// The reason why a hint is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotKept {
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

/// Promise of a sync.
#[derive(Debug)]
pub(crate) struct Ticket {
    synced: Receiver<bool>,
    store: HintStore,
}

impl Ticket {
    /// Waits until the hint is on the disk. False: it is lost.
    pub(crate) async fn synced(self) -> bool {
        self.store.hurry();
        self.synced.await.unwrap_or(false)
    }
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
    targets: RefCell<BTreeMap<HostId, Target>>,
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

    /// Keeps a hint. With `waits` the writer syncs it with the next bytes that it writes, and the ticket tells when.
    pub(super) fn keep(
        &self,
        host: HostId,
        start: &Start,
        mutations: &[&[u8]],
        waits: bool,
    ) -> Result<Option<Ticket>, NotKept> {
        let inner = &*self.inner;
        let length = body_len(mutations);
        if length > BODY_BYTES_MAX {
            return Err(NotKept::TooLong(length));
        }
        let more = (HEAD + length) as u64;
        inner.check_room(host, more)?;
        let now = inner.runtime.now();
        let mut targets = inner.targets();
        let target = targets.entry(host).or_default();
        if target.rests_until.is_some_and(|until| now < until) {
            return Err(NotKept::Disk);
        }
        push_record(start, mutations, &mut target.buffer);
        let (sender, synced) = oneshot();
        target.put(now, waits.then_some(sender));
        let is_full = target.buffer.len() >= BUFFERED_BYTES_FULL;
        drop(targets);
        if is_full {
            inner.is_urgent.set(true);
        }
        inner.wake.notify();
        inner.changed.notify_all();
        Ok(waits.then(|| Ticket { synced, store: self.clone() }))
    }

    /// Has the writer write at once.
    fn hurry(&self) {
        self.inner.is_urgent.set(true);
        self.inner.wake.notify();
    }

    /// The time at which the oldest hints of a target were kept that it has not got, milliseconds since 1970.
    pub(super) fn oldest_ms(&self, host: HostId) -> Option<u64> {
        let targets = self.inner.targets();
        let target = targets.get(&host)?;
        let oldest = target.sealed.front().or(target.open.as_ref().map(|open| &open.hints))?;
        Some(oldest.created_ms)
    }

    /// Targets with hints that wait.
    pub(super) fn pending_hosts(&self) -> Vec<HostId> {
        let targets = self.inner.targets();
        targets.iter().filter(|(_, target)| !target.is_empty()).map(|(host, _)| *host).collect()
    }

    /// Waits until there may be something to deliver that was not there before.
    pub(super) async fn changed(&self) {
        self.inner.changed.notified().await;
    }

    /// The target's oldest file, sealed. `None`: nothing waits for it.
    pub(super) async fn next_file(&self, host: HostId) -> Option<HintFile> {
        loop {
            {
                let mut targets = self.inner.targets();
                let target = targets.get_mut(&host)?;
                if let Some(file) = target.sealed.front() {
                    return Some(file.clone());
                }
                if target.is_empty() {
                    return None;
                }
                target.seals = true;
            }
            self.hurry();
            self.inner.changed.notified().await;
        }
    }

    /// True if the file waits still: an operator may have removed it.
    pub(super) fn has(&self, host: HostId, file: &HintFile) -> bool {
        let targets = self.inner.targets();
        targets.get(&host).is_some_and(|target| target.sealed.iter().any(|other| other.path == file.path))
    }

    /// Removes a file that is delivered.
    pub(super) async fn remove(&self, host: HostId, file: &HintFile) {
        self.inner.forget(host, file);
        self.inner.remove_file(file).await;
    }

    /// A pass over the file ended with an error. The third time it is put aside.
    pub(super) async fn failed(&self, host: HostId, file: &HintFile, error: &io::Error) {
        let failures = {
            let mut targets = self.inner.targets();
            let Some(target) = targets.get_mut(&host) else { return };
            let Some(file) = target.sealed.iter_mut().find(|other| other.path == file.path) else { return };
            file.failures += 1;
            file.failures
        };
        let path = file.path.display();
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
        let mut targets = self.inner.targets();
        let meant = targets.iter_mut().filter(|(target, _)| host.is_none_or(|host| host == **target));
        meant.for_each(|(_, target)| target.removes = true);
        drop(targets);
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
        let pending = |(host, target): (&HostId, &Target)| {
            let files: Vec<u64> = target
                .sealed
                .iter()
                .chain(target.open.as_ref().map(|open| &open.hints))
                .map(|file| file.created_ms)
                .collect();
            PendingHints {
                host_id: *host,
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
    pub(super) fn targets(&self) -> RefMut<'_, BTreeMap<HostId, Target>> {
        self.targets.borrow_mut()
    }

    /// Bytes of all hints.
    pub(super) fn bytes(&self) -> u64 {
        self.targets.borrow().values().map(Target::bytes).sum()
    }

    fn check_room(&self, host: HostId, more: u64) -> Result<(), NotKept> {
        let targets = self.targets.borrow();
        let buffered: usize = targets.values().map(|target| target.buffer.len()).sum();
        if self.is_ending.get() {
            return Err(NotKept::NoRoom("the node is shutting down"));
        }
        if buffered > 0 && buffered as u64 + more > BUFFERED_BYTES_MAX as u64 {
            return Err(NotKept::NoRoom("too many bytes wait to be written"));
        }
        if !targets.contains_key(&host) && targets.len() >= TARGETS_MAX {
            return Err(NotKept::NoRoom("too many nodes have hints"));
        }
        let of_host = targets.get(&host).map_or(0, Target::bytes);
        let all: u64 = targets.values().map(Target::bytes).sum();
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
        if let Some(target) = self.targets().get_mut(&host) {
            target.sealed.retain(|other| other.path != file.path);
        }
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
