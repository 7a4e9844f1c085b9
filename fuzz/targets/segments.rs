//! Version 5's segments: any bytes as a stream of them, and any payload there and back.

use cql_protocol::Codec;
use cql_protocol::segment::{self, Decoded, PAYLOAD_MAX};

fn read_stream(mut input: &[u8], codec: Codec) {
    let mut payload = Vec::new();
    while let Ok(Decoded::Segment { used, .. }) = segment::decode(input, codec, &mut payload) {
        input = &input[used..];
        assert!(payload.len() <= PAYLOAD_MAX);
        payload.clear();
    }
}

fn there_and_back(payload: &[u8], codec: Codec) {
    let payload = &payload[..payload.len().min(PAYLOAD_MAX)];
    let (mut encoded, mut back) = (Vec::new(), Vec::new());
    segment::encode(payload, true, codec, &mut encoded);
    let decoded = segment::decode(&encoded, codec, &mut back).expect("what was encoded decodes");
    assert_eq!(decoded, Decoded::Segment { used: encoded.len(), self_contained: true });
    assert_eq!(back, payload);
}

/// Runs one input.
pub fn run(data: &[u8]) {
    for codec in [Codec::Plain, Codec::Lz4] {
        read_stream(data, codec);
        there_and_back(data, codec);
    }
}
