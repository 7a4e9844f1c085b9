//! A history spread over several memtables reads as one memtable with all of it.

use std::cell::Cell;
use std::future::Future;
use std::ops::Bound as TokenBound;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use mutation::{DecodeError, KeyRange, MutationRef, Position, ReadCommand, Slice};
use proptest::prelude::*;
use schema::Table;
use topology::token_of;

use super::data_page::{DataPageLimits, DataPageWriter};
use super::direct::Direct;
use super::lane::{Lane, Page, Source};
use super::merge::{Merge, Progress, ReadDone};
use super::output::{AsData, Live};
use crate::memtable::tests::data::{Reader, read_data};
use crate::memtable::tests::{
    Collected, Collector, ModelSlice, NOW, TABLE, comparable_bounds, encode, op, read_all, shape, slices,
    slices_between, table,
};
use crate::memtable::{ChunkPool, Memtable, Scratch};
use crate::sink::{DataSink, ReadEnd};

/// The lanes are to be chosen anew.
#[derive(Debug)]
struct Changed;

/// A memtable as a lane.
struct InMemory<'m> {
    memtable: &'m Memtable,
    command: ReadCommand<'m>,
    items_max: u32,
    changes: Rc<Changes>,
}

/// Changes of the lanes in the middle of a read, ever rarer: a page of a few items may get no further in the merge, so a read
/// that is begun anew every few pages would never end.
struct Changes {
    /// Pages until the next one.
    left: Cell<u32>,
    every: Cell<u32>,
}

impl Changes {
    fn is_now(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.checked_sub(1).unwrap_or(self.every.get()));
        if left == 0 {
            self.every.set(self.every.get() * 2);
        }
        left == 0
    }
}

impl Source for InMemory<'_> {
    type Error = Changed;

    const IS_TRUSTED: bool = true;

    async fn fetch(&mut self, after: Option<&Position>) -> Result<Page, Changed> {
        if self.changes.is_now() {
            return Err(Changed);
        }
        let mut page = DataPageWriter::new(DataPageLimits { items: self.items_max, bytes: u32::MAX });
        let command = ReadCommand { after: after.map(Position::as_ref), ..self.command };
        let more_after = match self.memtable.read_data(&command, &mut page) {
            ReadEnd::Complete => None,
            ReadEnd::Stopped(position) | ReadEnd::Paused(position) => Some(position),
        };
        Ok(Page { items: page.into_bytes(), more_after })
    }

    fn malformed(&self, problem: DecodeError) -> Changed {
        panic!("a page makes no sense: {problem}")
    }
}

/// Runs what never waits.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing here waits"),
    }
}

/// How a history is read.
struct Reading<'r> {
    memtables: &'r [Memtable],
    table: &'r Table,
    /// Items of a lane's page.
    items_max: u32,
    changes: Rc<Changes>,
}

impl Reading<'_> {
    async fn lanes<'l>(
        &'l self,
        command: &ReadCommand<'l>,
        progress: &Progress,
    ) -> Result<Vec<Lane<InMemory<'l>>>, Changed> {
        let after = progress.after().map(|after| after.to_owned());
        let mut lanes = Vec::new();
        for memtable in self.memtables {
            let (items_max, changes) = (self.items_max, self.changes.clone());
            let mut source = InMemory { memtable, command: *command, items_max, changes };
            let page = source.fetch(after.as_ref()).await?;
            lanes.push(Lane::new(source, page, self.table)?);
        }
        Ok(lanes)
    }

    /// What lives, as [`Shard::read_through`](crate::Shard::read_through) merges it.
    async fn live_page(&self, command: &ReadCommand<'_>, sink: &mut Collector) -> ReadDone {
        let mut progress = Progress::from(command.after);
        let mut live = Live::new(sink, command);
        loop {
            let Ok(mut lanes) = self.lanes(command, &progress).await else { continue };
            let merge = Merge::new(&mut lanes, self.table, command.reversed, &mut live, &mut progress);
            if let Ok(done) = merge.run(async || ()).await {
                return done;
            }
        }
    }

    /// All of it, as [`Shard::read_data_through`](crate::Shard::read_data_through) merges it.
    async fn data_page(&self, command: &ReadCommand<'_>, sink: &mut impl DataSink) -> ReadDone {
        let mut progress = Progress::from(command.after);
        loop {
            let Ok(mut lanes) = self.lanes(command, &progress).await else { continue };
            let asked = ReadCommand { after: progress.after(), ..*command };
            let mut data = AsData::new(&mut *sink, &asked);
            let merge = Merge::new(&mut lanes, self.table, command.reversed, &mut data, &mut progress);
            if let Ok(done) = merge.run(async || ()).await {
                return done;
            }
        }
    }

    fn live(&self, command: &ReadCommand<'_>, stop_after: usize) -> Collected {
        let mut collector = Collector::new(stop_after);
        let mut after: Option<Position> = None;
        loop {
            collector.stop_after = stop_after;
            let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..*command };
            match ready(self.live_page(&command, &mut collector)) {
                ReadDone::Complete => return collector.collected,
                ReadDone::Stopped(position) => after = Some(position),
            }
        }
    }

    fn data(&self, command: &ReadCommand<'_>, items_max: usize) -> Collected {
        let mut reader = Reader::new(items_max);
        let mut after: Option<Position> = None;
        loop {
            reader.items = 0;
            let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..*command };
            match ready(self.data_page(&command, &mut reader)) {
                ReadDone::Complete => return reader.collected,
                ReadDone::Stopped(position) => {
                    assert_ne!(Some(&position), after.as_ref(), "each page gets further");
                    after = Some(position);
                }
            }
        }
    }

    /// What lives in the first memtable alone, as a file is read that alone holds something.
    fn direct(&self, command: &ReadCommand<'_>, stop_after: usize) -> Collector {
        let mut collector = Collector::new(stop_after);
        let mut after: Option<Position> = None;
        'page: loop {
            collector.stop_after = stop_after;
            let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..*command };
            let mut live = Live::new(&mut collector, &command);
            let mut direct = Direct::new(&mut live, self.table);
            let mut at = after.clone();
            loop {
                let command = ReadCommand { after: at.as_ref().map(Position::as_ref), ..command };
                let end = self.memtables[0].read_data(&command, &mut direct);
                if let Some(position) = direct.stopped() {
                    after = Some(position);
                    continue 'page;
                }
                match end {
                    ReadEnd::Complete => return collector,
                    ReadEnd::Stopped(position) | ReadEnd::Paused(position) => at = Some(position),
                }
            }
        }
    }
}

fn check(whole: &Memtable, reading: &Reading<'_>, command: &ReadCommand<'_>, stop_after: usize) {
    let expected = read_all(whole, command, usize::MAX);
    assert_eq!(reading.live(command, stop_after), expected, "what lives, pages of {stop_after}");
    assert_eq!(reading.data(command, stop_after), expected, "data, pages of {stop_after}");
    let first = &reading.memtables[0];
    let expected = read_all(first, command, usize::MAX);
    assert_eq!(reading.direct(command, stop_after).collected, expected, "one alone, pages of {stop_after}");
    assert_eq!(read_data(first, command, stop_after), expected);
    check_tombstones(whole, reading, command);
}

/// Tombstones count alike in one memtable, merged from several, and on the way of a file.
fn check_tombstones(whole: &Memtable, reading: &Reading<'_>, command: &ReadCommand<'_>) {
    let in_memtable = |memtable: &Memtable| {
        let mut collector = Collector::new(usize::MAX);
        assert_eq!(memtable.read(command, &mut collector), ReadEnd::Complete);
        collector.tombstones
    };
    let mut merged = Collector::new(usize::MAX);
    assert_eq!(ready(reading.live_page(command, &mut merged)), ReadDone::Complete);
    // The other way, ranges of several lanes that begin before all rows may count as one more each.
    let is_exact = !command.reversed;
    assert!(!is_exact || merged.tombstones == in_memtable(whole), "merged");
    assert!(merged.tombstones >= in_memtable(whole), "merged, the other way");
    assert_eq!(reading.direct(command, usize::MAX).tombstones, in_memtable(&reading.memtables[0]), "one alone");
}

fn with_slices(slices: &[ModelSlice], run: impl FnOnce(&[Slice<'_>])) {
    run(&slices_between(slices, &comparable_bounds(slices)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn many_memtables_read_as_one(
        ops in prop::collection::vec((0usize..4, op()), 0..120),
        slices in slices(),
        reversed in any::<bool>(),
        stop_after in 1usize..20,
        items_max in 1u32..9,
        changes_after in 0u32..60,
    ) {
        let mut pool = ChunkPool::new(1 << 30);
        let mut scratch = Scratch::default();
        let mut whole = Memtable::new(shape());
        let mut memtables: Vec<Memtable> = (0..4).map(|_| Memtable::new(shape())).collect();
        for (which, op) in &ops {
            let bytes = encode(op);
            let mutation = MutationRef::decode(&bytes).expect("what was encoded decodes");
            whole.apply(&mut pool, &mut scratch, &mutation);
            memtables[*which].apply(&mut pool, &mut scratch, &mutation);
        }
        let table = table();
        let changes = Rc::new(Changes { left: Cell::new(changes_after), every: Cell::new(8) });
        let reading = Reading { memtables: &memtables, table: &table, items_max, changes };
        with_slices(&slices, |slices| {
            let keys = KeyRange::Tokens { start: TokenBound::Unbounded, end: TokenBound::Unbounded };
            let all = ReadCommand { table: TABLE, keys, slices, reversed, now_in_seconds: NOW, after: None };
            check(&whole, &reading, &all, stop_after);
            for key in 0..4u8 {
                let keys = KeyRange::Partition { token: token_of(&[key]), key: &[key] };
                check(&whole, &reading, &ReadCommand { keys, ..all }, stop_after);
            }
        });
        whole.clear(&mut pool);
        memtables.iter_mut().for_each(|memtable| memtable.clear(&mut pool));
    }
}
