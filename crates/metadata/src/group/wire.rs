//! Messages of a group as bytes, one in the body of a frame between nodes.
//!
//! ```text
//! message:          u8 version (1) · u8 kind · body
//! 1 raft:           16 from · 16 to · u64 term · u8 kind · body
//!    1 vote:           u8 flags (1 pre, 2 transfer) · u64 last index · u64 last term
//!    2 vote reply:     u8 flags (1 pre, 2 granted)
//!    3 append:         u64 previous index · u64 previous term · u64 commit · entries
//!    4 appended:       u64 matched
//!    5 diverged:       u64 previous index · u64 hint · u64 hint term
//!    6 committed:      u64 commit · u64 commit term
//!    7 heartbeat:      u64 commit · u64 commit term · u64 round
//!    8 heartbeat reply: u8 flags (1 lost) · u64 round · u64 commit
//!    9 transfer now, 10 outdated: –
//! 2 entries:        u64 previous index · u64 previous term · entries
//! 3 since:          u64 epoch
//! 4 chunk:          snapshot · u32 offset · bytes
//! 5 applied:        u64 epoch
//! 6 propose:        16 id · u64 first epoch · u32 copy · u8 request (0 plan, 1 cancel) · intention, to be planned
//! 7 reply:          16 id · u32 copy · u8 reply · body
//!    0 not the leader: leader
//!    1 refused:        u64 epoch · reason
//!    2 applied:        u64 epoch · varint count · (16 node that lags)*
//!    3 too late, 5 busy: –
//!    4 leads no more:  leader
//!    6 cancelled:      u64 epoch
//!    7 failed:         reason, UTF-8
//! 8 received:       snapshot · u32 offset
//! 9 who leads:      16 id
//! 10 leads:         16 id · leader
//! leader: u8 flags (1 the leader is known) · 16 leader, if it is
//! snapshot: u64 index · u32 length · u32 CRC of its bytes, which are a record's of kind 7 without kind and version
//! entries: varint count · (varint length · entry as in records of kind 6 version 2)*
//! ```
//!
//! A snapshot travels in chunks, which [`super::transfer`] puts together. Memory is taken for what has arrived, never for what a length says.

use raft::{Entry as PlacedEntry, Envelope, Index, Message, NodeId, Term};
use stdx::{Reader, varint};

use super::ids::ProposalId;
use super::message::{GroupMessage, Reply, Request};
use super::record::{decode_entry, encode_entry, flags, node, put, put_node};
use crate::error::{DecodeError, invalid};

/// The most bytes that a message has.
pub const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// The version that this code writes, and the newest that it reads.
const VERSION: u8 = 1;

const RAFT: u8 = 1;
const ENTRIES: u8 = 2;
const SINCE: u8 = 3;
const CHUNK: u8 = 4;
const APPLIED: u8 = 5;
const PROPOSE: u8 = 6;
const REPLY: u8 = 7;
const RECEIVED: u8 = 8;
const WHO_LEADS: u8 = 9;
const LEADS: u8 = 10;

/// More entries than a message has, as a count is believed.
const ENTRIES_MAX: u64 = 65_536;
/// An entry's bytes, at least: its length, its place, flags and the payload's kind.
const ENTRY_BYTES_MIN: usize = 19;
const NODE_BYTES: usize = 16;

/// Names a snapshot by its content: chunks of equal snapshots are the same, whoever sends them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SnapshotName {
    /// The last index that it covers.
    pub(super) index: Index,
    /// Bytes of the whole.
    pub(super) length: u32,
    /// CRC of the whole.
    pub(super) crc: u32,
}

/// A message, or a part of one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Body<'b> {
    /// A whole message.
    Message(GroupMessage),
    /// The bytes of a snapshot from an offset on.
    Chunk { of: SnapshotName, offset: u32, bytes: &'b [u8] },
    /// The receiver has the snapshot's bytes up to an offset.
    Received { of: SnapshotName, offset: u32 },
}

/// The message's bytes. Panics at a snapshot, which travels in chunks.
pub(super) fn encode(message: &GroupMessage) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    let out = &mut out;
    match message {
        GroupMessage::Raft(envelope) => {
            begin(RAFT, out);
            encode_envelope(envelope, out);
        }
        GroupMessage::Entries { previous, entries } => {
            begin(ENTRIES, out);
            put_all(out, [previous.0.0, previous.1.0]);
            encode_entries(entries, out);
        }
        GroupMessage::Since { epoch } => {
            begin(SINCE, out);
            put(out, epoch.0);
        }
        GroupMessage::Snapshot(_) => panic!("a snapshot travels in chunks"),
        GroupMessage::Applied { epoch } => {
            begin(APPLIED, out);
            put(out, epoch.0);
        }
        GroupMessage::Propose { id, first, copy, request } => {
            begin(PROPOSE, out);
            out.extend_from_slice(&id.0.to_be_bytes());
            put(out, first.0);
            out.extend_from_slice(&copy.to_be_bytes());
            match request {
                Request::Plan(intention) => {
                    out.push(0);
                    out.extend_from_slice(intention);
                }
                Request::Cancel => out.push(1),
            }
        }
        GroupMessage::Reply { id, copy, reply } => {
            begin(REPLY, out);
            out.extend_from_slice(&id.0.to_be_bytes());
            out.extend_from_slice(&copy.to_be_bytes());
            encode_reply(reply, out);
        }
        GroupMessage::WhoLeads { id } => {
            begin(WHO_LEADS, out);
            out.extend_from_slice(&id.0.to_be_bytes());
        }
        GroupMessage::Leads { id, leader } => {
            begin(LEADS, out);
            out.extend_from_slice(&id.0.to_be_bytes());
            encode_leader(*leader, out);
        }
    }
    std::mem::take(out)
}

/// The bytes of a snapshot from an offset on.
pub(super) fn encode_chunk(of: SnapshotName, offset: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 22);
    begin(CHUNK, &mut out);
    encode_name(of, offset, &mut out);
    out.extend_from_slice(bytes);
    out
}

/// The receiver has the snapshot's bytes up to an offset.
pub(super) fn encode_received(of: SnapshotName, offset: u32) -> Vec<u8> {
    let mut out = Vec::with_capacity(22);
    begin(RECEIVED, &mut out);
    encode_name(of, offset, &mut out);
    out
}

/// The message that all of the bytes are.
pub(super) fn decode(bytes: &[u8]) -> Result<Body<'_>, DecodeError> {
    if bytes.len() > MESSAGE_BYTES_MAX {
        return Err(invalid(format!("a message of {} bytes exceeds the limit of {MESSAGE_BYTES_MAX}", bytes.len())));
    }
    let mut reader = Reader::new(bytes);
    match reader.u8()? {
        0 => return Err(invalid("a message has format version 0")),
        VERSION => {}
        version => return Err(DecodeError::NewerVersion { version, supported: VERSION }),
    }
    let body = match reader.u8()? {
        RAFT => Body::Message(GroupMessage::Raft(decode_envelope(&mut reader)?)),
        ENTRIES => {
            let previous = (index(&mut reader)?, term(&mut reader)?);
            Body::Message(GroupMessage::Entries { previous, entries: decode_entries(previous, &mut reader)? })
        }
        SINCE => Body::Message(GroupMessage::Since { epoch: index(&mut reader)? }),
        CHUNK => {
            let (of, offset) = decode_name(&mut reader)?;
            Body::Chunk { of, offset, bytes: reader.rest() }
        }
        APPLIED => Body::Message(GroupMessage::Applied { epoch: index(&mut reader)? }),
        PROPOSE => {
            let (id, first, copy) = (proposal(&mut reader)?, index(&mut reader)?, reader.u32()?);
            let request = match reader.u8()? {
                0 => Request::Plan(reader.rest().to_vec()),
                1 => Request::Cancel,
                kind => return Err(invalid(format!("a proposal asks for the unknown {kind}"))),
            };
            Body::Message(GroupMessage::Propose { id, first, copy, request })
        }
        REPLY => {
            let (id, copy) = (proposal(&mut reader)?, reader.u32()?);
            Body::Message(GroupMessage::Reply { id, copy, reply: decode_reply(&mut reader)? })
        }
        WHO_LEADS => Body::Message(GroupMessage::WhoLeads { id: proposal(&mut reader)? }),
        LEADS => {
            let id = proposal(&mut reader)?;
            Body::Message(GroupMessage::Leads { id, leader: decode_leader(&mut reader)? })
        }
        RECEIVED => {
            let (of, offset) = decode_name(&mut reader)?;
            Body::Received { of, offset }
        }
        kind => return Err(invalid(format!("unknown message kind {kind}"))),
    };
    match reader.is_empty() {
        true => Ok(body),
        false => Err(invalid(format!("{} trailing bytes in a message", reader.remaining()))),
    }
}

fn begin(kind: u8, out: &mut Vec<u8>) {
    out.extend([VERSION, kind]);
}

fn put_all<const N: usize>(out: &mut Vec<u8>, numbers: [u64; N]) {
    numbers.into_iter().for_each(|number| put(out, number));
}

fn index(reader: &mut Reader<'_>) -> Result<Index, DecodeError> {
    Ok(Index(reader.u64()?))
}

fn term(reader: &mut Reader<'_>) -> Result<Term, DecodeError> {
    Ok(Term(reader.u64()?))
}

fn proposal(reader: &mut Reader<'_>) -> Result<ProposalId, DecodeError> {
    Ok(ProposalId(u128::from_be_bytes(reader.array()?)))
}

fn bits<const N: usize>(set: [bool; N]) -> u8 {
    set.iter().rev().fold(0, |bits, is_set| bits << 1 | u8::from(*is_set))
}

fn encode_name(of: SnapshotName, offset: u32, out: &mut Vec<u8>) {
    put(out, of.index.0);
    for number in [of.length, of.crc, offset] {
        out.extend_from_slice(&number.to_be_bytes());
    }
}

fn decode_name(reader: &mut Reader<'_>) -> Result<(SnapshotName, u32), DecodeError> {
    let of = SnapshotName { index: index(reader)?, length: reader.u32()?, crc: reader.u32()? };
    Ok((of, reader.u32()?))
}

fn encode_envelope(envelope: &Envelope, out: &mut Vec<u8>) {
    put_node(out, envelope.from);
    put_node(out, envelope.to);
    put(out, envelope.term.0);
    match &envelope.message {
        Message::Vote { pre, transfer, last_index, last_term } => {
            out.extend([1, bits([*pre, *transfer])]);
            put_all(out, [last_index.0, last_term.0]);
        }
        Message::VoteReply { pre, granted } => out.extend([2, bits([*pre, *granted])]),
        Message::Append { previous_index, previous_term, entries, commit } => {
            out.push(3);
            put_all(out, [previous_index.0, previous_term.0, commit.0]);
            encode_entries(entries, out);
        }
        Message::Appended { matched } => {
            out.push(4);
            put(out, matched.0);
        }
        Message::Diverged { previous_index, hint, hint_term } => {
            out.push(5);
            put_all(out, [previous_index.0, hint.0, hint_term.0]);
        }
        Message::Committed { commit, commit_term } => {
            out.push(6);
            put_all(out, [commit.0, commit_term.0]);
        }
        Message::Heartbeat { commit, commit_term, round } => {
            out.push(7);
            put_all(out, [commit.0, commit_term.0, *round]);
        }
        Message::HeartbeatReply { round, commit, lost } => {
            out.extend([8, bits([*lost])]);
            put_all(out, [*round, commit.0]);
        }
        Message::TransferNow => out.push(9),
        Message::Outdated => out.push(10),
    }
}

fn decode_envelope(reader: &mut Reader<'_>) -> Result<Envelope, DecodeError> {
    let (from, to, of_term) = (node(reader)?, node(reader)?, term(reader)?);
    let message = match reader.u8()? {
        1 => {
            let flags = flags(reader, 0b11)?;
            let (last_index, last_term) = (index(reader)?, term(reader)?);
            Message::Vote { pre: flags & 1 > 0, transfer: flags & 2 > 0, last_index, last_term }
        }
        2 => {
            let flags = flags(reader, 0b11)?;
            Message::VoteReply { pre: flags & 1 > 0, granted: flags & 2 > 0 }
        }
        3 => {
            let (previous_index, previous_term, commit) = (index(reader)?, term(reader)?, index(reader)?);
            let entries = decode_entries((previous_index, previous_term), reader)?;
            Message::Append { previous_index, previous_term, entries, commit }
        }
        4 => Message::Appended { matched: index(reader)? },
        5 => Message::Diverged { previous_index: index(reader)?, hint: index(reader)?, hint_term: term(reader)? },
        6 => Message::Committed { commit: index(reader)?, commit_term: term(reader)? },
        7 => Message::Heartbeat { commit: index(reader)?, commit_term: term(reader)?, round: reader.u64()? },
        8 => {
            let lost = flags(reader, 1)? > 0;
            Message::HeartbeatReply { round: reader.u64()?, commit: index(reader)?, lost }
        }
        9 => Message::TransferNow,
        10 => Message::Outdated,
        kind => return Err(invalid(format!("unknown message kind {kind} between voters"))),
    };
    Ok(Envelope { from, to, term: of_term, message })
}

fn encode_entries(entries: &[PlacedEntry], out: &mut Vec<u8>) {
    varint::encode(entries.len() as u64, out);
    let mut bytes = Vec::new();
    for entry in entries {
        bytes.clear();
        encode_entry(entry, false, &mut bytes);
        varint::encode(bytes.len() as u64, out);
        out.extend_from_slice(&bytes);
    }
}

/// Entries without a gap after a place, of terms that do not fall.
fn decode_entries(previous: (Index, Term), reader: &mut Reader<'_>) -> Result<Vec<PlacedEntry>, DecodeError> {
    let count = reader.varint()?;
    if count > ENTRIES_MAX || count as usize > reader.remaining() / ENTRY_BYTES_MIN {
        return Err(invalid(format!("{count} entries do not fit their message")));
    }
    let (mut last_index, mut last_term) = previous;
    let mut entries = Vec::new();
    for _ in 0..count {
        let mut bytes = Reader::new(reader.varint_bytes()?);
        let (entry, is_committed) = decode_entry(&mut bytes)?;
        if is_committed || !bytes.is_empty() {
            return Err(invalid("an entry of a message has what records alone have, or trailing bytes"));
        }
        let follows = last_index.0.checked_add(1) == Some(entry.index.0) && entry.term >= last_term;
        if !follows {
            return Err(invalid(format!("entry {} of term {} follows entry {last_index}", entry.index, entry.term)));
        }
        (last_index, last_term) = (entry.index, entry.term);
        entries.push(entry);
    }
    Ok(entries)
}

fn encode_leader(leader: Option<NodeId>, out: &mut Vec<u8>) {
    out.push(bits([leader.is_some()]));
    leader.iter().for_each(|node| put_node(out, *node));
}

fn decode_leader(reader: &mut Reader<'_>) -> Result<Option<NodeId>, DecodeError> {
    let is_known = flags(reader, 1)? > 0;
    if is_known { node(reader).map(Some) } else { Ok(None) }
}

fn encode_reply(reply: &Reply, out: &mut Vec<u8>) {
    match reply {
        Reply::NotLeader { leader } => {
            out.push(0);
            encode_leader(*leader, out);
        }
        Reply::Refused { epoch, reason } => {
            out.push(1);
            put(out, epoch.0);
            out.extend_from_slice(reason);
        }
        Reply::Applied { epoch, lagging } => {
            out.push(2);
            put(out, epoch.0);
            varint::encode(lagging.len() as u64, out);
            lagging.iter().for_each(|node| put_node(out, *node));
        }
        Reply::TooLate => out.push(3),
        Reply::LeadsNoMore { leader } => {
            out.push(4);
            encode_leader(*leader, out);
        }
        Reply::Busy => out.push(5),
        Reply::Cancelled { epoch } => {
            out.push(6);
            put(out, epoch.0);
        }
        Reply::Failed { reason } => {
            out.push(7);
            out.extend_from_slice(reason.as_bytes());
        }
    }
}

fn decode_reply(reader: &mut Reader<'_>) -> Result<Reply, DecodeError> {
    Ok(match reader.u8()? {
        0 => Reply::NotLeader { leader: decode_leader(reader)? },
        1 => Reply::Refused { epoch: index(reader)?, reason: reader.rest().to_vec() },
        2 => {
            let (epoch, count) = (index(reader)?, reader.varint()?);
            if count > (reader.remaining() / NODE_BYTES) as u64 {
                return Err(invalid(format!("{count} nodes do not fit their message")));
            }
            let lagging = (0..count).map(|_| node(reader)).collect::<Result<Vec<NodeId>, DecodeError>>()?;
            Reply::Applied { epoch, lagging }
        }
        3 => Reply::TooLate,
        4 => Reply::LeadsNoMore { leader: decode_leader(reader)? },
        5 => Reply::Busy,
        6 => Reply::Cancelled { epoch: index(reader)? },
        7 => Reply::Failed { reason: String::from_utf8_lossy(reader.rest()).into_owned() },
        kind => return Err(invalid(format!("unknown reply {kind} to a proposal"))),
    })
}
