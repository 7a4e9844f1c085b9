//! Writes a segment: takes the collected entries in order and makes lists, leaves and inner nodes of them, bottom up.
//!
//! One step is one entry, or one posting of a merged list. A node that is full is written at once, then its merged list posting by posting, and only then
//! its parent hears of it; so a step never waits for more than a node's bytes, and of each level one node and the postings below it are in memory.

use planted::{Bug, Planted};

use super::directory::{Segment, TreeNode};
use super::node::{Child, NodeWriter, Place, common_len};
use super::output::Output;
use super::runs::{RunMerge, Runs};
use crate::collect::Merge;
use crate::postings::{BLOCK_POSTINGS, ListWriter, Posting, Written};

/// A node of each level that is being written, and the sums for its parent's entry.
#[derive(Debug, Default)]
struct Level {
    node: NodeWriter,
    separator: Vec<u8>,
    terms: u64,
    postings: u64,
    runs: Runs,
    /// The last child of an inner node: a root with one child alone is none.
    last_child: Option<TreeNode>,
}

/// A node that is written, and whose merged list is being written.
#[derive(Debug)]
struct Closing {
    level: usize,
    separator: Vec<u8>,
    child: Child,
    merge: Option<RunMerge>,
    is_list: bool,
    /// Postings that were merged.
    merged: usize,
}

/// Writes one segment.
#[derive(Debug)]
pub(super) struct SegmentWriter {
    planted: Planted,
    merge: Merge,
    begin: u64,
    lists: ListWriter,
    levels: Vec<Level>,
    closing: Option<Closing>,
    /// The term whose postings are coming.
    term: Vec<u8>,
    is_in_term: bool,
    first_term: Option<Vec<u8>>,
    /// The last term that is in a leaf.
    last_term: Vec<u8>,
    terms: u64,
    postings: u64,
    ends: Option<(Posting, Posting)>,
}

impl SegmentWriter {
    /// A writer of what was collected, at the end of what was written.
    pub(super) fn new(merge: Merge, output: &Output, planted: Planted) -> SegmentWriter {
        SegmentWriter {
            planted,
            merge,
            begin: output.position(),
            lists: ListWriter::default(),
            levels: vec![Level::default()],
            closing: None,
            term: Vec::new(),
            is_in_term: false,
            first_term: None,
            last_term: Vec::new(),
            terms: 0,
            postings: 0,
            ends: None,
        }
    }

    /// The bytes that are allocated for entries, terms and merged lists.
    pub(super) fn memory_bytes(&self) -> usize {
        let levels: usize = self.levels.iter().map(|level| level.runs.memory_bytes()).sum();
        let closing = self.closing.as_ref().and_then(|closing| closing.merge.as_ref());
        self.merge.memory_bytes() + levels + closing.map_or(0, RunMerge::memory_bytes)
    }

    /// Does at most `budget` steps; the segment, when it is whole.
    pub(super) fn write(&mut self, budget: usize, output: &mut Output) -> Option<Segment> {
        for _ in 0..budget {
            if self.closing.is_some() {
                self.close_some(output);
                continue;
            }
            match self.merge.peek() {
                Some((is_new, posting)) if !is_new || !self.is_in_term => {
                    self.add(posting, output);
                    self.merge.advance();
                }
                Some(_) => self.finish_term(output),
                None if self.is_in_term => self.finish_term(output),
                None => {
                    if let Some(root) = self.finish_level(output) {
                        return Some(self.segment(root));
                    }
                }
            }
        }
        None
    }

    /// Adds the next posting to the term, or to a new one.
    fn add(&mut self, posting: Posting, output: &mut Output) {
        if !self.is_in_term {
            self.is_in_term = true;
            self.term.clear();
            self.merge.push_term(&mut self.term);
        }
        if self.lists.add(posting, output) {
            let leaf = &mut self.levels[0];
            leaf.postings += 1;
            leaf.runs.push(posting);
            self.postings += 1;
            let (first, last) = self.ends.unwrap_or((posting, posting));
            self.ends = Some((first.min(posting), last.max(posting)));
        }
    }

    /// Ends the term, and the leaf if it is full.
    fn finish_term(&mut self, output: &mut Output) {
        let (postings, place) = match self.lists.finish(output) {
            Written::One(posting) => (1, Place::One(posting)),
            Written::List(list) => (list.postings, Place::List(list)),
        };
        let leaf = &mut self.levels[0];
        if leaf.node.count() == 0 && self.first_term.is_some() {
            let length = common_len(&self.last_term, &self.term) + 1;
            leaf.separator.extend_from_slice(&self.term[..length]);
        }
        leaf.node.add_term(&self.term, postings, place, self.begin);
        leaf.terms += 1;
        leaf.runs.end_run();
        self.terms += 1;
        self.is_in_term = false;
        if self.first_term.is_none() {
            self.first_term = Some(self.term.clone());
        }
        std::mem::swap(&mut self.term, &mut self.last_term);
        if self.levels[0].node.is_full_leaf() {
            self.close(0, output);
        }
    }

    /// Writes the node of a level, and begins with its merged list.
    fn close(&mut self, level: usize, output: &mut Output) {
        let closed = &mut self.levels[level];
        let offset = output.position() - self.begin;
        let length = closed.node.write(&mut output.bytes);
        // The node's memory is for the next one.
        let next = Level { node: std::mem::take(&mut closed.node), ..Level::default() };
        let Level { separator, terms, postings, runs, .. } = std::mem::replace(closed, next);
        self.closing = Some(Closing {
            level,
            separator,
            child: Child { low: 0, offset, length, terms, postings, merged: None },
            merge: runs.into_merge(),
            // A leaf whose terms have one posting each is as cheap to read as its list.
            is_list: level > 0 || postings > terms,
            merged: 0,
        });
    }

    /// Merges one more posting of the node that was closed, or has its parent name it.
    fn close_some(&mut self, output: &mut Output) {
        let Some(closing) = &mut self.closing else { return };
        let parent = closing.level + 1;
        if parent == self.levels.len() {
            self.levels.push(Level::default());
        }
        let Some(merge) = &mut closing.merge else {
            self.levels[parent].runs.give_up();
            return self.name_closed(output);
        };
        let Some(posting) = merge.next() else {
            self.levels[parent].runs.end_run();
            return self.name_closed(output);
        };
        self.levels[parent].runs.push(posting);
        closing.merged += 1;
        let is_second_block = (BLOCK_POSTINGS + 1..=2 * BLOCK_POSTINGS).contains(&closing.merged);
        if closing.is_list && !(self.planted.is(Bug::MergedListMissesABlock) && is_second_block) {
            self.lists.add(posting, output);
        }
    }

    /// Adds the node that was closed to its parent, and closes that if it is full.
    fn name_closed(&mut self, output: &mut Output) {
        let Some(mut closing) = self.closing.take() else { return };
        if closing.is_list && closing.merge.is_some() {
            closing.child.merged = match self.lists.finish(output) {
                Written::List(list) => Some(list),
                // All terms are one row's: its children give it as well.
                Written::One(_) => None,
            };
        }
        let level = closing.level + 1;
        let parent = &mut self.levels[level];
        if parent.node.count() == 0 {
            parent.separator.extend_from_slice(&closing.separator);
        }
        let child = &closing.child;
        parent.node.add_child(&closing.separator, child, self.begin);
        parent.terms += child.terms;
        parent.postings += child.postings;
        parent.last_child = Some(TreeNode { offset: child.offset, length: child.length, level: closing.level as u8 });
        if parent.node.is_full_inner() {
            self.close(level, output);
        }
    }

    /// Closes the lowest level that has an open node; the root, when that is the highest.
    fn finish_level(&mut self, output: &mut Output) -> Option<TreeNode> {
        let level = self.levels.iter().position(|level| level.node.count() > 0).expect("a segment has terms");
        if level + 1 < self.levels.len() {
            self.close(level, output);
            return None;
        }
        let top = &mut self.levels[level];
        if let (1, Some(only)) = (top.node.count(), top.last_child) {
            return Some(only);
        }
        let offset = output.position() - self.begin;
        let length = top.node.write(&mut output.bytes);
        Some(TreeNode { offset, length, level: level as u8 })
    }

    fn segment(&mut self, root: TreeNode) -> Segment {
        let (first, last) = self.ends.expect("a segment has postings");
        Segment {
            begin: self.begin,
            root,
            terms: self.terms,
            postings: self.postings,
            first_term: self.first_term.take().expect("a segment has terms"),
            last_term: std::mem::take(&mut self.last_term),
            first,
            last,
        }
    }
}
