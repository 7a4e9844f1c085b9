//! Requests: encode and decode are inverses, and no bytes make a decoder panic.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::{Consistency, HEADER_LENGTH};

fn versions() -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::V3), Just(Version::V4), Just(Version::V5)]
}

fn levels() -> impl Strategy<Value = Consistency> {
    (0..Consistency::ALL.len()).prop_map(|index| Consistency::ALL[index])
}

/// A value, or `Err` for one that is not set.
type OwnedValue = Result<Option<Vec<u8>>, ()>;

fn values() -> impl Strategy<Value = (bool, Vec<(String, OwnedValue)>)> {
    let value = prop_oneof![option::of(vec(any::<u8>(), 0..40)).prop_map(Ok), Just(Err(()))];
    (any::<bool>(), vec(("[a-zé]{0,8}", value), 0..8))
}

fn lay_down((named, values): &(bool, Vec<(String, OwnedValue)>)) -> ValuesBuffer {
    let mut buffer = if *named { ValuesBuffer::named() } else { ValuesBuffer::new() };
    for (name, value) in values {
        let value = match value {
            Ok(Some(bytes)) => Value::Bytes(bytes),
            Ok(None) => Value::Null,
            Err(()) => Value::Unset,
        };
        buffer.push_named(name, value).unwrap();
    }
    buffer
}

#[derive(Debug, Clone)]
struct OwnedParams {
    consistency: Consistency,
    serial_consistency: Option<Consistency>,
    skip_metadata: bool,
    page_size: Option<i32>,
    paging_state: Option<Vec<u8>>,
    timestamp: Option<i64>,
    keyspace: Option<String>,
    now_in_seconds: Option<i32>,
}

fn params() -> impl Strategy<Value = OwnedParams> {
    (
        (levels(), option::of(levels()), any::<bool>(), any::<Option<i32>>()),
        (option::of(vec(any::<u8>(), 0..30)), option::of(i64::MIN + 1..)),
        (option::of("[a-z]{0,9}"), any::<Option<i32>>()),
    )
        .prop_map(
            |((consistency, serial_consistency, skip_metadata, page_size), (paging_state, timestamp), last)| {
                let (keyspace, now_in_seconds) = last;
                OwnedParams {
                    consistency,
                    serial_consistency,
                    skip_metadata,
                    page_size,
                    paging_state,
                    timestamp,
                    keyspace,
                    now_in_seconds,
                }
            },
        )
}

impl OwnedParams {
    fn borrow<'a>(&'a self, version: Version, values: Values<'a>) -> QueryParams<'a> {
        let v5 = version == Version::V5;
        QueryParams {
            consistency: self.consistency,
            serial_consistency: self.serial_consistency,
            skip_metadata: self.skip_metadata,
            page_size: self.page_size,
            paging_state: self.paging_state.as_deref(),
            timestamp: self.timestamp,
            keyspace: self.keyspace.as_deref().filter(|_| v5),
            now_in_seconds: self.now_in_seconds.filter(|_| v5),
            values,
        }
    }
}

/// Lays the request down as a frame, decodes it, and cuts it at every place.
fn assert_round_trip(request: &Request<'_>, version: Version) {
    let mut out = vec![1, 2, 3];
    request.encode_frame(version, 77, &mut out);
    let (head, body) = out[3..].split_first_chunk::<HEADER_LENGTH>().unwrap();
    let header = FrameHeader::decode(head).unwrap();
    assert_eq!((header.version, header.stream, header.length as usize), (version, 77, body.len()));
    assert_is(&Request::decode(&header, body), request, version);
    for cut in 0..body.len() {
        assert!(Request::decode(&header, &body[..cut]).is_err(), "cut at {cut} of {}", body.len());
    }
    let longer = [body, &[0xff; 5]].concat();
    // What follows a message is ignored.
    assert_is(&Request::decode(&header, &longer), request, version);
}

/// That it was decoded as the request. In version 3 values remember that they came so; they are compared as bytes.
fn assert_is(found: &Result<Request<'_>, DecodeError>, request: &Request<'_>, version: Version) {
    if version > Version::V3 {
        return assert_eq!(found.as_ref(), Ok(request));
    }
    let bytes = |request: &Request<'_>| {
        let mut out = Vec::new();
        request.encode_frame(version, 77, &mut out);
        out
    };
    assert_eq!(bytes(found.as_ref().unwrap()), bytes(request));
}

proptest! {
    #[test]
    fn queries_round_trip(version in versions(), text in "\\PC{0,60}", params in params(), values in values()) {
        let buffer = lay_down(&values);
        let mut params = params.borrow(version, buffer.values());
        if params.values.is_empty() {
            params.values = Values::NONE;
        }
        assert_round_trip(&Request::Query(Query { text: &text, params }), version);
    }

    #[test]
    fn executes_round_trip(
        version in versions(),
        id in vec(any::<u8>(), 0..20),
        metadata_id in vec(any::<u8>(), 0..20),
        params in params(),
        values in values(),
    ) {
        let buffer = lay_down(&values);
        let mut params = params.borrow(version, buffer.values());
        if params.values.is_empty() {
            params.values = Values::NONE;
        }
        let result_metadata_id = (version == Version::V5).then_some(&metadata_id[..]);
        assert_round_trip(&Request::Execute(Execute { id: &id, result_metadata_id, params }), version);
    }

    #[test]
    fn values_are_walked_as_laid_down(values in values()) {
        let buffer = lay_down(&values);
        let found: Vec<OwnedValue> = buffer
            .values()
            .iter()
            .map(|value| match value {
                Value::Bytes(bytes) => Ok(Some(bytes.to_vec())),
                Value::Null => Ok(None),
                Value::Unset => Err(()),
            })
            .collect();
        prop_assert_eq!(&found, &values.1.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>());
        let names = buffer.values().names().map(|names| names.map(str::to_owned).collect::<Vec<_>>());
        let expected = values.1.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        prop_assert_eq!(names, values.0.then_some(expected));
    }

    #[test]
    fn batches_round_trip(
        version in versions(),
        kind in prop_oneof![Just(BatchKind::Logged), Just(BatchKind::Unlogged), Just(BatchKind::Counter)],
        statements in vec((any::<bool>(), "[a-z ?]{0,20}", values()), 0..6),
        params in params(),
    ) {
        let mut builder = BatchBuilder::new();
        let mut expected = Vec::new();
        for (prepared, text, (_, values)) in &statements {
            let query = if *prepared { BatchQuery::Prepared(text.as_bytes()) } else { BatchQuery::Text(text) };
            let buffer = lay_down(&(false, values.clone()));
            builder.push(query, buffer.values()).unwrap();
            expected.push((query, buffer));
        }
        let batch = builder.batch(kind, params.borrow(version, Values::NONE));
        prop_assert_eq!(batch.len(), expected.len());
        for (statement, (query, buffer)) in batch.statements().zip(&expected) {
            prop_assert_eq!(statement, BatchStatement { query: *query, values: buffer.values() });
        }
        assert_round_trip(&Request::Batch(batch), version);
    }

    #[test]
    fn prepares_round_trip(version in versions(), text in "\\PC{0,60}", keyspace in option::of("[a-z]{0,9}")) {
        let keyspace = keyspace.as_deref().filter(|_| version == Version::V5);
        assert_round_trip(&Request::Prepare(Prepare { text: &text, keyspace }), version);
    }

    #[test]
    fn startups_round_trip(version in versions(), options in vec(("[A-Z_]{1,9}", "[a-z0-9.]{0,9}"), 0..5)) {
        let options: Vec<(&str, &str)> = options.iter().map(|(name, value)| (&name[..], &value[..])).collect();
        let mut buffer = Vec::new();
        let startup = Startup::of(&options, &mut buffer);
        prop_assert_eq!(startup.options().collect::<Vec<_>>(), options);
        assert_round_trip(&Request::Startup(startup), version);
    }

    #[test]
    fn tokens_round_trip(version in versions(), token in option::of(vec(any::<u8>(), 0..30))) {
        assert_round_trip(&Request::AuthResponse(AuthResponse { token: token.as_deref() }), version);
    }

    #[test]
    fn the_first_prepared_statement_is_found_without_decoding(
        version in versions(),
        params in params(),
        values in values(),
        id in any::<[u8; 16]>(),
    ) {
        let buffer = lay_down(&values);
        let params = params.borrow(version, buffer.values());
        let mut message = Vec::new();
        Execute { id: &id, result_metadata_id: None, params }.encode(version, &mut message);
        prop_assert_eq!(first_prepared(Opcode::Execute, &message), Some(id));
        prop_assert_eq!(first_prepared(Opcode::Query, &message), None);
        for (query, expected) in [(BatchQuery::Prepared(&id), Some(id)), (BatchQuery::Text("INSERT INTO somewhere"), None)] {
            let mut batch = BatchBuilder::new();
            batch.push(query, Values::NONE).unwrap();
            message.clear();
            batch.batch(BatchKind::Unlogged, params).encode(version, &mut message);
            prop_assert_eq!(first_prepared(Opcode::Batch, &message), expected);
        }
        for cut in 0..message.len() {
            first_prepared(Opcode::Execute, &message[..cut]);
            first_prepared(Opcode::Batch, &message[..cut]);
        }
    }

    #[test]
    fn any_bytes_are_refused_or_read(
        version in versions(),
        flags in any::<u8>(),
        opcode in 0u8..=0x10,
        body in vec(prop_oneof![3 => Just(0u8), 1 => 0u8..8, 1 => any::<u8>()], 0..120),
    ) {
        let head = [version.number(), flags, 0, 1, opcode, 0, 0, 0, body.len() as u8];
        if let Ok(header) = FrameHeader::decode(&head)
            && let Ok(request) = Request::decode(&header, &body)
        {
            walk(&request);
        }
    }

    #[test]
    fn a_changed_byte_is_refused_or_read(
        version in versions(),
        params in params(),
        values in values(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let buffer = lay_down(&values);
        let params = params.borrow(version, buffer.values());
        let mut out = Vec::new();
        Execute { id: &[7; 16], result_metadata_id: None, params }.encode(version, &mut out);
        let at = at.index(out.len());
        out[at] = byte;
        if let Ok(execute) = Execute::decode(&out, version) {
            walk(&Request::Execute(execute));
        }
    }
}

/// Uses all that a request lends.
fn walk(request: &Request<'_>) {
    match request {
        Request::Query(Query { params, .. }) | Request::Execute(Execute { params, .. }) => {
            assert_eq!(params.values.iter().count(), params.values.len());
            assert!(params.values.names().is_none_or(|names| names.count() == params.values.len()));
        }
        Request::Batch(batch) => {
            assert_eq!(batch.statements().count(), batch.len());
            for statement in batch.statements() {
                assert_eq!(statement.values.iter().count(), statement.values.len());
            }
        }
        Request::Startup(startup) => {
            startup.get("COMPRESSION");
        }
        Request::Options(_) | Request::Prepare(_) | Request::Register(_) | Request::AuthResponse(_) => {}
    }
}

#[test]
fn register_round_trips_and_refuses_what_it_does_not_know() {
    for bits in 0..8 {
        let mut events = EventKinds::NONE;
        for (index, kind) in
            [EventKinds::TOPOLOGY_CHANGE, EventKinds::STATUS_CHANGE, EventKinds::SCHEMA_CHANGE].into_iter().enumerate()
        {
            if bits >> index & 1 != 0 {
                events = events.with(kind);
            }
        }
        assert_round_trip(&Request::Register(Register { events }), Version::V4);
    }
    let mut message = Vec::new();
    notation::write_string_list(&mut message, &["SCHEMA_CHANGE", "WEATHER_CHANGE"]);
    assert_eq!(Register::decode(&message), Err(DecodeError::UnknownEventKind));
}

#[test]
fn a_custom_payload_is_skipped() {
    let mut body = vec![0, 1, 0, 3];
    body.extend_from_slice(b"key");
    notation::write_bytes(&mut body, Some(b"value"));
    Prepare { text: "SELECT", keyspace: None }.encode(Version::V4, &mut body);
    let header = FrameHeader {
        version: Version::V4,
        flags: Flags::CUSTOM_PAYLOAD.with(Flags::TRACING),
        stream: 0,
        opcode: Opcode::Prepare,
        length: body.len() as u32,
    };
    assert_eq!(Request::decode(&header, &body), Ok(Request::Prepare(Prepare { text: "SELECT", keyspace: None })));
}

#[test]
fn version_3_has_no_custom_payload_and_no_values_that_are_not_set() {
    let header = FrameHeader {
        version: Version::V3,
        flags: Flags::CUSTOM_PAYLOAD,
        stream: 0,
        opcode: Opcode::Options,
        length: 2,
    };
    let refused = Request::decode(&header, &[0, 0]).unwrap_err();
    assert_eq!(refused.to_string(), "Received frame with CUSTOM_PAYLOAD flag for native protocol version < 4");
    let values = [-1i32, -2, -3, 0].map(i32::to_be_bytes).concat();
    let execute = [&[0, 0, 0, 1, 1, 0, 4], &values[..]].concat();
    let nulls = [Value::Null, Value::Null, Value::Null, Value::Bytes(b"")];
    let found = Execute::decode(&execute, Version::V3).unwrap().params.values;
    assert_eq!(found.iter().collect::<Vec<_>>(), nulls);
    let batch = [&[1, 0, 1, 1, 0, 0, 0, 4], &values[..], &[0, 1, 0]].concat();
    let found = Batch::decode(&batch, Version::V3).unwrap().statements().next().unwrap().values;
    assert_eq!(found.iter().collect::<Vec<_>>(), nulls);
    assert!(Batch::decode(&batch, Version::V4).is_err());
}

#[test]
fn a_secret_stays_out_of_logs() {
    let response = AuthResponse { token: Some(b"\0cassandra\0secret") };
    assert_eq!(format!("{response:?}"), "AuthResponse { token_length: Some(17) }");
}

#[test]
fn lengths_that_lie_are_refused() {
    let huge = [&i32::MAX.to_be_bytes()[..], b"SELECT"].concat();
    assert!(Query::decode(&huge, Version::V4).is_err());
    let negative = [&(-1i32).to_be_bytes()[..], b"SELECT"].concat();
    assert!(Query::decode(&negative, Version::V4).is_err());
    // EXECUTE with one value of length -3.
    let mut message = vec![0, 0, 0, 1, 1, 0, 1];
    message.extend_from_slice(&(-3i32).to_be_bytes());
    assert_eq!(Execute::decode(&message, Version::V4), Err(DecodeError::InvalidValueLength { length: -3 }));
    // A batch of 65,535 statements in four bytes.
    assert!(Batch::decode(&[0, 0xff, 0xff, 0], Version::V4).is_err());
}
