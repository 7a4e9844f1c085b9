//! Reading data as it is, tombstones and all, for reconciliation with other replicas.
//!
//! The order is that of a plain read. Deleted ranges come as changes: from a place on, in the direction of the read, a
//! deletion holds or none does. A change at a row's very key comes before that row in ascending order and behind it in
//! descending order, since a boundary stands before the rows that it covers.

use std::ops::Bound as TokenBound;

use mutation::{ClusteringRef, Deletion, KeyRange, Position, ReadCommand, RowRef, Slice};
use topology::Token;

use crate::memtable::arena::Handle;
use crate::memtable::entry::{self, Entry};
use crate::memtable::partition::PartitionHead;
use crate::memtable::read::{COST_BYTES, COST_MAX, is_above, is_below};
use crate::memtable::tree::{Cursor, Key};
use crate::memtable::walk::Walked;
use crate::memtable::{Memtable, ranges};
use crate::sink::{DataSink, ReadEnd};

struct Reading<'r, S> {
    table: &'r Memtable,
    command: &'r ReadCommand<'r>,
    sink: &'r mut S,
    cost: usize,
}

/// A partition that is being visited, and how far.
struct Visited<'p> {
    token: Token,
    key: &'p [u8],
    head: PartitionHead,
    /// Everything before this, in the read's direction, was given.
    reached: Option<Vec<u8>>,
    /// The deletion that the sink was told last.
    deletion: Option<Deletion>,
    /// Whether the sink was told what is deleted at the beginning.
    has_begun: bool,
    /// Whether the read goes on where an earlier one ended.
    is_resumed: bool,
}

impl Memtable {
    /// Hands what `command` asks for to `sink`, deletions too; it is for this table.
    pub fn read_data(&self, command: &ReadCommand<'_>, sink: &mut impl DataSink) -> ReadEnd {
        let mut reading = Reading { table: self, command, sink, cost: 0 };
        match command.keys {
            KeyRange::Partition { token, key } => reading.partition(token, key),
            KeyRange::Tokens { start, end } => reading.tokens(start, end),
        }
    }
}

impl<S: DataSink> Reading<'_, S> {
    fn partition(&mut self, token: Token, key: &[u8]) -> ReadEnd {
        let after = self.command.after;
        if after.is_some_and(|after| after.row.is_none()) {
            return ReadEnd::Complete;
        }
        let Some(found) = self.table.partitions.get(&self.table.arena, Key::of_partition(token, key)) else {
            return ReadEnd::Complete;
        };
        self.visit(token, found, after.and_then(|after| after.row)).unwrap_or(ReadEnd::Complete)
    }

    fn tokens(&mut self, start: TokenBound<Token>, end: TokenBound<Token>) -> ReadEnd {
        for Walked { token, handle, after } in self.table.walk(start, end, self.command.after) {
            if let Some(end) = self.visit(token, handle, after) {
                return end;
            }
            let position = || Position { token, key: entry::key(&self.table.arena, handle).to_vec(), row: None };
            if self.sink.is_full() {
                return ReadEnd::Stopped(position());
            }
            if self.cost >= COST_MAX {
                return ReadEnd::Paused(position());
            }
        }
        ReadEnd::Complete
    }

    /// One partition; `after` is the place to go on behind. `Some`: the read ends within the partition.
    fn visit(&mut self, token: Token, handle: Handle, after: Option<&[u8]>) -> Option<ReadEnd> {
        let arena = &self.table.arena;
        let partition = entry::entry(arena, handle);
        self.cost += 1;
        if !self.table.shape.has_clustering() {
            self.cost += partition.body.len() / COST_BYTES;
            if !self.command.slices.is_empty() {
                self.sink.partition(token, partition.key, None, None);
                self.sink.row(ClusteringRef::EMPTY, RowRef::trusted(partition.body));
            }
            return None;
        }
        let head = PartitionHead::from_bytes(partition.body);
        let static_row = match head.static_row.is_null() {
            true => None,
            false => Some(RowRef::trusted(entry::entry(arena, head.static_row).body)),
        };
        self.sink.partition(token, partition.key, head.deletion, static_row);
        let mut visited = Visited {
            token,
            key: partition.key,
            head,
            reached: after.map(<[u8]>::to_vec),
            deletion: None,
            has_begun: false,
            is_resumed: after.is_some(),
        };
        let slices = self.command.slices;
        for index in 0..slices.len() {
            let end = match self.command.reversed {
                false => self.slice_forward(&mut visited, &slices[index], after),
                true => self.slice_backward(&mut visited, &slices[slices.len() - 1 - index], after),
            };
            if end.is_some() {
                return end;
            }
        }
        None
    }

    fn slice_forward(&mut self, visited: &mut Visited<'_>, slice: &Slice<'_>, after: Option<&[u8]>) -> Option<ReadEnd> {
        let arena = &self.table.arena;
        let head = visited.head;
        let successor;
        let mut start = slice.start.prefix;
        if !slice.start.inclusive {
            successor = ranges::successor(start)?;
            start = &successor;
        }
        let start = after.map_or(start, |after| after.max(start));
        self.change(visited, start, ranges::deletion_at(arena, &head.boundaries, start));
        let mut rows = head.rows.seek(arena, Key::of_comparable(start));
        let mut boundaries = head.boundaries.seek(arena, Key::of_comparable(start));
        loop {
            let is_inside = |(_, handle, _): &(u64, Handle, Cursor)| !is_above(entry::key(arena, *handle), &slice.end);
            let row = rows.next(arena).filter(is_inside);
            let boundary = boundaries.next(arena).filter(is_inside);
            let next_row = row.map(|(_, handle, next)| (entry::entry(arena, handle), next));
            let next_boundary = boundary.map(|(_, handle, next)| (entry::entry(arena, handle), next));
            match (next_row, next_boundary) {
                (row, Some((boundary, next))) if row.is_none_or(|(row, _)| boundary.key <= row.key) => {
                    boundaries = next;
                    // What holds where the read goes on was told, and where it begins.
                    if boundary.key == start {
                        continue;
                    }
                    self.boundary(visited, boundary.key, ranges::deletion_of(&boundary));
                    if row.is_some_and(|(row, _)| row.key == boundary.key) {
                        // To go on behind this place would be to go on behind its row, which was not given yet.
                        continue;
                    }
                }
                (Some((row, next)), _) => {
                    rows = next;
                    // The last row of the page before: a page that ended here again would get no further.
                    if Some(row.key) == after {
                        continue;
                    }
                    self.row(visited, &row);
                }
                (None, Some(_)) => unreachable!("a boundary without a row was taken above"),
                (None, None) => return None,
            }
            if let Some(end) = self.end(visited) {
                return Some(end);
            }
        }
    }

    fn slice_backward(
        &mut self,
        visited: &mut Visited<'_>,
        slice: &Slice<'_>,
        after: Option<&[u8]>,
    ) -> Option<ReadEnd> {
        let arena = &self.table.arena;
        let head = visited.head;
        // The place above which nothing is read; `None`: there is no such place.
        let mut top = match slice.end.inclusive || slice.end.prefix.is_empty() {
            false => Some(slice.end.prefix.to_vec()),
            true => ranges::successor(slice.end.prefix),
        };
        if let Some(after) = after
            && top.as_deref().is_none_or(|top| after < top)
        {
            top = Some(after.to_vec());
        }
        let seek = |tree: &crate::memtable::tree::Tree| match &top {
            Some(top) => tree.seek(arena, Key::of_comparable(top)),
            None => tree.end(arena),
        };
        let (mut rows, mut boundaries) = (seek(&head.rows), seek(&head.boundaries));
        let below = |boundaries: &Cursor| {
            let boundary = boundaries.previous(arena);
            boundary.and_then(|(_, handle, _)| ranges::deletion_of(&entry::entry(arena, handle)))
        };
        self.change(visited, top.as_deref().unwrap_or_default(), below(&boundaries));
        loop {
            let is_inside =
                |(_, handle, _): &(u64, Handle, Cursor)| !is_below(entry::key(arena, *handle), &slice.start);
            let row = rows.previous(arena).filter(is_inside);
            let boundary = boundaries.previous(arena).filter(is_inside);
            let next_row = row.map(|(_, handle, next)| (entry::entry(arena, handle), next));
            let next_boundary = boundary.map(|(_, handle, next)| (entry::key(arena, handle), next));
            match (next_row, next_boundary) {
                (Some((row, next)), boundary) if boundary.is_none_or(|(key, _)| row.key >= key) => {
                    rows = next;
                    self.row(visited, &row);
                }
                (_, Some((key, next))) => {
                    boundaries = next;
                    // Below a boundary the deletion of the one before it holds.
                    self.boundary(visited, key, below(&boundaries));
                }
                (Some(_), None) | (None, None) => return None,
            }
            if let Some(end) = self.end(visited) {
                return Some(end);
            }
        }
    }

    /// Tells the sink what is deleted from where a slice begins, if that is news.
    fn change(&mut self, visited: &mut Visited<'_>, at: &[u8], deletion: Option<Deletion>) {
        let is_first = !std::mem::replace(&mut visited.has_begun, true);
        // The first of a partition is before all that other replicas have of it. One that goes on has told what held up to
        // here, which need not hold any more.
        let is_news = deletion != visited.deletion || is_first && visited.is_resumed;
        if is_news {
            visited.deletion = deletion;
            self.sink.range((!is_first || visited.is_resumed).then_some(at), deletion);
        }
    }

    fn boundary(&mut self, visited: &mut Visited<'_>, at: &[u8], deletion: Option<Deletion>) {
        self.cost += 1;
        visited.reached = Some(at.to_vec());
        if deletion != visited.deletion {
            visited.deletion = deletion;
            self.sink.range(Some(at), deletion);
        }
    }

    fn row(&mut self, visited: &mut Visited<'_>, row: &Entry<'_>) {
        self.cost += 1 + row.body.len() / COST_BYTES;
        visited.reached = Some(row.key.to_vec());
        // An empty body is the place of a row that a deletion from outside took away, which is told by itself.
        if !row.body.is_empty() {
            self.sink.row(ClusteringRef::trusted(row.side), RowRef::trusted(row.body));
        }
    }

    /// Whether the read ends here.
    fn end(&self, visited: &Visited<'_>) -> Option<ReadEnd> {
        let position = || Position { token: visited.token, key: visited.key.to_vec(), row: visited.reached.clone() };
        match () {
            () if self.sink.is_full() => Some(ReadEnd::Stopped(position())),
            () if self.cost >= COST_MAX => Some(ReadEnd::Paused(position())),
            () => None,
        }
    }
}
