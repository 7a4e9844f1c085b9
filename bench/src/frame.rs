//! As much of the native protocol as an echo needs: where a frame of version 4 ends and which stream it is of. Own code,
//! not `cql-protocol`'s, so that the yardstick does not change when that does.

/// Bytes before a frame's body.
pub const HEADER_BYTES: usize = 9;
/// The longest body that is taken.
pub const BODY_BYTES_MAX: usize = 16 << 20;

const VERSION_REQUEST: u8 = 0x04;
const VERSION_REPLY: u8 = 0x84;
const OPCODE_EXECUTE: u8 = 0x0a;
const OPCODE_RESULT: u8 = 0x08;

/// The body of a RESULT that says nothing.
pub const VOID: [u8; 4] = [0, 0, 0, 1];

/// The length of the frame that `bytes` begin with; `None` if not even its header is there.
#[inline]
pub fn frame_length(bytes: &[u8]) -> Option<usize> {
    let header = bytes.first_chunk::<HEADER_BYTES>()?;
    let body = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
    Some(HEADER_BYTES + body as usize)
}

/// The two bytes that name the frame's stream.
#[inline]
fn stream(frame: &[u8]) -> [u8; 2] {
    [frame[2], frame[3]]
}

fn append(out: &mut Vec<u8>, version: u8, stream: [u8; 2], opcode: u8, body: &[u8]) {
    let length = u32::try_from(body.len()).expect("a body is shorter than 4 GiB").to_be_bytes();
    let header = [version, 0, stream[0], stream[1], opcode, length[0], length[1], length[2], length[3]];
    out.extend_from_slice(&header);
    out.extend_from_slice(body);
}

/// Appends the reply to a request, which is a whole frame.
#[inline]
pub fn append_reply(out: &mut Vec<u8>, request: &[u8], body: &[u8]) {
    append(out, VERSION_REPLY, stream(request), OPCODE_RESULT, body);
}

/// Appends a request of the stream.
pub fn append_request(out: &mut Vec<u8>, stream: u16, body: &[u8]) {
    append(out, VERSION_REQUEST, stream.to_be_bytes(), OPCODE_EXECUTE, body);
}

/// The stream of a reply, which is a whole frame.
pub fn reply_stream(reply: &[u8]) -> u16 {
    u16::from_be_bytes(stream(reply))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_of_the_requests_stream() {
        let (mut request, mut reply) = (Vec::new(), Vec::new());
        append_request(&mut request, 300, b"body");
        assert_eq!(frame_length(&request), Some(13));
        assert_eq!(frame_length(&request[..8]), None);
        append_reply(&mut reply, &request, &VOID);
        assert_eq!(reply, [0x84, 0, 1, 44, 8, 0, 0, 0, 4, 0, 0, 0, 1]);
        assert_eq!(reply_stream(&reply), 300);
    }
}
