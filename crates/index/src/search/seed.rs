//! Segments as a search needs them.

use super::TermRange;
use super::walk::Walk;
use crate::component::{Component, Segment, TreeNode};
use crate::postings::Posting;

/// A segment with terms of a range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seed {
    begin: u64,
    root: TreeNode,
    /// All of its terms are above the lower bound.
    is_lower_inside: bool,
    /// All of its terms are below the upper bound.
    is_upper_inside: bool,
    /// The last posting of all its terms.
    pub(super) last: Posting,
}

impl Seed {
    fn of(segment: &Segment, range: &TermRange) -> Option<Seed> {
        let Segment { first_term, last_term, .. } = segment;
        if !range.begins_before(last_term) || !range.ends_after(first_term) {
            return None;
        }
        Some(Seed {
            begin: segment.begin,
            root: segment.root,
            is_lower_inside: range.begins_before(first_term),
            is_upper_inside: range.ends_after(last_term),
            last: segment.last,
        })
    }

    /// Those of a component, in the order of the file.
    pub(super) fn all_of(component: &Component, range: &TermRange) -> Vec<Seed> {
        component.segments.iter().filter_map(|segment| Seed::of(segment, range)).collect()
    }

    /// A walk over the segment's tree.
    pub(super) fn walk(&self) -> Walk {
        Walk::new(self.begin, self.root, self.is_lower_inside, self.is_upper_inside)
    }
}
