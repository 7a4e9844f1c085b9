//! Which partition an insert is about, when partitions are written in several visits.
//!
//! A partition whose first part is written waits among the others of its kind until `revisit` draws its place there; a place that is not taken
//! lets a new partition begin. So with few that wait most visits are first ones, as in cassandra-stress.

use std::sync::{Mutex, PoisonError};

use super::super::population::Population;
use super::super::settings::InsertSettings;
use super::super::target::Visit;
use crate::distribution::Distribution;
use crate::random::next_random;

/// The partitions that are not written whole.
#[derive(Debug)]
pub(crate) struct Visits {
    visits: Distribution,
    revisit: Distribution,
    waiting: Mutex<Vec<Visit>>,
}

impl Visits {
    pub(crate) fn new(insert: &InsertSettings) -> Visits {
        Visits { visits: insert.visits.clone(), revisit: insert.revisit.clone(), waiting: Mutex::default() }
    }

    /// The next visit, which nobody else makes; none when the population has ended.
    pub(crate) fn next(&self, population: &Population, random: &mut u64) -> Option<Visit> {
        if self.visits.range().1 > 1 {
            let (least, most) = self.revisit.range();
            // The places are counted from the end of the distribution: the likeliest are the last.
            let place = most - self.revisit.draw(next_random(random)) + least;
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if place <= waiting.len() as u64 {
                return Some(waiting.swap_remove(place as usize - 1));
            }
        }
        let seed = population.next()?;
        Some(Visit { seed, part: 0, parts: self.visits.draw(next_random(random)) })
    }

    /// Takes note that a visit is over: the partition waits for the next one, if there is one to make and room to wait.
    pub(crate) fn settle(&self, visit: Visit) {
        if visit.part + 1 >= visit.parts {
            return;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if (waiting.len() as u64) < self.revisit.range().1 {
            waiting.push(Visit { part: visit.part + 1, ..visit });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::settings::PopulationSettings;
    use super::*;

    fn visits(visits: &str, revisit: &str) -> Visits {
        let insert = InsertSettings {
            visits: visits.parse().unwrap(),
            revisit: revisit.parse().unwrap(),
            ..InsertSettings::default()
        };
        Visits::new(&insert)
    }

    #[test]
    fn each_partition_is_visited_as_often_as_it_is_said_and_by_one_at_a_time() {
        let visits = visits("FIXED(3)", "FIXED(1)");
        let population = Population::new(&PopulationSettings::Sequence { first: 7, last: 8, wraps: false }, 1);
        let mut random = 1;
        let first = visits.next(&population, &mut random).unwrap();
        let other = visits.next(&population, &mut random).unwrap();
        assert_eq!((first, other.seed), (Visit { seed: 7, part: 0, parts: 3 }, 8), "the first is taken");
        visits.settle(first);
        for part in 1..3 {
            let again = visits.next(&population, &mut random).unwrap();
            assert_eq!(again, Visit { seed: 7, part, parts: 3 });
            visits.settle(again);
        }
        assert_eq!(visits.next(&population, &mut random), None);
        visits.settle(other);
        assert_eq!(visits.next(&population, &mut random), Some(Visit { seed: 8, part: 1, parts: 3 }));
    }

    #[test]
    fn no_more_wait_than_there_are_places() {
        let visits = visits("FIXED(2)", "UNIFORM(1..3)");
        for seed in 0..10 {
            visits.settle(Visit { seed, part: 0, parts: 2 });
        }
        assert_eq!(visits.waiting.lock().unwrap().len(), 3);
    }
}
