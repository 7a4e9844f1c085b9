//! The partitions of a range of tokens, one after the other, from where a read goes on.

use std::ops::{Bound as TokenBound, RangeBounds};

use mutation::{KeyRange, PositionRef};
use topology::Token;

use crate::memtable::Memtable;
use crate::memtable::arena::Handle;
use crate::memtable::entry;
use crate::memtable::tree::{Cursor, Key, unflip};

/// A walk over partitions in the order of tokens, then of keys.
pub(super) struct PartitionWalk<'t, 'a> {
    table: &'t Memtable,
    cursor: Cursor,
    end: TokenBound<Token>,
    /// Where the read before ended, until the first partition behind it is reached.
    resume: Option<PositionRef<'a>>,
}

/// A partition on the way.
pub(super) struct Walked<'a> {
    pub(super) token: Token,
    pub(super) handle: Handle,
    /// The row to go on behind, in the partition in which the read before ended.
    pub(super) after: Option<&'a [u8]>,
}

impl Memtable {
    /// The partitions whose tokens are between `start` and `end`, without those that `after` is past.
    pub(super) fn walk<'t, 'a>(
        &'t self,
        start: TokenBound<Token>,
        end: TokenBound<Token>,
        after: Option<PositionRef<'a>>,
    ) -> PartitionWalk<'t, 'a> {
        let resume = after.filter(|after| (start, TokenBound::Unbounded).contains(&after.token));
        let cursor = match resume {
            Some(after) => self.partitions.tree().seek(&self.arena, Key::of_partition(after.token, after.key)),
            None => self.first_partition(start),
        };
        PartitionWalk { table: self, cursor, end, resume }
    }

    /// Whether it may hold something of these partitions; of one partition this is exact.
    pub fn may_hold(&self, keys: &KeyRange<'_>) -> bool {
        match *keys {
            KeyRange::Partition { token, key } => {
                self.partitions.get(&self.arena, Key::of_partition(token, key)).is_some()
            }
            KeyRange::Tokens { .. } => !self.partitions.tree().is_empty(),
        }
    }

    /// Where the partitions from `start` on begin.
    pub(super) fn first_partition(&self, start: TokenBound<Token>) -> Cursor {
        let (tree, arena) = (self.partitions.tree(), &self.arena);
        match start {
            TokenBound::Unbounded => tree.first(arena),
            TokenBound::Included(token) => tree.seek(arena, Key::of_partition(token, &[])),
            TokenBound::Excluded(Token(i64::MAX)) => tree.end(arena),
            TokenBound::Excluded(Token(token)) => tree.seek(arena, Key::of_partition(Token(token + 1), &[])),
        }
    }
}

impl<'a> Iterator for PartitionWalk<'_, 'a> {
    type Item = Walked<'a>;

    fn next(&mut self) -> Option<Walked<'a>> {
        let arena = &self.table.arena;
        loop {
            let (prefix, handle, next) = self.cursor.next(arena)?;
            let token = Token(unflip(prefix));
            if !(TokenBound::Unbounded, self.end).contains(&token) {
                return None;
            }
            self.cursor = next;
            let resume = self.resume.take();
            match resume.filter(|after| (after.token, after.key) == (token, entry::key(arena, handle))) {
                None => return Some(Walked { token, handle, after: None }),
                Some(PositionRef { row: Some(row), .. }) => return Some(Walked { token, handle, after: Some(row) }),
                // The read is past this one as a whole.
                Some(PositionRef { row: None, .. }) => {}
            }
        }
    }
}
