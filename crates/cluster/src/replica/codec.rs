//! The bodies of this crate's requests, answers and refusals. `docs/rfcs/0001-messages-between-nodes.md` draws them.

use mutation::{DecodeError, Position, PositionRef};
use schema::TableId;
use stdx::{ReadError, Reader, varint};
use storage::SyncError;
use storage::reader::Page;
use topology::{Epoch, HostId};

use super::error::{ReplicaError, ReplicaShard};
use super::paxos_message::{Accept, Accepted, Prepare, Prepared, Promised};
use super::peer_message::{PeerAnswer, PeerRead, PeerRequest, PeerShard};
use crate::batches::{BatchName, Fate, NAMES_MAX};
use crate::paxos::{Ballot, Commit, MUTATION_BYTES_MIN, Promise, Proposal, Purpose, decode_proposal, encode_proposal};

/// What a frame's body is.
pub(super) mod kind {
    pub const WRITE: u8 = 1;
    pub const READ: u8 = 2;
    pub const COUNT: u8 = 4;
    pub const DIGEST: u8 = 10;
    pub const BATCH_COPY: u8 = 11;
    pub const BATCH_DONE: u8 = 12;
    pub const BATCH_ASK: u8 = 13;
    pub const PREPARE: u8 = 20;
    pub const ACCEPT: u8 = 21;
    pub const COMMIT: u8 = 22;
    pub const WRITTEN: u8 = 129;
    pub const PAGE: u8 = 130;
    pub const FAILED: u8 = 131;
    pub const COUNTED: u8 = 133;
    pub const DIGESTED: u8 = 138;
    pub const FATES: u8 = 139;
    pub const PREPARED: u8 = 140;
    pub const ACCEPTED: u8 = 141;
}

/// The verdict of an acceptor.
mod verdict {
    pub const OUTRUN: u8 = 0;
    pub const MADE: u8 = 1;
    pub const READABLE: u8 = 2;
}

/// A read's shard that means the owner of the token.
const OWNER: u16 = u16::MAX;
/// The most mutations of a frame.
pub(crate) const MUTATIONS_MAX: usize = 65_536;
/// The kind of a refusal's frame, whatever was asked.
pub(crate) const FAILED: u8 = kind::FAILED;
/// The longest sentence that a refusal carries.
const WORDS_MAX: usize = 512;

/// This crate's verbs, each with the name that stands in the line of a poll that stalls.
pub(super) const VERBS: [(u8, &str); 10] = [
    (kind::WRITE, "a write for a node"),
    (kind::READ, "a page for a node"),
    (kind::COUNT, "counters for a node"),
    (kind::DIGEST, "a digest for a node"),
    (kind::BATCH_COPY, "a copy of a batch for a node"),
    (kind::BATCH_DONE, "batches of a node that are done"),
    (kind::BATCH_ASK, "batches that a node asks about"),
    (kind::PREPARE, "a promise for a node"),
    (kind::ACCEPT, "a proposal for a node"),
    (kind::COMMIT, "a commit for a node"),
];

/// The verb that asks for it.
pub(super) fn verb(request: &PeerRequest) -> u8 {
    match request {
        PeerRequest::Write { .. } => kind::WRITE,
        PeerRequest::Read(_) => kind::READ,
        PeerRequest::Count { .. } => kind::COUNT,
        PeerRequest::Digest { .. } => kind::DIGEST,
        PeerRequest::BatchCopy { .. } => kind::BATCH_COPY,
        PeerRequest::BatchDone { .. } => kind::BATCH_DONE,
        PeerRequest::BatchAsk { .. } => kind::BATCH_ASK,
        PeerRequest::Prepare(_) => kind::PREPARE,
        PeerRequest::Accept(_) => kind::ACCEPT,
        PeerRequest::Commit { .. } => kind::COMMIT,
    }
}

/// The kind of the answer's frame.
pub(super) fn answer_kind(answer: &PeerAnswer) -> u8 {
    match answer {
        PeerAnswer::Written => kind::WRITTEN,
        PeerAnswer::Page(_) => kind::PAGE,
        PeerAnswer::Failed(_) => kind::FAILED,
        PeerAnswer::Counted { .. } => kind::COUNTED,
        PeerAnswer::Digest(_) => kind::DIGESTED,
        PeerAnswer::Fates(_) => kind::FATES,
        PeerAnswer::Prepared(_) => kind::PREPARED,
        PeerAnswer::Accepted(_) => kind::ACCEPTED,
    }
}

fn push_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    varint::encode(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Appends the body of a write or a count, from wherever its mutations lie.
pub(crate) fn push_mutations(mutations: &[impl AsRef<[u8]>], out: &mut Vec<u8>) {
    varint::encode(mutations.len() as u64, out);
    for mutation in mutations {
        push_bytes(mutation.as_ref(), out);
    }
}

/// Reads what [`push_mutations`] wrote.
pub(crate) fn read_mutations(reader: &mut Reader<'_>) -> Result<Vec<Vec<u8>>, DecodeError> {
    let count = reader.varint()?;
    let (wanted, left) = (usize::try_from(count).unwrap_or(usize::MAX), reader.remaining());
    if wanted > left / (1 + MUTATION_BYTES_MIN) {
        return Err(ReadError::Truncated { wanted: wanted.saturating_mul(1 + MUTATION_BYTES_MIN), left }.into());
    }
    if wanted > MUTATIONS_MAX {
        return Err(DecodeError::TooMany { count, max: MUTATIONS_MAX });
    }
    let mut mutations = Vec::with_capacity(wanted.min(1024));
    for _ in 0..count {
        let mutation = reader.varint_bytes()?;
        if mutation.len() < MUTATION_BYTES_MIN {
            return Err(ReadError::Truncated { wanted: MUTATION_BYTES_MIN, left: mutation.len() }.into());
        }
        mutations.push(mutation.to_vec());
    }
    Ok(mutations)
}

/// Appends the body of a copy of a batch, from wherever its mutations lie.
pub(super) fn push_copy((name, created): (BatchName, i64), mutations: &[impl AsRef<[u8]>], out: &mut Vec<u8>) {
    push_name(name, out);
    out.extend_from_slice(&created.to_be_bytes());
    push_mutations(mutations, out);
}

fn push_name(BatchName { host_id, boot, shard, sequence }: BatchName, out: &mut Vec<u8>) {
    out.extend_from_slice(&host_id.0);
    out.extend_from_slice(&boot.to_be_bytes());
    out.extend_from_slice(&shard.to_be_bytes());
    out.extend_from_slice(&sequence.to_be_bytes());
}

fn read_name(reader: &mut Reader<'_>) -> Result<BatchName, DecodeError> {
    let host_id = HostId(reader.array()?);
    let boot = u64::from_be_bytes(reader.array()?);
    let shard = reader.u16()?;
    Ok(BatchName { host_id, boot, shard, sequence: u64::from_be_bytes(reader.array()?) })
}

fn push_names(names: &[BatchName], out: &mut Vec<u8>) {
    varint::encode(names.len() as u64, out);
    names.iter().for_each(|name| push_name(*name, out));
}

fn read_names(reader: &mut Reader<'_>) -> Result<Vec<BatchName>, DecodeError> {
    let count = reader.varint()?;
    match usize::try_from(count) {
        Ok(count) if count <= NAMES_MAX => (0..count).map(|_| read_name(reader)).collect(),
        _ => Err(DecodeError::TooMany { count, max: NAMES_MAX }),
    }
}

fn fate_of(byte: u8) -> Result<Fate, DecodeError> {
    match byte {
        0 => Ok(Fate::Unknown),
        1 => Ok(Fate::Unfinished),
        2 => Ok(Fate::Done),
        value => Err(DecodeError::Unknown { what: "a batch's fate", value }),
    }
}

/// Appends a request's body; gives its frame's kind.
pub fn encode_request(request: &PeerRequest, out: &mut Vec<u8>) -> u8 {
    match request {
        PeerRequest::Write { mutations }
        | PeerRequest::Count { deltas: mutations }
        | PeerRequest::Commit { mutations } => push_mutations(mutations, out),
        PeerRequest::Prepare(prepare) => push_prepare(prepare, out),
        PeerRequest::Accept(Accept { table, key, proposal }) => {
            out.extend_from_slice(&table.0);
            push_bytes(key, out);
            encode_proposal(proposal, out);
        }
        PeerRequest::Read(read) => push_read(read, out),
        PeerRequest::Digest { read, gc_before } => {
            out.extend_from_slice(&gc_before.to_be_bytes());
            push_read(read, out);
        }
        PeerRequest::BatchCopy { name, created, mutations } => push_copy((*name, *created), mutations, out),
        PeerRequest::BatchDone { names } | PeerRequest::BatchAsk { names } => push_names(names, out),
    }
    verb(request)
}

fn push_read(PeerRead { of, rows, bytes, command }: &PeerRead, out: &mut Vec<u8>) {
    let (shard, count) = match of {
        PeerShard::Owner => (OWNER, 0),
        PeerShard::One { shard, count } => (*shard, *count),
    };
    out.extend_from_slice(&shard.to_be_bytes());
    out.extend_from_slice(&count.to_be_bytes());
    out.extend_from_slice(&rows.to_be_bytes());
    out.extend_from_slice(&bytes.to_be_bytes());
    out.extend_from_slice(command);
}

fn take_read(reader: &mut Reader<'_>) -> Result<PeerRead, DecodeError> {
    let of = match (reader.u16()?, reader.u16()?) {
        (OWNER, _) => PeerShard::Owner,
        (shard, count) => PeerShard::One { shard, count },
    };
    let (rows, bytes) = (reader.u32()?, reader.u32()?);
    Ok(PeerRead { of, rows, bytes, command: reader.rest().to_vec() })
}

/// The request in a frame's body. Mutations and commands inside it are checked by whoever decodes those.
pub fn decode_request(kind: u8, body: &[u8]) -> Result<PeerRequest, DecodeError> {
    let mut reader = Reader::new(body);
    let request = match kind {
        kind::WRITE => PeerRequest::Write { mutations: read_mutations(&mut reader)? },
        kind::COUNT => PeerRequest::Count { deltas: read_mutations(&mut reader)? },
        kind::COMMIT => PeerRequest::Commit { mutations: read_mutations(&mut reader)? },
        kind::PREPARE => PeerRequest::Prepare(take_prepare(&mut reader)?),
        kind::ACCEPT => {
            let (table, key) = (TableId(reader.array()?), reader.varint_bytes()?.to_vec());
            PeerRequest::Accept(Accept { table, key, proposal: take_proposal(reader.rest())? })
        }
        kind::READ => PeerRequest::Read(take_read(&mut reader)?),
        kind::DIGEST => PeerRequest::Digest { gc_before: reader.u32()?, read: take_read(&mut reader)? },
        kind::BATCH_COPY => {
            let (name, created) = (read_name(&mut reader)?, i64::from_be_bytes(reader.array()?));
            PeerRequest::BatchCopy { name, created, mutations: read_mutations(&mut reader)? }
        }
        kind::BATCH_DONE => PeerRequest::BatchDone { names: read_names(&mut reader)? },
        kind::BATCH_ASK => PeerRequest::BatchAsk { names: read_names(&mut reader)? },
        value => return Err(DecodeError::Unknown { what: "a request's kind", value }),
    };
    finish(&reader)?;
    Ok(request)
}

/// Appends an answer's body; gives its frame's kind.
pub fn encode_answer(answer: &PeerAnswer, out: &mut Vec<u8>) -> u8 {
    match answer {
        PeerAnswer::Page(page) => push_page(page, out),
        PeerAnswer::Prepared(prepared) => push_prepared(prepared, out),
        PeerAnswer::Accepted(Accepted::Done) => out.push(verdict::MADE),
        PeerAnswer::Accepted(Accepted::Outrun(latest)) => push_outrun(*latest, out),
        PeerAnswer::Counted { states } => push_mutations(states, out),
        PeerAnswer::Fates(fates) => out.extend(fates.iter().map(|fate| *fate as u8)),
        PeerAnswer::Failed(error) => encode_error(error, out),
        PeerAnswer::Digest(digest) => out.extend_from_slice(digest),
        PeerAnswer::Written => {}
    }
    answer_kind(answer)
}

/// The answer in a frame's body. A page's items stay in the body's memory.
pub fn decode_answer(kind: u8, body: Vec<u8>) -> Result<PeerAnswer, DecodeError> {
    let mut reader = Reader::new(&body);
    let answer = match kind {
        kind::WRITTEN => PeerAnswer::Written,
        kind::PAGE => return Ok(PeerAnswer::Page(decode_page(body)?)),
        kind::FAILED => PeerAnswer::Failed(decode_error(&mut reader)?),
        kind::COUNTED => PeerAnswer::Counted { states: read_mutations(&mut reader)? },
        kind::PREPARED => PeerAnswer::Prepared(take_prepared(&mut reader)?),
        kind::ACCEPTED => PeerAnswer::Accepted(match reader.u8()? {
            verdict::OUTRUN => Accepted::Outrun(take_ballot(&mut reader)?),
            verdict::MADE => Accepted::Done,
            value => return Err(DecodeError::Unknown { what: "an acceptor's verdict", value }),
        }),
        kind::DIGESTED => PeerAnswer::Digest(reader.array()?),
        kind::FATES if body.len() > NAMES_MAX => {
            return Err(DecodeError::TooMany { count: body.len() as u64, max: NAMES_MAX });
        }
        kind::FATES => PeerAnswer::Fates(reader.rest().iter().map(|byte| fate_of(*byte)).collect::<Result<_, _>>()?),
        value => return Err(DecodeError::Unknown { what: "an answer's kind", value }),
    };
    finish(&reader)?;
    Ok(answer)
}

fn push_page(Page { items, more_after }: &Page, out: &mut Vec<u8>) {
    push_bytes(items, out);
    out.push(u8::from(more_after.is_some()));
    if let Some(position) = more_after {
        position.as_ref().encode(out);
    }
}

fn take_end(reader: &mut Reader<'_>) -> Result<Option<Position>, DecodeError> {
    match reader.u8()? {
        0 => Ok(None),
        1 => Ok(Some(PositionRef::read(reader)?.to_owned())),
        value => Err(DecodeError::Unknown { what: "a page's end", value }),
    }
}

/// A ballot after which there can be others.
fn checked(ballot: Ballot) -> Result<Ballot, DecodeError> {
    match ballot.is_plausible() {
        true => Ok(ballot),
        false => Err(DecodeError::Unknown { what: "a ballot's version or time", value: ballot.0[6] }),
    }
}

fn take_ballot(reader: &mut Reader<'_>) -> Result<Ballot, DecodeError> {
    checked(Ballot(reader.array()?))
}

fn take_proposal(bytes: &[u8]) -> Result<Proposal, DecodeError> {
    let proposal = decode_proposal(bytes)?;
    checked(proposal.ballot)?;
    checked(proposal.original)?;
    Ok(proposal)
}

fn push_prepare(prepare: &Prepare, out: &mut Vec<u8>) {
    let Prepare { ballot, purpose, wants_committed, rows, bytes, command } = prepare;
    let purpose = match purpose {
        Purpose::Read => 0,
        Purpose::Write => 1,
        Purpose::Look => 4,
    };
    out.push(purpose | u8::from(*wants_committed) << 1);
    out.extend_from_slice(&ballot.0);
    out.extend_from_slice(&rows.to_be_bytes());
    out.extend_from_slice(&bytes.to_be_bytes());
    out.extend_from_slice(command);
}

fn take_prepare(reader: &mut Reader<'_>) -> Result<Prepare, DecodeError> {
    let flags = reader.u8()?;
    let purpose = match flags & !2 {
        0 => Purpose::Read,
        1 => Purpose::Write,
        4 => Purpose::Look,
        _ => return Err(DecodeError::Unknown { what: "an attempt's flags", value: flags }),
    };
    let ballot = take_ballot(reader)?;
    let (rows, bytes) = (reader.u32()?, reader.u32()?);
    let wants_committed = flags & 2 != 0;
    Ok(Prepare { ballot, purpose, wants_committed, rows, bytes, command: reader.rest().to_vec() })
}

fn push_outrun(latest: Ballot, out: &mut Vec<u8>) {
    out.push(verdict::OUTRUN);
    out.extend_from_slice(&latest.0);
}

fn push_prepared(prepared: &Prepared, out: &mut Vec<u8>) {
    let Promised { promise, earlier, accepted, is_left_out, committed, page } = match prepared {
        Prepared::Outrun(latest) => return push_outrun(*latest, out),
        Prepared::Promised(promised) => promised,
    };
    out.push(match promise {
        Promise::Made => verdict::MADE,
        Promise::Readable => verdict::READABLE,
    });
    let flags = [earlier.is_some(), accepted.is_some(), *is_left_out, committed.is_some()];
    out.push(flags.iter().enumerate().map(|(bit, is_set)| u8::from(*is_set) << bit).sum());
    if let Some(earlier) = earlier {
        out.extend_from_slice(&earlier.0);
    }
    if let Some(accepted) = accepted {
        let mut bytes = Vec::new();
        encode_proposal(accepted, &mut bytes);
        push_bytes(&bytes, out);
    }
    if let Some(Commit { ballot, original }) = committed {
        out.extend_from_slice(&ballot.0);
        out.extend_from_slice(&original.0);
    }
    push_page(page, out);
}

fn take_prepared(reader: &mut Reader<'_>) -> Result<Prepared, DecodeError> {
    let promise = match reader.u8()? {
        verdict::OUTRUN => return Ok(Prepared::Outrun(take_ballot(reader)?)),
        verdict::MADE => Promise::Made,
        verdict::READABLE => Promise::Readable,
        value => return Err(DecodeError::Unknown { what: "an acceptor's verdict", value }),
    };
    let flags = reader.u8()?;
    if flags > 15 {
        return Err(DecodeError::Unknown { what: "an acceptor's flags", value: flags });
    }
    let has = |bit: u8| flags >> bit & 1 == 1;
    let earlier = if has(0) { Some(take_ballot(reader)?) } else { None };
    let accepted = if has(1) { Some(take_proposal(reader.varint_bytes()?)?) } else { None };
    let committed = match has(3) {
        true => Some(Commit { ballot: take_ballot(reader)?, original: take_ballot(reader)? }),
        false => None,
    };
    let page = Page { items: reader.varint_bytes()?.to_vec(), more_after: take_end(reader)? };
    Ok(Prepared::Promised(Promised { promise, earlier, accepted, is_left_out: has(2), committed, page }))
}

fn decode_page(mut body: Vec<u8>) -> Result<Page, DecodeError> {
    let mut reader = Reader::new(&body);
    let length = reader.varint_bytes()?.len();
    let end = body.len() - reader.remaining();
    let more_after = take_end(&mut reader)?;
    finish(&reader)?;
    body.truncate(end);
    body.drain(..end - length);
    Ok(Page { items: body, more_after })
}

fn finish(reader: &Reader<'_>) -> Result<(), DecodeError> {
    match reader.remaining() {
        0 => Ok(()),
        count => Err(DecodeError::LeftOver { count }),
    }
}

/// Appends the body of a refusal.
pub(crate) fn encode_failure(error: &ReplicaError, out: &mut Vec<u8>) {
    encode_error(error, out);
}

/// Reads the body of a refusal.
pub(crate) fn decode_failure(body: Vec<u8>) -> Result<ReplicaError, DecodeError> {
    match decode_answer(FAILED, body)? {
        PeerAnswer::Failed(error) => Ok(error),
        answer => panic!("a refusal is decoded as one, not as {answer:?}"),
    }
}

fn encode_error(error: &ReplicaError, out: &mut Vec<u8>) {
    // A node answers for its own shards: its name is not sent.
    let number = |shard: &ReplicaShard| shard.shard.unwrap_or(0);
    let (reason, shard, a, b, words) = match error {
        ReplicaError::Overloaded { shard, problem } => (1, number(shard), 0, 0, problem.as_str()),
        ReplicaError::TooLarge { size, max } => (2, 0, *size as u64, *max as u64, ""),
        ReplicaError::Poisoned { shard } => (3, number(shard), 0, 0, ""),
        ReplicaError::UnknownTable { shard } => (4, number(shard), 0, 0, ""),
        ReplicaError::DiskFull { shard } => (5, number(shard), 0, 0, ""),
        ReplicaError::Malformed { shard, problem } => (6, number(shard), 0, 0, problem.as_str()),
        ReplicaError::Gone { shard } => (7, number(shard), 0, 0, ""),
        ReplicaError::NotSynced { shard, reason: SyncError::Poisoned } => (8, number(shard), 0, 0, ""),
        ReplicaError::NotSynced { shard, reason: SyncError::DiskFull } => (8, number(shard), 1, 0, ""),
        ReplicaError::Unreadable { shard } => (9, number(shard), 0, 0, ""),
        ReplicaError::TooManyTombstones => (10, 0, 0, 0, ""),
        ReplicaError::Stale { shard, epoch } => (11, number(shard), epoch.0, 0, ""),
        ReplicaError::Lags { shard, epoch } => (12, number(shard), epoch.0, 0, ""),
    };
    out.push(reason);
    out.extend_from_slice(&shard.to_be_bytes());
    out.extend_from_slice(&u64::to_be_bytes(a));
    out.extend_from_slice(&u64::to_be_bytes(b));
    let mut end = words.len().min(WORDS_MAX);
    while !words.is_char_boundary(end) {
        end -= 1;
    }
    out.extend_from_slice(&words.as_bytes()[..end]);
}

fn decode_error(reader: &mut Reader<'_>) -> Result<ReplicaError, DecodeError> {
    let reason = reader.u8()?;
    let shard = ReplicaShard::from(reader.u16()?);
    let (a, b) = (u64::from_be_bytes(reader.array()?), u64::from_be_bytes(reader.array()?));
    let words = String::from_utf8_lossy(reader.rest());
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    Ok(match reason {
        1 => ReplicaError::Overloaded { shard, problem: words.into_owned() },
        2 => ReplicaError::TooLarge { size: size(a), max: size(b) },
        3 => ReplicaError::Poisoned { shard },
        4 => ReplicaError::UnknownTable { shard },
        5 => ReplicaError::DiskFull { shard },
        6 => ReplicaError::Malformed { shard, problem: words.into_owned() },
        7 => ReplicaError::Gone { shard },
        8 if a == 1 => ReplicaError::NotSynced { shard, reason: SyncError::DiskFull },
        8 => ReplicaError::NotSynced { shard, reason: SyncError::Poisoned },
        9 => ReplicaError::Unreadable { shard },
        10 => ReplicaError::TooManyTombstones,
        11 => ReplicaError::Stale { shard, epoch: Epoch(a) },
        12 => ReplicaError::Lags { shard, epoch: Epoch(a) },
        value => return Err(DecodeError::Unknown { what: "a refusal's reason", value }),
    })
}

#[cfg(test)]
mod tests;
