//! Operations that are all one statement of one's own, with other values for each row.

use cql_protocol::{Execute, HEADER_LENGTH, QueryParams, Request, ResultBody, Rows, Value, ValuesBuffer, Version};

use crate::StressError;
use crate::raw::arguments::{Arguments, Expect, PAGE_ROWS};
use crate::raw::bind::{Bind, Letters};
use crate::raw::template::{STREAM_AT, Statement};

/// Where a header has the body's length.
const LENGTH_AT: usize = HEADER_LENGTH - 4;
/// Bytes of the page size, which stand behind the values.
const TAIL_BYTES: usize = 4;

/// The requests of a statement, and the replies that they must get.
#[derive(Debug)]
pub(crate) struct StatementPlan {
    /// A request up to its first value.
    head: Vec<u8>,
    binds: Vec<Bind>,
    /// What stands behind the last.
    tail: Vec<u8>,
    letters: Letters,
    expect: Option<Expect>,
    pub(crate) is_read: bool,
}

impl StatementPlan {
    /// Refuses binds that are not one for each marker, of its type.
    pub(crate) fn new(arguments: &Arguments, statement: &Statement) -> Result<StatementPlan, StressError> {
        let (markers, binds) = (&statement.markers, &arguments.bind);
        if markers.len() != binds.len() {
            let (markers, binds) = (markers.len(), binds.len());
            let reason = format!("the statement has {markers} bind markers, but --bind is given {binds} times");
            return Err(StressError::Arguments { reason });
        }
        let binds = binds.iter().zip(markers).map(|(text, ty)| Bind::new(text, ty)).collect::<Result<Vec<_>, _>>()?;
        let text = arguments.statement.as_deref().unwrap_or_default();
        let (head, tail) = frame(arguments, statement, binds.len());
        Ok(StatementPlan {
            head,
            binds,
            tail,
            letters: Letters::new(arguments.seed),
            expect: arguments.expect,
            is_read: text.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("select")),
        })
    }

    /// Appends the request for a row.
    #[inline]
    pub(crate) fn append(&self, out: &mut Vec<u8>, stream: u16, row: u64) {
        let start = out.len();
        out.extend_from_slice(&self.head);
        for bind in &self.binds {
            bind.append(out, &self.letters, row);
        }
        out.extend_from_slice(&self.tail);
        let frame = &mut out[start..];
        let length = (frame.len() - HEADER_LENGTH) as u32;
        frame[STREAM_AT..STREAM_AT + 2].copy_from_slice(&stream.to_be_bytes());
        frame[LENGTH_AT..LENGTH_AT + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// What is wrong with a result, if anything is.
    pub(crate) fn fault(&self, result: &ResultBody<'_>) -> Option<String> {
        match (self.expect?, result) {
            (Expect::Rows(count), ResultBody::Rows(rows)) if rows.row_count as u64 == count => None,
            (Expect::Rows(0), ResultBody::Void) => None,
            (Expect::Rows(count), ResultBody::Rows(rows)) => {
                Some(format!("got {} rows, expected {count}", rows.row_count))
            }
            (Expect::Applied, ResultBody::Rows(rows)) if is_applied(rows) => None,
            (Expect::Applied, ResultBody::Rows(_)) => Some("the statement was not applied".to_owned()),
            _ => Some("the reply has no rows".to_owned()),
        }
    }
}

/// Whether the first value of a conditional statement's result is true.
fn is_applied(rows: &Rows<'_>) -> bool {
    rows.iter().next().and_then(|mut row| row.next()) == Some(Some(&[1][..]))
}

/// A request without its values: what is in front of them and what is behind.
fn frame(arguments: &Arguments, statement: &Statement, values: usize) -> (Vec<u8>, Vec<u8>) {
    let version = arguments.protocol;
    let mut buffer = ValuesBuffer::new();
    for _ in 0..values {
        buffer.push(Value::Bytes(&[])).expect("a statement has few markers");
    }
    let params = QueryParams {
        skip_metadata: true,
        values: buffer.values(),
        page_size: Some(PAGE_ROWS as i32),
        ..QueryParams::new(arguments.consistency)
    };
    let result_metadata_id = (version == Version::V5).then_some(&statement.result_metadata_id[..]);
    let mut frame = Vec::new();
    Request::Execute(Execute { id: &statement.id, result_metadata_id, params }).encode_frame(version, 0, &mut frame);
    let tail = frame.split_off(frame.len() - TAIL_BYTES);
    // Each empty value is its length.
    frame.truncate(frame.len() - 4 * values);
    (frame, tail)
}
