//! The source of a copy: a table's files on one shard, scanned as they are.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use mutation::{ClusteringBound, ClusteringRef, Deletion, MutationEncoder, RowRef};
use runtime::Runtime;
use schema::{Table, TableId};
use sstable::Marker;
use topology::{Token, TokenRange};

use super::CopyError;
use crate::compaction::{CompactionError, Input, Merge, Rules, Sink};
use crate::shard::Shard;
use crate::sstable::Scan;
use crate::tables::LiveFile;

/// Bytes of a partition's items that become one mutation, at least: one row may have more.
const MUTATION_BYTES: usize = 256 << 10;
/// Bytes that all files of a scan read ahead together, and those that one does at least.
const AHEAD_BYTES: usize = 4 << 20;
const AHEAD_BYTES_MIN: usize = 32 << 10;
/// The most ranges that one is cut into.
const CUTS_MAX: u64 = 65_536;

/// A table's files on this shard, held while they are sent. What is written to the table after it was opened is not in them.
pub struct CopySource {
    shard: Shard,
    table: Rc<Table>,
    files: Vec<LiveFile>,
}

impl std::fmt::Debug for CopySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopySource").field("table", &self.table.name).field("files", &self.files.len()).finish()
    }
}

impl CopySource {
    /// Flushes the table's memtable, so that all that was applied before is in its files, and holds these.
    pub async fn open(shard: &Shard, table: TableId) -> Result<CopySource, CopyError> {
        shard.definition(table).ok_or(CopyError::Gone)?;
        shard.flush(table).await?;
        let (table, files) = shard.files_of(table).ok_or(CopyError::Gone)?;
        Ok(CopySource { shard: shard.clone(), table, files })
    }

    /// Cuts a range, which does not wrap, into ranges of about `bytes` each, by what the files hold on average of their tokens. There is one at least.
    pub fn cut(&self, range: TokenRange, bytes: u64) -> Vec<TokenRange> {
        let (after, end) = (i128::from(range.after.0), i128::from(range.end.0));
        assert!(after < end, "a range that is cut does not wrap");
        let in_range = |file: &LiveFile| {
            let (first, last) = file.sstable.token_range();
            let (first, last) = (i128::from(first.0), i128::from(last.0));
            let common = (last.min(end) - (first - 1).max(after)).max(0);
            let span = last - first + 1;
            u64::try_from(i128::from(file.sstable.data_bytes()) * common / span).unwrap_or(u64::MAX)
        };
        let bytes_in_all: u64 = self.files.iter().map(in_range).fold(0, u64::saturating_add);
        let span = u64::try_from(end - after).unwrap_or(u64::MAX);
        let count = i128::from(bytes_in_all.div_ceil(bytes.max(1)).clamp(1, CUTS_MAX).min(span));
        let cut =
            |number: i128| Token(i64::try_from(after + (end - after) * number / count).expect("it is in the range"));
        (0..count).map(|number| TokenRange { after: cut(number), end: cut(number + 1) }).collect()
    }

    /// All items of a range, which does not wrap: merged, with what is deleted, expired or older than any deletion but those that hide it, and nothing purged.
    pub fn scan(&self, range: TokenRange) -> CopyScan {
        let slot = Rc::new(Slot::default());
        let sink =
            Pages { runtime: self.shard.runtime().clone(), table: self.table.id, open: None, slot: Rc::clone(&slot) };
        let merging = merge(self.shard.clone(), Rc::clone(&self.table), self.files.clone(), range, sink);
        CopyScan { runtime: self.shard.runtime().clone(), merging: Some(Box::pin(merging)), slot }
    }
}

async fn merge(
    shard: Shard,
    table: Rc<Table>,
    files: Vec<LiveFile>,
    range: TokenRange,
    mut sink: Pages,
) -> Result<(), CompactionError> {
    let is_near = |file: &&LiveFile| {
        let (first, last) = file.sstable.token_range();
        first <= range.end && last > range.after
    };
    let near: Vec<&LiveFile> = files.iter().filter(is_near).collect();
    let ahead = (AHEAD_BYTES / near.len().max(1)).max(AHEAD_BYTES_MIN);
    let mut inputs = Vec::new();
    for file in near {
        let mut scan = Scan::idle(&file.sstable, ahead)?;
        scan.seek_after(range.after).await?;
        inputs.push(Input::new(scan, file.is_shared));
    }
    // Cells that are newer than the drop are shown if the column comes back.
    let dropped = table.dropped.values().filter(|dropped| table.column(&dropped.column.name).is_none());
    let dropped = dropped.map(|dropped| dropped.column.id).collect();
    let rules = Rules::nothing_purged(&table, dropped, shard.planted());
    let merge = Merge {
        inputs,
        rules: &rules,
        outside: &|_, _| i64::MIN,
        owner: (shard.sharder(), shard.runtime().shard().0),
        leaves_out_overwritten: false,
        until: Some(range.end),
        outputs: &mut sink,
        members: Vec::new(),
        items: 0,
    };
    merge.run().await?;
    sink.end_mutation();
    Ok(())
}

/// A merge under way.
type Merging = Pin<Box<dyn Future<Output = Result<(), CompactionError>>>>;

/// Mutations of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyPage {
    /// Each as `mutation::MutationEncoder` writes it, in the order of tokens. A long partition is in several.
    pub mutations: Vec<Vec<u8>>,
    /// True if the range is at its end.
    pub is_last: bool,
}

/// A scan of a range, which goes on as its pages are asked for.
pub struct CopyScan {
    runtime: Runtime,
    /// `None`: it is over.
    merging: Option<Merging>,
    slot: Rc<Slot>,
}

/// The place where a merge lays mutations, and waits while there are enough.
#[derive(Default)]
struct Slot {
    page: RefCell<Vec<Vec<u8>>>,
    bytes: Cell<usize>,
    wanted: Cell<usize>,
}

impl Slot {
    fn is_full(&self) -> bool {
        self.bytes.get() >= self.wanted.get().max(1)
    }
}

impl std::fmt::Debug for CopyScan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyScan").field("is_over", &self.merging.is_none()).finish_non_exhaustive()
    }
}

impl CopyScan {
    /// The next mutations, about `bytes` of them, or those that are found within a time: maybe none, where much is read that nothing is given of. After an
    /// error there is no next page.
    pub async fn page(&mut self, bytes: usize, time: Duration) -> Result<CopyPage, CopyError> {
        self.slot.wanted.set(bytes);
        let slot = Rc::clone(&self.slot);
        if let Some(merging) = &mut self.merging {
            let mut over = pin!(self.runtime.sleep(time));
            let merged = poll_fn(|context| match merging.as_mut().poll(context) {
                Poll::Ready(merged) => Poll::Ready(Some(merged)),
                Poll::Pending if slot.is_full() => Poll::Ready(None),
                Poll::Pending => over.as_mut().poll(context).map(|()| None),
            });
            if let Some(merged) = merged.await {
                self.merging = None;
                merged?;
            }
        }
        self.slot.bytes.set(0);
        Ok(CopyPage { mutations: self.slot.page.take(), is_last: self.merging.is_none() })
    }
}

/// The mutation that items are gathered for.
struct Open {
    token: Token,
    key: Vec<u8>,
    deletion: Option<Deletion>,
    static_row: Vec<u8>,
    rows: Vec<(Vec<u8>, Vec<u8>)>,
    ranges: Vec<(Edge, Edge, Deletion)>,
    bytes: usize,
    /// The range deletion that holds, and where it began.
    holds: Option<(Edge, Deletion)>,
}

/// A marker's place: its prefix, and whether it is after all that begins with it.
#[derive(Clone)]
struct Edge {
    prefix: Vec<u8>,
    after: bool,
}

/// Makes mutations of a merge's items.
struct Pages {
    runtime: Runtime,
    table: TableId,
    open: Option<Open>,
    slot: Rc<Slot>,
}

impl Pages {
    /// Lays down what was gathered, if there is anything. The partition may go on.
    fn lay_down(&mut self) {
        let Some(open) = self.open.as_mut().filter(|open| !open.is_empty()) else { return };
        let mut bytes = Vec::with_capacity(open.bytes + 64);
        let mut encoder = MutationEncoder::begin(&mut bytes, self.table, open.token, &open.key);
        if let Some(deletion) = open.deletion.take() {
            encoder.partition_deletion(deletion);
        }
        if !open.static_row.is_empty() {
            encoder.static_row_blob(RowRef::trusted(&open.static_row));
        }
        for (clustering, row) in &open.rows {
            encoder.row_blob(ClusteringRef::trusted(clustering), RowRef::trusted(row));
        }
        for (start, end, deletion) in &open.ranges {
            let [starts, ends] = [start, end].map(|edge| ClusteringRef::trusted(&edge.prefix).components().collect());
            let (starts, ends): (Vec<&[u8]>, Vec<&[u8]>) = (starts, ends);
            // Before all that begins with a prefix is inside of a range that starts there, and outside of one that ends there.
            let start = ClusteringBound { prefix: &starts, inclusive: !start.after };
            let end = ClusteringBound { prefix: &ends, inclusive: end.after };
            encoder.range_tombstone(start, end, *deletion);
        }
        encoder.finish();
        (open.static_row, open.rows, open.ranges, open.bytes) = Default::default();
        self.slot.bytes.set(self.slot.bytes.get() + bytes.len());
        self.slot.page.borrow_mut().push(bytes);
    }

    /// The partition is over.
    fn end_mutation(&mut self) {
        self.lay_down();
        let holds = self.open.take().and_then(|open| open.holds);
        assert!(holds.is_none(), "a partition ends outside of any deleted range");
    }
}

impl Open {
    fn is_empty(&self) -> bool {
        self.deletion.is_none() && self.static_row.is_empty() && self.rows.is_empty() && self.ranges.is_empty()
    }
}

impl Sink for Pages {
    async fn partition(
        &mut self,
        token: Token,
        key: &[u8],
        deletion: Option<Deletion>,
        static_row: Option<RowRef<'_>>,
    ) -> Result<(), CompactionError> {
        self.end_mutation();
        let static_row = static_row.map_or_else(Vec::new, |row| row.bytes().to_vec());
        let (rows, ranges, bytes, holds) = (Vec::new(), Vec::new(), static_row.len(), None);
        self.open = Some(Open { token, key: key.to_vec(), deletion, static_row, rows, ranges, bytes, holds });
        Ok(())
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: RowRef<'_>) {
        let open = self.open.as_mut().expect("a partition was begun");
        open.rows.push((clustering.bytes().to_vec(), row.bytes().to_vec()));
        open.bytes += clustering.bytes().len() + row.bytes().len();
    }

    fn marker(&mut self, marker: &Marker<'_>) {
        let open = self.open.as_mut().expect("a partition was begun");
        let here = Edge { prefix: marker.prefix.bytes().to_vec(), after: marker.after };
        let closes = open.holds.take();
        assert_eq!(closes.as_ref().map(|(_, deletion)| *deletion), marker.closes, "a marker closes what is open");
        if let Some((start, deletion)) = closes {
            open.bytes += start.prefix.len() + here.prefix.len();
            open.ranges.push((start, here.clone(), deletion));
        }
        open.holds = marker.opens.map(|deletion| (here, deletion));
    }

    fn count_merged(&mut self, _inputs: usize) {}

    async fn pause(&self) -> Result<(), CompactionError> {
        self.runtime.maybe_yield().await;
        Ok(())
    }

    async fn write_out(&mut self) -> Result<(), CompactionError> {
        if self.open.as_ref().is_some_and(|open| open.bytes >= MUTATION_BYTES) {
            self.lay_down();
        }
        // Whoever takes the page polls again.
        poll_fn(|_| if self.slot.is_full() { Poll::Pending } else { Poll::Ready(()) }).await;
        Ok(())
    }
}
