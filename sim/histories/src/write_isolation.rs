//! *write-isolation*: two columns of one row written by one statement, and all rows of a partition by one batch. No read sees parts of them.
//!
//! All columns that one request writes get the same value, so a read has seen two writes at once if they differ. Exact: each read is judged by itself. Rows of
//! a batch may only be written together, and are not repaired by reads, which would write them one by one.

use crate::statement::{as_big_integer, as_integer, big_integer, integer};
use crate::{Request, Row, Way, Workload};

/// Rows of a partition that are written together.
pub const ROWS: usize = 4;
/// The row that is written alone.
const ALONE: i32 = 100;

const WRITE_ROW: &str = "UPDATE ring.pairs SET a = ?, b = ? WHERE p = ? AND c = ?";
const WRITE_ROWS: &str = "BEGIN UNLOGGED BATCH \
    INSERT INTO ring.pairs (p, c, a, b) VALUES (?, ?, ?, ?); \
    INSERT INTO ring.pairs (p, c, a, b) VALUES (?, ?, ?, ?); \
    INSERT INTO ring.pairs (p, c, a, b) VALUES (?, ?, ?, ?); \
    INSERT INTO ring.pairs (p, c, a, b) VALUES (?, ?, ?, ?); \
    APPLY BATCH";
const READ: &str = "SELECT c, a, b FROM ring.pairs WHERE p = ?";

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// To write both columns of the row that is written alone.
    WriteRow(u64),
    /// To write both columns of the other rows.
    WriteRows(u64),
    /// To read the partition.
    Read,
}

/// The two columns of a row.
pub type Pair = (Option<u64>, Option<u64>);

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// It was written.
    Done,
    /// The row that is written alone, and the others; `None` for a row that is not there.
    Have(Option<Pair>, [Option<Pair>; ROWS]),
}

/// A request with its answer.
pub type Operation = crate::Operation<Asked, Told>;

/// The workload.
#[derive(Debug)]
pub struct WriteIsolation;

impl Workload for WriteIsolation {
    const NAME: &'static str = "write-isolation";
    const TABLES: &'static [&'static str] =
        &["CREATE TABLE IF NOT EXISTS ring.pairs (p int, c int, a bigint, b bigint, \
                                               PRIMARY KEY (p, c)) WITH read_repair = 'NONE'"];

    type Asked = Asked;
    type Told = Told;
    type View = ();

    fn choose((): &(), fresh: u64, random: crate::Random<'_>) -> Asked {
        match random(4) {
            0 => Asked::WriteRow(fresh),
            1 => Asked::WriteRows(fresh),
            _ => Asked::Read,
        }
    }

    fn last() -> Vec<Asked> {
        vec![Asked::Read]
    }

    fn request(asked: &Asked, partition: i32) -> Request {
        let row = |row: i32, value: u64| [integer(partition), integer(row), big_integer(value), big_integer(value)];
        match *asked {
            Asked::WriteRow(value) => {
                let [p, c, a, b] = row(ALONE, value);
                Request::new(Way::Write, WRITE_ROW, vec![a, b, p, c])
            }
            Asked::WriteRows(value) => {
                Request::new(Way::Write, WRITE_ROWS, (0..ROWS as i32).flat_map(|number| row(number, value)).collect())
            }
            Asked::Read => Request::new(Way::Read, READ, vec![integer(partition)]),
        }
    }

    fn read(asked: &Asked, rows: &[Row]) -> Result<Told, String> {
        if *asked != Asked::Read {
            return Ok(Told::Done);
        }
        let (mut alone, mut others) = (None, [None; ROWS]);
        for row in rows {
            let place = match as_integer(row, 0)? {
                ALONE => &mut alone,
                number => {
                    let place = usize::try_from(number).ok().and_then(|number| others.get_mut(number));
                    place.ok_or_else(|| format!("no client wrote row {number}"))?
                }
            };
            if place.replace((as_big_integer(row, 1)?, as_big_integer(row, 2)?)).is_some() {
                return Err(format!("a row is there twice: {rows:?}"));
            }
        }
        Ok(Told::Have(alone, others))
    }

    fn check(operations: &[Operation]) -> Vec<String> {
        let mut violations = Vec::new();
        for operation in operations {
            let Some((Told::Have(alone, rows), end)) = operation.told().zip(operation.end()) else { continue };
            let was_sent =
                |asked: Asked| operations.iter().any(|one| one.asked == asked && one.is_possible() && one.start <= end);
            if !alone.is_none_or(|(a, b)| a == b && a.is_some_and(|value| was_sent(Asked::WriteRow(value)))) {
                violations.push(format!("a read gave {alone:?}, whose columns are written at once"));
            }
            let is_sent = |(a, b): Pair| a == b && a.is_some_and(|value| was_sent(Asked::WriteRows(value)));
            if !are_together(rows) || !rows[0].is_none_or(is_sent) {
                violations.push(format!("a read gave {rows:?}, which are written at once"));
            }
        }
        violations
    }
}

/// True if rows that are written at once, each with the same value, were read together: all have one value, or none is there.
pub fn are_together<V: PartialEq>(rows: &[Option<V>]) -> bool {
    rows.windows(2).all(|pair| pair[0] == pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;

    fn holds(alone: Option<Pair>, rows: [Option<Pair>; ROWS]) -> bool {
        let told = |end, told| Answer::Told(end, told);
        let history = [
            Operation { asked: Asked::WriteRow(1), start: 0, answer: told(1, Told::Done) },
            Operation { asked: Asked::WriteRow(2), start: 2, answer: Answer::Unknown },
            Operation { asked: Asked::WriteRows(3), start: 3, answer: told(4, Told::Done) },
            Operation { asked: Asked::WriteRows(4), start: 4, answer: Answer::Unknown },
            Operation { asked: Asked::WriteRows(5), start: 4, answer: Answer::Void },
            Operation { asked: Asked::Read, start: 7, answer: told(8, Told::Have(alone, rows)) },
            Operation { asked: Asked::WriteRow(6), start: 9, answer: told(10, Told::Done) },
        ];
        WriteIsolation::check(&history).is_empty()
    }

    fn pair(value: u64) -> Option<Pair> {
        Some((Some(value), Some(value)))
    }

    #[test]
    fn columns_of_a_row_are_seen_together() {
        assert!(holds(pair(1), [None; ROWS]) && holds(pair(2), [None; ROWS]) && holds(None, [None; ROWS]));
        assert!(!holds(Some((Some(1), Some(2))), [None; ROWS]) && !holds(Some((Some(2), None)), [None; ROWS]));
        assert!(!holds(pair(6), [None; ROWS]) && !holds(pair(3), [None; ROWS]), "no client had written it there");
    }

    #[test]
    fn rows_of_a_batch_are_seen_together() {
        assert!(holds(None, [pair(3); ROWS]) && holds(None, [pair(4); ROWS]));
        assert!(!holds(None, [pair(3), pair(3), pair(4), pair(3)]), "two batches");
        assert!(!holds(None, [pair(3), None, pair(3), pair(3)]), "a row is missing");
        assert!(!holds(None, [pair(3), pair(3), pair(3), Some((Some(3), Some(4)))]), "two batches in one row");
        assert!(!holds(None, [Some((Some(3), Some(4))); ROWS]), "two batches in each row");
        assert!(!holds(None, [Some((None, None)); ROWS]), "rows without columns");
        assert!(!holds(None, [pair(5); ROWS]), "it was refused");
    }

    #[test]
    fn statements_have_as_many_values_as_markers() {
        for asked in [Asked::WriteRow(1), Asked::WriteRows(2), Asked::Read] {
            let Request { statement, .. } = WriteIsolation::request(&asked, 3);
            assert_eq!(statement.values.len(), statement.text.matches('?').count(), "{asked:?}");
        }
    }

    #[test]
    fn answers_are_read() {
        let row = |number: i32, value: u64| vec![Some(integer(number)), Some(big_integer(value)), None];
        let has = WriteIsolation::read(&Asked::Read, &[row(1, 7), row(ALONE, 8)]);
        assert_eq!(has, Ok(Told::Have(Some((Some(8), None)), [None, Some((Some(7), None)), None, None])));
        assert!(WriteIsolation::read(&Asked::Read, &[row(5, 7)]).is_err());
        assert!(WriteIsolation::read(&Asked::Read, &[row(1, 7), row(1, 7)]).is_err());
    }
}
