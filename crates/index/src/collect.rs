//! The builder's memory: terms and postings as rows come, sorted when a segment ends.
//!
//! Terms of at most eight bytes lie in the entry itself, the rest of longer ones in an arena. Entries are collected in runs of 4,096, each
//! sorted when it is full; the end of a segment merges the runs. So no call sorts more than a run, and an entry is compared some twelve times while it
//! is in the processor's cache, then once for each doubling of the runs. A tree was rejected: it compares as often, each time in cold memory.

mod arena;
mod entry;
mod merge;

use arena::Arena;
use entry::Entry;
use planted::{Bug, Planted};

pub(crate) use merge::Merge;

use crate::postings::Posting;

/// Entries of a run.
const RUN_ENTRIES: usize = 4096;

/// The longest term, bytes: its length is two bytes in the component.
pub(crate) const TERM_BYTES_MAX: usize = u16::MAX as usize;

/// Terms and postings of a segment.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    arena: Arena,
    /// All but the last are full and sorted.
    runs: Vec<Vec<Entry>>,
}

impl Collector {
    /// Adds a posting of a term. One call in 4,096 sorts a run, which takes some 0.2 ms; no other does more than copy.
    ///
    /// # Panics
    ///
    /// If the term has more than [`TERM_BYTES_MAX`] bytes.
    pub(crate) fn add(&mut self, term: &[u8], posting: Posting) {
        assert!(term.len() <= TERM_BYTES_MAX, "a term has at most 65,535 bytes");
        if self.runs.last().is_none_or(|run| run.len() == RUN_ENTRIES) {
            self.runs.push(Vec::with_capacity(RUN_ENTRIES));
        }
        let entry = Entry::new(term, posting, &mut self.arena);
        let run = self.runs.last_mut().expect("a run was begun");
        run.push(entry);
        if run.len() == RUN_ENTRIES {
            sort(run, &self.arena);
        }
    }

    /// True if nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The bytes that were allocated, but for some hundreds.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.arena.memory_bytes() + self.runs.len() * RUN_ENTRIES * size_of::<Entry>()
    }

    /// All that was added, by term and place.
    pub(crate) fn into_merge(mut self, planted: Planted) -> Merge {
        if let Some(run) = self.runs.last_mut() {
            if planted.is(Bug::PostingLostAtSegmentEnd) && run.len() > 1 {
                run.pop();
            }
            sort(run, &self.arena);
        }
        Merge::new(self.arena, self.runs)
    }
}

fn sort(run: &mut [Entry], arena: &Arena) {
    // Places are part of the order, so it need not be a stable sort, which takes memory.
    run.sort_unstable_by(|a, b| a.compare(b, arena));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Everything in order, by the merge.
    fn drain(collector: Collector) -> Vec<(Vec<u8>, Posting)> {
        let mut merge = collector.into_merge(Planted::NONE);
        let mut all = Vec::new();
        let mut term = Vec::new();
        while let Some((is_new, posting)) = merge.peek() {
            if is_new {
                term.clear();
                merge.push_term(&mut term);
            }
            all.push((term.clone(), posting));
            merge.advance();
        }
        all
    }

    #[test]
    fn the_merge_of_many_runs_is_what_a_sort_gives() {
        let mut collector = Collector::default();
        let mut model = BTreeSet::new();
        let mut state = 1_u64;
        for n in 0..3 * RUN_ENTRIES as u64 + 77 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Lengths about the eight bytes of a prefix, and zeros, which a prefix is filled with.
            let length = (state >> 60) as usize;
            let term = vec![(state >> 32 & 1) as u8; length];
            let posting = Posting { partition: n / 3, row: n % 3, token_head: (n / 3) as u32 };
            collector.add(&term, posting);
            model.insert((term, posting));
        }
        assert_eq!(drain(collector), model.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn memory_is_what_was_allocated() {
        let mut collector = Collector::default();
        assert_eq!((collector.memory_bytes(), collector.is_empty()), (0, true));
        let posting = Posting { partition: 0, row: 0, token_head: 0 };
        collector.add(b"short", posting);
        assert_eq!(collector.memory_bytes(), RUN_ENTRIES * 32);
        collector.add(&[7; TERM_BYTES_MAX], posting);
        assert_eq!(collector.memory_bytes(), RUN_ENTRIES * 32 + arena::CHUNK_BYTES);
        // Two of the longest lie in a chunk, since the first eight bytes of each lie elsewhere.
        collector.add(&[8; TERM_BYTES_MAX], posting);
        collector.add(&[9; TERM_BYTES_MAX], posting);
        assert_eq!(collector.memory_bytes(), RUN_ENTRIES * 32 + 2 * arena::CHUNK_BYTES);
        let terms = drain(collector).into_iter().map(|(term, _)| (term[0], term.len()));
        assert!(terms.eq([(7, TERM_BYTES_MAX), (8, TERM_BYTES_MAX), (9, TERM_BYTES_MAX), (b's', 5)]));
    }
}
