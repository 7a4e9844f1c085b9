//! *cas-register*: two registers of a partition, written by INSERT IF NOT EXISTS, compared and set, deleted by DELETE IF EXISTS, set together by a batch,
//! and read at a serial level.
//!
//! The checker looks for a [linear order](crate::linear) of each partition. It is exact, or says that it has given up, where each value is written once:
//! what answers have shown of a value [bounds](crate::bounds) the moment of its write. A value that nothing has shown, and that nothing compares with, is as good
//! as any other such value; unanswered writes of them count as writes of the same one.

use std::collections::BTreeSet;

use crate::bounds::{Sight, Sights};
use crate::linear::{self, Move};
use crate::statement::{as_applied, as_big_integer, as_integer, big_integer, integer};
use crate::{Answer, Request, Row, Way, Workload};

const INSERT: &str = "INSERT INTO ring.registers (p, c, v) VALUES (?, ?, ?) IF NOT EXISTS";
const SET: &str = "UPDATE ring.registers SET v = ? WHERE p = ? AND c = ? IF v = ?";
const DELETE: &str = "DELETE FROM ring.registers WHERE p = ? AND c = ? IF EXISTS";
const SET_BOTH: &str = "BEGIN BATCH \
    UPDATE ring.registers SET v = ? WHERE p = ? AND c = 0 IF v = ?; \
    UPDATE ring.registers SET v = ? WHERE p = ? AND c = 1 IF v = ?; \
    APPLY BATCH";
const READ: &str = "SELECT c, v FROM ring.registers WHERE p = ?";

/// The two registers of a partition.
pub type Registers = [Option<u64>; 2];

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// To write a register that is not there.
    Insert {
        /// The register.
        register: usize,
        /// The value.
        value: u64,
    },
    /// To write a register that has a value.
    Set {
        /// The register.
        register: usize,
        /// The value that it must have.
        from: u64,
        /// The value that it gets.
        to: u64,
    },
    /// To delete a register that is there.
    Delete {
        /// The register.
        register: usize,
    },
    /// To write both.
    SetBoth {
        /// The values that they must have.
        from: [u64; 2],
        /// The values that they get.
        to: [u64; 2],
    },
    /// To read both.
    Read,
}

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// It was applied.
    Applied,
    /// It was not, and what of the registers was seen; `None`: the answer says nothing of that one.
    NotApplied([Option<Option<u64>>; 2]),
    /// The registers.
    Have(Registers),
}

/// A request with its answer.
pub type Operation = crate::Operation<Asked, Told>;
/// All requests of a run.
pub type History = crate::History<Asked, Told>;

/// The workload.
#[derive(Debug)]
pub struct CasRegister;

impl Workload for CasRegister {
    const NAME: &'static str = "cas-register";
    const TABLES: &'static [&'static str] =
        &["CREATE TABLE IF NOT EXISTS ring.registers (p int, c int, v bigint, PRIMARY KEY (p, c))"];
    const VALUES: u64 = 2;

    type Asked = Asked;
    type Told = Told;
    type View = Registers;

    fn choose(view: &Registers, fresh: u64, random: crate::Random<'_>) -> Asked {
        let register = random(2) as usize;
        match (random(10), view[register], *view) {
            (0..2, ..) => Asked::Read,
            (2, ..) => Asked::Delete { register },
            (3..6, _, [Some(first), Some(second)]) => Asked::SetBoth { from: [first, second], to: [fresh, fresh + 1] },
            (_, Some(from), _) => Asked::Set { register, from, to: fresh },
            (_, None, _) => Asked::Insert { register, value: fresh },
        }
    }

    fn last() -> Vec<Asked> {
        vec![Asked::Read]
    }

    fn finish(view: &Registers, fresh: u64) -> Option<Asked> {
        Some(match *view {
            [Some(first), Some(second)] => Asked::SetBoth { from: [first, second], to: [fresh, fresh + 1] },
            [Some(from), None] => Asked::Set { register: 0, from, to: fresh },
            [None, _] => Asked::Insert { register: 0, value: fresh },
        })
    }

    fn request(asked: &Asked, partition: i32) -> Request {
        let p = || integer(partition);
        let c = |register: usize| integer(register as i32);
        let (text, values) = match *asked {
            Asked::Insert { register, value } => (INSERT, vec![p(), c(register), big_integer(value)]),
            Asked::Set { register, from, to } => (SET, vec![big_integer(to), p(), c(register), big_integer(from)]),
            Asked::Delete { register } => (DELETE, vec![p(), c(register)]),
            Asked::SetBoth { from, to } => {
                let pairs = to.into_iter().zip(from);
                (SET_BOTH, pairs.flat_map(|(to, from)| [big_integer(to), p(), big_integer(from)]).collect())
            }
            Asked::Read => return Request::new(Way::SerialRead, READ, vec![p()]),
        };
        Request::new(Way::Conditional, text, values)
    }

    fn read(asked: &Asked, rows: &[Row]) -> Result<Told, String> {
        let unreadable = || format!("{rows:?} is no answer");
        let some = |row: &Row, column: usize| as_big_integer(row, column)?.ok_or_else(unreadable);
        let register = |row: &Row, column: usize| {
            let register = usize::try_from(as_integer(row, column)?).ok();
            register.filter(|register| *register < 2).ok_or_else(unreadable)
        };
        if *asked == Asked::Read {
            let mut registers = Registers::default();
            for row in rows {
                registers[register(row, 0)?] = Some(some(row, 1)?);
            }
            return Ok(Told::Have(registers));
        }
        if as_applied(rows)? {
            return Ok(Told::Applied);
        }
        let first = &rows[0];
        let mut seen = [None; 2];
        match *asked {
            // [applied], p, c, v
            Asked::Insert { register, .. } => seen[register] = Some(Some(some(first, 3)?)),
            // [applied], v
            Asked::Set { register, .. } => seen[register] = Some(as_big_integer(first, 1)?),
            Asked::Delete { register } => seen[register] = Some(None),
            // [applied], p, c, v of those that are there
            Asked::SetBoth { .. } => {
                seen = [Some(None); 2];
                for row in rows.iter().filter(|row| row.len() > 1) {
                    seen[register(row, 2)?] = Some(as_big_integer(row, 3)?);
                }
            }
            Asked::Read => {}
        }
        Ok(Told::NotApplied(seen))
    }

    fn learn(view: &mut Registers, asked: &Asked, told: &Told) {
        match (*told, *asked) {
            (Told::Have(registers), _) => *view = registers,
            (Told::NotApplied(seen), _) => {
                for (register, seen) in seen.into_iter().enumerate() {
                    view[register] = seen.unwrap_or(view[register]);
                }
            }
            (Told::Applied, Asked::Insert { register, value }) => view[register] = Some(value),
            (Told::Applied, Asked::Set { register, to, .. }) => view[register] = Some(to),
            (Told::Applied, Asked::Delete { register }) => view[register] = None,
            (Told::Applied, Asked::SetBoth { to, .. }) => *view = to.map(Some),
            (Told::Applied, Asked::Read) => {}
        }
    }

    fn check(operations: &[Operation]) -> Vec<String> {
        let sights = sights(operations);
        let compared: BTreeSet<(usize, u64)> = operations.iter().flat_map(|one| one.asked.compares()).collect();
        let bounded = |operation: &Operation| {
            let mut operation = *operation;
            let pairs = operation.asked.writes();
            let is_answered = !matches!(operation.answer, Answer::Unknown);
            if !matches!(operation.told(), Some(Told::NotApplied(_)))
                && let Some(bounds) = sights.bounds(&pairs)
            {
                operation.start = operation.start.max(bounds.earliest);
                let end = operation.end().map_or(bounds.latest, |end| end.min(bounds.latest));
                operation.answer = Answer::Told(end, Told::Applied);
            } else if !is_answered && pairs.iter().all(|pair| !compared.contains(pair)) {
                operation.asked = operation.asked.with_values(NOT_SHOWN);
            }
            operation
        };
        let bounded: Vec<Operation> = operations.iter().filter(|one| one.is_possible()).map(bounded).collect();
        if let Some(never) = bounded.iter().find(|one| one.end().is_some_and(|end| end < one.start)) {
            return vec![format!("no moment explains what answers have shown of {never:?}")];
        }
        linear::check(&bounded).err().into_iter().collect()
    }
}

/// A value in place of all that nothing has shown.
const NOT_SHOWN: u64 = u64::MAX;

/// All that answers say of registers.
fn sights(operations: &[Operation]) -> Sights {
    let mut sights = Sights::default();
    for operation in operations {
        let Some((told, end)) = operation.told().zip(operation.end()) else { continue };
        let mut note = |register, value| sights.note(Sight { register, value, start: operation.start, end });
        match told {
            Told::Have(registers) => registers.iter().enumerate().for_each(|(register, value)| note(register, *value)),
            Told::NotApplied(seen) => {
                let seen = seen.iter().enumerate().filter_map(|(register, seen)| Some((register, (*seen)?)));
                seen.for_each(|(register, value)| note(register, value));
            }
            Told::Applied => {
                operation.asked.compares().into_iter().for_each(|(register, value)| note(register, Some(value)));
            }
        }
    }
    sights
}

impl Asked {
    /// The values that it writes, each to a register.
    fn writes(&self) -> Vec<(usize, u64)> {
        match *self {
            Asked::Insert { register, value } | Asked::Set { register, to: value, .. } => vec![(register, value)],
            Asked::SetBoth { to, .. } => to.into_iter().enumerate().collect(),
            Asked::Delete { .. } | Asked::Read => Vec::new(),
        }
    }

    /// The values that it compares with, each with a register's.
    fn compares(&self) -> Vec<(usize, u64)> {
        match *self {
            Asked::Set { register, from, .. } => vec![(register, from)],
            Asked::SetBoth { from, .. } => from.into_iter().enumerate().collect(),
            Asked::Insert { .. } | Asked::Delete { .. } | Asked::Read => Vec::new(),
        }
    }

    /// The same with another value in place of those that it writes.
    fn with_values(self, value: u64) -> Asked {
        match self {
            Asked::Insert { register, .. } => Asked::Insert { register, value },
            Asked::Set { register, from, .. } => Asked::Set { register, from, to: value },
            Asked::SetBoth { from, .. } => Asked::SetBoth { from, to: [value; 2] },
            Asked::Delete { .. } | Asked::Read => self,
        }
    }
}

impl Move for Operation {
    type State = Registers;

    fn start(&self) -> u64 {
        self.start
    }

    fn end(&self) -> Option<u64> {
        Operation::end(self)
    }

    fn is_read(&self) -> bool {
        self.asked == Asked::Read
    }

    fn asks_the_same(&self, other: &Operation) -> bool {
        self.asked == other.asked
    }

    /// The value that it compares with is written once, and gone when it has applied.
    fn may_repeat(&self) -> bool {
        self.asked.compares().is_empty()
    }

    fn after(&self, before: &Registers) -> Option<Registers> {
        let before = *before;
        let mut changed = before;
        let applies = match self.asked {
            Asked::Read => {
                return match self.told() {
                    Some(Told::Have(registers)) => (*registers == before).then_some(before),
                    _ => Some(before),
                };
            }
            Asked::Insert { register, value } => {
                changed[register] = Some(value);
                before[register].is_none()
            }
            Asked::Set { register, from, to } => {
                changed[register] = Some(to);
                before[register] == Some(from)
            }
            Asked::Delete { register } => {
                changed[register] = None;
                before[register].is_some()
            }
            Asked::SetBoth { from, to } => {
                changed = to.map(Some);
                before == from.map(Some)
            }
        };
        match self.told() {
            Some(Told::Applied) => applies.then_some(changed),
            Some(Told::NotApplied(seen)) => {
                let is_seen = seen.iter().zip(before).all(|(seen, before)| seen.is_none_or(|seen| seen == before));
                (!applies && is_seen).then_some(before)
            }
            Some(Told::Have(_)) => None,
            None if applies => Some(changed),
            None => Some(before),
        }
    }
}

#[cfg(test)]
mod tests;
