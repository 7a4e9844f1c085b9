//! Reading a body: the same as a memtable of such a content gives.

use mutation::{Bound, ClusteringRef, Deletion, LiveRow, Position, ReadCommand, RowRef, Slice};
use topology::Token;

use crate::cache::body::{Body, Item, Kind};
use crate::memtable::{COST_BYTES, is_above, is_below, successor};
use crate::sink::{DataSink, Flow, ReadEnd, RowSink};

/// Items that one call may visit.
const COST_MAX: usize = 1000;

/// A body that a read was told to be right.
#[derive(Debug, Clone, Copy)]
pub struct CachedPartition<'b> {
    body: &'b Body,
    token: Token,
}

impl<'b> CachedPartition<'b> {
    /// That of `body`, whose key has this token.
    pub fn new(body: &'b Body, token: Token) -> Self {
        CachedPartition { body, token }
    }

    /// Hands the live rows of what a read asks for to `sink`.
    #[inline]
    pub fn read(&self, command: &ReadCommand<'_>, sink: &mut impl RowSink) -> ReadEnd {
        let static_row = self.body.static_row();
        let static_row = static_row.map(|row| LiveRow::new(row, self.body.deletion(), command.now_in_seconds));
        let mut rows = LiveRows {
            sink,
            partition: *self,
            deletion: self.body.deletion(),
            static_row,
            is_resumed: command.after.is_some(),
            now_in_seconds: command.now_in_seconds,
            range: None,
            is_announced: false,
            ended: None,
        };
        let end = self.read_data(command, &mut rows);
        let behind = || Position { token: self.token, key: self.body.key().to_vec(), row: None };
        match rows.ended {
            None => end,
            Some(Ended::Skipped) => ReadEnd::Complete,
            Some(Ended::AtPartition) => ReadEnd::Stopped(behind()),
            Some(Ended::AtRow) if self.body.is_single() => ReadEnd::Stopped(behind()),
            Some(Ended::AtRow) => end,
        }
    }

    /// Hands all of what a read asks for to `sink`.
    pub fn read_data(&self, command: &ReadCommand<'_>, sink: &mut impl DataSink) -> ReadEnd {
        let body = self.body;
        if body.kind() != Kind::Whole || command.after.is_some_and(|after| after.row.is_none()) {
            return ReadEnd::Complete;
        }
        if body.is_single() {
            if !command.slices.is_empty() {
                sink.partition(self.token, body.key(), body.deletion(), None);
                for index in 0..body.items() {
                    if let Item::Row(_, row) = body.item(index) {
                        sink.row(ClusteringRef::EMPTY, row);
                    }
                }
            }
            return ReadEnd::Complete;
        }
        sink.partition(self.token, body.key(), body.deletion(), body.static_row());
        let after = command.after.and_then(|after| after.row);
        let mut visit = Visit { partition: *self, sink, after, reached: None, told: None, has_begun: false, cost: 1 };
        let slices = command.slices;
        for index in 0..slices.len() {
            let end = match command.reversed {
                false => visit.forward(&slices[index]),
                true => visit.backward(&slices[slices.len() - 1 - index]),
            };
            if let Some(end) = end {
                return end;
            }
        }
        ReadEnd::Complete
    }
}

/// One call's visit of the rows.
struct Visit<'r, 'b, 'a, S> {
    partition: CachedPartition<'b>,
    sink: &'r mut S,
    /// The place to go on behind.
    after: Option<&'a [u8]>,
    /// The item up to which, in the read's direction, all was given.
    reached: Option<usize>,
    /// The deletion that the sink was told last.
    told: Option<Deletion>,
    /// Whether the sink was told what is deleted at the beginning.
    has_begun: bool,
    cost: usize,
}

impl<'a, S: DataSink> Visit<'_, '_, 'a, S> {
    fn forward(&mut self, slice: &Slice<'a>) -> Option<ReadEnd> {
        let body = self.partition.body;
        let behind;
        let mut start = slice.start.prefix;
        if !slice.start.inclusive {
            behind = successor(start)?;
            start = &behind;
        }
        let start = self.after.map_or(start, |after| after.max(start));
        let mut index = body.items_before(start);
        let at_start = (index..body.items()).take_while(|index| body.place_of(*index) == start);
        let changes = at_start.filter(|index| matches!(body.item(*index), Item::Change(_))).count();
        // A change stands before the row at its place, and what holds where the slice begins is told by itself.
        index += changes;
        self.change(start, body.range_behind(index));
        while index < body.items() && !is_above(body.place_of(index), &slice.end) {
            let place = body.place_of(index);
            let is_told = match body.item(index) {
                // The last row of the page before: a page that ended here again would get no further.
                Item::Row(..) if Some(place) == self.after => false,
                Item::Row(clustering, row) => self.row(index, clustering, row),
                Item::Change(deletion) => {
                    self.boundary(index, place, deletion);
                    // To go on behind this place would be to go on behind its row, which was not given yet.
                    index + 1 == body.items() || body.place_of(index + 1) != place
                }
            };
            if is_told && let Some(end) = self.end() {
                return Some(end);
            }
            index += 1;
        }
        None
    }

    fn backward(&mut self, slice: &Slice<'a>) -> Option<ReadEnd> {
        let body = self.partition.body;
        let above;
        // The place above which nothing is read; `None`: there is no such place.
        let top = match slice.end {
            Bound { prefix: [], .. } => None,
            Bound { prefix, inclusive: false } => Some(prefix),
            Bound { prefix, inclusive: true } => {
                above = successor(prefix);
                above.as_deref()
            }
        };
        let top = match (self.after, top) {
            (Some(after), Some(top)) => Some(after.min(top)),
            (after, top) => after.or(top),
        };
        let mut index = top.map_or(body.items(), |top| body.items_before(top));
        self.change(top.unwrap_or_default(), body.range_behind(index));
        while index > 0 && !is_below(body.place_of(index - 1), &slice.start) {
            index -= 1;
            match body.item(index) {
                Item::Row(clustering, row) => {
                    self.row(index, clustering, row);
                }
                // Below a change the deletion of the one before it holds.
                Item::Change(_) => self.boundary(index, body.place_of(index), body.range_behind(index)),
            }
            if let Some(end) = self.end() {
                return Some(end);
            }
        }
        None
    }

    /// Tells the sink what is deleted from where a slice begins, if that is news.
    fn change(&mut self, at: &[u8], deletion: Option<Deletion>) {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let is_resumed = self.after.is_some();
        // The first of a partition is before all that other lanes have of it. One that goes on has told what held up to here,
        // which need not hold any more.
        if deletion != self.told || is_first && is_resumed {
            self.told = deletion;
            self.sink.range((!is_first || is_resumed).then_some(at), deletion);
        }
    }

    fn boundary(&mut self, index: usize, place: &[u8], deletion: Option<Deletion>) {
        self.cost += 1;
        self.reached = Some(index);
        if deletion != self.told {
            self.told = deletion;
            self.sink.range(Some(place), deletion);
        }
    }

    fn row(&mut self, index: usize, clustering: ClusteringRef<'_>, row: RowRef<'_>) -> bool {
        self.cost += 1 + row.bytes().len() / COST_BYTES;
        self.reached = Some(index);
        self.sink.row(clustering, row);
        true
    }

    /// Whether the read ends here.
    fn end(&self) -> Option<ReadEnd> {
        let body = self.partition.body;
        let position = || Position {
            token: self.partition.token,
            key: body.key().to_vec(),
            row: self.reached.map(|index| body.place_of(index)).or(self.after).map(<[u8]>::to_vec),
        };
        match () {
            () if self.sink.is_full() => Some(ReadEnd::Stopped(position())),
            () if self.cost >= COST_MAX => Some(ReadEnd::Paused(position())),
            () => None,
        }
    }
}

/// Why a sink wants no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Skipped,
    AtPartition,
    AtRow,
}

/// Gives a sink what lives. All of it is borrowed from the body.
struct LiveRows<'s, 'b, S> {
    sink: &'s mut S,
    partition: CachedPartition<'b>,
    deletion: Option<Deletion>,
    static_row: Option<LiveRow<'b>>,
    is_resumed: bool,
    now_in_seconds: u32,
    range: Option<Deletion>,
    is_announced: bool,
    ended: Option<Ended>,
}

impl<'b, S: RowSink> LiveRows<'_, 'b, S> {
    fn live_static(&self) -> Option<LiveRow<'b>> {
        self.static_row.filter(|row| row.cells().next().is_some())
    }

    fn announce(&mut self) {
        self.is_announced = true;
        match self.sink.partition(self.partition.token, self.partition.body.key(), self.live_static()) {
            Flow::Continue => {}
            Flow::SkipPartition => self.ended = Some(Ended::Skipped),
            Flow::Stop => self.ended = Some(Ended::AtPartition),
        }
    }
}

impl<S: RowSink> DataSink for LiveRows<'_, '_, S> {
    fn partition(&mut self, _: Token, _: &[u8], _: Option<Deletion>, _: Option<RowRef<'_>>) {
        match self.static_row.filter(|_| !self.is_resumed) {
            None => {}
            Some(_) if self.live_static().is_some() => self.announce(),
            Some(row) => _ = self.sink.tombstones(self.partition.token, |rule| rule.of_static(&row)),
        }
    }

    fn range(&mut self, _: Option<&[u8]>, deletion: Option<Deletion>) {
        let before = std::mem::replace(&mut self.range, deletion);
        let _ = self.sink.tombstones(self.partition.token, |rule| rule.of_change(before, deletion));
    }

    #[inline]
    fn row(&mut self, clustering: ClusteringRef<'_>, row: RowRef<'_>) {
        if self.ended.is_some() {
            return;
        }
        let live = LiveRow::new(row, Deletion::max_of(self.deletion, self.range), self.now_in_seconds);
        if !live.is_live() {
            if self.sink.tombstones(self.partition.token, |rule| rule.of_row(&live)) == Flow::Stop {
                self.ended = Some(Ended::AtRow);
            }
            return;
        }
        if !self.is_announced {
            self.announce();
            if self.ended.is_some() {
                return;
            }
        }
        match self.sink.row(clustering, live) {
            Flow::Continue => {}
            Flow::SkipPartition => self.ended = Some(Ended::Skipped),
            Flow::Stop => self.ended = Some(Ended::AtRow),
        }
    }

    fn is_full(&self) -> bool {
        self.ended.is_some()
    }
}
