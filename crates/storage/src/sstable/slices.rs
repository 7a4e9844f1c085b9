//! What of a partition's rows and markers a sink is told, in the order of the read: the same as a memtable tells it.
//!
//! Places are own comparable forms. A marker behind all rows that begin with a prefix stands at the prefix's successor; one for which
//! there is no such place is the partition's end, and nobody is told. Markers at the same place are told as one change, since a
//! read that goes on behind the place has passed them all.

use mutation::{ClusteringRef, Deletion, Position, RowRef, Slice};
use sstable::data::Item;
use topology::Token;

use crate::memtable::{COST_BYTES, TableShape, is_above, is_below, successor};
use crate::sink::{DataSink, ReadEnd};
use crate::sstable::input::Take;

/// What one call may hand out before it pauses: the sink's memory is all that grows meanwhile, since others run in between.
const COST_MAX: usize = 16_000;

/// What came of an item.
pub(super) enum Taken {
    /// The next one is wanted.
    More,
    /// The slice ends before it.
    SliceEnd,
    /// The partition ends.
    PartitionEnd,
    /// The read ends.
    End(ReadEnd),
}

/// What is handed to the sink, and how much of it there was.
pub(super) struct Output<'r, S> {
    pub(super) sink: &'r mut S,
    pub(super) cost: usize,
}

impl<S: DataSink> Output<'_, S> {
    /// Whether the read ends at a position.
    pub(super) fn end(&self, position: impl FnOnce() -> Position) -> Option<ReadEnd> {
        match () {
            () if self.sink.is_full() => Some(ReadEnd::Stopped(position())),
            () if self.cost >= COST_MAX => Some(ReadEnd::Paused(position())),
            () => None,
        }
    }
}

/// A partition that is being visited.
pub(super) struct Visit<'v, 'r, S> {
    output: &'v mut Output<'r, S>,
    shape: &'v TableShape,
    token: Token,
    key: &'v [u8],
    /// The place behind which the read goes on.
    after: Option<&'v [u8]>,
    /// Everything before this, in the read's direction, was given.
    reached: Option<Vec<u8>>,
    /// The deletion that the sink was told last.
    told: Option<Deletion>,
    /// Whether the sink was told what is deleted at the beginning.
    has_begun: bool,
    slice: Slice<'v>,
    /// Where the slice begins.
    start: Vec<u8>,
    /// Whether what is deleted there was told.
    is_slice_begun: bool,
    /// The deletion that holds where the input is.
    pub(super) open: Option<Deletion>,
    /// A change that waits for what else stands at its place.
    pending: Option<(Vec<u8>, Option<Deletion>)>,
    /// The place of the row that was asked about last.
    place: Vec<u8>,
}

impl<'v, 'r, S: DataSink> Visit<'v, 'r, S> {
    pub(super) fn new(
        output: &'v mut Output<'r, S>,
        shape: &'v TableShape,
        (token, key): (Token, &'v [u8]),
        after: Option<&'v [u8]>,
    ) -> Self {
        Visit {
            output,
            shape,
            token,
            key,
            after,
            reached: after.map(<[u8]>::to_vec),
            told: None,
            has_begun: false,
            slice: Slice::ALL,
            start: Vec::new(),
            is_slice_begun: false,
            open: None,
            pending: None,
            place: Vec::new(),
        }
    }

    /// Goes to a slice, ascending. `false`: there is no place inside of it.
    pub(super) fn begin_slice(&mut self, slice: &Slice<'v>) -> bool {
        let start = match slice.start.inclusive {
            true => Some(slice.start.prefix.to_vec()),
            false => successor(slice.start.prefix),
        };
        // A slice that begins behind its end holds nothing, and what lies between may be another's.
        let Some(mut start) = start.filter(|start| !is_above(start, &slice.end)) else { return false };
        if let Some(after) = self.after.filter(|after| *after > &start[..]) {
            start = after.to_vec();
        }
        (self.slice, self.start, self.is_slice_begun) = (*slice, start, false);
        true
    }

    /// Whether the slice begins where the read goes on.
    pub(super) fn starts_after(&self) -> bool {
        self.after == Some(&self.start[..])
    }

    /// There are no more rows: tells what is left to tell of the slice.
    pub(super) fn end_slice(&mut self) -> Option<ReadEnd> {
        let end = self.flush_pending();
        self.tell_beginning();
        end
    }

    fn tell_beginning(&mut self) {
        if !std::mem::replace(&mut self.is_slice_begun, true) {
            let start = std::mem::take(&mut self.start);
            self.change(&start, self.open);
            self.start = start;
        }
    }

    /// Tells the sink what is deleted from where a slice begins, if that is news.
    fn change(&mut self, at: &[u8], deletion: Option<Deletion>) {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let is_resumed = self.after.is_some();
        // The first of a partition is before all that other lanes have of it. One that goes on has told what held up to here,
        // which need not hold any more.
        if deletion != self.told || is_first && is_resumed {
            self.told = deletion;
            self.output.sink.range((!is_first || is_resumed).then_some(at), deletion);
        }
    }

    fn boundary(&mut self, at: &[u8], deletion: Option<Deletion>) {
        self.output.cost += 1;
        self.reached = Some(at.to_vec());
        if deletion != self.told {
            self.told = deletion;
            self.output.sink.range(Some(at), deletion);
        }
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: RowRef<'_>) {
        self.output.cost += 1 + row.bytes().len() / COST_BYTES;
        self.reached = Some(self.place.clone());
        self.output.sink.row(clustering, row);
    }

    fn flush_pending(&mut self) -> Option<ReadEnd> {
        let (place, deletion) = self.pending.take()?;
        self.boundary(&place, deletion);
        self.end()
    }

    /// Tells the change that waits, if what comes next stands elsewhere.
    fn flush_pending_unless_at(&mut self, place: &[u8]) -> Option<ReadEnd> {
        match &self.pending {
            Some((pending, _)) if pending != place => self.flush_pending(),
            _ => None,
        }
    }

    fn end(&self) -> Option<ReadEnd> {
        let position = || Position { token: self.token, key: self.key.to_vec(), row: self.reached.clone() };
        self.output.end(position)
    }

    fn take_row(&mut self, clustering: ClusteringRef<'_>, row: Option<RowRef<'_>>) -> (bool, Taken) {
        if self.place < self.start {
            return (true, Taken::More);
        }
        let place = std::mem::take(&mut self.place);
        if let Some(end) = self.flush_pending_unless_at(&place) {
            return (false, Taken::End(end));
        }
        self.place = place;
        self.tell_beginning();
        if is_above(&self.place, &self.slice.end) {
            return (false, Taken::SliceEnd);
        }
        if let Some((place, deletion)) = self.pending.take() {
            // To end behind this place would be to end behind the row at it.
            self.boundary(&place, deletion);
        }
        let Some(row) = row else {
            // The last row of the page before.
            return (true, Taken::More);
        };
        self.row(clustering, row);
        match self.end() {
            Some(end) => (true, Taken::End(end)),
            // Nothing else stands in a slice of one row, unless its last values are null: then others begin with it.
            None if self.slice.end.inclusive
                && self.place == self.slice.end.prefix
                && clustering.len() == self.shape.clustering.len() =>
            {
                (true, Taken::SliceEnd)
            }
            None => (true, Taken::More),
        }
    }

    fn take_marker(&mut self, place: Vec<u8>, opens: Option<Deletion>) -> (bool, Taken) {
        if place <= self.start {
            self.open = opens;
            return (true, Taken::More);
        }
        if let Some(end) = self.flush_pending_unless_at(&place) {
            return (false, Taken::End(end));
        }
        self.tell_beginning();
        if is_above(&place, &self.slice.end) {
            return (false, Taken::SliceEnd);
        }
        self.open = opens;
        self.pending = Some((place, opens));
        (true, Taken::More)
    }
}

impl<S: DataSink> Take for Visit<'_, '_, S> {
    type Taken = Taken;

    fn wants(&mut self, clustering: ClusteringRef<'_>) -> bool {
        self.place.clear();
        self.shape.comparable(clustering, &mut self.place);
        self.place >= self.start && Some(&self.place[..]) != self.after && !is_above(&self.place, &self.slice.end)
    }

    fn take(&mut self, item: Item<'_>) -> (bool, Taken) {
        match item {
            Item::Row { clustering, row } => self.take_row(clustering, Some(row)),
            Item::SkippedRow => self.take_row(ClusteringRef::EMPTY, None),
            Item::Marker(marker) => match marker_place(self.shape, marker.prefix, marker.after) {
                Some(place) => self.take_marker(place, marker.opens),
                None => (true, Taken::More),
            },
            Item::PartitionEnd => match self.end_slice() {
                Some(end) => (true, Taken::End(end)),
                None => (true, Taken::PartitionEnd),
            },
            Item::Partition { .. } => unreachable!("a reader within a partition gives its end first"),
        }
    }
}

/// A marker's place; `None`: behind all rows.
fn marker_place(shape: &TableShape, prefix: ClusteringRef<'_>, after: bool) -> Option<Vec<u8>> {
    let mut place = Vec::new();
    shape.comparable(prefix, &mut place);
    if after { successor(&place) } else { Some(place) }
}

/// The rows and markers of a block, to be told from the last to the first.
#[derive(Default)]
pub(super) struct BlockItems {
    bytes: Vec<u8>,
    items: Vec<BlockItem>,
    /// The deletion that holds where the block begins.
    open: Option<Deletion>,
}

struct BlockItem {
    place: Vec<u8>,
    kind: BlockItemKind,
}

enum BlockItemKind {
    Marker {
        closes: Option<Deletion>,
        opens: Option<Deletion>,
    },
    /// Where the clustering and the row begin, and where they end.
    Row(usize, usize, usize),
}

impl BlockItems {
    /// None yet, of a block at whose beginning `open` holds.
    pub(super) fn begin(&mut self, open: Option<Deletion>) {
        self.bytes.clear();
        self.items.clear();
        self.open = open;
    }
}

/// Collects the items of a block.
pub(super) struct Collect<'v> {
    pub(super) shape: &'v TableShape,
    pub(super) block: &'v mut BlockItems,
}

impl Take for Collect<'_> {
    /// Whether the partition ends.
    type Taken = bool;

    fn take(&mut self, item: Item<'_>) -> (bool, bool) {
        let block = &mut *self.block;
        match item {
            Item::Row { clustering, row } => {
                let mut place = Vec::new();
                self.shape.comparable(clustering, &mut place);
                let begins = block.bytes.len();
                block.bytes.extend_from_slice(clustering.bytes());
                let row_begins = block.bytes.len();
                block.bytes.extend_from_slice(row.bytes());
                let kind = BlockItemKind::Row(begins, row_begins, block.bytes.len());
                block.items.push(BlockItem { place, kind });
            }
            Item::Marker(marker) => {
                if let Some(place) = marker_place(self.shape, marker.prefix, marker.after) {
                    let kind = BlockItemKind::Marker { closes: marker.closes, opens: marker.opens };
                    block.items.push(BlockItem { place, kind });
                }
            }
            Item::PartitionEnd => return (true, true),
            Item::SkippedRow | Item::Partition { .. } => unreachable!("all rows of a partition are wanted"),
        }
        (true, false)
    }
}

impl<'v, S: DataSink> Visit<'v, '_, S> {
    /// Goes to a slice, descending. Gives the place above which nothing is read; `None`: there is no such place.
    pub(super) fn begin_slice_back(&mut self, slice: &Slice<'v>) -> Option<Vec<u8>> {
        self.slice = *slice;
        self.is_slice_begun = false;
        let top = match slice.end.inclusive || slice.end.prefix.is_empty() {
            false => Some(slice.end.prefix.to_vec()),
            true => successor(slice.end.prefix),
        };
        match (self.after, top) {
            (Some(after), Some(top)) if after >= &top[..] => Some(top),
            (Some(after), _) => Some(after.to_vec()),
            (None, top) => top,
        }
    }

    /// Tells what of a block is below `top` and inside of the slice. [`Taken::More`]: the block before it is wanted.
    pub(super) fn take_block_back(&mut self, block: &BlockItems, top: Option<&[u8]>) -> Taken {
        let count = top.map_or(block.items.len(), |top| block.items.partition_point(|item| &item.place[..] < top));
        let items = &block.items[..count];
        if !std::mem::replace(&mut self.is_slice_begun, true) {
            let below = items.iter().rev().find_map(|item| match item.kind {
                BlockItemKind::Marker { opens, .. } => Some(opens),
                BlockItemKind::Row(..) => None,
            });
            self.change(top.unwrap_or_default(), below.unwrap_or(block.open));
        }
        for item in items.iter().rev() {
            if let Some(end) = self.flush_pending_unless_at(&item.place) {
                return Taken::End(end);
            }
            if is_below(&item.place, &self.slice.start) {
                return Taken::SliceEnd;
            }
            match item.kind {
                // Of several at a place the lowest says what holds below.
                BlockItemKind::Marker { closes, .. } => self.pending = Some((item.place.clone(), closes)),
                BlockItemKind::Row(begins, row_begins, ends) => {
                    self.place.clone_from(&item.place);
                    let clustering = ClusteringRef::trusted(&block.bytes[begins..row_begins]);
                    self.row(clustering, RowRef::trusted(&block.bytes[row_begins..ends]));
                    if let Some(end) = self.end() {
                        return Taken::End(end);
                    }
                }
            }
        }
        Taken::More
    }

    /// There are no more blocks: tells what is left to tell of the slice.
    pub(super) fn end_slice_back(&mut self, top: Option<&[u8]>) -> Option<ReadEnd> {
        if !std::mem::replace(&mut self.is_slice_begun, true) {
            self.change(top.unwrap_or_default(), None);
        }
        self.flush_pending()
    }
}
