//! The bytes of the registry's changes.
//!
//! ```text
//! changes   u8 version (1) · varint count · change*
//! change    u8 kind · 16 host id · body
//!   1 Put        u8 state · name datacenter · name rack · start · varint count · i64 token*    (ascending)
//!   2 Started    start
//!   3 SetState   u8 state
//!   4 Remove     –
//!   5 Enable     u64 features                      (its host id is 0)
//!   6 SetTokens  varint count · i64 token*         (ascending)
//!   7 Doubted    u64 boot number
//!   8 Renewed    –
//! start     u64 boot number · u64 boot word · address internode · address native · u16 shards · u16 major · u16 minor · u16 patch · u64 features
//! address   u8 family (4 or 6) · 4 or 16 bytes · u16 port
//! name      u8 length · UTF-8
//! ```
//!
//! Integers are big-endian. Bytes that the version does not know, states and kinds included, are errors: a node that skipped a change would have
//! another state than all others.

use std::net::IpAddr;
use std::rc::Rc;

use stdx::{ReadError, Reader, varint};

use super::address::Address;
use super::change::NodeChange;
use super::facts::{Boot, Features, NodeState, RegisteredNode, Release, Start};
use super::{NAME_BYTES_MAX, TOKENS_MAX};
use crate::ring::HostId;
use crate::token::Token;

/// The version of changes that this code writes, and the newest that it reads.
pub const VERSION: u8 = 1;

const PUT: u8 = 1;
const STARTED: u8 = 2;
const SET_STATE: u8 = 3;
const REMOVE: u8 = 4;
const ENABLE: u8 = 5;
const SET_TOKENS: u8 = 6;
const DOUBTED: u8 = 7;
const RENEWED: u8 = 8;

/// In place of the host id in a change that concerns no node.
const NO_NODE: HostId = HostId([0; 16]);
/// The fewest bytes of a change: its kind and host id.
const CHANGE_BYTES_MIN: usize = 17;
const TOKEN_BYTES: usize = 8;

/// Error of bytes that are no changes of the registry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end early or a length is wrong.
    #[error("a change of the nodes is truncated or damaged: {0}")]
    Bytes(#[from] ReadError),
    /// A newer Helenus wrote them.
    #[error("changes of the nodes of format version {version}; this Helenus reads up to {supported}")]
    NewerVersion {
        /// The version found.
        version: u8,
        /// The newest version this code reads.
        supported: u8,
    },
    /// The bytes are whole but say what cannot be.
    #[error("a change of the nodes is damaged: {problem}")]
    Invalid {
        /// The problem.
        problem: String,
    },
}

fn invalid(problem: impl Into<String>) -> DecodeError {
    DecodeError::Invalid { problem: problem.into() }
}

/// The bytes of changes that take effect together. Panics where a node exceeds the bounds of its fields: its planner has checked them.
pub fn encode(changes: &[NodeChange]) -> Vec<u8> {
    let mut out = vec![VERSION];
    varint::encode(changes.len() as u64, &mut out);
    changes.iter().for_each(|change| encode_change(change, &mut out));
    out
}

fn encode_change(change: &NodeChange, out: &mut Vec<u8>) {
    let kind = match change {
        NodeChange::Put(..) => PUT,
        NodeChange::Started(..) => STARTED,
        NodeChange::SetState(..) => SET_STATE,
        NodeChange::Remove(_) => REMOVE,
        NodeChange::Enable(_) => ENABLE,
        NodeChange::SetTokens(..) => SET_TOKENS,
        NodeChange::Doubted(..) => DOUBTED,
        NodeChange::Renewed(_) => RENEWED,
    };
    out.push(kind);
    out.extend_from_slice(&change.host_id().unwrap_or(NO_NODE).0);
    match change {
        NodeChange::Put(_, node) => encode_node(node, out),
        NodeChange::Started(_, start) => encode_start(start, out),
        NodeChange::SetState(_, state) => out.push(state.byte()),
        NodeChange::Remove(_) | NodeChange::Renewed(_) => {}
        NodeChange::Doubted(_, boot) => out.extend_from_slice(&boot.to_be_bytes()),
        NodeChange::Enable(features) => out.extend_from_slice(&features.0.to_be_bytes()),
        NodeChange::SetTokens(_, tokens) => encode_tokens(tokens, out),
    }
}

fn encode_node(node: &RegisteredNode, out: &mut Vec<u8>) {
    out.push(node.state.byte());
    encode_name(&node.datacenter, out);
    encode_name(&node.rack, out);
    encode_start(&node.start, out);
    encode_tokens(&node.tokens, out);
}

fn encode_tokens(tokens: &[Token], out: &mut Vec<u8>) {
    assert!(tokens.len() <= TOKENS_MAX, "a node has {TOKENS_MAX} tokens at most");
    assert!(ascends(tokens), "a node's tokens ascend");
    varint::encode(tokens.len() as u64, out);
    for token in tokens {
        out.extend_from_slice(&token.0.to_be_bytes());
    }
}

fn encode_name(name: &str, out: &mut Vec<u8>) {
    const { assert!(NAME_BYTES_MAX <= u8::MAX as usize) };
    out.push(u8::try_from(name.len()).expect("a planner has checked the length of names"));
    out.extend_from_slice(name.as_bytes());
}

fn encode_start(start: &Start, out: &mut Vec<u8>) {
    let Start { boot, internode, native, shard_count, release, features } = start;
    out.extend_from_slice(&boot.number.to_be_bytes());
    out.extend_from_slice(&boot.word.to_be_bytes());
    encode_address(*internode, out);
    encode_address(*native, out);
    for number in [*shard_count, release.major, release.minor, release.patch] {
        out.extend_from_slice(&number.to_be_bytes());
    }
    out.extend_from_slice(&features.0.to_be_bytes());
}

fn encode_address(address: Address, out: &mut Vec<u8>) {
    match address.ip() {
        IpAddr::V4(ip) => {
            out.push(4);
            out.extend_from_slice(&ip.octets());
        }
        IpAddr::V6(ip) => {
            out.push(6);
            out.extend_from_slice(&ip.octets());
        }
    }
    out.extend_from_slice(&address.port().to_be_bytes());
}

/// The changes that `bytes` are, all of them.
pub fn decode(bytes: &[u8]) -> Result<Vec<NodeChange>, DecodeError> {
    let mut reader = Reader::new(bytes);
    match reader.u8()? {
        0 => return Err(invalid("format version 0")),
        VERSION => {}
        version => return Err(DecodeError::NewerVersion { version, supported: VERSION }),
    }
    let count = bounded(&mut reader, CHANGE_BYTES_MIN, "changes")?;
    let mut changes = Vec::with_capacity(count);
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

fn decode_change(reader: &mut Reader<'_>) -> Result<NodeChange, DecodeError> {
    let (kind, id) = (reader.u8()?, HostId(reader.array()?));
    match kind {
        PUT => Ok(NodeChange::Put(id, Rc::new(decode_node(reader)?))),
        STARTED => Ok(NodeChange::Started(id, decode_start(reader)?)),
        SET_STATE => Ok(NodeChange::SetState(id, decode_state(reader)?)),
        REMOVE => Ok(NodeChange::Remove(id)),
        SET_TOKENS => Ok(NodeChange::SetTokens(id, decode_tokens(reader)?)),
        DOUBTED => Ok(NodeChange::Doubted(id, reader.u64()?)),
        RENEWED => Ok(NodeChange::Renewed(id)),
        ENABLE if id == NO_NODE => Ok(NodeChange::Enable(Features(reader.u64()?))),
        kind => Err(invalid(format!("changes of kind {kind} are unknown"))),
    }
}

fn decode_state(reader: &mut Reader<'_>) -> Result<NodeState, DecodeError> {
    let byte = reader.u8()?;
    NodeState::of_byte(byte).ok_or_else(|| invalid(format!("state {byte} of a node is unknown")))
}

fn decode_node(reader: &mut Reader<'_>) -> Result<RegisteredNode, DecodeError> {
    let state = decode_state(reader)?;
    let (datacenter, rack) = (decode_name(reader)?, decode_name(reader)?);
    let start = decode_start(reader)?;
    let tokens = decode_tokens(reader)?;
    Ok(RegisteredNode { state, datacenter, rack, tokens, start })
}

fn decode_tokens(reader: &mut Reader<'_>) -> Result<Vec<Token>, DecodeError> {
    let count = bounded(reader, TOKEN_BYTES, "tokens")?;
    if count > TOKENS_MAX {
        return Err(invalid(format!("{count} tokens of a node")));
    }
    let mut tokens = Vec::with_capacity(count);
    for _ in 0..count {
        tokens.push(Token(reader.i64()?));
    }
    match ascends(&tokens) {
        true => Ok(tokens),
        false => Err(invalid("tokens of a node do not ascend")),
    }
}

fn decode_name(reader: &mut Reader<'_>) -> Result<String, DecodeError> {
    let length = usize::from(reader.u8()?);
    Ok(reader.str(length)?.to_owned())
}

fn decode_start(reader: &mut Reader<'_>) -> Result<Start, DecodeError> {
    let boot = Boot { number: reader.u64()?, word: reader.u64()? };
    let (internode, native) = (decode_address(reader)?, decode_address(reader)?);
    let shard_count = reader.u16()?;
    if shard_count == 0 {
        return Err(invalid("a node without shards"));
    }
    let release = Release { major: reader.u16()?, minor: reader.u16()?, patch: reader.u16()? };
    let features = Features(reader.u64()?);
    Ok(Start { boot, internode, native, shard_count, release, features })
}

fn decode_address(reader: &mut Reader<'_>) -> Result<Address, DecodeError> {
    let ip = match reader.u8()? {
        4 => IpAddr::from(reader.array::<4>()?),
        6 => IpAddr::from(reader.array::<16>()?),
        family => return Err(invalid(format!("address family {family} is unknown"))),
    };
    Ok(Address::new(ip, reader.u16()?))
}

fn ascends(tokens: &[Token]) -> bool {
    tokens.windows(2).all(|pair| pair[0] < pair[1])
}
