//! Deleted ranges of one partition.
//!
//! They are kept as boundaries: at each, the deletion that holds from there up to the next. A new range adds its two
//! ends as boundaries and raises the deletion of those between. So ranges never overlap, nothing is split or taken out,
//! and the deletion of a row is the one of the last boundary that is not above it.
//!
//! A boundary is a byte string that sorts among the rows' byte-comparable keys: a prefix stands before all rows that
//! begin with it, and its [`successor`] stands behind them. Beside it lies what it was made of, the clustering prefix and
//! on which side of it the boundary stands: a flush writes that, since it cannot be told from the byte string. Of two that
//! come to the same place the first stays; no row can stand between them.

use mutation::{BoundRef, ClusteringRef, Deletion};

use crate::memtable::arena::Arena;
use crate::memtable::entry;
use crate::memtable::pool::ChunkPool;
use crate::memtable::shape::TableShape;
use crate::memtable::tree::{Cursor, Key, Tree};

/// No deletion has this timestamp: it would delete nothing.
const NONE_TIMESTAMP: i64 = i64::MIN;

/// A boundary's body.
pub fn deletion_to_bytes(deletion: Option<Deletion>) -> [u8; Deletion::LENGTH] {
    deletion.unwrap_or(Deletion { timestamp: NONE_TIMESTAMP, local_deletion_time: 0 }).to_bytes()
}

/// From a boundary's body.
#[inline]
pub fn deletion_from_bytes(bytes: [u8; Deletion::LENGTH]) -> Option<Deletion> {
    Some(Deletion::from_bytes(bytes)).filter(|deletion| deletion.timestamp != NONE_TIMESTAMP)
}

/// The smallest byte string that is above all that begin with `prefix`; `None` if nothing is above.
pub fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut above = prefix[..=last].to_vec();
    above[last] += 1;
    Some(above)
}

/// One end of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// Its place among the keys of rows.
    pub at: Vec<u8>,
    /// What lies beside the boundary: whether it stands behind the rows that begin with the prefix, and the prefix.
    side: Vec<u8>,
}

impl Edge {
    fn of(at: Vec<u8>, bound: &BoundRef<'_>, is_after: bool) -> Self {
        let mut side = vec![u8::from(is_after)];
        side.extend_from_slice(bound.prefix.bytes());
        Edge { at, side }
    }
}

/// What a boundary was made of: whether it stands behind the rows that begin with the prefix, and the prefix.
pub fn made_of<'e>(boundary: &entry::Entry<'e>) -> (bool, ClusteringRef<'e>) {
    let (is_after, prefix) = boundary.side.split_first().expect("a boundary keeps what it was made of");
    (*is_after != 0, ClusteringRef::trusted(prefix))
}

/// The place where a range begins; `None`: behind all rows.
pub fn start_of(shape: &TableShape, bound: &BoundRef<'_>) -> Option<Edge> {
    let mut prefix = Vec::new();
    shape.comparable(bound.prefix, &mut prefix);
    match bound.inclusive {
        true => Some(Edge::of(prefix, bound, false)),
        false => successor(&prefix).map(|above| Edge::of(above, bound, true)),
    }
}

/// The place where a range ends, which is not inside; `None`: behind all rows.
pub fn end_of(shape: &TableShape, bound: &BoundRef<'_>) -> Option<Edge> {
    let mut prefix = Vec::new();
    shape.comparable(bound.prefix, &mut prefix);
    // Whether or not it is inclusive, no components mean the partition's end.
    match bound.inclusive || prefix.is_empty() {
        true => successor(&prefix).map(|above| Edge::of(above, bound, true)),
        false => Some(Edge::of(prefix, bound, false)),
    }
}

/// The deletion that holds at `key`.
pub fn deletion_at(arena: &Arena, boundaries: &Tree, key: &[u8]) -> Option<Deletion> {
    let key = Key::of_comparable(key);
    let place = boundaries.locate(arena, key);
    let handle = match place.found {
        Some(found) => found,
        None => boundaries.seek(arena, key).previous(arena)?.1,
    };
    body_of(entry::entry(arena, handle).body)
}

/// Boundaries that a walk passes one by one; it jumps over those between two rows beyond that.
const STEPS_MAX: usize = 1000;

/// Goes along with a read of rows, and knows what is deleted where the read is.
pub struct RangeWalk<'t> {
    arena: &'t Arena,
    boundaries: &'t Tree,
    is_reversed: bool,
    /// All boundaries before it, in the read's direction, were passed.
    cursor: Cursor,
    /// What holds behind the boundary that was passed last.
    deletion: Option<Deletion>,
    steps_left: usize,
}

impl<'t> RangeWalk<'t> {
    /// A walk that begins at the place `start`.
    pub fn forward(arena: &'t Arena, boundaries: &'t Tree, start: &[u8]) -> Self {
        let mut cursor = boundaries.seek(arena, Key::of_comparable(start));
        // What begins or ends there holds, or holds no more, for all that is read.
        if let Some((_, handle, behind)) = cursor.next(arena)
            && entry::key(arena, handle) == start
        {
            cursor = behind;
        }
        Self::at(arena, boundaries, false, cursor)
    }

    /// A walk that goes the other way, from below the place `top`; `None`: from the end.
    pub fn backward(arena: &'t Arena, boundaries: &'t Tree, top: Option<&[u8]>) -> Self {
        let cursor = match top {
            Some(top) => boundaries.seek(arena, Key::of_comparable(top)),
            None => boundaries.end(arena),
        };
        Self::at(arena, boundaries, true, cursor)
    }

    fn at(arena: &'t Arena, boundaries: &'t Tree, is_reversed: bool, cursor: Cursor) -> Self {
        let deletion = deletion_before(arena, cursor);
        RangeWalk { arena, boundaries, is_reversed, cursor, deletion, steps_left: STEPS_MAX }
    }

    /// What is deleted where the walk is.
    pub fn deletion(&self) -> Option<Deletion> {
        self.deletion
    }

    /// Goes on to the row at `key`. `change` is told what holds behind each boundary on the way.
    pub fn go_to(&mut self, key: &[u8], change: impl FnMut(Option<Deletion>)) {
        match self.is_reversed {
            false => self.pass(|boundary| boundary <= key, change),
            true => self.pass(|boundary| boundary > key, change),
        }
        if self.steps_left == 0 {
            self.deletion = deletion_at(self.arena, self.boundaries, key);
        }
    }

    /// Passes the boundaries that are within what is read.
    pub fn pass(&mut self, is_within: impl Fn(&[u8]) -> bool, mut change: impl FnMut(Option<Deletion>)) {
        while self.steps_left > 0 {
            let next = match self.is_reversed {
                false => self.cursor.next(self.arena),
                true => self.cursor.previous(self.arena),
            };
            let Some((_, handle, cursor)) = next.filter(|(_, handle, _)| is_within(entry::key(self.arena, *handle)))
            else {
                return;
            };
            self.cursor = cursor;
            self.steps_left -= 1;
            self.deletion = match self.is_reversed {
                false => deletion_of(&entry::entry(self.arena, handle)),
                true => deletion_before(self.arena, cursor),
            };
            change(self.deletion);
        }
    }
}

/// What holds behind the boundary before a place.
fn deletion_before(arena: &Arena, cursor: Cursor) -> Option<Deletion> {
    let (_, handle, _) = cursor.previous(arena)?;
    deletion_of(&entry::entry(arena, handle))
}

/// The deletion that holds from a boundary on.
pub fn deletion_of(boundary: &entry::Entry<'_>) -> Option<Deletion> {
    body_of(boundary.body)
}

fn body_of(body: &[u8]) -> Option<Deletion> {
    deletion_from_bytes(*body.first_chunk().expect("a boundary holds a deletion"))
}

/// Deletes from `start` up to `end`, or to the partition's end.
pub fn add(
    arena: &mut Arena,
    pool: &mut ChunkPool,
    boundaries: &mut Tree,
    start: &Edge,
    end: Option<&Edge>,
    deletion: Deletion,
) {
    if end.is_some_and(|end| end.at <= start.at) {
        return;
    }
    ensure_boundary(arena, pool, boundaries, start);
    if let Some(end) = end {
        ensure_boundary(arena, pool, boundaries, end);
    }
    let mut cursor = boundaries.seek(arena, Key::of_comparable(&start.at));
    while let Some((_, handle, next)) = cursor.next(arena) {
        let boundary = entry::entry(arena, handle);
        if end.is_some_and(|end| boundary.key >= end.at.as_slice()) {
            break;
        }
        let raised = Deletion::max_of(body_of(boundary.body), Some(deletion));
        entry::overwrite_body(arena, handle, &deletion_to_bytes(raised));
        cursor = next;
    }
}

/// Makes `at` a boundary without changing what is deleted.
fn ensure_boundary(arena: &mut Arena, pool: &mut ChunkPool, boundaries: &mut Tree, edge: &Edge) {
    let key = Key::of_comparable(&edge.at);
    let place = boundaries.locate(arena, key);
    if place.found.is_some() {
        return;
    }
    let deletion = deletion_at(arena, boundaries, &edge.at);
    let handle = entry::create(arena, pool, &edge.at, &edge.side, &deletion_to_bytes(deletion));
    boundaries.insert(arena, pool, &place, key, handle);
}
