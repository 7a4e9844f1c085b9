//! Response frames, which the load generator and the tests decode: a server they talk to may be anyone's.

use cql_protocol::{FrameHeader, HEADER_LENGTH, Response, ResultBody};

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((header, body)) = data.split_first_chunk::<HEADER_LENGTH>() else { return };
    let Ok(header) = FrameHeader::decode(header) else { return };
    let Ok((_, response)) = Response::decode(&header, body) else { return };
    if let Response::Result(ResultBody::Rows(rows)) = response {
        // A row without columns takes no bytes, so that its count is all that bounds the loop.
        for row in rows.iter().take(1000) {
            row.into_iter().count();
        }
    }
}
