//! The hints of one target: its files, the bytes that wait to be written, and how far all that is on the disk.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::rc::Weak;

use runtime::{File, Instant};
use topology::HostId;

use super::promise::Promise;
use super::record::Salt;

/// A file of hints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HintFile {
    pub(super) path: PathBuf,
    /// Milliseconds since 1970: names the file among its folder's.
    pub(super) created_ms: u64,
    pub(super) bytes: u64,
    /// Passes that ended with a file that could not be read.
    pub(super) failures: u32,
}

impl HintFile {
    /// The name of a target's file.
    pub(super) fn new(folder: &Path, host: HostId, created_ms: u64) -> HintFile {
        let path = folder.join(format!("{host}-{created_ms}{SUFFIX}"));
        HintFile { path, created_ms, bytes: 0, failures: 0 }
    }

    /// The target and the time that a name is of; `None`: it is no file of hints.
    pub(super) fn parse(name: &str) -> Option<(HostId, u64)> {
        let (host, created_ms) = name.strip_suffix(SUFFIX)?.rsplit_once('-')?;
        Some((HostId(stdx::parse_uuid(host)?), created_ms.parse().ok()?))
    }

    /// Where its position is.
    pub(super) fn position_path(&self) -> PathBuf {
        self.path.with_extension("position")
    }

    /// Where it is put aside.
    pub(super) fn damaged_path(&self) -> PathBuf {
        self.path.with_extension("hints.damaged")
    }
}

const SUFFIX: &str = ".hints";

/// The file that is being written.
pub(super) struct OpenFile {
    pub(super) file: File,
    pub(super) salt: Salt,
    pub(super) is_new: bool,
    pub(super) hints: HintFile,
}

/// One target.
#[derive(Default)]
pub(super) struct Target {
    /// Oldest first.
    sealed: VecDeque<HintFile>,
    /// Their bytes.
    sealed_bytes: u64,
    pub(super) open: Option<OpenFile>,
    /// Records that are to be written, and the time at which the first of them was put there.
    pub(super) buffer: Vec<u8>,
    pub(super) buffered_at: Option<Instant>,
    /// When what is written and not synced was written first.
    pub(super) unsynced_at: Option<Instant>,
    /// Hints so far: put into the buffer, written to a file, synced or lost. Each at most the one before.
    buffered: u64,
    written: u64,
    settled: u64,
    /// Those that a write at ANY may rest on, or a file that is delivered, by number.
    waiting: BTreeMap<u64, Weak<Promise>>,
    /// Bytes that the writer has in hand: of records on their way into the open file, and of that file meanwhile.
    pub(super) records_in_hand: usize,
    pub(super) open_bytes_in_hand: u64,
    /// The open file is to be sealed.
    pub(super) seals: bool,
    /// All is to be removed.
    pub(super) removes: bool,
    /// Nothing is kept until then: the disk refused.
    pub(super) rests_until: Option<Instant>,
}

impl Target {
    /// Its sealed files, the oldest first.
    pub(super) fn sealed(&self) -> &VecDeque<HintFile> {
        &self.sealed
    }

    /// Adds a sealed file, which is its newest.
    pub(super) fn seal(&mut self, file: HintFile) {
        self.sealed_bytes += file.bytes;
        self.sealed.push_back(file);
    }

    /// Puts its sealed files into the order of their creation.
    pub(super) fn sort(&mut self) {
        self.sealed.make_contiguous().sort_by_key(|file| file.created_ms);
    }

    /// Removes a sealed file, which is there no more.
    pub(super) fn forget(&mut self, path: &Path) {
        if let Some(at) = self.sealed.iter().position(|file| file.path == path) {
            let file = self.sealed.remove(at).expect("it was found there");
            self.sealed_bytes -= file.bytes;
        }
    }

    /// Removes all files, and loses what is on no disk. Gives the files, and how many hints are lost.
    pub(super) fn take_all(&mut self) -> (Vec<HintFile>, u64) {
        let lost = self.lose();
        self.sealed_bytes = 0;
        let open = self.open.take().map(|open| open.hints);
        (self.sealed.drain(..).chain(open).collect(), lost)
    }

    /// Counts one more pass over a sealed file that ended with an error.
    pub(super) fn failed(&mut self, path: &Path) -> Option<u32> {
        let file = self.sealed.iter_mut().find(|file| file.path == path)?;
        file.failures += 1;
        Some(file.failures)
    }

    /// Counts a hint that was put into the buffer. The promise is kept when the hint is on the disk, and broken when it is lost.
    pub(super) fn put(&mut self, now: Instant, promise: Option<Weak<Promise>>) {
        self.buffered_at.get_or_insert(now);
        self.buffered += 1;
        if let Some(promise) = promise {
            self.waiting.insert(self.buffered, promise);
        }
    }

    /// Takes the buffer to write it. Gives the number of the last hint in it.
    pub(super) fn take_buffer(&mut self) -> (Vec<u8>, u64) {
        self.buffered_at = None;
        self.records_in_hand = self.buffer.len();
        (std::mem::take(&mut self.buffer), self.buffered)
    }

    /// The hints up to `number` are in a file.
    pub(super) fn wrote(&mut self, number: u64, now: Instant) {
        assert!(self.written <= number && number <= self.buffered, "hints are written once and in order");
        self.written = number;
        self.unsynced_at.get_or_insert(now);
    }

    /// The number of the last hint that is in a file.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// The hints up to `number` are on the disk, or lost.
    pub(super) fn settle(&mut self, number: u64, is_synced: bool) {
        assert!(self.settled <= number && number <= self.buffered, "hints are synced in order, once they are there");
        (self.settled, self.written) = (number, self.written.max(number));
        if self.written == number {
            self.unsynced_at = None;
        }
        let later = self.waiting.split_off(&(number + 1));
        for promise in std::mem::replace(&mut self.waiting, later).into_values() {
            // Another replica may have answered meanwhile.
            if let Some(promise) = promise.upgrade() {
                promise.settle(is_synced);
            }
        }
    }

    /// All hints so far are lost that are not on the disk.
    pub(super) fn lose(&mut self) -> u64 {
        let lost = self.buffered - self.written;
        self.buffer = Vec::new();
        self.buffered_at = None;
        self.settle(self.buffered, false);
        lost
    }

    /// True if a sync is waited for.
    pub(super) fn is_waited_for(&mut self) -> bool {
        self.waiting.retain(|_, promise| promise.strong_count() > 0);
        !self.waiting.is_empty()
    }

    /// Bytes of its files, its buffer and of what is between them.
    pub(super) fn bytes(&self) -> u64 {
        let open = self.open.as_ref().map_or(0, |open| open.hints.bytes);
        self.sealed_bytes + open + self.open_bytes_in_hand + self.unwritten() as u64
    }

    /// Bytes of records that are in no file yet.
    pub(super) fn unwritten(&self) -> usize {
        self.buffer.len() + self.records_in_hand
    }

    /// True if nothing waits to be delivered.
    pub(super) fn is_empty(&self) -> bool {
        // A file may have no bytes: a crash leaves such.
        self.sealed.is_empty() && self.open.is_none() && self.open_bytes_in_hand == 0 && self.unwritten() == 0
    }
}

/// The targets of a shard, with running sums of what they take.
#[derive(Default)]
pub(super) struct Targets {
    targets: BTreeMap<HostId, Target>,
    bytes: u64,
    unwritten: usize,
}

impl Targets {
    /// One target.
    pub(super) fn get(&self, host: HostId) -> Option<&Target> {
        self.targets.get(&host)
    }

    /// All targets that ever had hints since the start.
    pub(super) fn iter(&self) -> impl Iterator<Item = (HostId, &Target)> {
        self.targets.iter().map(|(host, target)| (*host, target))
    }

    /// How many these are.
    pub(super) fn len(&self) -> usize {
        self.targets.len()
    }

    /// Changes a target, which is made if it is not there. Nothing else changes one: so the sums are right.
    pub(super) fn change<T>(&mut self, host: HostId, change: impl FnOnce(&mut Target) -> T) -> T {
        let target = self.targets.entry(host).or_default();
        let before = (target.bytes(), target.unwritten());
        let changed = change(target);
        self.bytes = self.bytes - before.0 + target.bytes();
        self.unwritten = self.unwritten - before.1 + target.unwritten();
        changed
    }

    /// Bytes of all.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of records that are in no file yet.
    pub(super) fn unwritten(&self) -> usize {
        self.unwritten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_all_files_and_buffers() {
        let (mut targets, hosts) = (Targets::default(), [HostId([1; 16]), HostId([2; 16])]);
        let file = |host, created_ms, bytes| HintFile { bytes, ..HintFile::new(Path::new("/d"), host, created_ms) };
        let check = |targets: &Targets| {
            let each = targets.iter().map(|(_, target)| {
                let files: u64 = target.sealed().iter().map(|file| file.bytes).sum();
                assert_eq!(target.bytes(), files + target.unwritten() as u64);
                (target.bytes(), target.unwritten())
            });
            let sums = each.fold((0, 0), |sums, one| (sums.0 + one.0, sums.1 + one.1));
            assert_eq!((targets.bytes(), targets.unwritten()), sums);
            sums
        };
        for (host, bytes) in hosts.into_iter().zip([100, 1000]) {
            targets.change(host, |target| (0..3).for_each(|time| target.seal(file(host, time, bytes))));
            targets.change(host, |target| target.buffer.extend_from_slice(&[0; 10]));
        }
        assert_eq!(check(&targets), (3320, 20));
        let (records, number) = targets.change(hosts[0], Target::take_buffer);
        assert_eq!((records.len(), number, check(&targets)), (10, 0, (3320, 20)), "the writer has them in hand");
        targets.change(hosts[0], |target| target.records_in_hand = 0);
        targets.change(hosts[0], |target| target.forget(&file(hosts[0], 1, 0).path));
        assert_eq!(check(&targets), (3210, 10));
        let (files, _) = targets.change(hosts[1], Target::take_all);
        assert_eq!((files.len(), check(&targets)), (3, (200, 0)));
    }
}
