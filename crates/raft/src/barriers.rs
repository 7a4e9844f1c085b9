//! Barriers: the leader asks a majority whether it still leads, before it says that something is not so.
//!
//! A barrier is passed by a round of heartbeats that began after it was asked for, at the commit index of its asking, and not before the lead entry
//! of the term is committed: till then a leader may not know of all that is. Barriers are passed in their order. Sending heartbeats and counting
//! answers is the leader's.

use std::collections::VecDeque;

use crate::entry::Index;

/// Names a barrier, as its asker chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BarrierId(pub u64);

/// A barrier that waits for a round of heartbeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Barrier {
    id: BarrierId,
    /// The commit index when it was asked for; none until the lead entry of the term is committed.
    index: Option<Index>,
    /// Heartbeats of this round or a later one confirm it.
    round: u64,
}

/// A leader's barriers, in the order in which they were asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Barriers {
    waiting: VecDeque<Barrier>,
    round: u64,
}

impl Barriers {
    /// The last round that was begun.
    pub(crate) fn round(&self) -> u64 {
        self.round
    }

    /// Begins a round for a barrier. `commit`: the commit index, if the lead entry of the term is committed.
    pub(crate) fn ask(&mut self, id: BarrierId, commit: Option<Index>) {
        self.round += 1;
        self.waiting.push_back(Barrier { id, index: commit, round: self.round });
    }

    /// Removes the barriers that are passed, once the lead entry of the term is committed. `is_confirmed`: a majority answered that round or a later
    /// one.
    pub(crate) fn pass(&mut self, commit: Index, is_confirmed: impl Fn(u64) -> bool) -> Vec<(BarrierId, Index)> {
        let passed = self.waiting.iter().take_while(|barrier| is_confirmed(barrier.round)).count();
        let passed = self.waiting.drain(..passed);
        let passed = passed.map(|barrier| (barrier.id, barrier.index.unwrap_or(commit))).collect();
        for barrier in &mut self.waiting {
            barrier.index.get_or_insert(commit);
        }
        passed
    }

    /// Removes all that wait, for a leader that leads no more.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = BarrierId> + '_ {
        self.waiting.drain(..).map(|barrier| barrier.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barriers_are_passed_in_order_at_the_commit_index_of_their_asking() {
        let mut barriers = Barriers::default();
        barriers.ask(BarrierId(7), None);
        barriers.ask(BarrierId(8), Some(Index(3)));
        barriers.ask(BarrierId(9), Some(Index(4)));
        assert_eq!(barriers.pass(Index(5), |_| false), []);
        assert_eq!(barriers.pass(Index(6), |round| round <= 2), [(BarrierId(7), Index(5)), (BarrierId(8), Index(3))]);
        assert_eq!(barriers.drain().collect::<Vec<_>>(), [BarrierId(9)]);
    }
}
