//! All terms of a range with the numbers of their postings: for checks, and for people.

use sstable::{LookupError, Pages};

use super::TermRange;
use super::seed::Seed;
use super::walk::{Visitor, Walk};
use crate::component::{Child, Component, Place};

/// A place between the leaves of a component.
#[derive(Debug)]
pub struct TermWalk {
    range: TermRange,
    /// Segments that are still to be walked, the next one last.
    seeds: Vec<Seed>,
    walk: Option<Walk>,
}

struct Each<F>(F);

impl<F: FnMut(&[u8], u64)> Visitor for Each<F> {
    fn child(&mut self, _: &Child) -> bool {
        false
    }

    fn term(&mut self, term: &[u8], postings: u64, _: Place) {
        (self.0)(term, postings);
    }
}

impl TermWalk {
    /// A walk over a range of a component.
    pub fn new(component: &Component, range: TermRange) -> TermWalk {
        let mut seeds = Seed::all_of(component, &range);
        seeds.reverse();
        TermWalk { range, seeds, walk: None }
    }

    /// Reads the next node and gives each term in it, with its number of postings, in order; false at the end. The segments come one after the other.
    ///
    /// # Errors
    ///
    /// If a page is needed, or the component is damaged.
    pub fn step(&mut self, pages: &(impl Pages + ?Sized), each: impl FnMut(&[u8], u64)) -> Result<bool, LookupError> {
        if self.walk.is_none() {
            self.walk = self.seeds.pop().map(|seed| seed.walk());
        }
        let Some(walk) = &mut self.walk else { return Ok(false) };
        if !walk.step(pages, &self.range, &mut Each(each))? {
            self.walk = None;
        }
        Ok(true)
    }
}
