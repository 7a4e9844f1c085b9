//! *set*: distinct rows inserted into a partition, and the partition read by a quorum.

use crate::elements;
pub use crate::elements::{Asked, Told};
use crate::statement::{big_integer, integer};
use crate::{Request, Row, Way, Workload};

const INSERT: &str = "INSERT INTO ring.elements (p, e) VALUES (?, ?)";
const READ: &str = "SELECT e FROM ring.elements WHERE p = ?";

/// A request with its answer.
pub type Operation = crate::Operation<Asked, Told>;

/// The workload.
#[derive(Debug)]
pub struct Set;

impl Workload for Set {
    const NAME: &'static str = "set";
    const TABLES: &'static [&'static str] =
        &["CREATE TABLE IF NOT EXISTS ring.elements (p int, e bigint, PRIMARY KEY (p, e))"];

    type Asked = Asked;
    type Told = Told;
    type View = ();

    fn choose((): &(), fresh: u64, random: crate::Random<'_>) -> Asked {
        if random(8) == 0 { Asked::Read } else { Asked::Add(fresh) }
    }

    fn last() -> Vec<Asked> {
        vec![Asked::Read]
    }

    fn request(asked: &Asked, partition: i32) -> Request {
        match *asked {
            Asked::Add(element) => Request::new(Way::Write, INSERT, vec![integer(partition), big_integer(element)]),
            Asked::Read => Request::new(Way::Read, READ, vec![integer(partition)]),
        }
    }

    fn read(asked: &Asked, rows: &[Row]) -> Result<Told, String> {
        match asked {
            Asked::Add(_) => Ok(Told::Done),
            Asked::Read => Told::of_rows(rows),
        }
    }

    fn check(operations: &[Operation]) -> Vec<String> {
        elements::check(operations, Asked::element, Told::elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;

    fn add(element: u64, start: u64, end: Option<u64>) -> Operation {
        let answer = end.map_or(Answer::Unknown, |end| Answer::Told(end, Told::Done));
        Operation { asked: Asked::Add(element), start, answer }
    }

    fn holds(elements: &[u64], start: u64) -> bool {
        let adds = [
            add(1, 0, Some(1)),
            add(2, 2, None),
            add(3, 50, Some(60)),
            Operation { answer: Answer::Void, ..add(4, 0, None) },
        ];
        let answer = Answer::Told(start + 5, Told::Have(elements.to_vec()));
        Set::check(&[&adds[..], &[Operation { asked: Asked::Read, start, answer }]].concat()).is_empty()
    }

    #[test]
    fn what_was_acknowledged_is_there_and_nothing_is_invented() {
        assert!(holds(&[1, 2, 3], 100) && holds(&[1, 3], 100), "the second has no answer");
        assert!(!holds(&[2, 3], 100) && !holds(&[1], 100) && !holds(&[], 100), "an acknowledged one is lost");
        assert!(holds(&[1], 55) && holds(&[1, 3], 55), "the third is under way");
        assert!(!holds(&[1, 2, 3, 7], 100), "no client sent it");
        assert!(!holds(&[1, 2, 3, 4], 100), "it was refused");
        assert!(!holds(&[1, 3], 20), "it was not sent yet");
        assert!(!holds(&[1, 2, 2, 3], 100), "it is there twice");
    }

    #[test]
    fn answers_are_read() {
        let rows = [vec![Some(big_integer(5))], vec![Some(big_integer(4))]];
        assert_eq!(Set::read(&Asked::Read, &rows), Ok(Told::Have(vec![5, 4])));
        assert!(Set::read(&Asked::Read, &[vec![None]]).is_err());
    }
}
