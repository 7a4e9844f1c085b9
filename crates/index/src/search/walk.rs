//! A walk over the nodes of a segment's tree that have terms of a range, in the order of the terms.
//!
//! A step reads one node. Where all terms below a child lie in the range, the visitor may take the child as it is. So a range costs two paths, and what
//! the visitor does not take.

use sstable::{LookupError, Pages};

use super::TermRange;
use crate::component::{Child, InnerReader, LeafReader, Place, Span, TreeNode};
use crate::pages;

/// Receives what lies in the range.
pub(super) trait Visitor {
    /// A child all of whose terms lie in the range; true if that is all that is wanted of it. `segment` is where the segment begins.
    fn child(&mut self, child: &Child) -> bool;
    /// A term of a node that was not taken.
    fn term(&mut self, term: &[u8], postings: u64, place: Place);
}

#[derive(Debug, Clone, Copy)]
struct Visit {
    node: TreeNode,
    /// All below it stands from here on.
    low: u64,
    is_lower_inside: bool,
    is_upper_inside: bool,
}

/// Nodes that are still to be read.
#[derive(Debug)]
pub(super) struct Walk {
    /// Where the segment begins in the file.
    begin: u64,
    /// The next one last.
    stack: Vec<Visit>,
}

impl Walk {
    pub(super) fn new(begin: u64, root: TreeNode, is_lower_inside: bool, is_upper_inside: bool) -> Walk {
        Walk { begin, stack: vec![Visit { node: root, low: 0, is_lower_inside, is_upper_inside }] }
    }

    /// Reads the next node; false if there was none. Where its page is missing nothing has changed.
    pub(super) fn step(
        &mut self,
        pages: &(impl Pages + ?Sized),
        range: &TermRange,
        visitor: &mut impl Visitor,
    ) -> Result<bool, LookupError> {
        let Some(&visit) = self.stack.last() else { return Ok(false) };
        let TreeNode { offset, length, level } = visit.node;
        let mut scratch = Vec::new();
        let bytes = pages::bytes(pages, self.begin + offset, length as usize, &mut scratch)?;
        self.stack.pop();
        let span = Span { low: visit.low, offset, segment: self.begin };
        if level == 0 {
            let leaf = LeafReader::new(bytes, span)?;
            read_leaf(leaf, &visit, range, visitor)?;
        } else {
            let below = self.stack.len();
            self.read_inner(InnerReader::new(bytes, span)?, &visit, range, visitor)?;
            self.stack[below..].reverse();
        }
        Ok(true)
    }

    fn read_inner(
        &mut self,
        mut inner: InnerReader<'_>,
        visit: &Visit,
        range: &TermRange,
        visitor: &mut impl Visitor,
    ) -> Result<(), LookupError> {
        let mut separator = Vec::new();
        let mut next = inner.next(&mut separator)?;
        let mut is_lower_inside = visit.is_lower_inside;
        while let Some(child) = next {
            next = inner.next(&mut separator)?;
            // Now it is the next child's: all terms of this one are less.
            let end = next.is_some().then_some(&separator[..]);
            let is_upper_inside = end.map_or(visit.is_upper_inside, |end| range.ends_at_or_after(end));
            if end.is_none_or(|end| !range.begins_at_or_after(end))
                && !(is_lower_inside && is_upper_inside && visitor.child(&child))
            {
                let node = TreeNode { offset: child.offset, length: child.length, level: visit.node.level - 1 };
                self.stack.push(Visit { node, low: child.low, is_lower_inside, is_upper_inside });
            }
            if let Some(end) = end {
                if !range.ends_after(end) {
                    return Ok(());
                }
                is_lower_inside = is_lower_inside || range.begins_before(end);
            }
        }
        Ok(())
    }
}

fn read_leaf(
    mut leaf: LeafReader<'_>,
    visit: &Visit,
    range: &TermRange,
    visitor: &mut impl Visitor,
) -> Result<(), LookupError> {
    let mut term = Vec::new();
    while let Some((postings, place)) = leaf.next(&mut term)? {
        if !visit.is_upper_inside && !range.ends_after(&term) {
            return Ok(());
        }
        if visit.is_lower_inside || range.begins_before(&term) {
            visitor.term(&term, postings, place);
        }
    }
    Ok(())
}
