//! Requests that are built once and patched for each operation, and the reply that a read must get.
//!
//! All keys have the same length, and so have all values, so a request's fields stand at fixed places: the stream in the
//! header, the key and the values at the end.

use cql_protocol::{Consistency, Execute, QueryParams, Request, Value, ValuesBuffer, Version};
use cql_types::CqlType;

use crate::raw::rows::{COLUMN_COUNT, KEY_DIGITS, Rows};

/// Where a header has the stream.
pub(crate) const STREAM_AT: usize = 2;
/// Bytes of a value's length.
const LENGTH_BYTES: usize = 4;

/// The body of a read's reply up to the first value: a RESULT of rows, columns of one table but not described, five columns,
/// one row.
const ROW_PREFIX: [u8; 16] = [0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, COLUMN_COUNT as u8, 0, 0, 0, 1];

/// A prepared statement, as the server named it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) id: Vec<u8>,
    pub(crate) result_metadata_id: Vec<u8>,
    /// The types of its markers.
    pub(crate) markers: Vec<CqlType>,
}

/// An EXECUTE frame to be patched.
#[derive(Debug)]
pub(crate) struct Template {
    frame: Vec<u8>,
    key_at: usize,
    value_bytes: usize,
    value_count: usize,
}

impl Template {
    /// The request that writes a row.
    pub(crate) fn write(version: Version, statement: &Statement, level: Consistency, value_bytes: usize) -> Template {
        Template::new(version, statement, level, value_bytes, COLUMN_COUNT)
    }

    /// The request that reads a row.
    pub(crate) fn read(version: Version, statement: &Statement, level: Consistency) -> Template {
        Template::new(version, statement, level, 0, 0)
    }

    fn new(
        version: Version,
        statement: &Statement,
        level: Consistency,
        value_bytes: usize,
        value_count: usize,
    ) -> Template {
        let mut values = ValuesBuffer::new();
        let filler = vec![0; value_bytes];
        values.push(Value::Bytes(&[b'0'; KEY_DIGITS])).expect("a row has few values");
        for _ in 0..value_count {
            values.push(Value::Bytes(&filler)).expect("a row has few values");
        }
        let params = QueryParams { skip_metadata: true, values: values.values(), ..QueryParams::new(level) };
        let result_metadata_id = (version == Version::V5).then_some(&statement.result_metadata_id[..]);
        let mut frame = Vec::new();
        Request::Execute(Execute { id: &statement.id, result_metadata_id, params })
            .encode_frame(version, 0, &mut frame);
        let key_at = frame.len() - KEY_DIGITS - value_count * (LENGTH_BYTES + value_bytes);
        Template { frame, key_at, value_bytes, value_count }
    }

    /// Appends the request for a row.
    #[inline]
    pub(crate) fn append(&self, out: &mut Vec<u8>, stream: u16, rows: &Rows, row: u64) {
        let start = out.len();
        out.extend_from_slice(&self.frame[..self.key_at]);
        out[start + STREAM_AT..start + STREAM_AT + 2].copy_from_slice(&stream.to_be_bytes());
        out.extend_from_slice(&Rows::key(row));
        if self.value_count > 0 {
            let length = (self.value_bytes as u32).to_be_bytes();
            for value in rows.values(row) {
                out.extend_from_slice(&length);
                out.extend_from_slice(value);
            }
        }
    }
}

/// Whether a body is the reply to a read of that row, as a server that leaves out the descriptions of columns sends it.
/// One that is not may still be right, and is then decoded with more care.
#[inline]
pub(crate) fn is_row(body: &[u8], rows: &Rows, row: u64) -> bool {
    let Some((prefix, mut rest)) = body.split_first_chunk::<{ ROW_PREFIX.len() }>() else {
        return false;
    };
    let length = (rows.value_bytes() as u32).to_be_bytes();
    let values_equal = rows.values(row).iter().all(|value| {
        let Some((found_length, after)) = rest.split_first_chunk::<LENGTH_BYTES>() else {
            return false;
        };
        let Some((found, after)) = after.split_at_checked(value.len()) else {
            return false;
        };
        rest = after;
        *found_length == length && found == *value
    });
    *prefix == ROW_PREFIX && values_equal && rest.is_empty()
}

#[cfg(test)]
mod tests {
    use cql_protocol::{FrameHeader, HEADER_LENGTH, RowsHead, RowsWriter, Specs};

    use super::*;

    #[test]
    fn a_patched_request_is_the_request() {
        let rows = Rows::new(5, 34);
        let statement = Statement { id: vec![1; 16], result_metadata_id: vec![2; 16], markers: Vec::new() };
        for version in [Version::V4, Version::V5] {
            let template = Template::write(version, &statement, Consistency::Quorum, 34);
            let mut out = Vec::new();
            template.append(&mut out, 0x0102, &rows, 77);
            assert_eq!(out.len(), template.frame.len());
            let (head, body) = out.split_first_chunk::<HEADER_LENGTH>().unwrap();
            let header = FrameHeader::decode(head).unwrap();
            assert_eq!((header.stream, header.length as usize), (0x0102, body.len()));
            let Request::Execute(execute) = Request::decode(&header, body).unwrap() else { panic!("an EXECUTE") };
            assert_eq!(execute.id, statement.id);
            assert_eq!(execute.params.consistency, Consistency::Quorum);
            let values: Vec<_> = execute.params.values.iter().map(|value| value.bytes().unwrap()).collect();
            assert_eq!(values[0], b"0000000077");
            assert_eq!(values[1..], rows.values(77));

            let template = Template::read(version, &statement, Consistency::One);
            out.clear();
            template.append(&mut out, 1, &rows, 78);
            let (head, body) = out.split_first_chunk::<HEADER_LENGTH>().unwrap();
            let request = Request::decode(&FrameHeader::decode(head).unwrap(), body).unwrap();
            let Request::Execute(execute) = request else { panic!("an EXECUTE") };
            assert!(execute.params.skip_metadata);
            assert_eq!(execute.params.values.iter().next().unwrap().bytes(), Some(&b"0000000078"[..]));
        }
    }

    #[test]
    fn the_right_row_is_known_and_no_other() {
        let rows = Rows::new(5, 34);
        let mut out = Vec::new();
        let head = RowsHead { columns: Specs::Skip { count: COLUMN_COUNT }, new_metadata_id: None };
        let mut writer = RowsWriter::begin(&mut out, Version::V4, 3, &head);
        for value in rows.values(9) {
            writer.value(&mut out, Some(value));
        }
        writer.end_row();
        writer.finish(&mut out, None);
        let body = &out[HEADER_LENGTH..];
        assert!(is_row(body, &rows, 9));
        assert!(!is_row(body, &rows, 10));
        for at in 0..body.len() {
            let mut wrong = body.to_vec();
            wrong[at] ^= 1;
            assert!(!is_row(&wrong, &rows, 9), "byte {at}");
            assert!(!is_row(&body[..at], &rows, 9), "cut at {at}");
        }
    }
}
