//! The bodies of a copy's messages. `docs/internals/copying.md` draws them.

use mutation::DecodeError;
use schema::TableId;
use stdx::{ReadError, Reader, varint};
use topology::{Sharder, Token, TokenRange};

use super::message::{CUTS_MAX, CopyAnswer, CopyNumber, CopyRequest, Open, Owner, Page, PageOf, RANGES_MAX, Sum};
use crate::replica::{push_mutations, read_mutations};

/// The version of all bodies of this module and of `repair`.
const VERSION: u8 = 1;

/// The kinds of frames.
pub(super) mod kind {
    pub const OPEN: u8 = 24;
    pub const PAGE: u8 = 25;
    pub const CLOSE: u8 = 26;
    pub const KEEP: u8 = 30;
    pub const OPENED: u8 = 150;
    pub const PAGED: u8 = 151;
    pub const CLOSED: u8 = 152;
    pub const AGAIN: u8 = 153;
    pub const KEPT: u8 = 155;
}

/// The reason of [`kind::AGAIN`].
mod again {
    pub const RESTART: u8 = 1;
    pub const NOT_OPEN: u8 = 2;
}

/// The kind of a request's frame.
pub(super) fn verb(request: &CopyRequest) -> u8 {
    match request {
        CopyRequest::Open(_) => kind::OPEN,
        CopyRequest::Page(_) => kind::PAGE,
        CopyRequest::Keep { .. } => kind::KEEP,
        CopyRequest::Close { .. } => kind::CLOSE,
    }
}

pub(super) fn encode_request(request: &CopyRequest, out: &mut Vec<u8>) {
    out.push(VERSION);
    match request {
        CopyRequest::Open(open) => {
            out.extend_from_slice(&open.copy.0.to_be_bytes());
            out.extend_from_slice(&open.table.0);
            let Owner { shard, sharder } = open.receiver;
            for number in [open.shard, open.shards, shard, sharder.shards] {
                out.extend_from_slice(&number.to_be_bytes());
            }
            out.push(sharder.ignore_msb);
            push_ranges(&open.ranges, out);
        }
        CopyRequest::Page(PageOf { copy, shard, unit, page }) => {
            out.extend_from_slice(&copy.0.to_be_bytes());
            out.extend_from_slice(&shard.to_be_bytes());
            push_range(*unit, out);
            out.extend_from_slice(&page.to_be_bytes());
        }
        CopyRequest::Keep { copy, shard } | CopyRequest::Close { copy, shard } => {
            out.extend_from_slice(&copy.0.to_be_bytes());
            out.extend_from_slice(&shard.to_be_bytes());
        }
    }
}

pub(super) fn decode_request(verb: u8, body: &[u8]) -> Result<CopyRequest, DecodeError> {
    let mut reader = Reader::new(body);
    read_version(&mut reader)?;
    let copy = CopyNumber(reader.u64()?);
    let request = match verb {
        kind::OPEN => {
            let table = TableId(reader.array()?);
            let (shard, shards) = (reader.u16()?, reader.u16()?);
            let (own, sharder) = (reader.u16()?, Sharder { shards: reader.u16()?, ignore_msb: reader.u8()? });
            if own >= sharder.shards {
                return Err(DecodeError::Unknown { what: "a receiver's shard", value: own as u8 });
            }
            if sharder.ignore_msb >= 64 {
                return Err(DecodeError::Unknown { what: "a count of ignored bits", value: sharder.ignore_msb });
            }
            let ranges = read_ranges(&mut reader)?;
            CopyRequest::Open(Box::new(Open {
                copy,
                table,
                shard,
                shards,
                receiver: Owner { shard: own, sharder },
                ranges,
            }))
        }
        kind::PAGE => {
            let (shard, unit, page) = (reader.u16()?, read_range(&mut reader)?, reader.u32()?);
            CopyRequest::Page(PageOf { copy, shard, unit, page })
        }
        kind::KEEP => CopyRequest::Keep { copy, shard: reader.u16()? },
        kind::CLOSE => CopyRequest::Close { copy, shard: reader.u16()? },
        value => return Err(DecodeError::Unknown { what: "a copy's verb", value }),
    };
    finish(&reader)?;
    Ok(request)
}

/// The kind of an answer's frame. `None`: a refusal, as of other requests.
pub(super) fn answer_kind(answer: &CopyAnswer) -> Option<u8> {
    match answer {
        CopyAnswer::Opened(_) => Some(kind::OPENED),
        CopyAnswer::Page(_) => Some(kind::PAGED),
        CopyAnswer::Kept => Some(kind::KEPT),
        CopyAnswer::Closed => Some(kind::CLOSED),
        CopyAnswer::Restart | CopyAnswer::NotOpen => Some(kind::AGAIN),
        CopyAnswer::Failed(_) => None,
    }
}

/// Appends an answer's body.
///
/// # Panics
/// If it is a refusal, whose bytes are those of other requests' refusals.
pub(super) fn encode_answer(answer: &CopyAnswer, out: &mut Vec<u8>) {
    out.push(VERSION);
    match answer {
        CopyAnswer::Opened(ranges) => {
            varint::encode(ranges.len() as u64, out);
            for cuts in ranges {
                varint::encode(cuts.len() as u64, out);
                cuts.iter().for_each(|cut| out.extend_from_slice(&cut.0.to_be_bytes()));
            }
        }
        CopyAnswer::Page(Page { mutations, end }) => {
            out.push(u8::from(end.is_none()));
            if let Some(Sum { rows, hash }) = end {
                out.extend_from_slice(&rows.to_be_bytes());
                out.extend_from_slice(hash);
            }
            push_mutations(mutations, out);
        }
        CopyAnswer::Kept | CopyAnswer::Closed => {}
        CopyAnswer::Restart => out.push(again::RESTART),
        CopyAnswer::NotOpen => out.push(again::NOT_OPEN),
        CopyAnswer::Failed(error) => panic!("a refusal has its own encoding: {error}"),
    }
}

/// An answer by its kind, which is none of a refusal, and its body.
pub(super) fn decode_answer(kind: u8, body: &[u8]) -> Result<CopyAnswer, DecodeError> {
    let mut reader = Reader::new(body);
    read_version(&mut reader)?;
    let answer = match kind {
        kind::OPENED => CopyAnswer::Opened(read_cuts(&mut reader)?),
        kind::PAGED => {
            let end = match reader.u8()? {
                1 => None,
                0 => Some(Sum { rows: reader.u64()?, hash: reader.array()? }),
                value => return Err(DecodeError::Unknown { what: "a page's flag", value }),
            };
            CopyAnswer::Page(Page { mutations: read_mutations(&mut reader)?, end })
        }
        kind::KEPT => CopyAnswer::Kept,
        kind::CLOSED => CopyAnswer::Closed,
        kind::AGAIN => match reader.u8()? {
            again::RESTART => CopyAnswer::Restart,
            again::NOT_OPEN => CopyAnswer::NotOpen,
            value => return Err(DecodeError::Unknown { what: "a reason to begin again", value }),
        },
        value => return Err(DecodeError::Unknown { what: "an answer's kind", value }),
    };
    finish(&reader)?;
    Ok(answer)
}

/// Reads the version byte of a body.
pub(crate) fn read_version(reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    match reader.u8()? {
        VERSION => Ok(()),
        found => Err(DecodeError::NewerVersion { found, known: VERSION }),
    }
}

/// Appends a count of ranges and the ranges.
pub(crate) fn push_ranges(ranges: &[TokenRange], out: &mut Vec<u8>) {
    varint::encode(ranges.len() as u64, out);
    ranges.iter().for_each(|range| push_range(*range, out));
}

/// Reads ranges: at most [`RANGES_MAX`], none of which wraps.
pub(crate) fn read_ranges(reader: &mut Reader<'_>) -> Result<Vec<TokenRange>, DecodeError> {
    let count = read_count(reader, 16, RANGES_MAX)?;
    (0..count).map(|_| read_range(reader)).collect()
}

fn push_range(range: TokenRange, out: &mut Vec<u8>) {
    out.extend_from_slice(&range.after.0.to_be_bytes());
    out.extend_from_slice(&range.end.0.to_be_bytes());
}

fn read_range(reader: &mut Reader<'_>) -> Result<TokenRange, DecodeError> {
    let (after, end) = (Token(reader.i64()?), Token(reader.i64()?));
    match after < end {
        true => Ok(TokenRange { after, end }),
        false => Err(DecodeError::Unknown { what: "a range that wraps, with a last byte", value: end.0 as u8 }),
    }
}

fn read_cuts(reader: &mut Reader<'_>) -> Result<Vec<Vec<Token>>, DecodeError> {
    let count = read_count(reader, 1, RANGES_MAX)?;
    let (mut ranges, mut left) = (Vec::with_capacity(count), CUTS_MAX);
    for _ in 0..count {
        let cuts = read_count(reader, 8, left)?;
        left -= cuts;
        let mut tokens: Vec<Token> = Vec::with_capacity(cuts);
        for _ in 0..cuts {
            tokens.push(Token(reader.i64()?));
        }
        ranges.push(tokens);
    }
    Ok(ranges)
}

/// Reads a count of items that have at least so many bytes each.
pub(crate) fn read_count(reader: &mut Reader<'_>, bytes_min: usize, max: usize) -> Result<usize, DecodeError> {
    let count = reader.varint()?;
    let (wanted, left) = (usize::try_from(count).unwrap_or(usize::MAX), reader.remaining());
    if wanted > max {
        return Err(DecodeError::TooMany { count, max });
    }
    if wanted > left / bytes_min {
        return Err(ReadError::Truncated { wanted: wanted.saturating_mul(bytes_min), left }.into());
    }
    Ok(wanted)
}

/// The whole body has been read.
pub(crate) fn finish(reader: &Reader<'_>) -> Result<(), DecodeError> {
    match reader.remaining() {
        0 => Ok(()),
        count => Err(DecodeError::LeftOver { count }),
    }
}
