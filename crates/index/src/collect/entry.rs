//! A term's posting in 32 bytes.

use std::cmp::Ordering;

use super::arena::Arena;
use crate::postings::Posting;

/// The bytes of a term that lie in the entry.
const PREFIX_BYTES: usize = 8;
/// Marks a term without bytes in the arena; the rest is its length.
const SHORT: u32 = 1 << 31;

/// One term with one posting.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// The term's first eight bytes, filled with zeros, as a number.
    prefix: u64,
    partition: u64,
    row: u64,
    token_head: u32,
    /// [`SHORT`] with the length, or where in the arena the bytes after the first eight are.
    term: u32,
}

const _: () = assert!(size_of::<Entry>() == 32);

impl Entry {
    pub(super) fn new(term: &[u8], posting: Posting, arena: &mut Arena) -> Entry {
        let Posting { partition, row, token_head } = posting;
        let (prefix, term) = match term.split_first_chunk::<PREFIX_BYTES>() {
            Some((first, rest)) if !rest.is_empty() => (u64::from_be_bytes(*first), arena.push(rest)),
            _ => {
                let mut bytes = [0; PREFIX_BYTES];
                bytes[..term.len()].copy_from_slice(term);
                (u64::from_be_bytes(bytes), SHORT | term.len() as u32)
            }
        };
        Entry { prefix, partition, row, token_head, term }
    }

    pub(super) fn posting(&self) -> Posting {
        Posting { partition: self.partition, row: self.row, token_head: self.token_head }
    }

    /// Appends the term.
    pub(super) fn push_term(&self, arena: &Arena, out: &mut Vec<u8>) {
        let prefix = self.prefix.to_be_bytes();
        match self.short_len() {
            Some(length) => out.extend_from_slice(&prefix[..length]),
            None => {
                out.extend_from_slice(&prefix);
                out.extend_from_slice(arena.get(self.term));
            }
        }
    }

    /// By term, then by place.
    #[inline]
    pub(super) fn compare(&self, other: &Entry, arena: &Arena) -> Ordering {
        let by_term = self.prefix.cmp(&other.prefix).then_with(|| self.compare_rest(other, arena));
        by_term.then_with(|| (self.partition, self.row).cmp(&(other.partition, other.row)))
    }

    /// True if both have the same term.
    #[inline]
    pub(super) fn has_term_of(&self, other: &Entry, arena: &Arena) -> bool {
        self.prefix == other.prefix && self.compare_rest(other, arena).is_eq()
    }

    /// Of terms with one prefix: one that ends in it is the beginning of all longer ones, and of two such the shorter is the other's, since what
    /// fills it are zeros.
    #[inline]
    fn compare_rest(&self, other: &Entry, arena: &Arena) -> Ordering {
        match (self.short_len(), other.short_len()) {
            (Some(length), Some(other)) => length.cmp(&other),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) if self.term == other.term => Ordering::Equal,
            (None, None) => arena.get(self.term).cmp(arena.get(other.term)),
        }
    }

    #[inline]
    fn short_len(&self) -> Option<usize> {
        (self.term & SHORT != 0).then_some((self.term & !SHORT) as usize)
    }
}
