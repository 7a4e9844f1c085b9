//! The postings of a range of terms, each once, in the order of the file.
//!
//! Segments follow each other in the file, so one is open at a time. Of an open one there are the postings that stand in leaves at the range's edges, in one
//! sorted array, and cursors over lists: of terms at the edges, and merged ones of all that lies between. A heap has the next posting of each.
//! Cursors: of two edges at most 32 of terms and 63 merged lists a level each, and as many for each child of over 65,536 postings.

use sstable::{Corrupt, LookupError, Pages};

use super::TermRange;
use super::seed::Seed;
use super::walk::{Visitor, Walk};
use crate::component::{Child, Component, Place};
use crate::heap;
use crate::postings::{ListCursor, Posting};

/// A place between the postings of a range of terms, which moves forward.
#[derive(Debug)]
pub struct Union {
    range: TermRange,
    /// Segments that were not opened, the next one last.
    seeds: Vec<Seed>,
    /// The segment that is being opened.
    walk: Option<Walk>,
    cover: Cover,
    /// The sources whose next posting is to be read.
    unread: Vec<u32>,
    /// The next posting of each other source that has one, and the source.
    heads: Vec<(Posting, u32)>,
    last: Option<Posting>,
    /// Postings before this place or token head are not wanted.
    from: (u64, u64),
    from_head: u32,
}

/// The sources of a segment.
#[derive(Debug, Default)]
struct Cover {
    /// Postings that stand in leaves, from the next one on; the last of the sources.
    single: Vec<Posting>,
    single_at: usize,
    lists: Vec<ListCursor>,
}

impl Visitor for Cover {
    fn child(&mut self, child: &Child) -> bool {
        self.lists.extend(child.merged.map(ListCursor::new));
        child.merged.is_some()
    }

    fn term(&mut self, _: &[u8], _: u64, place: Place) {
        match place {
            Place::One(posting) => self.single.push(posting),
            Place::List(list) => self.lists.push(ListCursor::new(list)),
        }
    }
}

fn is_less(a: &(Posting, u32), b: &(Posting, u32)) -> bool {
    a < b
}

impl Union {
    /// Before the first posting of a range of a component.
    pub fn new(component: &Component, range: TermRange) -> Union {
        let mut seeds = Seed::all_of(component, &range);
        seeds.reverse();
        Union {
            range,
            seeds,
            walk: None,
            cover: Cover::default(),
            unread: Vec::new(),
            heads: Vec::new(),
            last: None,
            from: (0, 0),
            from_head: 0,
        }
    }

    /// Moves forward over all postings before a place: the partition's, and the row's in it, as in [`Posting`].
    pub fn seek(&mut self, partition: u64, row: u64) {
        self.from = self.from.max((partition, row));
        self.drop_heads();
    }

    /// Moves forward over all postings with a lesser token head.
    pub fn seek_token_head(&mut self, token_head: u32) {
        self.from_head = self.from_head.max(token_head);
        self.drop_heads();
    }

    /// The posting after the place, which it moves over. The first call, and the first in each further segment, opens the segment unless
    /// [`Union::open_some`] has.
    ///
    /// # Errors
    ///
    /// If a page is needed, or the component is damaged.
    pub fn next(&mut self, pages: &(impl Pages + ?Sized)) -> Result<Option<Posting>, LookupError> {
        loop {
            while !self.open_some(pages, usize::MAX)? {}
            self.read_heads(pages)?;
            let Some((posting, source)) = heap::pop(&mut self.heads, is_less) else {
                if self.seeds.is_empty() {
                    return Ok(None);
                }
                continue;
            };
            self.unread.push(source);
            if self.last.is_some_and(|last| posting < last) {
                return Err(Corrupt::new(0, "the postings of a segment are not after those of the one before").into());
            }
            // A row may have several of the terms, and the last of a segment may be the first of the next.
            if self.last != Some(posting) && !self.is_before(&posting) {
                self.last = Some(posting);
                return Ok(Some(posting));
            }
        }
    }

    /// Opens the next segment if one is due, reading at most `nodes` nodes; true if it is open, or none is due.
    ///
    /// # Errors
    ///
    /// If a page is needed, or the component is damaged.
    pub fn open_some(&mut self, pages: &(impl Pages + ?Sized), nodes: usize) -> Result<bool, LookupError> {
        if self.walk.is_none() {
            if !self.heads.is_empty() || !self.unread.is_empty() {
                return Ok(true);
            }
            while self.seeds.last().is_some_and(|seed| self.is_before(&seed.last)) {
                self.seeds.pop();
            }
            let Some(seed) = self.seeds.pop() else { return Ok(true) };
            self.cover = Cover::default();
            self.walk = Some(seed.walk());
        }
        for _ in 0..nodes {
            let Some(walk) = &mut self.walk else { return Ok(true) };
            if !walk.step(pages, &self.range, &mut self.cover)? {
                self.walk = None;
                self.cover.single.sort_unstable();
                self.unread.extend(0..=self.cover.lists.len() as u32);
            }
        }
        Ok(self.walk.is_none())
    }

    /// Reads the next posting of each source that was moved over.
    fn read_heads(&mut self, pages: &(impl Pages + ?Sized)) -> Result<(), LookupError> {
        let (from, from_head) = (self.from, self.from_head);
        let is_before = |posting: &Posting| posting.place() < from || posting.token_head < from_head;
        while let Some(&source) = self.unread.last() {
            let next = match self.cover.lists.get_mut(source as usize) {
                Some(list) => match list.next(pages)? {
                    // What was read is not wanted, so nothing is lost if a page is missing.
                    Some(posting) if is_before(&posting) => {
                        list.seek(pages, is_before)?;
                        continue;
                    }
                    next => next,
                },
                None => {
                    let Cover { single, single_at, .. } = &mut self.cover;
                    *single_at += single[*single_at..].partition_point(is_before);
                    *single_at += 1;
                    single.get(*single_at - 1).copied()
                }
            };
            self.unread.pop();
            if let Some(posting) = next {
                heap::push(&mut self.heads, (posting, source), is_less);
            }
        }
        Ok(())
    }

    /// Has the sources whose next posting is not wanted read again.
    fn drop_heads(&mut self) {
        while self.heads.first().is_some_and(|(posting, _)| self.is_before(posting)) {
            let (_, source) = heap::pop(&mut self.heads, is_less).expect("the heap has a first");
            self.unread.push(source);
        }
    }

    fn is_before(&self, posting: &Posting) -> bool {
        posting.place() < self.from || posting.token_head < self.from_head
    }
}
