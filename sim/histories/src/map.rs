//! *map*: distinct entries put into a map column, and the map read by a quorum.

use crate::elements::{self, Seen, Sent};
use crate::statement::{big_integer, collection, integer};
use crate::{Answer, Request, Row, Way, Workload};

const PUT: &str = "UPDATE ring.maps SET m[?] = ? WHERE p = ?";
const READ: &str = "SELECT m FROM ring.maps WHERE p = ?";

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// To put an entry: a key, of which [`value_of`] is the value.
    Put(u64),
    /// To read all.
    Read,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// It was put.
    Done,
    /// The keys, as they came, each with its value.
    Have(Vec<u64>),
}

/// The value of a key. Its bytes are no key's, so that parts of entries that are mixed up are found.
pub fn value_of(key: u64) -> u64 {
    !key
}

/// The entries of the map that a read of one partition has given.
pub fn entries(rows: &[Row]) -> Result<Vec<(u64, u64)>, String> {
    let map = match rows {
        [] => None,
        [row] => row.first().and_then(Option::as_deref),
        _ => return Err(format!("{} rows of one map", rows.len())),
    };
    let values = map.map_or(Ok(Vec::new()), |bytes| collection(bytes, 2))?;
    Ok(values.chunks_exact(2).map(|entry| (entry[0], entry[1])).collect())
}

/// A request with its answer.
pub type Operation = crate::Operation<Asked, Told>;
/// All requests of a run.
pub type History = crate::History<Asked, Told>;

/// The workload.
#[derive(Debug)]
pub struct Map;

impl Workload for Map {
    const NAME: &'static str = "map";
    const TABLES: &'static [&'static str] =
        &["CREATE TABLE IF NOT EXISTS ring.maps (p int PRIMARY KEY, m map<bigint, bigint>)"];

    type Asked = Asked;
    type Told = Told;
    type View = ();

    fn choose((): &(), fresh: u64, random: crate::Random<'_>) -> Asked {
        if random(8) == 0 { Asked::Read } else { Asked::Put(fresh) }
    }

    fn last() -> Vec<Asked> {
        vec![Asked::Read]
    }

    fn request(asked: &Asked, partition: i32) -> Request {
        match *asked {
            Asked::Put(key) => {
                let values = vec![big_integer(key), big_integer(value_of(key)), integer(partition)];
                Request::new(Way::Write, PUT, values)
            }
            Asked::Read => Request::new(Way::Read, READ, vec![integer(partition)]),
        }
    }

    fn read(asked: &Asked, rows: &[Row]) -> Result<Told, String> {
        if *asked != Asked::Read {
            return Ok(Told::Done);
        }
        let keys = entries(rows)?.into_iter().map(|(key, value)| match value == value_of(key) {
            true => Ok(key),
            false => Err(format!("the value of {key} is {value:x}")),
        });
        keys.collect::<Result<_, _>>().map(Told::Have)
    }

    fn check(operations: &[Operation]) -> Vec<String> {
        let (mut sent, mut reads) = (Vec::new(), Vec::new());
        for operation in operations.iter().filter(|one| one.is_possible()) {
            let start = operation.start;
            match (operation.asked, &operation.answer) {
                (Asked::Put(element), _) => sent.push(Sent { element, start, acknowledged: operation.end() }),
                (Asked::Read, Answer::Told(end, Told::Have(elements))) => {
                    reads.push(Seen { elements: elements.clone(), start, end: *end });
                }
                (Asked::Read, _) => {}
            }
        }
        elements::check(&sent, &reads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(keys: &[u64]) -> bool {
        let told = |end, told| Answer::Told(end, told);
        let history = [
            Operation { asked: Asked::Put(1), start: 0, answer: told(1, Told::Done) },
            Operation { asked: Asked::Put(2), start: 2, answer: Answer::Unknown },
            Operation { asked: Asked::Put(3), start: 3, answer: Answer::Void },
            Operation { asked: Asked::Read, start: 5, answer: told(6, Told::Have(keys.to_vec())) },
            Operation { asked: Asked::Put(4), start: 7, answer: told(8, Told::Done) },
        ];
        Map::check(&history).is_empty()
    }

    #[test]
    fn what_was_acknowledged_is_there_and_nothing_is_invented() {
        assert!(holds(&[1]) && holds(&[1, 2]) && holds(&[2, 1]));
        assert!(!holds(&[]) && !holds(&[2]), "an acknowledged entry is lost");
        assert!(!holds(&[1, 3]) && !holds(&[1, 4]) && !holds(&[1, 9]), "refused, not sent yet, never sent");
        assert!(!holds(&[1, 1]), "a key is there twice");
    }

    #[test]
    fn entries_are_read_with_their_values() {
        let entry = |key: u64, value: u64| {
            let of = |value: u64| [&8_u32.to_be_bytes()[..], &big_integer(value)].concat();
            [of(key), of(value)].concat()
        };
        let map = |entries: &[Vec<u8>]| [&(entries.len() as u32).to_be_bytes()[..], &entries.concat()].concat();
        let read = |entries: &[Vec<u8>]| Map::read(&Asked::Read, &[vec![Some(map(entries))]]);
        assert_eq!(read(&[entry(3, value_of(3)), entry(1, value_of(1))]), Ok(Told::Have(vec![3, 1])));
        assert!(read(&[entry(3, value_of(1))]).is_err(), "another entry's value");
        assert_eq!(
            [Map::read(&Asked::Read, &[]), Map::read(&Asked::Read, &[vec![None]])],
            [Ok(Told::Have(vec![])), Ok(Told::Have(vec![]))]
        );
    }
}
