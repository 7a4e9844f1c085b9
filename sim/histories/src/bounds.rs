//! Bounds of the moments at which writes took effect, from what reads have shown of registers whose values are each written once.
//!
//! A value is there without a break, from its write to the next one. So its write took effect before the first read that shows it was answered; and after each
//! read that does not show it began, if that was answered before another one began that shows it. Both follow for every order that explains the answers, so a
//! search within the bounds misses none; without them an unanswered write may come at so many moments that a search does not end.

use std::collections::BTreeMap;

/// A register as a request has found it, at one moment between question and answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sight {
    /// The register.
    pub register: usize,
    /// The value; `None`: it was not there.
    pub value: Option<u64>,
    /// The moment before the request was sent.
    pub start: u64,
    /// The moment of its answer.
    pub end: u64,
}

/// All that requests have found.
#[derive(Debug, Default)]
pub(crate) struct Sights {
    of_register: BTreeMap<usize, Vec<Sight>>,
    of_value: BTreeMap<(usize, u64), Shown>,
}

#[derive(Debug, Clone, Copy)]
struct Shown {
    first_end: u64,
    last_start: u64,
}

/// The moments between which a write took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub earliest: u64,
    pub latest: u64,
}

impl Sights {
    /// Takes note of a register that was found.
    pub fn note(&mut self, sight: Sight) {
        self.of_register.entry(sight.register).or_default().push(sight);
        let Some(value) = sight.value else { return };
        let first = Shown { first_end: sight.end, last_start: sight.start };
        let shown = self.of_value.entry((sight.register, value)).or_insert(first);
        shown.first_end = sight.end.min(shown.first_end);
        shown.last_start = sight.start.max(shown.last_start);
    }

    /// The bounds of the write of these values, each to a register; `None` if no request has found one of them.
    pub fn bounds(&self, pairs: &[(usize, u64)]) -> Option<Bounds> {
        let of_pair = |(register, value): &(usize, u64)| {
            let shown = self.of_value.get(&(*register, *value))?;
            let is_before = |sight: &&Sight| sight.value != Some(*value) && sight.end < shown.last_start;
            let before = self.of_register.get(register).into_iter().flatten().filter(is_before);
            let earliest = before.map(|sight| sight.start).max().unwrap_or(0);
            Some(Bounds { earliest, latest: shown.first_end })
        };
        let both = |one: Bounds, other: Bounds| Bounds {
            earliest: one.earliest.max(other.earliest),
            latest: one.latest.min(other.latest),
        };
        pairs.iter().filter_map(of_pair).reduce(both)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_bounded_by_the_reads_that_show_it_and_those_before_that_do_not() {
        let mut sights = Sights::default();
        let mut note = |value, start, end| sights.note(Sight { register: 1, value, start, end });
        note(None, 2, 5);
        note(Some(7), 8, 12);
        note(Some(7), 20, 30);
        note(Some(6), 11, 15);
        note(Some(8), 40, 50);
        let of = |register, value| sights.bounds(&[(register, value)]);
        assert_eq!(of(1, 7), Some(Bounds { earliest: 11, latest: 12 }), "the read of 6 came before that from 20 on");
        assert_eq!(of(1, 8), Some(Bounds { earliest: 20, latest: 50 }));
        assert_eq!([of(1, 9), of(0, 7)], [None, None]);
        let both = sights.bounds(&[(1, 7), (1, 6)]);
        assert_eq!(both, Some(Bounds { earliest: 11, latest: 12 }), "the tighter of each");
    }
}
