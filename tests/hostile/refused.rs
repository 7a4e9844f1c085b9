//! Frames whose bounds are known and whose bodies are no requests: each is refused on its stream, and the connection goes on.

use cql_protocol::{Codec, HEADER_LENGTH, Version, segment};
use helenus_tests::{Builder, Connection, Frame, query_frame, startup_frame};

const ERROR: u8 = 0x00;
const READY: u8 = 0x02;
const RESULT: u8 = 0x08;
const PROTOCOL_ERROR: [u8; 4] = [0, 0, 0, 0x0a];

/// A client of one version.
struct Client {
    connection: Connection,
    version: Version,
}

impl Client {
    fn start(address: &str, version: Version, compression: Option<&str>) -> Client {
        let mut connection = Connection::open(address).expect("connects");
        let ready = connection.ask(&startup_frame(version, compression)).expect("an answer");
        assert_eq!(ready.opcode, READY);
        Client { connection, version }
    }

    fn ask(&mut self, frame: &[u8]) -> Frame {
        if self.version < Version::V5 {
            return self.connection.ask(frame).expect("an answer");
        }
        let mut sealed = Vec::new();
        segment::encode_frames(frame, Codec::Plain, &mut sealed);
        self.connection.send(&sealed).expect("is sent");
        self.connection.receive_segment().expect("an answer")
    }
}

fn frame(version: Version, flags: u8, stream: i16, opcode: u8, body: &[u8]) -> Vec<u8> {
    let mut frame = vec![version.number(), flags];
    frame.extend(stream.to_be_bytes());
    frame.push(opcode);
    frame.extend(u32::try_from(body.len()).expect("short").to_be_bytes());
    frame.extend(body);
    assert_eq!(frame.len(), HEADER_LENGTH + body.len());
    frame
}

/// What is no request, by opcode: bodies that are cut, that lie about lengths, and messages that are none of a client's.
fn wrong() -> Vec<(u8, Vec<u8>)> {
    const QUERY: u8 = 0x07;
    let text = |length: i32| [&length.to_be_bytes()[..], b"SELECT key FROM system.local"].concat();
    vec![
        (QUERY, Vec::new()),
        (QUERY, text(1_000)),
        (QUERY, text(-5)),
        (QUERY, [text(28), vec![0, 0x77, 0]].concat()),
        (QUERY, [text(28), vec![0]].concat()),
        (QUERY, [0, 0, 0, 2, 0xff, 0xfe, 0, 1, 0].to_vec()),
        (0x09, Vec::new()),
        (0x0a, b"\0\x10abc".to_vec()),
        (0x0d, Vec::new()),
        (0x0d, vec![9, 0, 0, 0, 1, 0]),
        (0x0d, vec![0, 0, 1, 7]),
        (0x0b, vec![0]),
        (0x01, vec![0, 5]),
        (0x44, b"unknown".to_vec()),
        (READY, Vec::new()),
    ]
}

#[test]
fn what_cannot_be_decoded_is_refused_and_the_connection_goes_on() {
    let server = Builder::new("epoll", 1).start();
    for (version, compression) in [
        (Version::V3, None),
        (Version::V4, None),
        (Version::V4, Some("lz4")),
        (Version::V4, Some("snappy")),
        (Version::V5, None),
    ] {
        let mut client = Client::start(&server.address(), version, compression);
        let refused = |answer: Frame, stream: i16, what: &str| {
            assert_eq!((answer.opcode, answer.stream), (ERROR, stream), "{version:?}: {what}");
            // Where bodies are compressed, what they say is left to the tests of the drivers.
            if compression.is_none() {
                assert!(answer.body.starts_with(&PROTOCOL_ERROR), "{version:?}: {what}: {:?}", answer.body);
            }
        };
        for (stream, (opcode, body)) in (100..).zip(wrong()) {
            let answer = client.ask(&frame(version, 0, stream, opcode, &body));
            refused(answer, stream, &format!("opcode {opcode}, {body:?}"));
            let answer = client.ask(&query_frame(version, 7, "SELECT key FROM system.local"));
            assert_eq!((answer.opcode, answer.stream), (RESULT, 7), "behind opcode {opcode}, {body:?}");
        }
        if compression.is_some() {
            const COMPRESSED: u8 = 1;
            let answer = client.ask(&frame(version, COMPRESSED, 9, 0x07, &[0, 0, 0, 32, 1, 2, 3]));
            refused(answer, 9, "does not decompress");
            let answer = client.ask(&query_frame(version, 7, "SELECT key FROM system.local"));
            assert_eq!((answer.opcode, answer.stream), (RESULT, 7));
        }
    }
    server.stop();
}
