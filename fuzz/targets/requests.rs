//! Request frames: a header and a body of any bytes. What decodes can be walked and encoded again to the same bytes.

use cql_protocol::{BatchQuery, FrameHeader, HEADER_LENGTH, Request, Values};

fn walk(values: &Values<'_>) {
    assert!(values.iter().count() <= values.len());
}

fn encoded(header: &FrameHeader, request: &Request<'_>) -> Vec<u8> {
    let mut frame = Vec::new();
    request.encode_frame(header.version, header.stream, &mut frame);
    frame
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((header, body)) = data.split_first_chunk::<HEADER_LENGTH>() else { return };
    let Ok(header) = FrameHeader::decode(header) else { return };
    let Ok(request) = Request::decode(&header, body) else { return };
    match &request {
        Request::Query(query) => walk(&query.params.values),
        Request::Execute(execute) => walk(&execute.params.values),
        Request::Batch(batch) => {
            for statement in batch.statements() {
                walk(&statement.values);
                if let BatchQuery::Text(text) = statement.query {
                    assert!(text.len() <= body.len());
                }
            }
        }
        Request::Startup(startup) => {
            startup.options().count();
        }
        _ => {}
    }
    let again = encoded(&header, &request);
    let (head, body) = again.split_first_chunk::<HEADER_LENGTH>().expect("an encoded frame has a header");
    let head = FrameHeader::decode(head).expect("an encoded header decodes");
    let back = Request::decode(&head, body).expect("an encoded request decodes");
    // Bytes are compared, not requests: a version 4 request may carry version 5's keyspace, which is dropped on the way.
    assert_eq!(encoded(&head, &back), again);
}
