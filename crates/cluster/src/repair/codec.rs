//! The bodies of a repair's messages. `docs/internals/repair.md` draws them.

use mutation::DecodeError;
use schema::TableId;
use stdx::{Reader, varint};
use topology::{Epoch, HostId};

use crate::streaming::{
    CopyFigures, CopyJob, JobName, JobOrder, JobReport, JobState, finish, push_ranges, read_count, read_ranges,
    read_version,
};

const VERSION: u8 = 1;
/// The most sources of a job.
pub(super) const SOURCES_MAX: usize = 64;
/// The longest sentence of a state.
const WORDS_MAX: usize = 512;

/// The kinds of frames.
pub(super) mod kind {
    pub const BEGIN: u8 = 27;
    pub const ASK: u8 = 28;
    pub const END: u8 = 29;
    pub const STATE: u8 = 154;
}

/// The kind of an order's frame.
pub(super) fn verb(order: &JobOrder) -> u8 {
    match order {
        JobOrder::Begin(..) => kind::BEGIN,
        JobOrder::Ask(_) => kind::ASK,
        JobOrder::End(_) => kind::END,
    }
}

/// Appends an order's body. The epoch of its plan is the frame's.
pub(super) fn encode_order(order: &JobOrder, out: &mut Vec<u8>) {
    out.push(VERSION);
    match order {
        JobOrder::Begin(name, job) => {
            out.extend_from_slice(&name.0);
            out.extend_from_slice(&job.table.0);
            push_ranges(&job.ranges, out);
            varint::encode(job.sources.len() as u64, out);
            job.sources.iter().for_each(|host| out.extend_from_slice(&host.0));
        }
        JobOrder::Ask(name) | JobOrder::End(name) => out.extend_from_slice(&name.0),
    }
}

/// An order by its verb and body, planned at the epoch of its frame.
pub(super) fn decode_order(verb: u8, body: &[u8], planned: Epoch) -> Result<JobOrder, DecodeError> {
    let mut reader = Reader::new(body);
    read_version(&mut reader)?;
    let name = JobName(reader.array()?);
    let order = match verb {
        kind::BEGIN => {
            let (table, ranges) = (TableId(reader.array()?), read_ranges(&mut reader)?);
            let count = read_count(&mut reader, 16, SOURCES_MAX)?;
            let mut sources = Vec::with_capacity(count);
            for _ in 0..count {
                sources.push(HostId(reader.array()?));
            }
            JobOrder::Begin(name, Box::new(CopyJob { table, ranges, sources, planned, confirms: None }))
        }
        kind::ASK => JobOrder::Ask(name),
        kind::END => JobOrder::End(name),
        value => return Err(DecodeError::Unknown { what: "a repair's verb", value }),
    };
    finish(&reader)?;
    Ok(order)
}

pub(super) fn encode_report(JobReport { state, figures }: &JobReport, out: &mut Vec<u8>) {
    let (number, words) = match state {
        JobState::Unknown => (0, ""),
        JobState::Waiting => (1, ""),
        JobState::Running => (2, ""),
        JobState::Done => (3, ""),
        JobState::Failed(words) => (4, words.as_str()),
    };
    out.extend_from_slice(&[VERSION, number]);
    let CopyFigures { units_done, units, rows, bytes, files } = *figures;
    [units_done, units, rows, bytes, files].iter().for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
    let mut end = words.len().min(WORDS_MAX);
    while !words.is_char_boundary(end) {
        end -= 1;
    }
    out.extend_from_slice(&words.as_bytes()[..end]);
}

pub(super) fn decode_report(kind: u8, body: &[u8]) -> Result<JobReport, DecodeError> {
    let mut reader = Reader::new(body);
    if kind != kind::STATE {
        return Err(DecodeError::Unknown { what: "an answer's kind", value: kind });
    }
    read_version(&mut reader)?;
    let number = reader.u8()?;
    let figures = CopyFigures {
        units_done: reader.u64()?,
        units: reader.u64()?,
        rows: reader.u64()?,
        bytes: reader.u64()?,
        files: reader.u64()?,
    };
    let words = reader.rest();
    let state = match number {
        0..=3 if !words.is_empty() => return Err(DecodeError::LeftOver { count: words.len() }),
        0 => JobState::Unknown,
        1 => JobState::Waiting,
        2 => JobState::Running,
        3 => JobState::Done,
        4 if words.len() > WORDS_MAX => {
            return Err(DecodeError::TooMany { count: words.len() as u64, max: WORDS_MAX });
        }
        4 => JobState::Failed(String::from_utf8_lossy(words).into_owned()),
        value => return Err(DecodeError::Unknown { what: "a job's state", value }),
    };
    Ok(JobReport { state, figures })
}
