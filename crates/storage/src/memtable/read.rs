//! Reading: the live rows of a command, in order, to a sink.

use std::ops::Bound as TokenBound;

use mutation::{Bound, ClusteringRef, Deletion, KeyRange, LiveRow, Position, ReadCommand, RowRef, Slice};
use topology::Token;

use crate::memtable::arena::Handle;
use crate::memtable::entry::{self, Entry};
use crate::memtable::partition::PartitionHead;
use crate::memtable::ranges::RangeWalk;
use crate::memtable::tree::Key;
use crate::memtable::walk::Walked;
use crate::memtable::{Memtable, ranges};
use crate::sink::{Flow, ReadEnd, RowSink};

/// Entries that one call may visit: about 0.3 ms with what a sink does for each.
pub(super) const COST_MAX: usize = 1000;
/// Bytes of a row that cost as much as one more entry.
pub(crate) const COST_BYTES: usize = 512;

/// How the visit of one partition ended.
enum Visit {
    /// The next one.
    Done,
    /// The read ends here.
    End(ReadEnd),
}

/// One call's work.
struct Reading<'r, S> {
    table: &'r Memtable,
    command: &'r ReadCommand<'r>,
    sink: &'r mut S,
    cost: usize,
    /// What the range deletes in which the read is.
    range: Option<Deletion>,
}

/// The partition that is being visited.
#[derive(Clone, Copy)]
struct Visited<'p> {
    token: Token,
    key: &'p [u8],
    static_row: Option<LiveRow<'p>>,
    is_announced: bool,
}

impl Visited<'_> {
    fn position(&self, row: Option<&[u8]>) -> Position {
        Position { token: self.token, key: self.key.to_vec(), row: row.map(<[u8]>::to_vec) }
    }
}

impl Memtable {
    /// Hands what `command` asks for to `sink`; it is for this table.
    #[inline]
    pub fn read(&self, command: &ReadCommand<'_>, sink: &mut impl RowSink) -> ReadEnd {
        let mut reading = Reading { table: self, command, sink, cost: 0, range: None };
        match command.keys {
            KeyRange::Partition { token, key } => reading.partition(token, key),
            KeyRange::Tokens { start, end } => reading.tokens(start, end),
        }
    }
}

impl<S: RowSink> Reading<'_, S> {
    fn partition(&mut self, token: Token, key: &[u8]) -> ReadEnd {
        let after = self.command.after;
        if after.is_some_and(|after| after.row.is_none()) {
            return ReadEnd::Complete;
        }
        let Some(found) = self.table.partitions.get(&self.table.arena, Key::of_partition(token, key)) else {
            return ReadEnd::Complete;
        };
        match self.visit(token, found, after.and_then(|after| after.row)) {
            Visit::Done => ReadEnd::Complete,
            Visit::End(end) => end,
        }
    }

    fn tokens(&mut self, start: TokenBound<Token>, end: TokenBound<Token>) -> ReadEnd {
        for Walked { token, handle, after } in self.table.walk(start, end, self.command.after) {
            if let Visit::End(end) = self.visit(token, handle, after) {
                return end;
            }
            if self.cost >= COST_MAX {
                let key = entry::key(&self.table.arena, handle).to_vec();
                return ReadEnd::Paused(Position { token, key, row: None });
            }
        }
        ReadEnd::Complete
    }

    /// One partition; `after` is the row to go on behind.
    fn visit(&mut self, token: Token, handle: Handle, after: Option<&[u8]>) -> Visit {
        let partition = entry::entry(&self.table.arena, handle);
        self.cost += 1;
        if !self.table.shape.has_clustering() {
            return self.visit_single(token, partition);
        }
        let head = PartitionHead::from_bytes(partition.body);
        self.range = None;
        let mut visited = Visited { token, key: partition.key, static_row: None, is_announced: false };
        if !head.static_row.is_null() {
            let row = RowRef::trusted(entry::entry(&self.table.arena, head.static_row).body);
            let row = LiveRow::new(row, head.deletion, self.command.now_in_seconds);
            visited.static_row = row.cells().next().is_some().then_some(row);
            if visited.static_row.is_none() && after.is_none() {
                let _ = self.sink.tombstones(token, |rule| rule.of_static(&row));
            }
        }
        if visited.static_row.is_some() && after.is_none() {
            match self.announce(&mut visited) {
                Flow::Continue => {}
                Flow::SkipPartition => return Visit::Done,
                Flow::Stop => return Visit::End(ReadEnd::Stopped(visited.position(None))),
            }
        }
        let slices = self.command.slices;
        for index in 0..slices.len() {
            let slice = if self.command.reversed { slices[slices.len() - 1 - index] } else { slices[index] };
            let end = match self.command.reversed {
                false => self.slice_forward(&mut visited, &head, &slice, after),
                true => self.slice_backward(&mut visited, &head, &slice, after),
            };
            match end {
                Some(Visit::Done) => return Visit::Done,
                Some(end) => return end,
                None => {}
            }
        }
        Visit::Done
    }

    fn announce(&mut self, visited: &mut Visited<'_>) -> Flow {
        visited.is_announced = true;
        self.sink.partition(visited.token, visited.key, visited.static_row)
    }

    /// The one row of a partition in a table without clustering columns.
    #[inline]
    fn visit_single(&mut self, token: Token, partition: Entry<'_>) -> Visit {
        self.cost += partition.body.len() / COST_BYTES;
        let row = LiveRow::new(RowRef::trusted(partition.body), None, self.command.now_in_seconds);
        if self.command.slices.is_empty() {
            return Visit::Done;
        }
        let flow = match row.is_live() {
            false => self.sink.tombstones(token, |rule| rule.of_row(&row)),
            true => match self.sink.partition(token, partition.key, None) {
                Flow::Continue => self.sink.row(ClusteringRef::EMPTY, row),
                other => other,
            },
        };
        match flow {
            Flow::Continue | Flow::SkipPartition => Visit::Done,
            Flow::Stop => Visit::End(ReadEnd::Stopped(Position { token, key: partition.key.to_vec(), row: None })),
        }
    }

    fn slice_forward(
        &mut self,
        visited: &mut Visited<'_>,
        head: &PartitionHead,
        slice: &Slice<'_>,
        after: Option<&[u8]>,
    ) -> Option<Visit> {
        let arena = &self.table.arena;
        let successor;
        let mut start = slice.start.prefix;
        if !slice.start.inclusive {
            successor = ranges::successor(start)?;
            start = &successor;
        }
        let start = after.map_or(start, |after| after.max(start));
        let mut ranges = (!head.boundaries.is_empty())
            .then(|| self.ranges(visited.token, RangeWalk::forward(arena, &head.boundaries, start)));
        let mut cursor = head.rows.seek(arena, Key::of_comparable(start));
        while let Some((_, handle, next)) = cursor.next(arena) {
            cursor = next;
            let row = entry::entry(arena, handle);
            if is_above(row.key, &slice.end) {
                break;
            }
            if Some(row.key) == after {
                continue;
            }
            if let Some(end) = self.row(visited, head, ranges.as_mut(), &row) {
                return Some(end);
            }
        }
        if let Some(ranges) = &mut ranges {
            ranges.pass(|at| !is_above(at, &slice.end), |deletion| self.tell_range(visited.token, deletion));
        }
        None
    }

    fn slice_backward(
        &mut self,
        visited: &mut Visited<'_>,
        head: &PartitionHead,
        slice: &Slice<'_>,
        after: Option<&[u8]>,
    ) -> Option<Visit> {
        let arena = &self.table.arena;
        let successor;
        // The place above which nothing is read; `None`: there is no such place.
        let top = match after.filter(|after| !is_above(after, &slice.end)) {
            Some(after) => Some(after),
            None if slice.end.inclusive || slice.end.prefix.is_empty() => {
                successor = ranges::successor(slice.end.prefix);
                successor.as_deref()
            }
            None => Some(slice.end.prefix),
        };
        let mut ranges = (!head.boundaries.is_empty())
            .then(|| self.ranges(visited.token, RangeWalk::backward(arena, &head.boundaries, top)));
        let mut cursor = match top {
            Some(top) => head.rows.seek(arena, Key::of_comparable(top)),
            None => head.rows.end(arena),
        };
        while let Some((_, handle, previous)) = cursor.previous(arena) {
            cursor = previous;
            let row = entry::entry(arena, handle);
            if is_below(row.key, &slice.start) {
                break;
            }
            if let Some(end) = self.row(visited, head, ranges.as_mut(), &row) {
                return Some(end);
            }
        }
        if let Some(ranges) = &mut ranges {
            ranges.pass(|at| !is_below(at, &slice.start), |deletion| self.tell_range(visited.token, deletion));
        }
        None
    }

    /// A walk along the deleted ranges, from where a slice begins.
    fn ranges<'t>(&mut self, token: Token, walk: RangeWalk<'t>) -> RangeWalk<'t> {
        self.tell_range(token, walk.deletion());
        walk
    }

    /// Tells the sink what is deleted from here on.
    fn tell_range(&mut self, token: Token, deletion: Option<Deletion>) {
        self.cost += 1;
        let before = std::mem::replace(&mut self.range, deletion);
        let _ = self.sink.tombstones(token, |rule| rule.of_change(before, deletion));
    }

    /// One row. `None`: go on; [`Visit::Done`]: the next partition.
    fn row(
        &mut self,
        visited: &mut Visited<'_>,
        head: &PartitionHead,
        ranges: Option<&mut RangeWalk<'_>>,
        row: &Entry<'_>,
    ) -> Option<Visit> {
        self.cost += 1 + row.body.len() / COST_BYTES;
        let mut deletion = head.deletion;
        if let Some(ranges) = ranges {
            ranges.go_to(row.key, |deletion| self.tell_range(visited.token, deletion));
            deletion = Deletion::max_of(deletion, ranges.deletion());
        }
        let live = LiveRow::new(RowRef::trusted(row.body), deletion, self.command.now_in_seconds);
        if live.is_live() {
            if !visited.is_announced {
                match self.announce(visited) {
                    Flow::Continue => {}
                    Flow::SkipPartition => return Some(Visit::Done),
                    Flow::Stop => return Some(Visit::End(ReadEnd::Stopped(visited.position(None)))),
                }
            }
            match self.sink.row(ClusteringRef::trusted(row.side), live) {
                Flow::Continue => {}
                Flow::SkipPartition => return Some(Visit::Done),
                Flow::Stop => return Some(Visit::End(ReadEnd::Stopped(visited.position(Some(row.key))))),
            }
        } else if self.sink.tombstones(visited.token, |rule| rule.of_row(&live)) == Flow::Stop {
            return Some(Visit::End(ReadEnd::Stopped(visited.position(Some(row.key)))));
        }
        (self.cost >= COST_MAX).then(|| Visit::End(ReadEnd::Paused(visited.position(Some(row.key)))))
    }
}

/// Whether `key` is behind the end of a slice.
pub(crate) fn is_above(key: &[u8], end: &Bound<'_>) -> bool {
    if end.prefix.is_empty() {
        return false;
    }
    match end.inclusive {
        true => key > end.prefix && !key.starts_with(end.prefix),
        false => key >= end.prefix,
    }
}

/// Whether `key` is before the start of a slice.
pub(crate) fn is_below(key: &[u8], start: &Bound<'_>) -> bool {
    !start.prefix.is_empty() && (key < start.prefix || !start.inclusive && key.starts_with(start.prefix))
}
