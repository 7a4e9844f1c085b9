//! The postings of a range, counted without a list: what the planner estimates by.

use sstable::{LookupError, Pages};

use super::TermRange;
use super::seed::Seed;
use super::walk::{Visitor, Walk};
use crate::component::{Child, Component, Place};

/// A count that goes on where a page was missing.
#[derive(Debug)]
pub struct Count {
    range: TermRange,
    /// Segments that are still to be counted, the next one last.
    seeds: Vec<Seed>,
    walk: Option<Walk>,
    sum: Sum,
}

/// Postings, of terms and of segments each for itself.
#[derive(Debug, Default)]
struct Sum(u64);

impl Visitor for Sum {
    fn child(&mut self, child: &Child) -> bool {
        self.0 = self.0.saturating_add(child.postings);
        true
    }

    fn term(&mut self, _: &[u8], postings: u64, _: Place) {
        self.0 = self.0.saturating_add(postings);
    }
}

impl Count {
    /// A count of a range of a component.
    pub fn new(component: &Component, range: TermRange) -> Count {
        let mut seeds = Seed::all_of(component, &range);
        seeds.reverse();
        Count { range, seeds, walk: None, sum: Sum::default() }
    }

    /// The count: the sum over the terms of the range and over the segments, of postings, not of rows that live. It reads at most two nodes of a level in
    /// each segment.
    ///
    /// # Errors
    ///
    /// If a page is needed, or the component is damaged.
    pub fn run(&mut self, pages: &(impl Pages + ?Sized)) -> Result<u64, LookupError> {
        loop {
            match &mut self.walk {
                Some(walk) => {
                    if !walk.step(pages, &self.range, &mut self.sum)? {
                        self.walk = None;
                    }
                }
                None => match self.seeds.pop() {
                    Some(seed) => self.walk = Some(seed.walk()),
                    None => return Ok(self.sum.0),
                },
            }
        }
    }
}
