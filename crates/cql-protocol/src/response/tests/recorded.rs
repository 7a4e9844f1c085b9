//! Replies recorded from a real Cassandra: each must be understood, and written again byte for byte.

use super::*;
use crate::response::{RowsHead, RowsWriter, Specs};

const RECORDED: &str = include_str!("../../../testdata/cassandra-5.0.6.txt");

fn bytes_of_hex(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks_exact(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Writes a decoded response again.
fn rewrite(header: &FrameHeader, prefix: &ResponsePrefix, response: &Response<'_>) -> Vec<u8> {
    let (version, stream) = (header.version, header.stream);
    let mut out = Vec::new();
    match response {
        Response::Error(error) => write_error(&mut out, version, stream, error),
        Response::Ready => write_ready(&mut out, version, stream),
        Response::Supported(options) => {
            let values: Vec<Vec<&str>> =
                options.iter().map(|(_, values)| values.iter().map(String::as_str).collect()).collect();
            let options: Vec<(&str, &[&str])> =
                options.iter().zip(&values).map(|((name, _), values)| (&name[..], &values[..])).collect();
            write_supported(&mut out, version, stream, &options);
        }
        Response::Event(event) => write_event(&mut out, version, event),
        Response::Result(ResultBody::Void) => write_void(&mut out, version, stream),
        Response::Result(ResultBody::SetKeyspace(keyspace)) => {
            write_set_keyspace(&mut out, version, stream, keyspace);
        }
        Response::Result(ResultBody::SchemaChange(change)) => write_schema_change(&mut out, version, stream, change),
        Response::Result(ResultBody::Prepared(prepared)) => {
            let markers: Vec<ColumnSpec<'_>> = prepared.markers.iter().map(DecodedSpec::as_spec).collect();
            let columns: Vec<ColumnSpec<'_>> = prepared.columns.iter().map(DecodedSpec::as_spec).collect();
            let reply = PreparedReply {
                id: &prepared.id,
                result_metadata_id: prepared.result_metadata_id.as_deref().unwrap_or_default(),
                markers: &markers,
                partition_key: &prepared.partition_key,
                columns: &columns,
            };
            write_prepared(&mut out, version, stream, &reply);
        }
        Response::Result(ResultBody::Rows(rows)) => {
            let columns: Vec<ColumnSpec<'_>> = rows.columns.iter().map(DecodedSpec::as_spec).collect();
            let specs = match &columns[..] {
                [] => Specs::Skip { count: rows.column_count },
                columns => Specs::Columns(columns),
            };
            let head = RowsHead { columns: specs, new_metadata_id: rows.new_metadata_id };
            let mut writer = RowsWriter::begin(&mut out, version, stream, &head);
            for row in rows.iter() {
                row.for_each(|value| writer.value(&mut out, value));
                writer.end_row();
            }
            writer.finish(&mut out, rows.paging_state);
        }
        other => panic!("{other:?} is not in the recording"),
    }
    insert_warnings(&mut out, 0, &prefix.warnings);
    out
}

#[test]
fn cassandras_replies_are_read_and_written_alike() {
    let mut lines = RECORDED.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut count = 0;
    while let (Some(asked), Some(hex)) = (lines.next(), lines.next()) {
        let bytes = bytes_of_hex(hex);
        let (header, body) = parts(&bytes);
        let (prefix, response) = Response::decode(&header, body).unwrap_or_else(|error| panic!("{asked}: {error}"));
        assert_eq!(rewrite(&header, &prefix, &response), bytes, "{asked}: {response:?}");
        count += 1;
    }
    assert_eq!(count, 54, "the whole recording was read");
}
