//! The heads of traced messages: a trace's id before a request, and the answering node's steps before its answer.
//!
//! ```text
//! request   16 bytes, the trace's id │ message
//! answer    count of steps u16 │ for each: microseconds since the request arrived u32 │ length u16, text │ message
//! ```
//!
//! Steps travel with the answer, so whoever waited for the answer has them. Those of nodes that the answering node asked in turn are not among
//! them. See `docs/rfcs/0003-frames-with-epoch-and-deadline.md`.

use std::net::SocketAddr;

use runtime::{Runtime, TRACE_STEPS_MAX, TRACE_TEXT_MAX, Trace};
use stdx::{ReadError, Reader};

use crate::verbs::Malformed;

/// Bytes of a trace's id.
const ID: usize = 16;
/// The longest text of a step, with the sign that it was cut.
const TEXT_MAX: usize = TRACE_TEXT_MAX + '…'.len_utf8();

/// Appends what stands before a request's message.
pub(crate) fn push_id(trace: &Trace, out: &mut Vec<u8>) {
    out.extend_from_slice(&trace.id());
}

/// The trace's id, and the message of a traced request.
pub(crate) fn split_id(body: &[u8]) -> Result<([u8; ID], &[u8]), Malformed> {
    let (id, message) = body.split_first_chunk().ok_or_else(|| Malformed::new("a traced request has no id"))?;
    Ok((*id, message))
}

/// Appends what stands before an answer's message: this node's steps so far.
pub(crate) fn push_steps(trace: &Trace, out: &mut Vec<u8>) {
    let steps = trace.steps();
    let own: Vec<_> = steps.iter().filter(|step| step.source.is_none()).collect();
    out.extend_from_slice(&(own.len() as u16).to_be_bytes());
    for step in own {
        assert!(step.activity.len() <= TEXT_MAX, "a trace cuts its texts");
        out.extend_from_slice(&step.elapsed_micros.to_be_bytes());
        out.extend_from_slice(&(step.activity.len() as u16).to_be_bytes());
        out.extend_from_slice(step.activity.as_bytes());
    }
}

/// Notes the steps of the node at `source`, and gives the message of a traced answer.
pub(crate) fn take_steps(
    trace: Option<&Trace>,
    runtime: &Runtime,
    source: SocketAddr,
    mut body: Vec<u8>,
) -> Result<Vec<u8>, Malformed> {
    let mut reader = Reader::new(&body);
    let steps = read_steps(&mut reader)?;
    let at = body.len() - reader.remaining();
    if let Some(trace) = trace {
        steps.into_iter().for_each(|(micros, activity)| runtime.tracing().note_of(trace, source, micros, activity));
    }
    body.drain(..at);
    Ok(body)
}

fn read_steps(reader: &mut Reader<'_>) -> Result<Vec<(u32, String)>, Malformed> {
    let truncated = |error: ReadError| Malformed::new(error);
    let count = usize::from(reader.u16().map_err(truncated)?);
    if count > TRACE_STEPS_MAX {
        return Err(Malformed::new(format!("{count} steps of a trace exceed the limit of {TRACE_STEPS_MAX}")));
    }
    let mut steps = Vec::with_capacity(count.min(reader.remaining() / 6));
    for _ in 0..count {
        let micros = reader.u32().map_err(truncated)?;
        let length = usize::from(reader.u16().map_err(truncated)?);
        let text = reader.bytes(length).map_err(truncated)?;
        if length > TEXT_MAX {
            return Err(Malformed::new(format!("a step of {length} bytes exceeds the limit of {TEXT_MAX}")));
        }
        steps.push((micros, String::from_utf8_lossy(text).into_owned()));
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<(Vec<(u32, String)>, usize), Malformed> {
        let mut reader = Reader::new(bytes);
        Ok((read_steps(&mut reader)?, reader.remaining()))
    }

    #[test]
    fn steps_stand_before_the_message() {
        let bytes = [0, 2, 0, 0, 0, 7, 0, 1, b'a', 0, 0, 1, 0, 0, 2, b'b', b'c', 9];
        let steps = vec![(7, "a".to_owned()), (256, "bc".to_owned())];
        assert_eq!(read(&bytes), Ok((steps, 1)));
        assert_eq!(read(&[0, 0]), Ok((Vec::new(), 0)));
        assert_eq!(split_id(&[3; 17]), Ok(([3; 16], &[3][..])));
    }

    #[test]
    fn what_is_too_short_or_too_much_is_refused() {
        let bytes = [0, 2, 0, 0, 0, 7, 0, 1, b'a', 0, 0, 1, 0, 0, 2, b'b', b'c'];
        assert!((0..bytes.len()).all(|length| read(&bytes[..length]).is_err()));
        assert!(read(&[0xff; 64]).is_err(), "more steps than a trace has");
        let mut long = vec![0, 1, 0, 0, 0, 0, 0xff, 0xff];
        long.resize(70_000, b'x');
        assert!(read(&long).is_err(), "a text longer than any is cut to");
        assert!(split_id(&[3; 15]).is_err());
    }
}
