//! The state of a counter: its parts, what they come to, and how two states are merged. `docs/internals/counters.md` has
//! the layout and the rules. (Source: Cassandra's `CounterContext`.)
//!
//! A state's value is its count, eight bytes, then Cassandra's context. What was decoded is well formed: parts ascend by
//! id, marks name parts that are there, and the count is the sum.

use std::cmp::Ordering;

use stdx::Reader;

use crate::error::DecodeError;

/// Who added a part: a node's host id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CounterId(pub [u8; 16]);

/// The bytes of a count, which come first in a state and are all that a delta has.
pub const COUNT_LENGTH: usize = size_of::<i64>();

const PART_LENGTH: usize = 32;
const MARK_LENGTH: usize = 2;

/// What kind of part it is. Only global ones are made since Cassandra 2.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// The whole of what one node added, the same on every replica.
    Global,
    /// A sum of deltas of the node that wrote the file.
    Local,
    /// What another node said that it had.
    Remote,
}

/// What one node added to a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterPart {
    /// The node.
    pub id: CounterId,
    /// Rises with each change of the part.
    pub clock: i64,
    /// The sum of what was added.
    pub count: i64,
    /// Its kind.
    pub kind: PartKind,
}

/// A counter's state, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterRef<'a> {
    context: &'a [u8],
    marks: &'a [u8],
    parts: &'a [u8],
}

impl<'a> CounterRef<'a> {
    /// The state in a cell's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value);
        let count = reader.i64()?;
        let counter = Self::decode_context(reader.rest())?;
        match counter.count() == count {
            true => Ok(counter),
            false => Err(DecodeError::Counter { what: "its count is not the sum of its parts" }),
        }
    }

    /// The state in Cassandra's bytes. No bytes at all are a counter without parts.
    pub fn decode_context(context: &'a [u8]) -> Result<Self, DecodeError> {
        let counter = Self::split(context)?;
        if !counter.parts.len().is_multiple_of(PART_LENGTH) {
            return Err(DecodeError::Counter { what: "its last part is truncated" });
        }
        let ids = counter.parts.chunks_exact(PART_LENGTH).map(|part| &part[..16]);
        if !ids.is_sorted_by(|a, b| a < b) {
            return Err(DecodeError::Counter { what: "its parts are out of order" });
        }
        let count = counter.part_count();
        let indexes = counter.marks.chunks_exact(MARK_LENGTH).map(|mark| index_of(mark).0);
        if !indexes.clone().is_sorted_by(|a, b| a < b) || indexes.clone().any(|index| usize::from(index) >= count) {
            return Err(DecodeError::Counter { what: "it marks parts that it does not have" });
        }
        Ok(counter)
    }

    /// The state in a value that was checked, or made here, before. From other bytes it has nonsense or fewer parts; no panic.
    #[inline]
    pub fn trusted(value: &'a [u8]) -> Self {
        let context = value.get(COUNT_LENGTH..).unwrap_or_default();
        Self::split(context).unwrap_or(CounterRef { context, marks: &[], parts: &[] })
    }

    #[inline]
    fn split(context: &'a [u8]) -> Result<Self, DecodeError> {
        if context.is_empty() {
            return Ok(CounterRef { context, marks: &[], parts: &[] });
        }
        let mut reader = Reader::new(context);
        let marked = usize::from(reader.i16()?.unsigned_abs());
        let marks = reader.bytes(marked * MARK_LENGTH)?;
        Ok(CounterRef { context, marks, parts: reader.rest() })
    }

    /// Cassandra's bytes.
    #[inline]
    pub fn context(&self) -> &'a [u8] {
        self.context
    }

    /// How many parts there are.
    #[inline]
    pub fn part_count(&self) -> usize {
        self.parts.len() / PART_LENGTH
    }

    /// The parts, ascending by id.
    pub fn parts(&self) -> impl Iterator<Item = CounterPart> + use<'a> {
        let mut marks = self.marks.chunks_exact(MARK_LENGTH).map(index_of).peekable();
        self.parts.chunks_exact(PART_LENGTH).enumerate().map(move |(index, part)| {
            let mark = marks.next_if(|(marked, _)| usize::from(*marked) == index);
            let kind = mark.map_or(PartKind::Remote, |(_, kind)| kind);
            let mut reader = Reader::new(part);
            let (id, clock, count) = (reader.array(), reader.i64(), reader.i64());
            CounterPart {
                id: CounterId(id.unwrap_or_default()),
                clock: clock.unwrap_or_default(),
                count: count.unwrap_or_default(),
                kind,
            }
        })
    }

    /// What the parts come to.
    pub fn count(&self) -> i64 {
        self.parts().fold(0, |sum, part| sum.wrapping_add(part.count))
    }

    /// The part of one node.
    pub fn part_of(&self, id: CounterId) -> Option<CounterPart> {
        self.parts().find(|part| part.id == id)
    }

    /// Whether there are parts that are not global.
    pub fn has_legacy_parts(&self) -> bool {
        self.parts().any(|part| part.kind != PartKind::Global)
    }

    /// Whether `other` adds nothing to it: of each of its parts this one has the same or a newer version.
    pub(crate) fn covers(&self, other: &CounterRef<'_>) -> bool {
        let mut own = self.parts().peekable();
        other.parts().all(|part| {
            while own.next_if(|own| own.id < part.id).is_some() {}
            own.next_if(|own| own.id == part.id).is_some_and(|own| match order_of_versions(&own, &part) {
                Some(order) => order.is_ge(),
                None => false,
            })
        })
    }
}

/// Which part a mark names, and as what.
fn index_of(mark: &[u8]) -> (u16, PartKind) {
    let mark = mark.first_chunk().map_or(0, |mark| i16::from_be_bytes(*mark));
    match mark < 0 {
        true => (mark.wrapping_sub(i16::MIN).unsigned_abs(), PartKind::Global),
        false => (mark.unsigned_abs(), PartKind::Local),
    }
}

/// Which of two versions of one node's part counts; `None`: both do, they are added.
fn order_of_versions(a: &CounterPart, b: &CounterPart) -> Option<Ordering> {
    let rank = |part: &CounterPart| match part.kind {
        PartKind::Global => 2,
        PartKind::Local => 1,
        PartKind::Remote => 0,
    };
    // The clocks of remote parts that were renewed long ago are negative and fall.
    let age = |part: &CounterPart| (part.kind == PartKind::Remote && part.clock < 0, part.clock.unsigned_abs());
    match (a.kind, b.kind) {
        (PartKind::Local, PartKind::Local) => None,
        (PartKind::Remote, PartKind::Remote) => Some(age(a).cmp(&age(b)).then(a.count.cmp(&b.count))),
        _ => Some(rank(a).cmp(&rank(b)).then(a.clock.cmp(&b.clock)).then(a.count.cmp(&b.count))),
    }
}

fn merge_parts(a: CounterPart, b: CounterPart) -> CounterPart {
    match order_of_versions(&a, &b) {
        None => CounterPart { clock: a.clock.wrapping_add(b.clock), count: a.count.wrapping_add(b.count), ..a },
        Some(Ordering::Less) => b,
        Some(_) => a,
    }
}

/// Appends the value that two states come to.
pub fn merge(a: &CounterRef<'_>, b: &CounterRef<'_>, out: &mut Vec<u8>) {
    let (mut left, mut right) = (a.parts().peekable(), b.parts().peekable());
    let mut merged = Vec::with_capacity(a.part_count() + b.part_count());
    loop {
        let order = match (left.peek(), right.peek()) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => a.id.cmp(&b.id),
        };
        let from_left = if order.is_le() { left.next() } else { None };
        let from_right = if order.is_ge() { right.next() } else { None };
        merged.extend(match (from_left, from_right) {
            (Some(a), Some(b)) => Some(merge_parts(a, b)),
            (a, b) => a.or(b),
        });
    }
    write(&merged, out);
}

/// Appends the value of a state with these parts, which ascend by id.
pub fn write(parts: &[CounterPart], out: &mut Vec<u8>) {
    let count = parts.iter().fold(0_i64, |sum, part| sum.wrapping_add(part.count));
    out.extend_from_slice(&count.to_be_bytes());
    // A mark has fifteen bits for its part's index. So many nodes there are not; from bytes that say so, the others' kinds are lost.
    let mark_of = |(index, part): (usize, &CounterPart)| match (i16::try_from(index).ok()?, part.kind) {
        (index, PartKind::Global) => Some(index.wrapping_add(i16::MIN)),
        (index, PartKind::Local) => Some(index),
        (_, PartKind::Remote) => None,
    };
    let marks = parts.iter().enumerate().filter_map(mark_of);
    let marked = i16::try_from(marks.clone().count()).unwrap_or(i16::MAX);
    out.extend_from_slice(&marked.to_be_bytes());
    for mark in marks.take(usize::from(marked.unsigned_abs())) {
        out.extend_from_slice(&mark.to_be_bytes());
    }
    for part in parts {
        out.extend_from_slice(&part.id.0);
        out.extend_from_slice(&part.clock.to_be_bytes());
        out.extend_from_slice(&part.count.to_be_bytes());
    }
}

/// Appends the value of a state whose Cassandra's bytes are these, which were checked.
pub fn write_context(counter: &CounterRef<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(&counter.count().to_be_bytes());
    out.extend_from_slice(counter.context());
}

#[cfg(test)]
mod tests;
