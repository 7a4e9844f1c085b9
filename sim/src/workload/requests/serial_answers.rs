//! Answers to conditional statements and to reads at a serial level, noted in their histories.

use cql_protocol::ErrorCode;
use histories::{Answer, Row, Ticket};

use super::history::Requests;
use super::serial::Kept;
use crate::client::ClientError;

/// Takes note of the end of a request. Gives what its answer says.
pub(super) fn note_end<W: Kept>(
    all: &mut Requests,
    (ticket, partition, asked): (Ticket, i32, &W::Asked),
    rows: &Answer<Vec<Row>>,
) -> Option<W::Told> {
    let kept = W::of(&mut all.serial);
    let (end, told) = match rows {
        Answer::Told(end, rows) => (*end, W::read(asked, rows)),
        Answer::Void => {
            kept.history.end(ticket, Answer::Void);
            return None;
        }
        Answer::Unknown => return None,
    };
    match told {
        Ok(told) => {
            W::learn(kept.views.entry(partition).or_default(), asked, &told);
            kept.history.end(ticket, Answer::Told(end, told.clone()));
            all.reads += u64::from(W::is_read(asked));
            Some(told)
        }
        Err(what) => {
            all.violations.push(format!("{}, partition {partition}: {what}", W::NAME));
            None
        }
    }
}

/// Takes note of a refusal that no statement of the workloads may get.
pub(super) fn note_refusal(all: &mut Requests, error: &ClientError) {
    if let ClientError::Refused(error) = error
        && error.code() == ErrorCode::Invalid
    {
        all.violations.push(format!("refused as invalid: {}", error.message));
    }
}
