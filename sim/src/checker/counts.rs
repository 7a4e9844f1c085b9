//! What must hold of counters: every amount that was acknowledged is in a count once, every other one once or not at all.

use std::collections::BTreeMap;

use crate::client::Row;
use crate::workload::{Add, History, Place, Write, read_count};

/// Judges the counters of a node that stopped at `as_of`, nanoseconds of the world.
pub fn check(history: &History, rows: &[Row], as_of: u64) -> Vec<String> {
    let mut violations = Vec::new();
    let mut found: BTreeMap<Place, i64> = BTreeMap::new();
    for row in rows {
        match read_count(row) {
            Ok((place, count)) => {
                if found.insert(place, count).is_some() {
                    violations.push(format!("the counter {place:?} is there twice"));
                }
            }
            Err(what) => violations.push(what),
        }
    }
    let places = history.counts.places();
    violations
        .extend(found.keys().filter(|place| !places.contains(place)).map(|place| format!("nobody counted {place:?}")));
    // Nothing was added by who is not there.
    let judged = places.iter().map(|place| {
        let count = found.get(place).copied().unwrap_or(0);
        history.counts.judge(*place, count, (as_of, as_of), |add| may_be_lost(history, add))
    });
    violations.extend(judged.filter_map(Result::err));
    violations
}

/// See [`History::may_be_lost`].
pub fn may_be_lost(history: &History, add: &Add) -> bool {
    let key = crate::workload::Key { partition: 0, clustering: 0 };
    history.may_be_lost(&Write { key, start: add.start, acknowledged: add.acknowledged, batch: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Counts;

    const PLACE: Place = (1, 2);

    fn row(place: Place, count: i64) -> Row {
        vec![
            Some(place.0.to_be_bytes().to_vec()),
            Some(place.1.to_be_bytes().to_vec()),
            Some(count.to_be_bytes().to_vec()),
        ]
    }

    fn add(amount: i64, start: u64, acknowledged: Option<u64>) -> Add {
        Add { place: PLACE, amount, start, acknowledged }
    }

    fn holds(adds: &[Add], rows: &[Row]) -> bool {
        let history = History { counts: Counts { adds: adds.to_vec() }, ..History::default() };
        check(&history, rows, 100).is_empty()
    }

    #[test]
    fn what_was_acknowledged_is_in_it_once() {
        let adds = [add(5, 1, Some(2)), add(70, 3, Some(4))];
        assert!(holds(&adds, &[row(PLACE, 75)]));
        for wrong in [5, 70, 80, 145, 0] {
            assert!(!holds(&adds, &[row(PLACE, wrong)]), "{wrong}");
        }
        assert!(!holds(&adds, &[]), "all of it is lost");
        assert!(!holds(&adds, &[row(PLACE, 75), row(PLACE, 75)]), "it is there twice");
        assert!(!holds(&adds, &[row(PLACE, 75), row((9, 9), 1)]), "nobody added to another");
        assert!(!holds(&adds, &[vec![None, None, None]]), "no row of counters");
    }

    #[test]
    fn what_was_not_acknowledged_is_in_it_once_or_not_at_all() {
        let adds = [add(5, 1, Some(2)), add(70, 3, None), add(1000, 4, None)];
        for right in [5, 75, 1005, 1075] {
            assert!(holds(&adds, &[row(PLACE, right)]), "{right}");
        }
        for wrong in [0, 70, 10, 145, 1080, 2005] {
            assert!(!holds(&adds, &[row(PLACE, wrong)]), "{wrong}");
        }
        assert!(holds(&[add(70, 3, None)], &[]), "it came to nothing");
        assert!(!holds(&[add(5, 1, Some(2)), add(70, 101, None)], &[row(PLACE, 75)]), "it was not sent then");
    }

    #[test]
    fn an_answer_is_judged_by_what_was_told_before() {
        let counts = Counts { adds: vec![add(5, 1, Some(2)), add(70, 3, Some(20))] };
        let judge = |count, from| counts.judge(PLACE, count, (from, 30), |_| false).is_ok();
        assert!(judge(5, 10) && judge(75, 10), "the second was not acknowledged when the question was sent");
        assert!(!judge(5, 21) && judge(75, 21));
    }

    #[test]
    fn what_came_within_a_period_of_a_cut_may_be_lost() {
        let counts = Counts { adds: vec![add(5, 1, Some(20))] };
        let history = History { counts, loss_nanos: 10, cuts: vec![25], ..History::default() };
        assert!(check(&history, &[], 100).is_empty() && check(&history, &[row(PLACE, 5)], 100).is_empty());
        assert!(!check(&history, &[row(PLACE, 10)], 100).is_empty(), "never twice");
    }
}
