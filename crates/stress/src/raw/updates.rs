//! Random updates of few rows, with deletions and values that expire among them, and what they must leave behind.
//!
//! All of an update follows from its number: its row, what it does, its values, its timestamp. So what a row must be at the end is what
//! the last update of it says, in whatever order a server took them.

use cql_protocol::{Consistency, Execute, QueryParams, Request, Value, ValuesBuffer, Version};

use crate::random::{below, mix};
use crate::raw::arguments::Arguments;
use crate::raw::rows::{COLUMN_COUNT, KEY_DIGITS, Rows};
use crate::raw::template::{STREAM_AT, Statement};

/// The timestamp of the first update; each has that of the one before plus 1. A time that is over, so that writes without a timestamp
/// would win.
const TIMESTAMP_FIRST: i64 = 1_000_000_000_000_000;
const TIMESTAMP_BYTES: usize = 8;
const LENGTH_BYTES: usize = 4;
/// Of so many updates the arguments say how many delete and how many expire.
const PER_MILLE: u64 = 1000;

/// What an update does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Writes a whole row.
    Insert,
    /// Writes a whole row that is over after a few seconds.
    Expiring,
    /// Deletes the row.
    Delete,
}

/// All updates of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Updates {
    seed: u64,
    first_row: u64,
    row_count: u64,
    deletes: u64,
    expiring: u64,
}

impl Updates {
    pub(crate) fn new(arguments: &Arguments) -> Updates {
        Updates {
            seed: arguments.seed,
            first_row: arguments.first,
            row_count: arguments.rows,
            deletes: u64::from(arguments.deletes),
            expiring: u64::from(arguments.expiring),
        }
    }

    /// The row that an update falls on.
    #[inline]
    pub(crate) fn row(&self, number: u64) -> u64 {
        self.first_row + below(self.hash(number), self.row_count)
    }

    /// What it does.
    #[inline]
    pub(crate) fn kind(&self, number: u64) -> Kind {
        match below(mix(self.hash(number)), PER_MILLE) {
            share if share < self.deletes => Kind::Delete,
            share if share < self.deletes + self.expiring => Kind::Expiring,
            _ => Kind::Insert,
        }
    }

    #[inline]
    fn hash(&self, number: u64) -> u64 {
        mix(mix(number) ^ self.seed)
    }

    /// For each row the number of the update whose values it has after the first `count` updates, when what expires has; `None`: the row is
    /// not there.
    pub(crate) fn outcome(&self, count: u64) -> Vec<Option<u64>> {
        let mut last = vec![None; usize::try_from(self.row_count).expect("the arguments were checked")];
        for number in 0..count {
            last[(self.row(number) - self.first_row) as usize] = Some(number);
        }
        last.into_iter().map(|number| number.filter(|number| self.kind(*number) == Kind::Insert)).collect()
    }
}

/// An EXECUTE frame of an update, to be patched.
#[derive(Debug)]
pub(crate) struct UpdateTemplate {
    frame: Vec<u8>,
    key_at: usize,
    values_at: Option<usize>,
    timestamp_at: usize,
}

impl UpdateTemplate {
    /// `INSERT … VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP ?`, with a time to live or without.
    pub(crate) fn insert(version: Version, statement: &Statement, level: Consistency, value_bytes: usize) -> Self {
        let filler = vec![0; value_bytes];
        let mut bound: Vec<&[u8]> = vec![&[b'0'; KEY_DIGITS]];
        bound.extend(vec![&filler[..]; COLUMN_COUNT]);
        bound.push(&[0; TIMESTAMP_BYTES]);
        let frame = execute(version, statement, level, &bound);
        let timestamp_at = frame.len() - TIMESTAMP_BYTES;
        let values_at = timestamp_at - LENGTH_BYTES - COLUMN_COUNT * (LENGTH_BYTES + value_bytes) + LENGTH_BYTES;
        let key_at = values_at - LENGTH_BYTES - KEY_DIGITS;
        UpdateTemplate { frame, key_at, values_at: Some(values_at), timestamp_at }
    }

    /// `DELETE FROM … USING TIMESTAMP ? WHERE key = ?`.
    pub(crate) fn delete(version: Version, statement: &Statement, level: Consistency) -> Self {
        let frame = execute(version, statement, level, &[&[0; TIMESTAMP_BYTES], &[b'0'; KEY_DIGITS]]);
        let key_at = frame.len() - KEY_DIGITS;
        let timestamp_at = key_at - LENGTH_BYTES - TIMESTAMP_BYTES;
        UpdateTemplate { frame, key_at, values_at: None, timestamp_at }
    }

    /// Appends the request of the update of that number, which falls on `row`.
    #[inline]
    pub(crate) fn append(&self, out: &mut Vec<u8>, stream: u16, rows: &Rows, row: u64, number: u64) {
        let start = out.len();
        out.extend_from_slice(&self.frame);
        let frame = &mut out[start..];
        frame[STREAM_AT..STREAM_AT + 2].copy_from_slice(&stream.to_be_bytes());
        frame[self.key_at..self.key_at + KEY_DIGITS].copy_from_slice(&Rows::key(row));
        let timestamp = (TIMESTAMP_FIRST + number.cast_signed()).to_be_bytes();
        frame[self.timestamp_at..self.timestamp_at + TIMESTAMP_BYTES].copy_from_slice(&timestamp);
        if let Some(mut at) = self.values_at {
            for value in rows.values(number) {
                frame[at..at + value.len()].copy_from_slice(value);
                at += value.len() + LENGTH_BYTES;
            }
        }
    }
}

fn execute(version: Version, statement: &Statement, level: Consistency, bound: &[&[u8]]) -> Vec<u8> {
    let mut values = ValuesBuffer::new();
    for value in bound {
        values.push(Value::Bytes(value)).expect("an update has few values");
    }
    let params = QueryParams { skip_metadata: true, values: values.values(), ..QueryParams::new(level) };
    let result_metadata_id = (version == Version::V5).then_some(&statement.result_metadata_id[..]);
    let mut frame = Vec::new();
    Request::Execute(Execute { id: &statement.id, result_metadata_id, params }).encode_frame(version, 0, &mut frame);
    frame
}

#[cfg(test)]
mod tests {
    use cql_protocol::{FrameHeader, HEADER_LENGTH};

    use super::*;

    fn updates(deletes: u64, expiring: u64) -> Updates {
        Updates { seed: 3, first_row: 10, row_count: 100, deletes, expiring }
    }

    #[test]
    fn a_row_is_what_its_last_update_left() {
        let updates = updates(100, 200);
        let outcome = updates.outcome(5000);
        for (row, left) in (10..110).zip(outcome) {
            let last = (0..5000).rev().find(|number| updates.row(*number) == row);
            let last = last.expect("each row is updated some fifty times");
            assert_eq!(left, (updates.kind(last) == Kind::Insert).then_some(last), "row {row}");
        }
    }

    #[test]
    fn shares_are_as_asked_for() {
        let updates = updates(100, 200);
        let count = |kind| (0..100_000).filter(|number| updates.kind(*number) == kind).count() as f64 / 100_000.0;
        assert!((count(Kind::Delete) - 0.1).abs() < 0.01);
        assert!((count(Kind::Expiring) - 0.2).abs() < 0.01);
        let none = self::updates(0, 0);
        assert!((0..1000).all(|number| none.kind(number) == Kind::Insert));
    }

    #[test]
    fn a_patched_update_is_the_update() {
        let rows = Rows::new(5, 34);
        let statement = Statement { id: vec![1; 16], result_metadata_id: vec![2; 16], markers: Vec::new() };
        let timestamp = (TIMESTAMP_FIRST + 4711).to_be_bytes();
        for version in [Version::V4, Version::V5] {
            let bound = |template: &UpdateTemplate| {
                let mut out = Vec::new();
                template.append(&mut out, 9, &rows, 77, 4711);
                let (head, body) = out.split_first_chunk::<HEADER_LENGTH>().unwrap();
                let header = FrameHeader::decode(head).unwrap();
                assert_eq!((header.stream, header.length as usize), (9, body.len()));
                let Request::Execute(execute) = Request::decode(&header, body).unwrap() else { panic!("an EXECUTE") };
                execute.params.values.iter().map(|value| value.bytes().unwrap().to_vec()).collect::<Vec<_>>()
            };
            let insert = bound(&UpdateTemplate::insert(version, &statement, Consistency::One, 34));
            assert_eq!(insert[0], b"0000000077");
            assert_eq!(insert[1..6], rows.values(4711).map(<[u8]>::to_vec));
            assert_eq!(insert[6], timestamp);
            let delete = bound(&UpdateTemplate::delete(version, &statement, Consistency::One));
            assert_eq!(delete, [timestamp.to_vec(), b"0000000077".to_vec()]);
        }
    }
}
