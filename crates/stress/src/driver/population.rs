//! Which rows the operations of a run are about, one after another.
//!
//! All tasks of a run take their rows from one population, so that a sequence gives each row once however many tasks there are.

use std::sync::atomic::{AtomicU64, Ordering};

use super::settings::PopulationSettings;
use crate::distribution::Distribution;
use crate::random::mix;

/// Gives the number of the next row.
#[derive(Debug)]
pub(crate) struct Population {
    order: Order,
    taken: AtomicU64,
}

#[derive(Debug)]
enum Order {
    Sequence {
        first: u64,
        count: u64,
        wraps: bool,
    },
    Drawn {
        distribution: Distribution,
        salt: u64,
    },
    /// A workload of YCSB chooses its records by itself.
    Elsewhere,
}

impl Population {
    /// A population from its beginning. What is drawn follows from `seed`.
    pub(crate) fn new(settings: &PopulationSettings, seed: u64) -> Population {
        let order = match settings {
            PopulationSettings::Sequence { first, last, wraps } => {
                Order::Sequence { first: *first, count: last - first + 1, wraps: *wraps }
            }
            PopulationSettings::Drawn(distribution) => {
                // Neighbouring seeds must not draw neighbouring parts of one sequence.
                let salt = if distribution.is_sequence() { 0 } else { mix(seed ^ 0x2545_f491_4f6c_dd1d) };
                Order::Drawn { distribution: distribution.clone(), salt }
            }
            PopulationSettings::Requested(_) => Order::Elsewhere,
        };
        Population { order, taken: AtomicU64::new(0) }
    }

    /// The next row; none when a sequence that does not begin again has ended.
    #[inline]
    pub(crate) fn next(&self) -> Option<u64> {
        let taken = self.taken.fetch_add(1, Ordering::Relaxed);
        match &self.order {
            Order::Sequence { count, wraps: false, .. } if taken >= *count => None,
            Order::Sequence { first, count, .. } => Some(first + taken % count),
            Order::Drawn { distribution, salt } => Some(distribution.draw(taken.wrapping_add(*salt))),
            Order::Elsewhere => unreachable!("nobody asks for a row"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_gives_each_row_once_and_begins_again_or_ends() {
        let mut settings = PopulationSettings::Sequence { first: 5, last: 7, wraps: true };
        let rows = |settings: &PopulationSettings| {
            let population = Population::new(settings, 1);
            (0..5).map(|_| population.next()).collect::<Vec<_>>()
        };
        assert_eq!(rows(&settings), [5, 6, 7, 5, 6].map(Some));
        settings = PopulationSettings::Sequence { first: 5, last: 7, wraps: false };
        assert_eq!(rows(&settings), [Some(5), Some(6), Some(7), None, None]);
        settings = PopulationSettings::Drawn("seq(5..6)".parse().unwrap());
        assert_eq!(rows(&settings), [5, 6, 5, 6, 5].map(Some));
    }

    #[test]
    fn what_is_drawn_follows_from_the_seed() {
        let settings = PopulationSettings::Drawn("uniform(1..1000000)".parse().unwrap());
        let rows = |seed: u64| {
            let population = Population::new(&settings, seed);
            (0..100).map(|_| population.next().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(rows(1), rows(1));
        let (one, two) = (rows(1), rows(2));
        assert!(one.iter().filter(|row| two.contains(row)).count() < 5);
    }
}
