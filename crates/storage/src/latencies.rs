//! What reads and writes of a table take on this shard, estimated from some of them.
//!
//! A read that a memtable answers within the call takes about a microsecond, and asking the clock twice would be a good part of that. So
//! the first [`TIMED_FIRST`] of a table are timed, and of those that follow one of [`TIMED_ONE_OF`], which then counts for all of
//! these; each of the others costs one subtraction. What is a task is timed each time.
//!
//! A write's time is from the call until it may be acknowledged: where the log is synced first, until then. One task per shard waits for that,
//! and only while a write that is timed waits.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;

use mutation::MutationRef;
use runtime::{Group, Instant};
use schema::TableId;
use stdx::LogHistogram;

use crate::shard::{Ack, LogSequence, Shard};

/// How many of a table are all timed.
const TIMED_FIRST: u32 = 128;
/// Of how many one is timed then.
const TIMED_ONE_OF: u32 = 64;
/// The most timed writes that wait for the log's sync. More are not timed: an estimate does not grow better by them.
const WAITING_MAX: usize = 256;

/// What reads or writes of one table took, microseconds.
#[derive(Debug, Default)]
pub struct Latencies {
    /// How many are not timed before the next one is.
    left: Cell<u32>,
    timed: Cell<u32>,
    /// Made when the first is timed.
    micros: RefCell<Option<Box<LogHistogram>>>,
}

impl Latencies {
    /// For how many the next one stands, if it is to be timed.
    #[inline]
    pub(crate) fn next(&self) -> Option<u64> {
        let left = self.left.get();
        if left > 0 {
            self.left.set(left - 1);
            return None;
        }
        Some(self.next_timed())
    }

    #[cold]
    fn next_timed(&self) -> u64 {
        if self.timed.get() < TIMED_FIRST {
            self.timed.set(self.timed.get() + 1);
            return 1;
        }
        self.left.set(TIMED_ONE_OF - 1);
        u64::from(TIMED_ONE_OF)
    }

    /// One took so long, and stands for `times`.
    #[cold]
    pub(crate) fn add(&self, took: Duration, times: u64) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.borrow_mut().get_or_insert_default().add(micros, times);
    }

    /// All of them.
    pub(crate) fn micros(&self) -> LogHistogram {
        self.micros.borrow().as_deref().cloned().unwrap_or_default()
    }
}

/// How many files reads were answered from; those of memtables alone are not counted here.
#[derive(Debug, Default)]
pub struct FilesPerRead {
    files: RefCell<Option<Box<LogHistogram>>>,
}

impl FilesPerRead {
    /// A read is answered from so many.
    pub(crate) fn add(&self, files: usize) {
        self.files.borrow_mut().get_or_insert_default().add(files as u64, 1);
    }

    /// That of so many reads: all that are not counted were answered from no file.
    pub(crate) fn of_all(&self, reads: u64) -> LogHistogram {
        let mut files = self.files.borrow().as_deref().cloned().unwrap_or_default();
        files.add(0, reads.saturating_sub(files.count()));
        files
    }
}

/// Timed writes that wait for the log's sync, oldest first.
#[derive(Debug, Default)]
pub(crate) struct TimedWrites {
    waiting: RefCell<VecDeque<TimedWrite>>,
}

/// A write that is being timed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimedWrite {
    table: TableId,
    began: Instant,
    times: u64,
    sequence: LogSequence,
}

impl Shard {
    /// Begins to time a write of a table, if it is to be timed.
    #[inline]
    pub(crate) fn begin_timed_write(&self, writes: &Latencies, table: TableId) -> Option<TimedWrite> {
        let times = writes.next()?;
        Some(TimedWrite { table, began: self.runtime().now(), times, sequence: LogSequence::default() })
    }

    /// Begins to time a write in steps, a task: each of them is, as one write of its first table.
    pub(crate) fn begin_timed_steps(&self, mutations: &[impl AsRef<[u8]>]) -> Option<TimedWrite> {
        let first = MutationRef::decode(mutations.first()?.as_ref()).ok()?;
        let (table, began) = (first.table(), self.runtime().now());
        Some(TimedWrite { table, began, times: 1, sequence: LogSequence::default() })
    }

    /// A timed write is done, and may be acknowledged then.
    #[cold]
    pub(crate) fn end_timed_write(&self, write: TimedWrite, ack: Ack) {
        let Ack::When(sequence) = ack else { return self.count_timed_write(&write) };
        let mut waiting = self.timed_writes().waiting.borrow_mut();
        if waiting.len() >= WAITING_MAX {
            return;
        }
        waiting.push_back(TimedWrite { sequence, ..write });
        if waiting.len() == 1 {
            let shard = self.clone();
            self.runtime().spawn(Group::Query, async move { shard.await_timed_writes().await });
        }
    }

    fn count_timed_write(&self, write: &TimedWrite) {
        let took = self.runtime().now() - write.began;
        if let Some(table) = self.engine_ref().tables.get(write.table) {
            table.write_latencies.add(took, write.times);
        }
    }

    /// Until none waits any more.
    async fn await_timed_writes(&self) {
        let front = || self.timed_writes().waiting.borrow().front().copied();
        while let Some(write) = front() {
            // A write that is never acknowledged has no latency.
            let is_synced = self.wait_synced(write.sequence).await.is_ok();
            self.timed_writes().waiting.borrow_mut().pop_front();
            if is_synced {
                self.count_timed_write(&write);
            }
        }
    }

    /// A read of a table, a task, took from then until now.
    pub(crate) fn count_timed_read(&self, table: TableId, began: Instant) {
        let took = self.runtime().now() - began;
        if let Some(table) = self.engine_ref().tables.get(table) {
            table.read_latencies.add(took, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_are_timed_stand_for_all() {
        let latencies = Latencies::default();
        assert_eq!(latencies.micros().count(), 0);
        let all = u64::from(TIMED_FIRST + 10 * TIMED_ONE_OF);
        let mut timed = 0;
        for _ in 0..all {
            if let Some(times) = latencies.next() {
                timed += 1;
                latencies.add(Duration::from_micros(3), times);
            }
        }
        assert_eq!(timed, TIMED_FIRST + 10);
        assert_eq!((latencies.micros().count(), latencies.micros().sum()), (all, 3 * all));
    }
}
