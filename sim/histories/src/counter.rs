//! *counter*: random amounts added to a counter, and the count read by a quorum.
//!
//! An amount is of so many random bits that a count tells which amounts are in it: one that is lost, or in it twice, results in a sum that no choice of the
//! others has. Each count is judged by itself: it is the sum of all amounts that were acknowledged before the read began and of a choice of the others that
//! were sent before it ended. **Exact** for a count with up to [`OPEN_MAX`] such others. With more, the count is only held between the least and the greatest
//! sum; clients should add to another counter then.

use std::collections::BTreeMap;

use crate::statement::{as_big_integer, big_integer, integer};
use crate::{Request, Row, Way, Workload};

const ADD: &str = "UPDATE ring.counters SET n = n + ? WHERE p = ?";
const READ: &str = "SELECT n FROM ring.counters WHERE p = ?";

/// Amounts of which all choices are tried.
pub const OPEN_MAX: usize = 32;

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// To add an amount.
    Add(i64),
    /// To read the count.
    Read,
}

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// It was added.
    Done,
    /// The count; no row is zero.
    Have(i64),
}

/// A request with its answer.
pub type Operation = crate::Operation<Asked, Told>;

/// The workload.
#[derive(Debug)]
pub struct Counter;

impl Workload for Counter {
    const NAME: &'static str = "counter";
    const TABLES: &'static [&'static str] =
        &["CREATE TABLE IF NOT EXISTS ring.counters (p int PRIMARY KEY, n counter)"];
    const VALUES: u64 = 0;

    type Asked = Asked;
    type Told = Told;
    type View = ();

    fn choose((): &(), _fresh: u64, random: crate::Random<'_>) -> Asked {
        if random(2) == 0 { Asked::Read } else { Asked::Add(amount(random)) }
    }

    fn last() -> Vec<Asked> {
        vec![Asked::Read]
    }

    fn request(asked: &Asked, partition: i32) -> Request {
        match *asked {
            Asked::Add(amount) => {
                Request::new(Way::Write, ADD, vec![big_integer(amount.cast_unsigned()), integer(partition)])
            }
            Asked::Read => Request::new(Way::Read, READ, vec![integer(partition)]),
        }
    }

    fn read(asked: &Asked, rows: &[Row]) -> Result<Told, String> {
        match (asked, rows) {
            (Asked::Add(_), _) => Ok(Told::Done),
            (Asked::Read, []) => Ok(Told::Have(0)),
            (Asked::Read, [row]) => Ok(Told::Have(as_big_integer(row, 0)?.unwrap_or(0).cast_signed())),
            (Asked::Read, _) => Err(format!("{} rows of one counter", rows.len())),
        }
    }

    fn check(operations: &[Operation]) -> Vec<String> {
        let judge = |read: &Operation| match read.answer {
            crate::Answer::Told(end, Told::Have(count)) => judge(operations, count, read.start, end).err(),
            _ => None,
        };
        operations.iter().filter_map(judge).collect()
    }
}

/// An amount: neither so small that sums meet, nor so large that they wrap.
pub fn amount(random: crate::Random<'_>) -> i64 {
    (random(1 << 52)).cast_signed() - (1 << 51)
}

/// Judges a count that was read from `start` to `end`.
fn judge(operations: &[Operation], count: i64, start: u64, end: u64) -> Result<(), String> {
    let (mut due, mut open) = (0_i64, Vec::new());
    for operation in operations.iter().filter(|one| one.is_possible() && one.start <= end) {
        match operation.asked {
            Asked::Add(amount) if operation.was_told_before(start) => due = due.wrapping_add(amount),
            Asked::Add(amount) => open.push(amount),
            Asked::Read => {}
        }
    }
    explained(due, &open, count).map(drop)
}

/// The choice of `open` amounts, as bits, which has the count together with the sum that is `due`. The choice is empty where there are too many to try.
pub fn explained(due: i64, open: &[i64], count: i64) -> Result<u64, String> {
    let off = count.wrapping_sub(due);
    let found = match open.len() {
        0..=OPEN_MAX => choice_of(open, off),
        _ => {
            let sum_of = |wanted: fn(&&i64) -> bool| open.iter().filter(wanted).map(|amount| i128::from(*amount)).sum();
            let bounds: (i128, i128) = (sum_of(|amount| **amount < 0), sum_of(|amount| **amount > 0));
            (bounds.0..=bounds.1).contains(&i128::from(off)).then_some(0)
        }
    };
    found.ok_or_else(|| {
        format!("the count is {count}, off by {off} of what must be in it ({} amounts may be too)", open.len())
    })
}

/// The amounts whose sum it is, as bits; `None`: no choice of them has it. All sums of one half are met with all of the other.
fn choice_of(amounts: &[i64], sum: i64) -> Option<u64> {
    let (first, second) = amounts.split_at(amounts.len() / 2);
    let sums_of = |half: &[i64]| -> Vec<i64> {
        let of = |choice: u64| {
            let chosen = half.iter().enumerate().filter(|(index, _)| choice >> index & 1 == 1);
            chosen.fold(0_i64, |sum, (_, amount)| sum.wrapping_add(*amount))
        };
        (0..1_u64 << half.len()).map(of).collect()
    };
    let of_first: BTreeMap<i64, u64> = sums_of(first).into_iter().zip(0..).collect();
    let met = |(choice, of_second): (u64, i64)| {
        let of_first = of_first.get(&sum.wrapping_sub(of_second))?;
        Some(of_first | choice << first.len())
    };
    (0..).zip(sums_of(second)).find_map(met)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;

    fn add(amount: i64, start: u64, end: Option<u64>) -> Operation {
        let answer = end.map_or(Answer::Unknown, |end| Answer::Told(end, Told::Done));
        Operation { asked: Asked::Add(amount), start, answer }
    }

    fn holds(adds: &[Operation], count: i64, start: u64) -> bool {
        let answer = Answer::Told(start + 10, Told::Have(count));
        Counter::check(&[adds, &[Operation { asked: Asked::Read, start, answer }]].concat()).is_empty()
    }

    #[test]
    fn what_was_acknowledged_is_in_it_once() {
        let adds = [add(5, 1, Some(2)), add(70, 3, Some(4))];
        assert!(holds(&adds, 75, 100) && holds(&[], 0, 100));
        for wrong in [0, 5, 70, 80, 145, 150] {
            assert!(!holds(&adds, wrong, 100), "{wrong}");
        }
        assert!(holds(&adds, 5, 4) && holds(&adds, 75, 4), "the second was acknowledged while it was read");
    }

    #[test]
    fn what_was_not_acknowledged_is_in_it_once_or_not() {
        let adds = [add(5, 1, Some(2)), add(70, 3, None), add(-1000, 4, None)];
        for right in [5, 75, -995, -925] {
            assert!(holds(&adds, right, 100), "{right}");
        }
        for wrong in [0, 70, 10, 145, -1995] {
            assert!(!holds(&adds, wrong, 100), "{wrong}");
        }
        assert!(!holds(&[add(70, 111, None)], 70, 100), "it was sent after the answer");
        assert!(!holds(&[Operation { answer: Answer::Void, ..add(70, 1, None) }], 70, 100), "it was refused");
    }

    #[test]
    fn of_many_amounts_the_bounds_hold() {
        let mut adds = vec![add(3, 1, Some(2))];
        adds.extend((0..40).map(|number| add(if number % 2 == 0 { 10 } else { -10 }, 3, None)));
        assert!(holds(&adds, 203, 100) && holds(&adds, -197, 100));
        assert!(!holds(&adds, 204, 100) && !holds(&adds, -198, 100));
    }

    #[test]
    fn a_choice_of_thirty_two_is_found() {
        let mut state = 7_u64;
        let mut random = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) % bound
        };
        let amounts: Vec<i64> = (0..32).map(|_| amount(&mut random)).collect();
        let chosen = 0xa5c3_0f69_u64;
        let sum = amounts.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1).map(|(_, amount)| *amount).sum();
        assert_eq!(explained(0, &amounts, sum), Ok(chosen));
        assert!(explained(0, &amounts, sum + 1).is_err());
    }
}
