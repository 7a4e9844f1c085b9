//! Responses: what is written is read back, and no bytes make a decoder panic.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use cql_types::CqlType;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::{Consistency, HEADER_LENGTH};

mod recorded;

const VERSIONS: [Version; 3] = Version::ALL;

fn versions() -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::V3), Just(Version::V4), Just(Version::V5)]
}

/// Takes the one frame in `out` apart.
fn parts(out: &[u8]) -> (FrameHeader, &[u8]) {
    let (head, body) = out.split_first_chunk::<HEADER_LENGTH>().expect("there is a header");
    let header = FrameHeader::decode(head).unwrap();
    assert_eq!(header.length as usize, body.len());
    (header, body)
}

/// Decodes the one frame in `out`, and all its starts, which must fail.
fn decode(out: &[u8]) -> Response<'_> {
    let (header, body) = parts(out);
    for cut in 0..body.len() {
        assert!(Response::decode(&header, &body[..cut]).is_err(), "cut at {cut} of {}", body.len());
    }
    let (prefix, response) = Response::decode(&header, body).unwrap();
    assert_eq!(prefix, ResponsePrefix::default());
    response
}

#[test]
fn void_is_thirteen_bytes() {
    let mut out = Vec::new();
    write_void(&mut out, Version::V4, 0x0102);
    assert_eq!(out, [0x84, 0, 1, 2, 8, 0, 0, 0, 4, 0, 0, 0, 1]);
    assert_eq!(decode(&out), Response::Result(ResultBody::Void));
}

#[test]
fn errors_round_trip() {
    let consistency = Consistency::LocalQuorum;
    let (received, block_for) = (1, 2);
    let reasons = vec![(IpAddr::V4(Ipv4Addr::LOCALHOST), 1), (IpAddr::V6(Ipv6Addr::LOCALHOST), 2)];
    for version in VERSIONS {
        let failures = match version {
            Version::V3 | Version::V4 => Failures::Count(3),
            Version::V5 => Failures::Reasons(reasons.clone()),
        };
        let contentions = (version == Version::V5).then_some(7);
        let kinds = [
            ErrorKind::ServerError,
            ErrorKind::ProtocolError,
            ErrorKind::BadCredentials,
            ErrorKind::Unavailable { consistency, required: 2, alive: 1 },
            ErrorKind::Overloaded,
            ErrorKind::IsBootstrapping,
            ErrorKind::TruncateError,
            ErrorKind::WriteTimeout {
                consistency,
                received,
                block_for,
                write_type: WriteType::Simple,
                contentions: None,
            },
            ErrorKind::WriteTimeout { consistency, received, block_for, write_type: WriteType::Cas, contentions },
            ErrorKind::ReadTimeout { consistency, received, block_for, data_present: true },
            ErrorKind::ReadFailure {
                consistency,
                received,
                block_for,
                failures: failures.clone(),
                data_present: false,
            },
            ErrorKind::FunctionFailure {
                keyspace: "ks".into(),
                function: "f".into(),
                arguments: vec!["int".into(), "text".into()],
            },
            ErrorKind::WriteFailure { consistency, received, block_for, failures, write_type: WriteType::BatchLog },
            ErrorKind::CdcWriteFailure,
            ErrorKind::CasWriteUnknown { consistency, received, block_for },
            ErrorKind::SyntaxError,
            ErrorKind::Unauthorized,
            ErrorKind::Invalid,
            ErrorKind::ConfigError,
            ErrorKind::AlreadyExists { keyspace: "ks".into(), table: String::new() },
            ErrorKind::Unprepared { id: vec![1, 2, 3] },
        ];
        for kind in kinds {
            let error = ErrorBody::new(kind, "what happened");
            let mut out = Vec::new();
            write_error(&mut out, version, 5, &error);
            assert_eq!(decode(&out), Response::Error(told_in(version, error)));
        }
    }
}

/// What a client hears of an error whose code its version does not have.
fn told_in(version: Version, error: ErrorBody) -> ErrorBody {
    let timed_out = |received: i32| format!("Operation timed out - received only {received} responses.");
    let kind = match error.kind {
        ErrorKind::CasWriteUnknown { consistency, received, block_for } if version != Version::V5 => {
            let write_type = WriteType::Cas;
            let kind = ErrorKind::WriteTimeout { consistency, received, block_for, write_type, contentions: None };
            return ErrorBody { kind, message: timed_out(received) };
        }
        ErrorKind::ReadFailure { consistency, received, block_for, .. } if version == Version::V3 => {
            let kind = ErrorKind::ReadTimeout { consistency, received, block_for, data_present: false };
            return ErrorBody { kind, message: timed_out(received) };
        }
        ErrorKind::WriteFailure { consistency, received, block_for, .. } if version == Version::V3 => {
            let write_type = WriteType::BatchLog;
            let kind = ErrorKind::WriteTimeout { consistency, received, block_for, write_type, contentions: None };
            return ErrorBody { kind, message: timed_out(received) };
        }
        ErrorKind::FunctionFailure { .. } | ErrorKind::CdcWriteFailure if version == Version::V3 => ErrorKind::Invalid,
        kind => kind,
    };
    ErrorBody { kind, ..error }
}

#[test]
fn a_long_message_is_cut_between_characters() {
    let mut out = Vec::new();
    write_error(&mut out, Version::V4, 0, &ErrorBody::invalid("é".repeat(40_000)));
    let Response::Error(error) = decode_whole(&out) else { panic!("an error") };
    assert_eq!(error.message, "é".repeat(32_767));
}

/// As [`decode`], without the cuts, which take long for a large body.
fn decode_whole(out: &[u8]) -> Response<'_> {
    let (header, body) = parts(out);
    Response::decode(&header, body).unwrap().1
}

#[test]
fn events_and_schema_changes_round_trip() {
    let address: SocketAddr = "[::1]:9042".parse().unwrap();
    let name = || "name".to_owned();
    let arguments = || vec!["int".to_owned()];
    let targets = [
        SchemaTarget::Keyspace,
        SchemaTarget::Table { name: name() },
        SchemaTarget::Type { name: name() },
        SchemaTarget::Function { name: name(), arguments: arguments() },
        SchemaTarget::Aggregate { name: name(), arguments: arguments() },
    ];
    let kinds = [SchemaChangeKind::Created, SchemaChangeKind::Updated, SchemaChangeKind::Dropped];
    let changes = targets
        .iter()
        .flat_map(|target| kinds.map(|kind| (kind, target)))
        .map(|(kind, target)| SchemaChange { kind, keyspace: "ks".to_owned(), target: target.clone() });
    let mut events = vec![
        Event::Topology { change: TopologyChange::NewNode, address },
        Event::Topology { change: TopologyChange::RemovedNode, address },
        Event::Status { change: StatusChange::Up, address: "127.0.0.1:1".parse().unwrap() },
        Event::Status { change: StatusChange::Down, address },
    ];
    for change in changes {
        let mut out = Vec::new();
        write_schema_change(&mut out, Version::V4, 9, &change);
        assert_eq!(decode(&out), Response::Result(ResultBody::SchemaChange(change.clone())));
        events.push(Event::Schema(change));
    }
    for (target, has_words) in targets.into_iter().zip([true, true, true, false, false]) {
        let dropped = SchemaChange { kind: SchemaChangeKind::Dropped, keyspace: "ks".to_owned(), target };
        let told =
            SchemaChange { kind: SchemaChangeKind::Updated, keyspace: "ks".to_owned(), target: SchemaTarget::Keyspace };
        let mut out = Vec::new();
        write_event(&mut out, Version::V3, &Event::Schema(dropped.clone()));
        assert_eq!(decode(&out), Response::Event(Event::Schema(if has_words { dropped } else { told })));
    }
    for event in events {
        let mut out = Vec::new();
        write_event(&mut out, Version::V5, &event);
        assert_eq!(parts(&out).0.stream, -1);
        assert_eq!(decode(&out), Response::Event(event));
    }
}

#[test]
fn the_handshake_round_trips() {
    let mut out = Vec::new();
    write_ready(&mut out, Version::V5, 1);
    assert_eq!(decode(&out), Response::Ready);
    out.clear();
    write_authenticate(&mut out, Version::V5, 1, "org.apache.cassandra.auth.PasswordAuthenticator");
    assert_eq!(decode(&out), Response::Authenticate("org.apache.cassandra.auth.PasswordAuthenticator"));
    out.clear();
    write_auth_challenge(&mut out, Version::V5, 1, Some(b"more"));
    assert_eq!(decode(&out), Response::AuthChallenge(Some(b"more")));
    out.clear();
    write_auth_success(&mut out, Version::V5, 1, None);
    assert_eq!(decode(&out), Response::AuthSuccess(None));
    out.clear();
    write_set_keyspace(&mut out, Version::V5, 1, "ks");
    assert_eq!(decode(&out), Response::Result(ResultBody::SetKeyspace("ks")));
    out.clear();
    write_supported(&mut out, Version::V4, 1, &[("CQL_VERSION", &["3.4.7"]), ("COMPRESSION", &["lz4", "snappy"])]);
    let options = vec![
        ("CQL_VERSION".to_owned(), vec!["3.4.7".to_owned()]),
        ("COMPRESSION".to_owned(), vec!["lz4".to_owned(), "snappy".to_owned()]),
    ];
    assert_eq!(decode(&out), Response::Supported(options));
}

#[test]
fn warnings_and_a_tracing_id_go_before_the_message() {
    let mut out = vec![0xaa];
    write_set_keyspace(&mut out, Version::V4, 1, "ks");
    let warnings: [&str; 0] = [];
    let before = out.clone();
    insert_warnings(&mut out, 1, &warnings);
    assert_eq!(out, before);
    for warnings_first in [true, false] {
        let mut out = before.clone();
        if warnings_first {
            insert_warnings(&mut out, 1, &["one", "two"]);
            insert_tracing_id(&mut out, 1, [7; 16]);
        } else {
            insert_tracing_id(&mut out, 1, [7; 16]);
            insert_warnings(&mut out, 1, &["one", "two"]);
        }
        let (header, body) = parts(&out[1..]);
        let (prefix, response) = Response::decode(&header, body).unwrap();
        assert_eq!(prefix.tracing_id, Some([7; 16]));
        assert_eq!(prefix.warnings, ["one", "two"]);
        assert_eq!(response, Response::Result(ResultBody::SetKeyspace("ks")));
    }
    out.clear();
    write_set_keyspace(&mut out, Version::V3, 1, "ks");
    insert_warnings(&mut out, 0, &["version 3 has no room for it"]);
    assert_eq!(decode(&out), Response::Result(ResultBody::SetKeyspace("ks")));
}

fn spec<'a>(table: &'a str, name: &'a str, ty: &'a CqlType) -> ColumnSpec<'a> {
    ColumnSpec { keyspace: "ks", table, name, ty }
}

#[test]
fn prepared_statements_round_trip() {
    let (int, list) = (CqlType::Int, CqlType::parse("list<text>").unwrap());
    let markers = [spec("t", "key", &int), spec("t", "C0", &list)];
    let other = [spec("t", "key", &int), spec("u", "C0", &list)];
    for version in VERSIONS {
        for (markers, keys_told) in [(&markers, true), (&other, false)] {
            for columns in [&markers[..], &[]] {
                let reply = PreparedReply {
                    id: &[9; 16],
                    result_metadata_id: &[8; 16],
                    markers,
                    partition_key: &[1, 0],
                    columns,
                };
                let mut out = Vec::new();
                write_prepared(&mut out, version, 3, &reply);
                let Response::Result(ResultBody::Prepared(prepared)) = decode(&out) else { panic!("a statement") };
                assert_eq!(prepared.id, [9; 16]);
                assert_eq!(prepared.result_metadata_id, (version == Version::V5).then(|| vec![8; 16]));
                assert!(prepared.markers.iter().map(DecodedSpec::as_spec).eq(markers.iter().copied()));
                assert!(prepared.columns.iter().map(DecodedSpec::as_spec).eq(columns.iter().copied()));
                let keys_told = keys_told && version > Version::V3;
                assert_eq!(prepared.partition_key, if keys_told { vec![1, 0] } else { vec![] });
            }
        }
    }
}

#[test]
fn rows_with_and_without_descriptions_are_cassandras_bytes() {
    let int = CqlType::Int;
    let columns = [ColumnSpec { keyspace: "k", table: "t", name: "c", ty: &int }];
    let mut out = Vec::new();
    let head = RowsHead { columns: Specs::Columns(&columns), new_metadata_id: None };
    let mut rows = RowsWriter::begin(&mut out, Version::V4, 1, &head);
    rows.value(&mut out, Some(&[0, 0, 0, 5]));
    rows.end_row();
    rows.finish(&mut out, None);
    let mut expected = vec![0x84, 0, 0, 1, 8, 0, 0, 0, 37, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1];
    expected.extend_from_slice(&[0, 1, b'k', 0, 1, b't', 0, 1, b'c', 0, 9]);
    expected.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 5]);
    expected[8] = (expected.len() - HEADER_LENGTH) as u8;
    assert_eq!(out, expected);

    out.clear();
    let head = RowsHead { columns: Specs::Skip { count: 1 }, new_metadata_id: None };
    let rows = RowsWriter::begin(&mut out, Version::V4, 1, &head);
    rows.finish(&mut out, Some(&[0xee]));
    assert_eq!(out[9..], [0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 1, 0xee, 0, 0, 0, 0]);
}

#[test]
fn descriptions_laid_down_beforehand_are_the_same_bytes() {
    let (int, vector) = (CqlType::Int, CqlType::parse("vector<float, 2>").unwrap());
    let columns = [spec("t", "a", &int), spec("t", "b", &vector)];
    for version in VERSIONS {
        let encoded = EncodedSpecs::new(version, &columns);
        let write = |specs| {
            let mut out = Vec::new();
            RowsWriter::begin(&mut out, version, 1, &RowsHead { columns: specs, new_metadata_id: None })
                .finish(&mut out, None);
            out
        };
        assert_eq!(write(Specs::Encoded(&encoded)), write(Specs::Columns(&columns)));
    }
}

#[test]
fn counts_that_lie_are_refused() {
    // Two billion rows of no column.
    let body = [&[0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 0][..], &i32::MAX.to_be_bytes()].concat();
    let header = FrameHeader {
        version: Version::V4,
        flags: Flags::NONE,
        stream: 0,
        opcode: Opcode::Result,
        length: body.len() as u32,
    };
    let error = Response::decode(&header, &body).unwrap_err();
    assert!(matches!(error, DecodeError::InvalidCount { .. }));
    // Two billion columns in no byte.
    let body = [&[0, 0, 0, 2, 0, 0, 0, 0][..], &i32::MAX.to_be_bytes()].concat();
    assert!(Response::decode(&header, &body).is_err());
}

proptest! {
    #[test]
    fn rows_round_trip(
        version in versions(),
        rows in vec(vec(option::of(vec(any::<u8>(), 0..30)), 3), 0..8),
        paging_state in option::of(vec(any::<u8>(), 0..40)),
        described: bool,
        changed in option::of(vec(any::<u8>(), 16)),
    ) {
        let (int, udt) = (CqlType::Int, CqlType::parse("map<text, blob>").unwrap());
        let columns = [spec("t", "a", &int), spec("t", "b", &udt), spec("t", "ü", &int)];
        let specs = if described { Specs::Columns(&columns) } else { Specs::Skip { count: 3 } };
        let mut out = Vec::new();
        let head = RowsHead { columns: specs, new_metadata_id: changed.as_deref() };
        let mut writer = RowsWriter::begin(&mut out, version, -3, &head);
        for row in &rows {
            for value in row {
                writer.value(&mut out, value.as_deref());
            }
            writer.end_row();
        }
        prop_assert_eq!(writer.row_count() as usize, rows.len());
        prop_assert_eq!(writer.frame_length(&out), out.len());
        writer.finish(&mut out, paging_state.as_deref());

        let Response::Result(ResultBody::Rows(found)) = decode(&out) else { panic!("rows") };
        prop_assert_eq!(found.row_count, rows.len());
        prop_assert_eq!(found.column_count, 3);
        prop_assert_eq!(found.paging_state, paging_state.as_deref());
        prop_assert_eq!(found.new_metadata_id, changed.as_deref().filter(|_| version == Version::V5));
        let described_columns = if described { &columns[..] } else { &[] };
        prop_assert!(found.columns.iter().map(DecodedSpec::as_spec).eq(described_columns.iter().copied()));
        let values: Vec<Vec<Option<Vec<u8>>>> =
            found.iter().map(|row| row.map(|value| value.map(<[u8]>::to_vec)).collect()).collect();
        prop_assert_eq!(values, rows);
    }

    #[test]
    fn any_bytes_are_refused_or_read(
        version in versions(),
        flags in any::<u8>(),
        opcode in 0u8..=0x10,
        body in vec(prop_oneof![3 => Just(0u8), 2 => 0u8..8, 1 => any::<u8>()], 0..120),
    ) {
        let head = [version.number() | 0x80, flags, 0, 1, opcode, 0, 0, 0, body.len() as u8];
        if let Ok(header) = FrameHeader::decode(&head)
            && let Ok((_, Response::Result(ResultBody::Rows(rows)))) = Response::decode(&header, &body)
        {
            prop_assert_eq!(rows.iter().count(), rows.row_count);
            prop_assert!(rows.iter().all(|row| row.count() == rows.column_count));
        }
    }
}
