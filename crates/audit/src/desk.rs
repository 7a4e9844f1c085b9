//! The node's queue of entries: bounded by weight, shared by the shards and the thread that writes. A pure value.
//!
//! An entry weighs until it is written: what the thread has taken counts as what waits does. With `block` an entry that finds the queue full is kept all the same, and its
//! connection is not read until there is room, so the queue is longer than its bound by what was under way, and nothing is lost.

use std::collections::VecDeque;

use runtime::{Choice, Instant, ShardId};

use crate::entry::Entry;
use crate::options::Options;

/// The most that the thread takes at a time, bytes of weight: room comes back in pieces.
const TAKEN_MAX: usize = 1 << 20;

/// The end of an entry that was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Put {
    /// It is in the queue.
    Kept,
    /// It is in the queue, which is full: the shard is notified when there is room.
    KeptFull,
    /// The queue is full; it is dropped and counted.
    Dropped,
}

/// Figures for operators.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Entries written to files.
    pub written: u64,
    /// Entries dropped because the queue was full, or at the end because the disk failed.
    pub dropped: u64,
    /// Bytes written to files.
    pub bytes: u64,
    /// Writes that failed.
    pub failures: u64,
    /// Bytes that wait, and are being written.
    pub queue_weight: u64,
    /// True if the log is on.
    pub is_on: bool,
}

/// A shard whose entry found the queue full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// It waits for nothing.
    No,
    /// It is to be notified of room.
    ForRoom,
    /// It was notified, and has not looked yet: connections that wait there now are woken by that.
    Notified,
}

/// Settings of the thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) options: Options,
    pub(crate) is_on: bool,
    /// The node, as entries name it.
    pub(crate) host: String,
}

/// Work for the thread.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) entries: Vec<Entry>,
    /// Those from here on, if they have changed. They hold for the entries too.
    pub(crate) settings: Option<Settings>,
}

/// Outcome of the thread's work.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Done {
    /// The weight of the work, if that is over.
    pub(crate) weight: usize,
    pub(crate) written: u64,
    pub(crate) bytes: u64,
    pub(crate) failures: u64,
    /// Entries that are lost.
    pub(crate) lost: u64,
}

/// The queue.
#[derive(Debug)]
pub(crate) struct Desk {
    settings: Settings,
    is_changed: bool,
    queue: VecDeque<Entry>,
    waiting_weight: usize,
    taken_weight: usize,
    waits: Vec<Wait>,
    figures: Figures,
}

impl Desk {
    /// An empty one for so many shards.
    pub(crate) fn new(shards: u16, options: Options) -> Desk {
        let settings = Settings { is_on: options.enabled, options, host: String::new() };
        Desk {
            settings,
            is_changed: true,
            queue: VecDeque::new(),
            waiting_weight: 0,
            taken_weight: 0,
            waits: vec![Wait::No; usize::from(shards)],
            figures: Figures::default(),
        }
    }

    /// Names the node in entries from here on.
    pub(crate) fn name_host(&mut self, host: &str) {
        host.clone_into(&mut self.settings.host);
        self.is_changed = true;
    }

    /// Turns the log on with these options, or off. Entries that wait are written by the new options.
    pub(crate) fn set(&mut self, options: Options, is_on: bool) {
        self.settings.options = options;
        self.settings.is_on = is_on;
        self.is_changed = true;
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn figures(&self) -> Figures {
        Figures { queue_weight: self.weight() as u64, is_on: self.settings.is_on, ..self.figures }
    }

    fn weight(&self) -> usize {
        self.waiting_weight + self.taken_weight
    }

    fn is_full(&self) -> bool {
        self.weight() as u64 >= self.settings.options.max_queue_weight
    }

    /// True if connections wait for room.
    fn holds_up(&self) -> bool {
        self.settings.is_on && self.settings.options.block && self.is_full()
    }

    /// Takes an entry of a shard.
    pub(crate) fn put(&mut self, shard: ShardId, entry: Entry) -> Put {
        if self.is_full() && !self.settings.options.block {
            self.figures.dropped += 1;
            return Put::Dropped;
        }
        self.waiting_weight += entry.weight();
        self.queue.push_back(entry);
        if !self.holds_up() {
            return Put::Kept;
        }
        let wait = &mut self.waits[usize::from(shard.0)];
        if *wait == Wait::No {
            *wait = Wait::ForRoom;
        }
        Put::KeptFull
    }

    /// The next work. Whatever was taken before is over.
    pub(crate) fn take(&mut self, _: Instant) -> Choice<Work> {
        self.take_now().map_or(Choice::Wait, Choice::Take)
    }

    /// The next work; `None`: there is none.
    pub(crate) fn take_now(&mut self) -> Option<Work> {
        assert_eq!(self.taken_weight, 0, "one work is done before the next");
        let settings = self.take_settings();
        let mut entries = Vec::new();
        while self.taken_weight < TAKEN_MAX
            && let Some(entry) = self.queue.pop_front()
        {
            let weight = entry.weight();
            self.waiting_weight = self.waiting_weight.checked_sub(weight).expect("the queue weighs what is in it");
            self.taken_weight += weight;
            entries.push(entry);
        }
        assert!(!self.queue.is_empty() || self.waiting_weight == 0, "an empty queue weighs nothing");
        (settings.is_some() || !entries.is_empty()).then_some(Work { entries, settings })
    }

    /// The settings, if they have changed.
    pub(crate) fn take_settings(&mut self) -> Option<Settings> {
        std::mem::take(&mut self.is_changed).then(|| self.settings.clone())
    }

    /// Takes note of what the thread has done. Gives the shards that are to be notified of room.
    pub(crate) fn finish(&mut self, done: Done) -> Vec<(ShardId, ())> {
        self.taken_weight = self.taken_weight.checked_sub(done.weight).expect("no more is done than was taken");
        self.figures.written += done.written;
        self.figures.bytes += done.bytes;
        self.figures.failures += done.failures;
        self.figures.dropped += done.lost;
        if self.holds_up() {
            return Vec::new();
        }
        let waits = self.waits.iter_mut().enumerate().filter(|(_, wait)| **wait == Wait::ForRoom);
        let tell = |(shard, wait): (usize, &mut Wait)| {
            *wait = Wait::Notified;
            (ShardId(shard as u16), ())
        };
        waits.map(tell).collect()
    }

    /// A shard has been told of room, and looks: its connections are read again.
    pub(crate) fn has_looked(&mut self, shard: ShardId) {
        let wait = &mut self.waits[usize::from(shard.0)];
        assert_eq!(*wait, Wait::Notified, "a shard looks when it is notified");
        *wait = Wait::No;
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::entry::Operation;
    use crate::kind::EntryType;

    const SHARD: ShardId = ShardId(1);

    fn entry() -> Entry {
        Entry {
            kind: EntryType::Select,
            user: "ada".to_owned(),
            source: None,
            timestamp_ms: 0,
            keyspace: None,
            operation: Operation::told("x"),
            batch: None,
            prepared: None,
            error: None,
        }
    }

    fn desk(entries: u64, block: bool) -> Desk {
        let mut options = Options::new(PathBuf::from("audit"));
        options.enabled = true;
        options.max_queue_weight = entry().weight() as u64 * entries;
        options.block = block;
        Desk::new(2, options)
    }

    #[test]
    fn with_block_a_full_queue_keeps_all_and_tells_the_shard_of_room_once() {
        let mut desk = desk(2, true);
        assert_eq!(desk.put(SHARD, entry()), Put::Kept);
        for _ in 0..3 {
            assert_eq!(desk.put(SHARD, entry()), Put::KeptFull, "it is kept for it was under way");
        }
        let work = desk.take_now().expect("there is some");
        assert_eq!((work.entries.len(), work.settings.is_some()), (4, true));
        assert_eq!(desk.put(SHARD, entry()), Put::KeptFull, "what is taken and not written weighs");
        assert!(desk.finish(Done { failures: 1, ..Done::default() }).is_empty(), "nothing was written");
        let done = Done { weight: desk.taken_weight, written: 4, ..Done::default() };
        assert_eq!(desk.finish(done), [(SHARD, ())]);
        assert_eq!(desk.put(SHARD, entry()), Put::KeptFull, "full again before the shard has looked");
        let _ = desk.take_now();
        assert!(desk.finish(Done { weight: desk.taken_weight, ..Done::default() }).is_empty(), "it was notified");
        desk.has_looked(SHARD);
        let figures = desk.figures();
        assert_eq!((figures.written, figures.dropped, figures.failures, figures.queue_weight), (4, 0, 1, 0));
    }

    #[test]
    fn without_block_a_full_queue_drops_and_counts() {
        let mut desk = desk(2, false);
        let put: Vec<_> = (0..5).map(|_| desk.put(SHARD, entry())).collect();
        assert_eq!(put, [Put::Kept, Put::Kept, Put::Dropped, Put::Dropped, Put::Dropped]);
        assert_eq!(desk.figures().dropped, 3);
        let _ = desk.take_now();
        assert!(desk.finish(Done { weight: desk.taken_weight, written: 2, ..Done::default() }).is_empty());
        assert_eq!(desk.put(SHARD, entry()), Put::Kept);
    }

    #[test]
    fn a_log_that_is_turned_off_holds_no_client_up() {
        let mut desk = desk(1, true);
        assert_eq!(desk.put(SHARD, entry()), Put::KeptFull);
        let work = desk.take_now().expect("there is some");
        desk.set(work.settings.expect("the first has them").options, false);
        assert_eq!(desk.finish(Done { failures: 1, ..Done::default() }), [(SHARD, ())]);
        assert!(desk.take_settings().is_some_and(|settings| !settings.is_on));
    }

    #[test]
    fn work_is_taken_in_pieces() {
        let mut desk = desk(1 << 20, true);
        let count = 3 * TAKEN_MAX / entry().weight();
        (0..count).for_each(|_| assert_eq!(desk.put(SHARD, entry()), Put::Kept));
        let mut taken = 0;
        while let Some(work) = desk.take_now() {
            assert!(desk.taken_weight <= TAKEN_MAX + entry().weight());
            taken += work.entries.len();
            desk.finish(Done { weight: desk.taken_weight, ..Done::default() });
        }
        assert_eq!(taken, count);
    }
}
