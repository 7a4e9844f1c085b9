//! The writer of a shard's hints: one task that finds the files of earlier starts and then writes, syncs and seals. So no two writes to a file
//! are under way.

use std::io;
use std::rc::Rc;
use std::time::Duration;

use runtime::{Instant, OpenOptions};
use topology::HostId;

use super::figures::add;
use super::record::{FILE_HEAD, Salt, file_head, seal_records};
use super::store::{Inner, aligned, due};
use super::target::{HintFile, OpenFile, Target};

/// Time within which a hint is written.
const WRITE_AFTER: Duration = Duration::from_millis(100);
/// Time between two looks at the disk's room.
const MEASURE_EVERY: Duration = Duration::from_secs(60);
/// Time without hints for a target after its file could not be written.
const REST: Duration = Duration::from_secs(1);

/// Writes until the store ends.
pub(super) async fn run(inner: Rc<Inner>) {
    if let Err(error) = inner.find_files().await {
        tracing::error!(
            dir = %inner.dir.display(), %error,
            "cannot list hints of earlier starts; they stay undelivered until the next start"
        );
    }
    inner.measure().await;
    inner.is_open.set(true);
    inner.changed.notify_all();
    let mut measured = inner.runtime.now();
    loop {
        let is_ending = inner.is_ending.get();
        inner.is_urgent.set(false);
        for host in inner.hosts() {
            inner.serve(host, is_ending).await;
        }
        if is_ending {
            inner.has_ended.set(true);
            inner.changed.notify_all();
            return;
        }
        if inner.runtime.now() - measured >= MEASURE_EVERY {
            inner.measure().await;
            measured = inner.runtime.now();
        }
        inner.rest(measured + MEASURE_EVERY).await;
    }
}

impl Inner {
    /// Waits until something is due.
    async fn rest(&self, at_last: Instant) {
        loop {
            let now = self.runtime.now();
            let next = {
                let targets = self.targets();
                let written = targets.iter().filter_map(|(_, target)| due(target.buffered_at, WRITE_AFTER));
                let period = self.options.flush_period;
                let synced = targets.iter().filter_map(|(_, target)| due(target.unsynced_at, period));
                // Without hints the disk is not measured.
                let looked = (targets.len() > 0).then_some(at_last);
                written.chain(synced).chain(looked).min()
            };
            if self.is_urgent.get() || next.is_some_and(|next| next <= now) {
                return;
            }
            match next {
                None => self.wake.notified().await,
                Some(next) => _ = self.runtime.timeout(next - now, self.wake.notified()).await,
            }
        }
    }

    /// Finds the files of this shard, and of those shards that are not there any more and that this one stands for.
    async fn find_files(&self) -> io::Result<()> {
        let shards = match self.runtime.read_dir(&self.dir).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let (own, count) = (self.runtime.shard().0, self.runtime.shard_count());
        let number = |name: &str| name.strip_prefix("shard-")?.parse::<u16>().ok();
        let folders = shards.iter().filter(|entry| entry.is_dir).filter_map(|entry| number(&entry.name));
        for shard in folders.filter(|shard| shard % count == own) {
            let folder = self.folder(shard);
            let (mut files, entries) = (Vec::new(), self.runtime.read_dir(&folder).await?);
            // What was put aside stays.
            let is_done = entries.iter().all(|entry| entry.name.ends_with(".position"));
            for entry in entries {
                if let Some((host, created_ms)) = HintFile::parse(&entry.name) {
                    self.note_created_ms(created_ms);
                    files.push((host, HintFile { bytes: entry.len, ..HintFile::new(&folder, host, created_ms) }));
                }
            }
            if is_done && shard != own {
                let _ = self.runtime.remove_dir_all(&folder).await;
            }
            for (host, file) in files {
                stdx::sometimes!("hints of an earlier start");
                self.change(host, |target| target.seal(file));
            }
        }
        self.hosts().into_iter().for_each(|host| self.change(host, Target::sort));
        Ok(())
    }

    /// Sets how many bytes hints may take.
    async fn measure(&self) {
        let used = self.bytes();
        let mut dir = Some(self.dir.as_path());
        // The folder is made with the first file.
        while let Some(parent) = dir.filter(|dir| !dir.as_os_str().is_empty()) {
            if let Ok(free) = self.runtime.free_bytes(parent).await {
                let shards = u64::from(self.runtime.shard_count());
                let room = (free.saturating_sub(self.options.disk_reserve) / shards).saturating_add(used);
                return self.bytes_max.set(room / 10);
            }
            dir = parent.parent();
        }
        if self.bytes_max.get() == 0 {
            tracing::warn!(dir = %self.dir.display(), "free space of the hints directory is unknown; no hints are kept");
        }
    }

    /// Does what is wanted of a target's files.
    async fn serve(&self, host: HostId, is_ending: bool) {
        if self.targets().get(host).is_some_and(|target| target.removes) {
            self.remove_all_of(host).await;
        }
        let (records, number, was_waited_for) = self.change(host, |target| {
            let (records, number) = target.take_buffer();
            (records, number, target.is_waited_for())
        });
        let written = match records.is_empty() {
            true => Ok(()),
            false => self.write(host, records, number).await,
        };
        let result = match written {
            Ok(()) => self.sync_and_seal(host, was_waited_for || is_ending, is_ending).await,
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            self.give_up(host, &error);
        }
    }

    /// Appends records to the target's open file, which is made if there is none.
    async fn write(&self, host: HostId, mut records: Vec<u8>, number: u64) -> io::Result<()> {
        let open = self.change(host, |target| {
            let open = target.open.take();
            target.open_bytes_in_hand = open.as_ref().map_or(0, |open| open.hints.bytes);
            open
        });
        let opened = match open {
            Some(open) => Ok(open),
            None => self.create(host).await,
        };
        let written = match &opened {
            Ok(open) => {
                seal_records(open.salt, &mut records);
                open.file.write_at(aligned(&records), open.hints.bytes).await.0
            }
            Err(_) => Ok(()),
        };
        let now = self.runtime.now();
        self.change(host, |target| {
            (target.records_in_hand, target.open_bytes_in_hand) = (0, 0);
            let open = target.open.insert(opened?);
            written?;
            open.hints.bytes += records.len() as u64;
            target.wrote(number, now);
            Ok(())
        })
    }

    async fn create(&self, host: HostId) -> io::Result<OpenFile> {
        let shard = self.runtime.shard().0;
        let folder = self.folder(shard);
        self.runtime.create_dir_all(&folder).await?;
        let mut hints = HintFile::new(&folder, host, self.next_created_ms());
        let options = OpenOptions { write: true, create_new: true, is_private: true, ..OpenOptions::default() };
        let file = self.runtime.open(&hints.path, options).await?;
        let salt = Salt::new(self.runtime.random_u64());
        file.write_at(aligned(&file_head(host, self.boot, shard, salt)), 0).await.0?;
        hints.bytes = FILE_HEAD as u64;
        Ok(OpenFile { file, salt, is_new: true, hints })
    }

    /// Syncs the target's open file where that is due, and seals it where that is.
    async fn sync_and_seal(&self, host: HostId, must_sync: bool, must_seal: bool) -> io::Result<()> {
        let now = self.runtime.now();
        let wanted = self.change(host, |target| {
            let is_due = due(target.unsynced_at, self.options.flush_period).is_some_and(|due| due <= now);
            let seals = std::mem::take(&mut target.seals) || must_seal;
            let open = target.open.as_ref()?;
            let seals = seals || open.hints.bytes >= self.options.file_bytes_max;
            (must_sync || is_due || seals).then(|| (open.file.clone(), open.is_new, target.written(), seals))
        });
        let Some((file, is_new, number, seals)) = wanted else { return Ok(()) };
        if is_new {
            self.sync_names().await?;
        }
        file.sync_data().await?;
        self.change(host, |target| {
            target.settle(number, true);
            if let Some(open) = &mut target.open {
                open.is_new = false;
            }
            if seals && let Some(open) = target.open.take() {
                target.seal(open.hints);
                self.changed.notify_all();
            }
        });
        Ok(())
    }

    /// Makes the names of a new file and of its folders durable.
    async fn sync_names(&self) -> io::Result<()> {
        self.runtime.sync_dir(&self.folder(self.runtime.shard().0)).await?;
        self.runtime.sync_dir(&self.dir).await?;
        let Some(parent) = self.dir.parent().filter(|parent| !parent.as_os_str().is_empty()) else { return Ok(()) };
        match self.runtime.sync_dir(parent).await {
            // A folder that this user may not read, or on a file system that syncs no folders, was there before.
            Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput) => {
                Ok(())
            }
            result => result,
        }
    }

    /// The disk does not take the target's hints: those that are not on it are lost.
    fn give_up(&self, host: HostId, error: &io::Error) {
        let now = self.runtime.now();
        let lost = self.change(host, |target| {
            target.rests_until = Some(now + REST);
            if let Some(open) = target.open.take() {
                // Its end may be torn, which a reader passes over.
                target.seal(open.hints);
            }
            target.lose()
        });
        add(&self.lost, lost);
        self.changed.notify_all();
        tracing::warn!(%host, lost, %error, "cannot write hints; those of the last moments are lost");
    }

    async fn remove_all_of(&self, host: HostId) {
        let (files, lost) = self.change(host, |target| {
            target.removes = false;
            target.take_all()
        });
        add(&self.lost, lost);
        for file in &files {
            self.remove_file(file).await;
        }
        tracing::info!(%host, files = files.len(), "removed hints");
        self.changed.notify_all();
    }
}
