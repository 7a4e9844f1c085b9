//! What a connection from another node may bring: a greeting, then frames with requests or answers, and pages in them.

use cluster::replica::{PeerAnswer, Prepared, decode_answer, decode_request, encode_answer, encode_request};
use internode::{FrameReader, Head, Hello, Welcome, write_frame};
use storage::reader::read_data_item;

/// The bytes as they might arrive, in pieces.
fn read_frames(data: &[u8], step: usize) -> usize {
    let mut reader = FrameReader::new();
    let mut count = 0;
    for piece in data.chunks(step) {
        let mut buffer = reader.take_for_read();
        assert!(buffer.capacity() - buffer.len() > 0, "a read has room");
        assert!(buffer.capacity() <= 2 * data.len() + (64 << 10), "memory follows what came");
        buffer.extend_from_slice(piece);
        reader.put_back(buffer);
        loop {
            match reader.next_frame() {
                Ok(Some(frame)) => {
                    count += 1;
                    if let Ok(body) = frame.body.open() {
                        read_body(frame.head.kind, &body);
                    }
                }
                Ok(None) => break,
                Err(_) => return count,
            }
        }
    }
    count
}

fn read_body(kind: u8, body: &[u8]) {
    if let Ok(request) = decode_request(kind, body) {
        let mut again = Vec::new();
        let kind = encode_request(&request, &mut again);
        assert_eq!(decode_request(kind, &again).expect("an encoded request decodes"), request);
    }
    if let Ok(answer) = decode_answer(kind, body.to_vec()) {
        match &answer {
            PeerAnswer::Page(page) => read_page(&page.items),
            PeerAnswer::Prepared(Prepared::Promised(promised)) => read_page(&promised.page.items),
            _ => {}
        }
        let mut again = Vec::new();
        let kind = encode_answer(&answer, &mut again);
        decode_answer(kind, again).expect("an encoded answer decodes");
    }
}

fn read_page(items: &[u8]) {
    let mut reader = stdx::Reader::new(items);
    while let Ok(Some(_)) = read_data_item(&mut reader) {}
}

fn read_greetings(bytes: &[u8]) {
    if let Ok(Some((hello, _))) = Hello::decode(bytes) {
        let again = Hello::decode(&hello.encode()).expect("an encoded hello decodes").expect("it is whole");
        assert_eq!(again.0, hello);
    }
    if let Ok(Some((welcome, length))) = Welcome::decode(bytes) {
        assert_eq!(welcome.encode(), bytes[..length], "a welcome has one form, which proofs are over");
    }
}

/// Runs one input.
pub fn run(data: &[u8]) {
    read_greetings(data);
    // The same bytes as a greeting's body, for no fuzzer finds a checksum.
    let body = &data[..data.len().min(1024)];
    let head = [&b"helepeer"[..], &(body.len() as u32).to_be_bytes(), &crc32fast::hash(body).to_be_bytes()];
    read_greetings(&[&head.concat()[..], body].concat());
    read_frames(data, 7);
    read_page(data);
    // The same bytes as bodies whose checksums are right, for no fuzzer finds a checksum: a kind, two bytes of length, the body.
    let (mut rest, mut bytes, mut count) = (data, Vec::new(), 0);
    while let [kind, high, low, tail @ ..] = rest {
        let (body, tail) = tail.split_at(usize::from(u16::from_be_bytes([*high, *low])).min(tail.len()));
        let head = Head { number: count as u64, kind: *kind, ..Head::default() };
        write_frame(&mut bytes, &head, kind % 2 == 1, |out| out.extend_from_slice(body)).expect("it is short");
        count += 1;
        rest = tail;
    }
    assert_eq!(read_frames(&bytes, 4096), count, "sealed frames are read back");
}
