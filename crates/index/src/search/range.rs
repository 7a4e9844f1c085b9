//! A range of terms.

use std::ops::Bound;

/// The terms between two bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TermRange {
    /// The lower bound.
    pub from: Bound<Vec<u8>>,
    /// The upper bound.
    pub to: Bound<Vec<u8>>,
}

impl TermRange {
    /// All terms.
    pub const ALL: TermRange = TermRange { from: Bound::Unbounded, to: Bound::Unbounded };

    /// This term alone.
    pub fn equal(term: &[u8]) -> TermRange {
        TermRange { from: Bound::Included(term.to_vec()), to: Bound::Included(term.to_vec()) }
    }

    /// The terms that begin so.
    pub fn prefix(beginning: &[u8]) -> TermRange {
        // The least that is greater than all of them: without the bytes that cannot be raised.
        let raised = beginning.iter().rposition(|&byte| byte != u8::MAX);
        let to = match raised {
            None => Bound::Unbounded,
            Some(last) => {
                let mut end = beginning[..=last].to_vec();
                end[last] += 1;
                Bound::Excluded(end)
            }
        };
        TermRange { from: Bound::Included(beginning.to_vec()), to }
    }

    /// True if the term lies in it.
    pub fn contains(&self, term: &[u8]) -> bool {
        self.begins_before(term) && self.ends_after(term)
    }

    /// True if all terms from this one on are above the lower bound.
    pub(super) fn begins_before(&self, term: &[u8]) -> bool {
        match &self.from {
            Bound::Included(from) => &from[..] <= term,
            Bound::Excluded(from) => &from[..] < term,
            Bound::Unbounded => true,
        }
    }

    /// True if this term, and so all before it, are below the upper bound.
    pub(super) fn ends_after(&self, term: &[u8]) -> bool {
        match &self.to {
            Bound::Included(to) => term <= &to[..],
            Bound::Excluded(to) => term < &to[..],
            Bound::Unbounded => true,
        }
    }

    /// True if all terms that are less than this one are below the lower bound.
    pub(super) fn begins_at_or_after(&self, term: &[u8]) -> bool {
        match &self.from {
            Bound::Included(from) | Bound::Excluded(from) => term <= &from[..],
            Bound::Unbounded => false,
        }
    }

    /// True if all terms that are less than this one are below the upper bound.
    pub(super) fn ends_at_or_after(&self, term: &[u8]) -> bool {
        match &self.to {
            Bound::Included(to) | Bound::Excluded(to) => term <= &to[..],
            Bound::Unbounded => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_the_range_of_what_begins_with_it() {
        for (beginning, inside, outside) in [
            (&b"ab"[..], &[&b"ab"[..], b"ab\0", b"ab\xff\xff"][..], &[&b"aa"[..], b"ac", b"a"][..]),
            (b"a\xff", &[b"a\xff", b"a\xff\xff\xff"], &[b"a\xfe", b"b"]),
            (b"\xff\xff", &[b"\xff\xff", b"\xff\xff\x01"], &[b"\xff\xfe"]),
            (b"", &[b"", b"x"], &[]),
        ] {
            let range = TermRange::prefix(beginning);
            assert!(inside.iter().all(|term| range.contains(term)), "{beginning:?}");
            assert!(outside.iter().all(|term| !range.contains(term)), "{beginning:?}");
        }
        assert!(TermRange::equal(b"x").contains(b"x") && !TermRange::equal(b"x").contains(b"x\0"));
    }
}
