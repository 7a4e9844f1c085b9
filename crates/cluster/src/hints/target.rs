//! The hints of one target: its files, the bytes that wait to be written, and how far all that is on the disk.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use runtime::sync::Sender;
use runtime::{File, Instant};
use topology::HostId;

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
    pub(super) is_new: bool,
    pub(super) hints: HintFile,
}

/// One target.
#[derive(Default)]
pub(super) struct Target {
    /// Oldest first.
    pub(super) sealed: VecDeque<HintFile>,
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
    /// Those of writes at ANY, by number.
    waiting: BTreeMap<u64, Sender<bool>>,
    /// Bytes that the writer has in hand: of the open file and of records on their way into it.
    pub(super) bytes_in_hand: u64,
    /// The open file is to be sealed.
    pub(super) seals: bool,
    /// All is to be removed.
    pub(super) removes: bool,
    /// Nothing is kept until then: the disk refused.
    pub(super) rests_until: Option<Instant>,
}

impl Target {
    /// Counts a hint that was put into the buffer. `sender` receives true when it is on the disk, and false when it is lost.
    pub(super) fn put(&mut self, now: Instant, sender: Option<Sender<bool>>) {
        self.buffered_at.get_or_insert(now);
        self.buffered += 1;
        if let Some(sender) = sender {
            self.waiting.insert(self.buffered, sender);
        }
    }

    /// Takes the buffer to write it. Gives the number of the last hint in it.
    pub(super) fn take_buffer(&mut self) -> (Vec<u8>, u64) {
        self.buffered_at = None;
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
        for sender in std::mem::replace(&mut self.waiting, later).into_values() {
            // Another replica may have answered meanwhile.
            let _ = sender.send(is_synced);
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

    /// True if a write at ANY may need a sync.
    pub(super) fn is_waited_for(&mut self) -> bool {
        self.waiting.retain(|_, sender| !sender.is_closed());
        !self.waiting.is_empty()
    }

    /// Bytes of its files and its buffer.
    pub(super) fn bytes(&self) -> u64 {
        let files = self.sealed.iter().chain(self.open.as_ref().map(|open| &open.hints));
        files.map(|file| file.bytes).sum::<u64>() + self.buffer.len() as u64 + self.bytes_in_hand
    }

    /// True if nothing waits to be delivered.
    pub(super) fn is_empty(&self) -> bool {
        self.sealed.is_empty() && self.open.is_none() && self.buffer.is_empty() && self.bytes_in_hand == 0
    }
}
