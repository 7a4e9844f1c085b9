//! The sorted runs of a segment as one sequence. Each step compares an entry once for each doubling of the runs.

use super::arena::Arena;
use super::entry::Entry;
use crate::heap;
use crate::postings::Posting;

/// Entries by term and place, one after the other.
#[derive(Debug)]
pub(crate) struct Merge {
    arena: Arena,
    runs: Vec<Vec<Entry>>,
    /// The next entry of each run that has one, and the run.
    heads: Vec<Head>,
    /// The next entry has another term than the one before it.
    is_new: bool,
}

#[derive(Debug, Clone, Copy)]
struct Head {
    entry: Entry,
    run: u32,
    next: u32,
}

impl Merge {
    pub(super) fn new(arena: Arena, runs: Vec<Vec<Entry>>) -> Merge {
        let heads = runs.iter().enumerate();
        let mut heads: Vec<Head> =
            heads.map(|(run, entries)| Head { entry: entries[0], run: run as u32, next: 1 }).collect();
        heap::heapify(&mut heads, |a, b| a.entry.compare(&b.entry, &arena).is_lt());
        Merge { arena, runs, heads, is_new: true }
    }

    /// The next entry's posting, and true if its term is another than that of the entry before.
    pub(crate) fn peek(&self) -> Option<(bool, Posting)> {
        self.heads.first().map(|head| (self.is_new, head.entry.posting()))
    }

    /// Appends the next entry's term; nothing at the end.
    pub(crate) fn push_term(&self, out: &mut Vec<u8>) {
        if let Some(head) = self.heads.first() {
            head.entry.push_term(&self.arena, out);
        }
    }

    /// Moves over the next entry.
    pub(crate) fn advance(&mut self) {
        let Merge { arena, runs, heads, is_new } = self;
        let less = |a: &Head, b: &Head| a.entry.compare(&b.entry, arena).is_lt();
        let Some(head) = heads.first_mut() else { return };
        let before = head.entry;
        match runs[head.run as usize].get(head.next as usize) {
            Some(entry) => {
                head.entry = *entry;
                head.next += 1;
                heap::settle(heads, less);
            }
            None => {
                // Its memory is not needed any more, while what is written takes some.
                runs[head.run as usize] = Vec::new();
                heap::pop(heads, less);
            }
        }
        *is_new = heads.first().is_none_or(|head| !head.entry.has_term_of(&before, arena));
    }

    /// The bytes that are still allocated for entries and terms.
    pub(crate) fn memory_bytes(&self) -> usize {
        let runs: usize = self.runs.iter().map(|run| run.capacity() * size_of::<Entry>()).sum();
        self.arena.memory_bytes() + runs
    }
}
