//! The turns of this node's copies for operations: one that has failed rests, and others have theirs meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use runtime::Instant;
use topology::operations::OperationId;

/// Between two tries of a copy that failed, at first and at most.
const REST_MIN: Duration = Duration::from_millis(500);
const REST_MAX: Duration = Duration::from_secs(10);

/// The operations whose copies this node has begun.
#[derive(Default)]
pub(super) struct Tries(BTreeMap<OperationId, Try>);

struct Try {
    began: Instant,
    rest: Duration,
    /// The moment from which it may be tried again.
    due: Instant,
}

impl Tries {
    /// Forgets the operations that `is_there` is not true of.
    pub(super) fn retain(&mut self, is_there: impl Fn(OperationId) -> bool) {
        self.0.retain(|id, _| is_there(*id));
    }

    /// Those of `waiting` that may be tried now, in the order of their turns: the new ones, then those whose rest has been over for longest.
    pub(super) fn due(&self, waiting: impl IntoIterator<Item = OperationId>, now: Instant) -> Vec<OperationId> {
        let due = |id: &OperationId| self.0.get(id).map(|tried| tried.due);
        let mut all: Vec<OperationId> = waiting.into_iter().filter(|id| due(id) <= Some(now)).collect();
        all.sort_by_key(|id| (due(id), *id));
        all
    }

    /// A copy begins, for the first time or again. The moment at which it began first, with true if that is now.
    pub(super) fn begin(&mut self, id: OperationId, now: Instant) -> (Instant, bool) {
        let is_first = !self.0.contains_key(&id);
        let tried = self.0.entry(id).or_insert(Try { began: now, rest: REST_MIN, due: now });
        (tried.began, is_first)
    }

    /// It has failed: it rests, longer each time.
    pub(super) fn failed(&mut self, id: OperationId, now: Instant) {
        if let Some(tried) = self.0.get_mut(&id) {
            tried.due = now + tried.rest;
            tried.rest = (tried.rest * 2).min(REST_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [OperationId; 3] = [OperationId(1), OperationId(2), OperationId(3)];

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_copy_that_fails_lets_others_have_their_turn() {
        let mut tries = Tries::default();
        assert_eq!(tries.due(ALL, at(0)), ALL);
        assert_eq!(tries.begin(ALL[0], at(0)), (at(0), true));
        tries.failed(ALL[0], at(100));
        assert_eq!(tries.due(ALL, at(599)), ALL[1..], "the first one rests");
        assert_eq!(tries.begin(ALL[1], at(100)), (at(100), true));
        tries.failed(ALL[1], at(150));
        assert_eq!(tries.due(ALL, at(650)), [ALL[2], ALL[0], ALL[1]], "one that was not tried is first");
        assert_eq!(tries.begin(ALL[0], at(650)), (at(0), false), "it began before");
        tries.failed(ALL[0], at(700));
        assert_eq!(tries.due(ALL, at(1_699)), [ALL[2], ALL[1]], "it rests longer");
        assert_eq!(tries.due(ALL, at(1_700)), [ALL[2], ALL[1], ALL[0]]);
    }

    /// Each try takes longer than the rests.
    #[test]
    fn no_copy_starves_where_all_fail_slowly() {
        let (mut tries, mut now, mut counts) = (Tries::default(), at(0), BTreeMap::<OperationId, u32>::new());
        for _ in 0..30 {
            let id = tries.due(ALL, now)[0];
            tries.begin(id, now);
            now += 2 * REST_MAX;
            tries.failed(id, now);
            *counts.entry(id).or_default() += 1;
            now += REST_MAX;
        }
        assert_eq!(counts.into_values().collect::<Vec<_>>(), [10, 10, 10]);
    }

    #[test]
    fn an_operation_that_has_ended_is_forgotten() {
        let mut tries = Tries::default();
        tries.begin(ALL[0], at(0));
        tries.failed(ALL[0], at(0));
        tries.retain(|id| id != ALL[0]);
        assert_eq!(tries.begin(ALL[0], at(5)), (at(5), true));
    }
}
