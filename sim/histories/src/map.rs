//! *map*: distinct entries put into a map column, and the map read by a quorum. The elements are the keys.

use crate::elements;
pub use crate::elements::{Asked, Told};
use crate::statement::{big_integer, integer, only_collection};
use crate::{Request, Row, Way, Workload};

const PUT: &str = "UPDATE ring.maps SET m[?] = ? WHERE p = ?";
const READ: &str = "SELECT m FROM ring.maps WHERE p = ?";

/// The value of a key. Its bytes are no key's, so that parts of entries that are mixed up are found.
pub fn value_of(key: u64) -> u64 {
    !key
}

/// The entries of the map that a read of one partition has given.
pub fn entries(rows: &[Row]) -> Result<Vec<(u64, u64)>, String> {
    let values = only_collection(rows, "map", 2)?;
    Ok(values.chunks_exact(2).map(|entry| (entry[0], entry[1])).collect())
}

/// A request with its answer.
pub type Operation = crate::Operation<Asked, Told>;

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
        if random(8) == 0 { Asked::Read } else { Asked::Add(fresh) }
    }

    fn last() -> Vec<Asked> {
        vec![Asked::Read]
    }

    fn request(asked: &Asked, partition: i32) -> Request {
        match *asked {
            Asked::Add(key) => {
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
        elements::check(operations, Asked::element, Told::elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;

    fn holds(keys: &[u64]) -> bool {
        let told = |end, told| Answer::Told(end, told);
        let history = [
            Operation { asked: Asked::Add(1), start: 0, answer: told(1, Told::Done) },
            Operation { asked: Asked::Add(2), start: 2, answer: Answer::Unknown },
            Operation { asked: Asked::Add(3), start: 3, answer: Answer::Void },
            Operation { asked: Asked::Read, start: 5, answer: told(6, Told::Have(keys.to_vec())) },
            Operation { asked: Asked::Add(4), start: 7, answer: told(8, Told::Done) },
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
