//! The postings below a node that is being written, from which its merged list is made: one sorted run for each term or child.

use super::MERGED_POSTINGS_MAX;
use crate::heap;
use crate::postings::Posting;

/// Sorted runs, collected. With more than [`MERGED_POSTINGS_MAX`] postings there is no merged list, and none are kept.
#[derive(Debug, Default)]
pub(super) struct Runs {
    postings: Vec<Posting>,
    /// Where runs end.
    ends: Vec<usize>,
    is_over: bool,
}

impl Runs {
    /// Adds the next posting of the run.
    pub(super) fn push(&mut self, posting: Posting) {
        if self.postings.len() == MERGED_POSTINGS_MAX {
            self.give_up();
        }
        if !self.is_over {
            self.postings.push(posting);
        }
    }

    /// Ends the run.
    pub(super) fn end_run(&mut self) {
        if self.ends.last().copied().unwrap_or(0) < self.postings.len() {
            self.ends.push(self.postings.len());
        }
    }

    /// Keeps none: a child has too many alone.
    pub(super) fn give_up(&mut self) {
        *self = Runs { is_over: true, ..Runs::default() };
    }

    /// The bytes that are allocated for postings.
    pub(super) fn memory_bytes(&self) -> usize {
        self.postings.capacity() * size_of::<Posting>()
    }

    /// All postings in order, unless there are too many.
    pub(super) fn into_merge(self) -> Option<RunMerge> {
        if self.is_over {
            return None;
        }
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let mut heads: Vec<(usize, usize)> = begins.zip(self.ends.iter().copied()).collect();
        heap::heapify(&mut heads, |a, b| self.postings[a.0] < self.postings[b.0]);
        Some(RunMerge { postings: self.postings, heads, last: None })
    }
}

/// The postings of several runs, each once.
#[derive(Debug)]
pub(super) struct RunMerge {
    postings: Vec<Posting>,
    /// The rest of each run: the next posting, and the end.
    heads: Vec<(usize, usize)>,
    last: Option<Posting>,
}

impl RunMerge {
    /// The bytes that are allocated for postings.
    pub(super) fn memory_bytes(&self) -> usize {
        self.postings.capacity() * size_of::<Posting>()
    }
}

impl Iterator for RunMerge {
    type Item = Posting;

    fn next(&mut self) -> Option<Posting> {
        let RunMerge { postings, heads, last } = self;
        let less = |a: &(usize, usize), b: &(usize, usize)| postings[a.0] < postings[b.0];
        while let Some((next, end)) = heads.first_mut() {
            let posting = postings[*next];
            *next += 1;
            if next < end {
                heap::settle(heads, less);
            } else {
                heap::pop(heads, less);
            }
            if *last != Some(posting) {
                *last = Some(posting);
                return Some(posting);
            }
        }
        None
    }
}
