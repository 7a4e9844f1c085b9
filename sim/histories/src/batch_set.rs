//! *batch-set*: each element inserted into two tables, in partitions of their own, by a logged batch.
//!
//! While batches are under way a read may find one half of one. In the end each element is in both tables or in neither, and each acknowledged one is in
//! both from its answer on. The last reads tell the end: they are sent again until they agree or patience is over. Exact: each element is judged by itself.

use std::collections::BTreeSet;

use crate::elements;
pub use crate::elements::Told;
use crate::statement::{big_integer, integer};
use crate::{Request, Row, Way, Workload};

const ADD: &str = "BEGIN BATCH \
    INSERT INTO ring.left_elements (p, e) VALUES (?, ?); \
    INSERT INTO ring.right_elements (p, e) VALUES (?, ?); \
    APPLY BATCH";
const READ: [&str; 2] =
    ["SELECT e FROM ring.left_elements WHERE p = ?", "SELECT e FROM ring.right_elements WHERE p = ?"];
/// The partition of the right table is another one, so that it has other replicas.
const RIGHT_FROM: i32 = 1_000_000;

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The first.
    Left,
    /// The second.
    Right,
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// To insert an element into both tables.
    Add(u64),
    /// To read one of the tables.
    Read(Side),
    /// To read one of the tables, when nothing is under way any more.
    ReadLast(Side),
}

/// A request with its answer.
pub type Operation = crate::Operation<Asked, Told>;

/// The workload.
#[derive(Debug)]
pub struct BatchSet;

impl Workload for BatchSet {
    const NAME: &'static str = "batch-set";
    const TABLES: &'static [&'static str] = &[
        "CREATE TABLE IF NOT EXISTS ring.left_elements (p int, e bigint, PRIMARY KEY (p, e))",
        "CREATE TABLE IF NOT EXISTS ring.right_elements (p int, e bigint, PRIMARY KEY (p, e))",
    ];
    const SETTLES: bool = true;

    type Asked = Asked;
    type Told = Told;
    type View = ();

    fn choose((): &(), fresh: u64, random: crate::Random<'_>) -> Asked {
        match random(8) {
            0 => Asked::Read(Side::Left),
            1 => Asked::Read(Side::Right),
            _ => Asked::Add(fresh),
        }
    }

    fn last() -> Vec<Asked> {
        vec![Asked::ReadLast(Side::Left), Asked::ReadLast(Side::Right)]
    }

    fn request(asked: &Asked, partition: i32) -> Request {
        match *asked {
            Asked::Add(element) => {
                let of = |partition: i32| [integer(partition), big_integer(element)];
                let values = [of(partition), of(RIGHT_FROM + partition)].concat();
                Request::new(Way::Write, ADD, values)
            }
            Asked::Read(side) | Asked::ReadLast(side) => {
                let partition = if side == Side::Left { partition } else { RIGHT_FROM + partition };
                Request::new(Way::Read, READ[side as usize], vec![integer(partition)])
            }
        }
    }

    fn read(asked: &Asked, rows: &[Row]) -> Result<Told, String> {
        match asked {
            Asked::Add(_) => Ok(Told::Done),
            Asked::Read(_) | Asked::ReadLast(_) => Told::of_rows(rows),
        }
    }

    fn check(operations: &[Operation]) -> Vec<String> {
        let element = |asked: &Asked| match *asked {
            Asked::Add(element) => Some(element),
            Asked::Read(_) | Asked::ReadLast(_) => None,
        };
        let mut violations = elements::check(operations, element, Told::elements);
        let last = [Side::Left, Side::Right].map(|side| {
            let mut reads = operations.iter().rev().filter(|one| one.asked == Asked::ReadLast(side));
            reads.find_map(|one| one.told()?.elements())
        });
        if let [Some(left), Some(right)] = last {
            violations.extend(halves(left, right));
        }
        violations
    }
}

/// A sentence about elements of which one part is there and another is not.
fn halves(left: &[u64], right: &[u64]) -> Option<String> {
    let [left, right] = [left, right].map(|elements| elements.iter().collect::<BTreeSet<_>>());
    let halves: Vec<_> = left.symmetric_difference(&right).collect();
    (!halves.is_empty()).then(|| format!("elements of logged batches are in one table alone in the end: {halves:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;

    fn holds(left: &[u64], right: &[u64], meanwhile: Option<&[u64]>) -> bool {
        let read = |asked, start, elements: &[u64]| Operation {
            asked,
            start,
            answer: Answer::Told(start + 1, Told::Have(elements.to_vec())),
        };
        let mut history = vec![
            Operation { asked: Asked::Add(1), start: 0, answer: Answer::Told(1, Told::Done) },
            Operation { asked: Asked::Add(2), start: 2, answer: Answer::Unknown },
            Operation { asked: Asked::Add(3), start: 3, answer: Answer::Void },
        ];
        history.extend(meanwhile.map(|elements| read(Asked::Read(Side::Left), 5, elements)));
        history.push(read(Asked::ReadLast(Side::Left), 50, left));
        history.push(read(Asked::ReadLast(Side::Right), 52, right));
        BatchSet::check(&history).is_empty()
    }

    #[test]
    fn in_the_end_an_element_is_in_both_tables_or_in_neither() {
        assert!(holds(&[1, 2], &[1, 2], None) && holds(&[1], &[1], None));
        assert!(!holds(&[1, 2], &[1], None) && !holds(&[1], &[1, 2], None), "half of a batch");
        assert!(holds(&[1, 2], &[1, 2], Some(&[1, 2])), "it may be half done meanwhile");
        assert!(!holds(&[1], &[2], None) && !holds(&[2], &[2], None) && !holds(&[], &[], None), "one is lost");
        assert!(!holds(&[1], &[1], Some(&[2])), "from its answer on an element is in both");
        assert!(!holds(&[1, 3], &[1, 3], None) && !holds(&[1, 9], &[1, 9], None), "refused, and never sent");
    }

    #[test]
    fn both_tables_are_written_in_partitions_of_their_own() {
        let Request { statement, .. } = BatchSet::request(&Asked::Add(7), 3);
        assert_eq!(statement.values.len(), statement.text.matches('?').count());
        assert_ne!(statement.values[0], statement.values[2]);
    }
}
