//! *wr-register*: four registers of a partition, of which a conditional batch writes some at once, and which are read at a serial level.
//!
//! The condition always holds (a column that is never written is null), so each write applies. The checker looks for a [linear order](crate::linear) of each
//! partition, and is exact, as each value is written once and only reads tell of it: a write without an answer whose values no read has shown explains
//! nothing, and is left out; one of which a value is shown took effect within [bounds](crate::bounds). So no operation is left whose moment has no end.

use crate::bounds::{Sight, Sights};
use crate::linear::{self, Move};
use crate::statement::{as_big_integer, as_integer, big_integer, check_applied, integer};
use crate::{Request, Row, Way, Workload};

/// Registers of a partition.
pub const REGISTERS: usize = 4;

const WRITE: [&str; 3] = [
    "UPDATE ring.pages SET v = ? WHERE p = ? AND c = ? IF t = null",
    "BEGIN BATCH \
     UPDATE ring.pages SET v = ? WHERE p = ? AND c = ? IF t = null; \
     UPDATE ring.pages SET v = ? WHERE p = ? AND c = ? IF t = null; \
     APPLY BATCH",
    "BEGIN BATCH \
     UPDATE ring.pages SET v = ? WHERE p = ? AND c = ? IF t = null; \
     UPDATE ring.pages SET v = ? WHERE p = ? AND c = ?; \
     UPDATE ring.pages SET v = ? WHERE p = ? AND c = ?; \
     APPLY BATCH",
];
const READ: &str = "SELECT c, v FROM ring.pages WHERE p = ?";

/// The registers of a partition.
pub type Registers = [Option<u64>; REGISTERS];

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// To write these registers, from one to three, each once.
    Write(Vec<(usize, u64)>),
    /// To read all.
    Read,
}

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// It was applied.
    Applied,
    /// The registers.
    Have(Registers),
}

/// A request with its answer.
pub type Operation = crate::Operation<Asked, Told>;

/// The workload.
#[derive(Debug)]
pub struct WrRegister;

impl Workload for WrRegister {
    const NAME: &'static str = "wr-register";
    const TABLES: &'static [&'static str] =
        &["CREATE TABLE IF NOT EXISTS ring.pages (p int, c int, v bigint, t int, PRIMARY KEY (p, c))"];
    const VALUES: u64 = REGISTERS as u64;

    type Asked = Asked;
    type Told = Told;
    type View = ();

    fn choose((): &(), fresh: u64, random: crate::Random<'_>) -> Asked {
        if random(2) == 0 {
            return Asked::Read;
        }
        let (count, first) = (1 + random(WRITE.len() as u64) as usize, random(REGISTERS as u64) as usize);
        Asked::Write((0..count).map(|more| ((first + more) % REGISTERS, fresh + more as u64)).collect())
    }

    fn last() -> Vec<Asked> {
        vec![Asked::Read]
    }

    fn finish((): &(), fresh: u64) -> Option<Asked> {
        Some(Asked::Write((0..WRITE.len()).map(|register| (register, fresh + register as u64)).collect()))
    }

    fn request(asked: &Asked, partition: i32) -> Request {
        match asked {
            Asked::Read => Request::new(Way::SerialRead, READ, vec![integer(partition)]),
            Asked::Write(pairs) => {
                let of_pair = |(register, value): &(usize, u64)| {
                    [big_integer(*value), integer(partition), integer(*register as i32)]
                };
                Request::new(Way::Conditional, WRITE[pairs.len() - 1], pairs.iter().flat_map(of_pair).collect())
            }
        }
    }

    fn read(asked: &Asked, rows: &[Row]) -> Result<Told, String> {
        if *asked != Asked::Read {
            return check_applied(asked, rows).map(|()| Told::Applied);
        }
        let mut registers = Registers::default();
        for row in rows {
            let register = usize::try_from(as_integer(row, 0)?).ok().filter(|register| *register < REGISTERS);
            let register = register.ok_or_else(|| format!("{row:?} is no register"))?;
            registers[register] = as_big_integer(row, 1)?;
        }
        Ok(Told::Have(registers))
    }

    fn check(operations: &[Operation]) -> Vec<String> {
        let mut sights = Sights::default();
        for operation in operations {
            let Some((Told::Have(registers), end)) = operation.told().zip(operation.end()) else { continue };
            for (register, value) in registers.iter().copied().enumerate() {
                sights.note(Sight { register, value, start: operation.start, end });
            }
        }
        let bounded = |operation: &Operation| {
            let bounds = match &operation.asked {
                Asked::Write(pairs) => sights.bounds(pairs),
                Asked::Read => None,
            };
            let start = bounds.map_or(0, |bounds| bounds.earliest).max(operation.start);
            let shown_by = bounds.map(|bounds| bounds.latest);
            let end = operation.end().into_iter().chain(shown_by).min()?;
            Some(Bounded { operation: operation.clone(), start, end })
        };
        let bounded: Vec<Bounded> = operations.iter().filter(|one| one.is_possible()).filter_map(bounded).collect();
        if let Some(never) = bounded.iter().find(|one| one.start > one.end) {
            return vec![format!("no moment explains what reads have shown of {:?}", never.operation)];
        }
        linear::check(&bounded).err().into_iter().collect()
    }
}

/// An operation that took effect, and the moments between which it did.
#[derive(Debug, Clone)]
struct Bounded {
    operation: Operation,
    start: u64,
    end: u64,
}

impl Move for Bounded {
    type State = Registers;

    fn start(&self) -> u64 {
        self.start
    }

    fn end(&self) -> Option<u64> {
        Some(self.end)
    }

    fn is_read(&self) -> bool {
        self.operation.asked == Asked::Read
    }

    fn asks_the_same(&self, other: &Bounded) -> bool {
        self.operation.asked == other.operation.asked
    }

    fn after(&self, before: &Registers) -> Option<Registers> {
        match (&self.operation.asked, self.operation.told()) {
            (Asked::Read, Some(Told::Have(registers))) => (registers == before).then_some(*before),
            (Asked::Read, _) => None,
            (Asked::Write(pairs), _) => {
                let mut after = *before;
                pairs.iter().for_each(|(register, value)| after[*register] = Some(*value));
                Some(after)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;

    fn write(pairs: &[(usize, u64)], start: u64, end: Option<u64>) -> Operation {
        let answer = end.map_or(Answer::Unknown, |end| Answer::Told(end, Told::Applied));
        Operation { asked: Asked::Write(pairs.to_vec()), start, answer }
    }

    fn read(registers: [u64; REGISTERS], start: u64, end: u64) -> Operation {
        let registers = registers.map(|value| (value > 0).then_some(value));
        Operation { asked: Asked::Read, start, answer: Answer::Told(end, Told::Have(registers)) }
    }

    fn holds(operations: &[Operation]) -> bool {
        WrRegister::check(operations).is_empty()
    }

    #[test]
    fn writes_are_seen_whole_and_in_an_order() {
        let writes = [write(&[(0, 1), (1, 2)], 0, Some(9)), write(&[(1, 3), (2, 4)], 1, Some(8))];
        let holds_with = |reads: &[Operation]| holds(&[&writes[..], reads].concat());
        assert!(holds_with(&[read([1, 3, 4, 0], 10, 11)]) && holds_with(&[read([1, 2, 4, 0], 10, 11)]));
        assert!(!holds_with(&[read([1, 2, 0, 0], 10, 11)]), "the second write is lost");
        assert!(!holds_with(&[read([0, 3, 4, 0], 10, 11)]), "the first write is lost");
        assert!(!holds_with(&[read([1, 0, 0, 0], 2, 3)]), "half of a write");
        assert!(holds_with(&[read([1, 2, 0, 0], 2, 3), read([1, 3, 4, 0], 4, 5)]));
        assert!(!holds_with(&[read([1, 2, 0, 0], 2, 3), read([1, 2, 4, 0], 4, 5)]), "two orders");
        assert!(!holds_with(&[read([1, 3, 4, 0], 10, 11), read([1, 2, 4, 0], 12, 13)]), "it goes back");
    }

    #[test]
    fn a_write_without_an_answer_comes_once_or_never() {
        let writes = [write(&[(0, 1)], 0, None), write(&[(0, 2)], 5, Some(6))];
        let holds_with = |reads: &[Operation]| holds(&[&writes[..], reads].concat());
        assert!(holds_with(&[read([2, 0, 0, 0], 7, 8)]), "never, or before the other");
        assert!(holds_with(&[read([2, 0, 0, 0], 7, 8), read([1, 0, 0, 0], 9, 10)]), "late");
        assert!(holds_with(&[read([1, 0, 0, 0], 1, 2), read([2, 0, 0, 0], 7, 8)]));
        let twice = [read([1, 0, 0, 0], 1, 2), read([2, 0, 0, 0], 7, 8), read([1, 0, 0, 0], 9, 10)];
        assert!(!holds_with(&twice), "it took effect twice");
        assert!(!holds(&[read([1, 0, 0, 0], 0, 1), write(&[(0, 1)], 2, None)]), "before it was sent");
        let void = Operation { answer: Answer::Void, ..write(&[(0, 1)], 0, None) };
        assert!(!holds(&[void, read([1, 0, 0, 0], 1, 2)]), "nothing was to be done");
        assert!(!holds(&[read([7, 0, 0, 0], 0, 1)]), "no client wrote it");
    }

    #[test]
    fn answers_are_read() {
        let row = |values: [Option<Vec<u8>>; 2]| values.to_vec();
        let rows = [row([Some(integer(1)), Some(big_integer(7))]), row([Some(integer(3)), None])];
        assert_eq!(WrRegister::read(&Asked::Read, &rows), Ok(Told::Have([None, Some(7), None, None])));
        assert!(WrRegister::read(&Asked::Read, &[row([Some(integer(4)), None])]).is_err());
        let write = Asked::Write(vec![(0, 1)]);
        assert_eq!(WrRegister::read(&write, &[vec![Some(vec![1])]]), Ok(Told::Applied));
        assert!(WrRegister::read(&write, &[vec![Some(vec![0])]]).is_err(), "it must apply");
    }
}
