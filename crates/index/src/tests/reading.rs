//! Pages that are there only after they were asked for, and go again.

use std::collections::VecDeque;

use sstable::{LookupError, NeedPage, PAGE_LENGTH, Pages};

use super::model::{Model, Random};
use crate::{Component, Count, Posting, TermRange, TermWalk, Union};

/// A file of which few pages are in memory.
pub(super) struct Cache<'a> {
    file: &'a [u8],
    component: &'a Component,
    resident: VecDeque<u32>,
    pages_max: usize,
    pub(super) loads: usize,
}

impl Pages for Cache<'_> {
    fn page(&self, number: u32) -> Result<&[u8], NeedPage> {
        if self.resident.contains(&number) { self.file.page(number) } else { Err(NeedPage(number)) }
    }
}

impl<'a> Cache<'a> {
    pub(super) fn new(file: &'a [u8], component: &'a Component, pages_max: usize) -> Cache<'a> {
        Cache { file, component, resident: VecDeque::new(), pages_max, loads: 0 }
    }

    /// Calls until no page is missing. Each page is loaded once it was asked for, and compared with its checksum.
    pub(super) fn run<T>(&mut self, mut call: impl FnMut(&Self) -> Result<T, LookupError>) -> T {
        loop {
            match call(self) {
                Ok(value) => return value,
                Err(LookupError::Corrupt(error)) => panic!("{error}"),
                Err(LookupError::Need(number)) => {
                    assert!(!self.resident.contains(&number), "page {number} is there");
                    assert!(
                        (number as usize) < self.file.len().div_ceil(PAGE_LENGTH),
                        "page {number} is beyond the end"
                    );
                    let page = self.file.page(number).expect("the file is in memory");
                    self.component.check_page(number, page).expect("the page is whole");
                    self.loads += 1;
                    self.resident.push_back(number);
                    if self.resident.len() > self.pages_max {
                        self.resident.pop_front();
                    }
                }
            }
        }
    }

    /// The rest of a union.
    pub(super) fn drain(&mut self, union: &mut Union) -> Vec<Posting> {
        let mut all = Vec::new();
        while let Some(posting) = self.run(|pages| union.next(pages)) {
            all.push(posting);
        }
        assert_eq!(self.run(|pages| union.next(pages)), None);
        all
    }

    /// Compares postings and count of a range.
    pub(super) fn check_range(&mut self, model: &Model, range: &TermRange) {
        let mut union = Union::new(self.component, range.clone());
        let mut opening = 0;
        while !self.run(|pages| union.open_some(pages, 1)) {
            opening += 1;
        }
        assert!(opening <= self.component.terms());
        let expected = model.union(range);
        let found = self.drain(&mut union);
        assert!(found == expected, "{range:?}: {} of {} postings", found.len(), expected.len());
        let mut count = Count::new(self.component, range.clone());
        assert_eq!(self.run(|pages| count.run(pages)), model.count(range), "{range:?}");
    }

    /// Seeks forward in steps of any length, as an intersection does.
    pub(super) fn check_seeks(&mut self, model: &Model, range: &TermRange, random: &mut Random) {
        let expected = model.union(range);
        let mut union = Union::new(self.component, range.clone());
        let mut at = 0;
        while at < expected.len() {
            let leap = [2, 200, 20_000][random.below(3) as usize];
            // Back too, which moves nothing, and beyond the end.
            let near = (at + random.below(leap) as usize).saturating_sub(1);
            let target =
                expected.get(near).copied().unwrap_or(Posting { row: u64::MAX, ..expected[expected.len() - 1] });
            match random.below(4) {
                0 => {}
                1 => {
                    union.seek_token_head(target.token_head);
                    at = at.max(expected.partition_point(|posting| posting.token_head < target.token_head));
                }
                _ => {
                    // A place that may lie between two postings.
                    let row = target.row.saturating_add(random.below(3)).saturating_sub(1);
                    union.seek(target.partition, row);
                    at = at.max(expected.partition_point(|posting| posting.place() < (target.partition, row)));
                }
            }
            assert_eq!(self.run(|pages| union.next(pages)), expected.get(at).copied(), "{range:?}");
            at += 1;
        }
        assert_eq!(self.run(|pages| union.next(pages)), None);
    }

    /// Compares all terms, by segments.
    pub(super) fn check_terms(&mut self, model: &Model) {
        let mut walk = TermWalk::new(self.component, TermRange::ALL);
        let mut found = Vec::new();
        while self.run(|pages| walk.step(pages, |term, postings| found.push((term.to_vec(), postings)))) {}
        let expected = model.segments.iter().flatten();
        let expected: Vec<_> = expected.map(|(term, postings)| (term.clone(), postings.len() as u64)).collect();
        assert!(found == expected, "{} of {} terms", found.len(), expected.len());
        assert_eq!(self.component.terms(), expected.len() as u64);
        assert_eq!(self.component.postings(), model.count(&TermRange::ALL));
        assert_eq!(self.component.segments(), model.segments.len());
    }
}
