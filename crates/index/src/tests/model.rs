//! The model: for each segment a sorted map from terms to sorted postings. And what builds a component of the same history.

use std::collections::{BTreeMap, BTreeSet};

use super::planted_by_test;
use crate::{Builder, Component, Identity, Opened, Posting, TermRange, Totals};

/// Memory of merged lists: of four levels, and of a node that is closed.
const MERGING_BYTES: usize = 5 * 65_536 * size_of::<Posting>();

/// Numbers that look random and are the seed's.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Less than `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

pub(super) fn identity() -> Identity {
    Identity { table: [1; 16], index: [2; 16], definition: 3, generation: "3gx7_0z".to_owned(), data_length: 4 }
}

/// Terms and postings that were added, by segments.
#[derive(Default)]
pub(super) struct Model {
    pub(super) segments: Vec<BTreeMap<Vec<u8>, BTreeSet<Posting>>>,
}

impl Model {
    /// The postings of a range, each once.
    pub(super) fn union(&self, range: &TermRange) -> Vec<Posting> {
        let all = self.segments.iter().flatten().filter(|(term, _)| range.contains(term));
        let all: BTreeSet<Posting> = all.flat_map(|(_, postings)| postings).copied().collect();
        all.into_iter().collect()
    }

    /// The postings of a range, of each term and each segment.
    pub(super) fn count(&self, range: &TermRange) -> u64 {
        let all = self.segments.iter().flatten().filter(|(term, _)| range.contains(term));
        all.map(|(_, postings)| postings.len() as u64).sum()
    }

    pub(super) fn terms(&self) -> Vec<&[u8]> {
        self.segments.iter().flat_map(|segment| segment.keys().map(|term| &term[..])).collect()
    }
}

/// Builds a component and its model.
pub(super) struct Both {
    builder: Builder,
    model: Model,
    file: Vec<u8>,
    /// Steps a call.
    budget: usize,
    is_ended: bool,
}

impl Both {
    pub(super) fn new(budget: usize) -> Both {
        let builder = Builder::new(planted_by_test());
        Both { builder, model: Model::default(), file: Vec::new(), budget, is_ended: true }
    }

    pub(super) fn add(&mut self, term: &[u8], posting: Posting) {
        if std::mem::take(&mut self.is_ended) {
            self.model.segments.push(BTreeMap::new());
        }
        self.builder.add(term, posting);
        let segment = self.model.segments.last_mut().expect("a segment was begun");
        segment.entry(term.to_vec()).or_default().insert(posting);
    }

    pub(super) fn end_segment(&mut self) {
        // The caller takes what is ready, whenever it likes.
        let mut out = Vec::new();
        let collected = self.builder.memory_bytes();
        while !self.builder.end_segment(self.budget, &mut out) {
            self.file.append(&mut out);
            assert!(self.builder.memory_bytes() <= collected + MERGING_BYTES, "writing takes little more");
        }
        self.file.append(&mut out);
        assert_eq!(self.builder.memory_bytes(), 0);
        self.is_ended = true;
    }

    pub(super) fn finish(mut self) -> (Model, Vec<u8>) {
        self.end_segment();
        let totals = Totals { rows: 5, skipped: 6 };
        self.builder.finish(identity(), totals, &mut self.file);
        (self.model, self.file)
    }
}

/// Opens a file as a cache would: with little of its end at first.
pub(super) fn open(file: &[u8]) -> Component {
    let mut from = file.len().saturating_sub(40);
    loop {
        let opened = Component::open(&file[from..], file.len() as u64, &identity(), planted_by_test());
        match opened.expect("the component is whole") {
            Opened::Whole(component) => return component,
            Opened::Needs(offset) => {
                assert!(offset < from as u64);
                from = offset as usize;
            }
        }
    }
}
