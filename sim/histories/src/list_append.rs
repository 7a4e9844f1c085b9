//! *list-append*: distinct elements appended to a list by conditional statements, and the list read at a serial level.
//!
//! The condition always holds (a column that is never written is null), so each append applies. A read tells the order of all appends before it, so nothing
//! has to be searched, and the verdict is exact for any number of operations:
//!
//! - The longest list that was read has each element once, and all other lists are its beginnings.
//! - Elements come in its order, reads where the list has their length, then the acknowledged elements that no read has shown. Each is put at the earliest
//!   moment after its question and after the one before: if that is after its answer, no order fits.
//! - An append without an answer that no read has shown explains nothing, and is left out.

use std::collections::BTreeMap;

use crate::elements;
use crate::statement::{check_applied, integer, list_of_one, only_collection};
use crate::{Answer, Request, Row, Way, Workload};

const APPEND: &str = "UPDATE ring.lists SET l = l + ? WHERE p = ? IF t = null";
const READ: &str = "SELECT l FROM ring.lists WHERE p = ?";

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// To append an element.
    Append(u64),
    /// To read the list.
    Read,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// It was applied.
    Applied,
    /// The list.
    Have(Vec<u64>),
}

/// A request with its answer.
pub type Operation = crate::Operation<Asked, Told>;

/// The workload.
#[derive(Debug)]
pub struct ListAppend;

impl Workload for ListAppend {
    const NAME: &'static str = "list-append";
    const TABLES: &'static [&'static str] =
        &["CREATE TABLE IF NOT EXISTS ring.lists (p int PRIMARY KEY, l list<bigint>, t int)"];

    type Asked = Asked;
    type Told = Told;
    type View = ();

    fn choose((): &(), fresh: u64, random: crate::Random<'_>) -> Asked {
        if random(2) == 0 { Asked::Read } else { Asked::Append(fresh) }
    }

    fn last() -> Vec<Asked> {
        vec![Asked::Read]
    }

    fn finish((): &(), fresh: u64) -> Option<Asked> {
        Some(Asked::Append(fresh))
    }

    fn request(asked: &Asked, partition: i32) -> Request {
        match *asked {
            Asked::Read => Request::new(Way::SerialRead, READ, vec![integer(partition)]),
            Asked::Append(element) => {
                Request::new(Way::Conditional, APPEND, vec![list_of_one(element), integer(partition)])
            }
        }
    }

    fn read(asked: &Asked, rows: &[Row]) -> Result<Told, String> {
        match asked {
            Asked::Append(_) => check_applied(asked, rows).map(|()| Told::Applied),
            Asked::Read => only_collection(rows, "list", 1).map(Told::Have),
        }
    }

    fn check(operations: &[Operation]) -> Vec<String> {
        order(operations).err().into_iter().collect()
    }
}

impl ListAppend {
    /// Judges the history of one list by its elements alone, in whatever order: each acknowledged one is there from then on, none twice, none invented.
    pub fn check_elements(operations: &[Operation]) -> Vec<String> {
        let element = |asked: &Asked| match *asked {
            Asked::Append(element) => Some(element),
            Asked::Read => None,
        };
        elements::check(operations, element, |told| match told {
            Told::Have(list) => Some(list),
            Told::Applied => None,
        })
    }
}

/// A list that was read, with its times.
struct ListSeen<'a> {
    list: &'a [u64],
    start: u64,
    end: u64,
}

/// Puts all operations into the order that the longest list tells.
fn order(operations: &[Operation]) -> Result<(), String> {
    let seen = |operation: &'_ Operation| match (&operation.answer, operation.start) {
        (Answer::Told(end, Told::Have(list)), start) => Some((list.clone(), start, *end)),
        _ => None,
    };
    let lists: Vec<(Vec<u64>, u64, u64)> = operations.iter().filter_map(seen).collect();
    let mut reads: Vec<ListSeen<'_>> =
        lists.iter().map(|(list, start, end)| ListSeen { list, start: *start, end: *end }).collect();
    reads.sort_by_key(|seen| (seen.list.len(), seen.start));
    let longest = reads.last().map_or(&[][..], |seen| seen.list);
    if let Some(other) = reads.iter().find(|seen| !longest.starts_with(seen.list)) {
        let differs = other.list.iter().zip(longest).position(|(one, other)| one != other);
        return Err(format!("from element {differs:?} on, a read has {:?}, another one {longest:?}", other.list));
    }
    let appends: BTreeMap<u64, &Operation> = operations
        .iter()
        .filter_map(|operation| match operation.asked {
            Asked::Append(element) if operation.is_possible() => Some((element, operation)),
            _ => None,
        })
        .collect();

    let mut now = 0;
    let mut place = |what: &dyn Fn() -> String, start: u64, end: u64| {
        now = start.max(now);
        match now <= end {
            true => Ok(()),
            false => Err(format!("{} was answered at {end}, and comes after what began at {now}", what())),
        }
    };
    let mut reads = reads.iter().peekable();
    for length in 0..=longest.len() {
        while let Some(seen) = reads.next_if(|seen| seen.list.len() == length) {
            place(&|| format!("a read of {length} elements"), seen.start, seen.end)?;
        }
        let Some(element) = longest.get(length) else { break };
        if longest[..length].contains(element) {
            return Err(format!("element {element} is there twice: {longest:?}"));
        }
        let Some(append) = appends.get(element) else {
            return Err(format!("element {element} is there, and no client appended it: {longest:?}"));
        };
        place(&|| format!("element {element}, number {length}"), append.start, append.end().unwrap_or(u64::MAX))?;
    }
    let is_lost = |(element, append): &(&u64, &&Operation)| append.end().is_some() && !longest.contains(element);
    let mut unseen: Vec<(&u64, &&Operation)> = appends.iter().filter(is_lost).collect();
    unseen.sort_by_key(|(_, append)| append.start);
    for (element, append) in unseen {
        place(&|| format!("element {element}, which no read has"), append.start, append.end().unwrap_or(u64::MAX))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append(element: u64, start: u64, end: Option<u64>) -> Operation {
        let answer = end.map_or(Answer::Unknown, |end| Answer::Told(end, Told::Applied));
        Operation { asked: Asked::Append(element), start, answer }
    }

    fn read(list: &[u64], start: u64, end: u64) -> Operation {
        Operation { asked: Asked::Read, start, answer: Answer::Told(end, Told::Have(list.to_vec())) }
    }

    fn holds(operations: &[Operation]) -> bool {
        ListAppend::check(operations).is_empty()
    }

    /// Two appends that overlap, and a third one.
    fn appends() -> Vec<Operation> {
        vec![append(1, 0, Some(10)), append(2, 1, Some(9)), append(3, 20, Some(21))]
    }

    fn holds_with(reads: &[Operation]) -> bool {
        holds(&[appends(), reads.to_vec()].concat())
    }

    #[test]
    fn lists_are_beginnings_of_one_order() {
        assert!(holds(&[]) && holds(&[read(&[], 0, 1)]));
        assert!(holds_with(&[read(&[], 0, 8), read(&[2], 3, 8), read(&[2, 1], 4, 8), read(&[2, 1, 3], 22, 23)]));
        assert!(holds_with(&[read(&[1, 2], 11, 12), read(&[1, 2, 3], 22, 23)]));
        assert!(!holds_with(&[read(&[1, 2], 11, 12), read(&[2, 1, 3], 22, 23)]), "another order");
        assert!(!holds_with(&[read(&[1], 3, 4), read(&[2, 1], 11, 12)]), "no beginning");
        assert!(!holds_with(&[read(&[2, 1, 3], 22, 23), read(&[2, 1], 24, 25)]), "it goes back");
        assert!(!holds_with(&[read(&[3, 1, 2], 22, 23)]), "the order of real time is another one");
        assert!(!holds_with(&[read(&[1, 2, 3], 11, 12)]), "it was not appended yet");
    }

    #[test]
    fn elements_are_judged_without_their_order() {
        let holds_with =
            |list: &[u64]| ListAppend::check_elements(&[appends(), vec![read(list, 22, 23)]].concat()).is_empty();
        assert!(holds_with(&[3, 1, 2]) && holds_with(&[1, 2, 3]));
        assert!(!holds_with(&[1, 2]) && !holds_with(&[1, 2, 3, 3]) && !holds_with(&[1, 2, 3, 4]));
    }

    #[test]
    fn no_element_is_lost() {
        assert!(!holds_with(&[read(&[1, 3], 22, 23)]) && !holds_with(&[read(&[1, 2], 22, 23)]));
        assert!(!holds_with(&[read(&[1], 11, 12)]) && !holds_with(&[read(&[], 11, 12)]));
        assert!(holds_with(&[read(&[1], 9, 12)]), "the other one was answered while it was read");
        assert!(holds_with(&[read(&[1, 2], 11, 12)]), "the third one comes after all reads");
        assert!(holds(&appends()), "no read has shown anything");
        // The second is acknowledged before the third is sent, which the read has.
        let late = [append(1, 0, Some(1)), append(2, 2, Some(3)), append(3, 4, Some(50)), read(&[1, 3], 2, 60)];
        assert!(!holds(&late));
    }

    #[test]
    fn no_element_is_there_twice_or_invented() {
        assert!(!holds_with(&[read(&[1, 2, 1], 22, 23)]) && !holds_with(&[read(&[1, 2, 3, 3], 22, 23)]));
        assert!(!holds_with(&[read(&[1, 2, 3, 4], 22, 23)]), "no client appended it");
        let void = Operation { answer: Answer::Void, ..append(1, 0, None) };
        assert!(!holds(&[void.clone(), read(&[1], 5, 6)]) && holds(&[void, read(&[], 5, 6)]), "it was refused");
    }

    #[test]
    fn an_append_without_an_answer_comes_at_any_time_or_never() {
        let with = |reads: &[Operation]| holds(&[&[append(1, 0, None), append(2, 5, Some(6))], reads].concat());
        assert!(with(&[read(&[2], 7, 8)]) && with(&[read(&[2], 7, 8), read(&[2, 1], 90, 91)]));
        assert!(with(&[read(&[1, 2], 7, 8)]) && with(&[read(&[1], 2, 3), read(&[1, 2], 7, 8)]));
        assert!(!with(&[read(&[1], 2, 3), read(&[2], 7, 8)]), "what was read stays");
        assert!(!with(&[read(&[1], 2, 3), read(&[2, 1], 7, 8)]), "what was read stays where it is");
    }

    #[test]
    fn answers_are_read() {
        let list = [&2_u32.to_be_bytes()[..], &list_of_one(7)[4..], &list_of_one(8)[4..]].concat();
        let has = |rows: &[Row]| ListAppend::read(&Asked::Read, rows);
        assert_eq!(has(&[vec![Some(list.clone())]]), Ok(Told::Have(vec![7, 8])));
        assert_eq!([has(&[]), has(&[vec![None]])], [Ok(Told::Have(vec![])), Ok(Told::Have(vec![]))]);
        assert!(has(&[vec![Some(list[..20].to_vec())]]).is_err() && has(&[vec![None], vec![None]]).is_err());
        assert!(has(&[vec![Some([&list[..], &[0]].concat())]]).is_err(), "bytes that belong to nothing");
        assert_eq!(ListAppend::read(&Asked::Append(1), &[vec![Some(vec![1])]]), Ok(Told::Applied));
        assert!(ListAppend::read(&Asked::Append(1), &[vec![Some(vec![0])]]).is_err(), "it must apply");
    }
}
