//! The bytes of changes of operations.
//!
//! ```text
//! changes     u8 version (1) · varint count · change*
//! change      u8 kind · body
//!   1 Queue        operation
//!   2 Plan         varint number · target
//!   3 Advance      varint number · u8 phase
//!   4 Finish       varint number · hosts unclean
//!   5 Abort        varint number · hosts unclean
//!   6 Cleaned      16 host id · varint end
//!   7 Restore      operation                                  (snapshots)
//!   8 RestoreNext  varint number                              (snapshots)
//!   9 Unclean      16 host id · varint end                    (snapshots)
//!   10 Copied      varint number · 16 host id
//!   11 Gained      varint number · hosts
//!   12 RestoreEnded varint end                                (snapshots)
//!   13 GiveUp      varint number · 16 host id
//! operation   varint number · u8 kind · u8 phase · u8 flags (1 without a copy, 2 forced, 4 tokens given) · hosts lost · hosts copied · target
//! target      u8 form
//!   1 tokens        varint count · (16 host id · varint count · i64 token*)*        (hosts and tokens ascend)
//!   2 replication   text keyspace · strategy before · strategy after
//!   3 copy          16 host id · text datacenter                                    (empty: any)
//! strategy    text class · varint count · (text name · text value)*                 (names ascend)
//! hosts       varint count · 16 host id*                                            (ascending)
//! text        varint length · UTF-8
//! ```
//!
//! `end` is the number of an operation's end. Entries and snapshots from before ends were counted have an operation's number there, which is read as an end.
//!
//! Integers are big-endian. Bytes that the version does not know, kinds and phases included, are errors: a node that skipped a change would have
//! another state than all others.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use stdx::{ReadError, Reader, varint};

use super::change::OperationChange;
use super::operation::{EndNumber, Kind, Operation, OperationId, Target};
use super::phase::Phase;
use crate::nodes::TOKENS_MAX;
use crate::ring::HostId;
use crate::strategy::ReplicationStrategy;
use crate::token::Token;

/// The version of changes that this code writes, and the newest that it reads.
pub const VERSION: u8 = 1;

const QUEUE: u8 = 1;
const PLAN: u8 = 2;
const ADVANCE: u8 = 3;
const FINISH: u8 = 4;
const ABORT: u8 = 5;
const CLEANED: u8 = 6;
const RESTORE: u8 = 7;
const RESTORE_NEXT: u8 = 8;
const UNCLEAN: u8 = 9;
const COPIED: u8 = 10;
const GAINED: u8 = 11;
const RESTORE_ENDED: u8 = 12;
const GIVE_UP: u8 = 13;

const TOKENS: u8 = 1;
const REPLICATION: u8 = 2;
const COPY: u8 = 3;

const WITHOUT_COPY: u8 = 1;
const FORCED: u8 = 2;
const GIVEN: u8 = 4;

const HOST_BYTES: usize = 16;
const TOKEN_BYTES: usize = 8;
/// The fewest bytes of a change: its kind and a number.
const CHANGE_BYTES_MIN: usize = 2;

/// Error of bytes that are no changes of operations.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end early or a length is wrong.
    #[error("a change of the operations is truncated or damaged: {0}")]
    Bytes(#[from] ReadError),
    /// A newer Helenus wrote them.
    #[error("changes of the operations of format version {version}; this Helenus reads up to {supported}")]
    NewerVersion {
        /// The version found.
        version: u8,
        /// The newest version this code reads.
        supported: u8,
    },
    /// The bytes are whole but say what cannot be.
    #[error("a change of the operations is damaged: {problem}")]
    Invalid {
        /// The problem.
        problem: String,
    },
}

fn invalid(problem: impl Into<String>) -> DecodeError {
    DecodeError::Invalid { problem: problem.into() }
}

/// The bytes of changes that take effect together.
pub fn encode(changes: &[OperationChange]) -> Vec<u8> {
    let mut out = vec![VERSION];
    varint::encode(changes.len() as u64, &mut out);
    changes.iter().for_each(|change| encode_change(change, &mut out));
    out
}

fn encode_change(change: &OperationChange, out: &mut Vec<u8>) {
    match change {
        OperationChange::Queue(operation) => {
            out.push(QUEUE);
            encode_operation(operation, out);
        }
        OperationChange::Plan(id, target) => {
            encode_start(PLAN, *id, out);
            encode_target(target, out);
        }
        OperationChange::Advance(id, phase) => {
            encode_start(ADVANCE, *id, out);
            out.push(phase.byte());
        }
        OperationChange::Finish(id, unclean) => {
            encode_start(FINISH, *id, out);
            encode_hosts(unclean, out);
        }
        OperationChange::Abort(id, unclean) => {
            encode_start(ABORT, *id, out);
            encode_hosts(unclean, out);
        }
        OperationChange::Cleaned(node, last) => {
            out.push(CLEANED);
            out.extend_from_slice(&node.0);
            varint::encode(last.0, out);
        }
        OperationChange::Restore(operation) => {
            out.push(RESTORE);
            encode_operation(operation, out);
        }
        OperationChange::RestoreNext(next) => encode_start(RESTORE_NEXT, *next, out),
        OperationChange::Unclean(node, last) => {
            out.push(UNCLEAN);
            out.extend_from_slice(&node.0);
            varint::encode(last.0, out);
        }
        OperationChange::GiveUp(id, host) => {
            encode_start(GIVE_UP, *id, out);
            out.extend_from_slice(&host.0);
        }
        OperationChange::RestoreEnded(end) => {
            out.push(RESTORE_ENDED);
            varint::encode(end.0, out);
        }
        OperationChange::Gained(id, nodes) => {
            encode_start(GAINED, *id, out);
            encode_hosts(nodes, out);
        }
        OperationChange::Copied(id, receiver) => {
            encode_start(COPIED, *id, out);
            out.extend_from_slice(&receiver.0);
        }
    }
}

fn encode_start(kind: u8, id: OperationId, out: &mut Vec<u8>) {
    out.push(kind);
    varint::encode(id.0, out);
}

fn encode_operation(operation: &Operation, out: &mut Vec<u8>) {
    let Operation { id, kind, phase, target, lost, copied, has_given_tokens, is_without_copy, is_forced } = operation;
    varint::encode(id.0, out);
    let without_copy = if *is_without_copy { WITHOUT_COPY } else { 0 };
    let forced = if *is_forced { FORCED } else { 0 };
    let given = if *has_given_tokens { GIVEN } else { 0 };
    out.extend_from_slice(&[kind.byte(), phase.byte(), without_copy | forced | given]);
    encode_hosts(lost, out);
    encode_hosts(copied, out);
    encode_target(target, out);
}

fn encode_target(target: &Target, out: &mut Vec<u8>) {
    match target {
        Target::Tokens(nodes) => {
            out.push(TOKENS);
            varint::encode(nodes.len() as u64, out);
            for (host, tokens) in nodes {
                out.extend_from_slice(&host.0);
                varint::encode(tokens.len() as u64, out);
                tokens.iter().for_each(|token| out.extend_from_slice(&token.0.to_be_bytes()));
            }
        }
        Target::Replication { keyspace, before, after } => {
            out.push(REPLICATION);
            encode_text(keyspace, out);
            encode_strategy(before, out);
            encode_strategy(after, out);
        }
        Target::Copy { node, datacenter } => {
            out.push(COPY);
            out.extend_from_slice(&node.0);
            encode_text(datacenter.as_deref().unwrap_or_default(), out);
        }
    }
}

fn encode_strategy(strategy: &ReplicationStrategy, out: &mut Vec<u8>) {
    let mut stored = strategy.as_stored();
    encode_text(&stored.remove("class").expect("it has a class"), out);
    varint::encode(stored.len() as u64, out);
    for (name, value) in &stored {
        encode_text(name, out);
        encode_text(value, out);
    }
}

fn encode_hosts(hosts: &BTreeSet<HostId>, out: &mut Vec<u8>) {
    varint::encode(hosts.len() as u64, out);
    hosts.iter().for_each(|host| out.extend_from_slice(&host.0));
}

fn encode_text(text: &str, out: &mut Vec<u8>) {
    varint::encode(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

/// The changes that `bytes` are, all of them.
pub fn decode(bytes: &[u8]) -> Result<Vec<OperationChange>, DecodeError> {
    let mut reader = Reader::new(bytes);
    match reader.u8()? {
        0 => return Err(invalid("format version 0")),
        VERSION => {}
        version => return Err(DecodeError::NewerVersion { version, supported: VERSION }),
    }
    let count = bounded(&mut reader, CHANGE_BYTES_MIN, "changes")?;
    let mut changes = Vec::new();
    for _ in 0..count {
        changes.push(decode_change(&mut reader)?);
    }
    match reader.remaining() {
        0 => Ok(changes),
        rest => Err(invalid(format!("{rest} bytes follow the last change"))),
    }
}

/// A count of items that take `bytes_min` each at least: no more than there can be in what is left.
fn bounded(reader: &mut Reader<'_>, bytes_min: usize, what: &str) -> Result<usize, DecodeError> {
    let (count, left) = (reader.varint()?, reader.remaining());
    let fits = usize::try_from(count).ok().filter(|count| *count <= left / bytes_min);
    fits.ok_or_else(|| invalid(format!("{count} {what} in {left} bytes")))
}

fn decode_change(reader: &mut Reader<'_>) -> Result<OperationChange, DecodeError> {
    Ok(match reader.u8()? {
        QUEUE => OperationChange::Queue(Rc::new(decode_operation(reader)?)),
        PLAN => OperationChange::Plan(decode_id(reader)?, decode_target(reader)?),
        ADVANCE => OperationChange::Advance(decode_id(reader)?, decode_phase(reader)?),
        FINISH => OperationChange::Finish(decode_id(reader)?, decode_hosts(reader)?),
        ABORT => OperationChange::Abort(decode_id(reader)?, decode_hosts(reader)?),
        CLEANED => OperationChange::Cleaned(HostId(reader.array()?), decode_end(reader)?),
        RESTORE => OperationChange::Restore(Rc::new(decode_operation(reader)?)),
        RESTORE_NEXT => OperationChange::RestoreNext(decode_id(reader)?),
        UNCLEAN => OperationChange::Unclean(HostId(reader.array()?), decode_end(reader)?),
        GIVE_UP => OperationChange::GiveUp(decode_id(reader)?, HostId(reader.array()?)),
        RESTORE_ENDED => OperationChange::RestoreEnded(decode_end(reader)?),
        GAINED => OperationChange::Gained(decode_id(reader)?, decode_hosts(reader)?),
        COPIED => OperationChange::Copied(decode_id(reader)?, HostId(reader.array()?)),
        kind => return Err(invalid(format!("changes of kind {kind} are unknown"))),
    })
}

fn decode_id(reader: &mut Reader<'_>) -> Result<OperationId, DecodeError> {
    match reader.varint()? {
        // The number after it must be one, too.
        0 | u64::MAX => Err(invalid("no operation has that number")),
        id => Ok(OperationId(id)),
    }
}

fn decode_end(reader: &mut Reader<'_>) -> Result<EndNumber, DecodeError> {
    match reader.varint()? {
        0 | u64::MAX => Err(invalid("no end of an operation has that number")),
        end => Ok(EndNumber(end)),
    }
}

fn decode_phase(reader: &mut Reader<'_>) -> Result<Phase, DecodeError> {
    let byte = reader.u8()?;
    Phase::of_byte(byte).ok_or_else(|| invalid(format!("phase {byte} of an operation is unknown")))
}

fn decode_operation(reader: &mut Reader<'_>) -> Result<Operation, DecodeError> {
    let (id, kind) = (decode_id(reader)?, reader.u8()?);
    let kind = Kind::of_byte(kind).ok_or_else(|| invalid(format!("operations of kind {kind} are unknown")))?;
    let (phase, flags) = (decode_phase(reader)?, reader.u8()?);
    if flags & !(WITHOUT_COPY | FORCED | GIVEN) != 0 {
        return Err(invalid(format!("flags {flags} of an operation are unknown")));
    }
    let (lost, copied, target) = (decode_hosts(reader)?, decode_hosts(reader)?, decode_target(reader)?);
    let (is_without_copy, is_forced) = (flags & WITHOUT_COPY != 0, flags & FORCED != 0);
    let has_given_tokens = flags & GIVEN != 0;
    Ok(Operation { id, kind, phase, target, lost, copied, has_given_tokens, is_without_copy, is_forced })
}

fn decode_target(reader: &mut Reader<'_>) -> Result<Target, DecodeError> {
    match reader.u8()? {
        TOKENS => decode_tokens(reader),
        REPLICATION => Ok(Target::Replication {
            keyspace: decode_text(reader)?,
            before: decode_strategy(reader)?,
            after: decode_strategy(reader)?,
        }),
        COPY => {
            let (node, datacenter) = (HostId(reader.array()?), decode_text(reader)?);
            Ok(Target::Copy { node, datacenter: Some(datacenter).filter(|name| !name.is_empty()) })
        }
        form => Err(invalid(format!("targets of form {form} are unknown"))),
    }
}

fn decode_tokens(reader: &mut Reader<'_>) -> Result<Target, DecodeError> {
    let count = bounded(reader, HOST_BYTES + 1, "nodes")?;
    let mut nodes = BTreeMap::new();
    for _ in 0..count {
        let host = HostId(reader.array()?);
        ascends(nodes.last_key_value().map(|(last, _)| last), &host, "nodes")?;
        let count = bounded(reader, TOKEN_BYTES, "tokens")?;
        if count > TOKENS_MAX {
            return Err(invalid(format!("{count} tokens of a node")));
        }
        let mut tokens = Vec::with_capacity(count);
        for _ in 0..count {
            let token = Token(reader.i64()?);
            ascends(tokens.last(), &token, "tokens of a node")?;
            tokens.push(token);
        }
        nodes.insert(host, tokens);
    }
    Ok(Target::Tokens(nodes))
}

fn decode_strategy(reader: &mut Reader<'_>) -> Result<ReplicationStrategy, DecodeError> {
    let class = decode_text(reader)?;
    let count = bounded(reader, 2, "options")?;
    let mut stored = BTreeMap::new();
    for _ in 0..count {
        let (name, value) = (decode_text(reader)?, decode_text(reader)?);
        ascends(stored.last_key_value().map(|(last, _)| last), &name, "options of a strategy")?;
        if name == "class" {
            return Err(invalid("an option of a strategy has the name of its class"));
        }
        stored.insert(name, value);
    }
    stored.insert("class".to_owned(), class);
    let strategy = ReplicationStrategy::parse_stored(&stored).map_err(invalid)?;
    match strategy.as_stored() == stored {
        true => Ok(strategy),
        false => Err(invalid("a strategy is not written as it would be")),
    }
}

fn decode_hosts(reader: &mut Reader<'_>) -> Result<BTreeSet<HostId>, DecodeError> {
    let count = bounded(reader, HOST_BYTES, "nodes")?;
    let mut hosts = BTreeSet::new();
    for _ in 0..count {
        let host = HostId(reader.array()?);
        ascends(hosts.last(), &host, "nodes")?;
        hosts.insert(host);
    }
    Ok(hosts)
}

fn ascends<T: Ord>(last: Option<&T>, next: &T, what: &str) -> Result<(), DecodeError> {
    match last.is_none_or(|last| last < next) {
        true => Ok(()),
        false => Err(invalid(format!("{what} do not ascend"))),
    }
}

fn decode_text(reader: &mut Reader<'_>) -> Result<String, DecodeError> {
    let length = bounded(reader, 1, "letters")?;
    Ok(reader.str(length)?.to_owned())
}

#[cfg(test)]
mod tests;
