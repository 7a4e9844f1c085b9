//! A node's part in a group, as records of the metadata log.
//!
//! ```text
//! 5 vote:     u8 version (1) · u64 term · u8 flags (1 voted, 2 the log was lost) · 16 node, if it voted
//! 6 entry:    u8 version (2) · u64 term · u64 index · u8 flags (1 committed) · u8 payload · payload
//!             payload 0, a leader's first entry: 16 node · 1, a change: a proposal's bytes · 2, voters: configuration
//! 7 snapshot: u8 version (1) · u64 index · u64 term · u8 flags (1 the term's leader is known) · 16 leader, if it is · configuration
//!             · varint count · (16 proposal · u64 epoch · u8 flags (1 cancelled))* · varint count · (u8 domain · u8 version · varint length · change)*
//! 8 group:    u8 version (1) · 16 group · u64 incarnation
//! 9 commit:   u8 version (1) · u64 index
//! configuration: varint count · (16 node)* incoming · varint count · (16 node)* outgoing
//! ```

use raft::{Configuration, Entry as PlacedEntry, Index, NodeId, Origin, Payload, Term, Vote};
use stdx::{Reader, varint};

use super::ids::{GroupId, ProposalId};
use super::proposal::{PROPOSALS_REMEMBERED, Proposal};
use super::state::Remembered;
use crate::cluster::{Domains, Entry, Part};
use crate::error::{DecodeError, invalid};

const VOTE: u8 = 5;
const ENTRY: u8 = 6;
const SNAPSHOT: u8 = 7;
const GROUP: u8 = 8;
const COMMIT: u8 = 9;

/// The version of [`ENTRY`] that has a place in a group's log; the one before has none.
const ENTRY_VERSION: u8 = 2;
/// The version of all other kinds.
const VERSION: u8 = 1;
/// More voters than any group has.
const VOTERS_MAX: u64 = 64;
/// More proposals than a snapshot remembers.
const RECENT_MAX: u64 = 2 * PROPOSALS_REMEMBERED;

/// The state that all entries up to one result in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Index, term and voters.
    pub origin: Origin,
    /// The proposals that were applied or cancelled last, oldest first.
    pub recent: Vec<Remembered>,
    /// The change of each domain that makes its state of the default one.
    pub parts: Vec<Part>,
}

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupRecord {
    /// Term and vote, durable before an answer leaves.
    Vote {
        /// Both.
        vote: Vote,
        /// The node has found that its log was lost, and acknowledges nothing.
        is_lost: bool,
    },
    /// An entry of the log. It replaces all entries from its index on.
    Entry {
        /// Its place and payload.
        entry: PlacedEntry,
        /// It is committed by being written: the node was alone in its group.
        is_committed: bool,
    },
    /// It replaces entries up to its index.
    Snapshot(Snapshot),
    /// The node is of this group.
    Group(GroupId),
    /// Entries up to here are committed. Durable before one is applied.
    Commit(Index),
}

impl GroupRecord {
    /// Fails where a part is no change of its domain, or of a newer version. At its own place in the log, before the state is made of all records.
    pub(crate) fn check(&self, domains: &Domains) -> Result<(), DecodeError> {
        let proposal = match self {
            GroupRecord::Entry { entry: PlacedEntry { payload: Payload::Change(bytes), .. }, .. } => {
                Some(Proposal::decode(bytes)?)
            }
            _ => None,
        };
        let parts = match self {
            GroupRecord::Snapshot(snapshot) => &snapshot.parts[..],
            _ => proposal.as_ref().and_then(|proposal| proposal.entry.as_ref()).map_or(&[][..], Entry::parts),
        };
        parts.iter().try_for_each(|part| domains.check(part))
    }

    /// Appends the record's kind and body.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            GroupRecord::Vote { vote, is_lost } => {
                out.extend([VOTE, VERSION]);
                put(out, vote.term.0);
                out.push(u8::from(vote.voted_for.is_some()) | u8::from(*is_lost) << 1);
                vote.voted_for.iter().for_each(|node| put_node(out, *node));
            }
            GroupRecord::Entry { entry, is_committed } => {
                out.extend([ENTRY, ENTRY_VERSION]);
                encode_entry(entry, *is_committed, out);
            }
            GroupRecord::Snapshot(snapshot) => {
                out.extend([SNAPSHOT, VERSION]);
                snapshot.encode(out);
            }
            GroupRecord::Group(group) => {
                out.extend([GROUP, VERSION]);
                out.extend_from_slice(&group.id.to_be_bytes());
                put(out, group.incarnation);
            }
            GroupRecord::Commit(index) => {
                out.extend([COMMIT, VERSION]);
                put(out, index.0);
            }
        }
    }

    /// The record of `kind`, or `None` if records of that kind and version are no group's.
    pub(crate) fn decode(kind: u8, reader: &mut Reader<'_>) -> Result<Option<GroupRecord>, DecodeError> {
        match kind {
            VOTE | SNAPSHOT | GROUP | COMMIT => check_version(reader.u8()?)?,
            ENTRY if reader.peek().first() == Some(&ENTRY_VERSION) => drop(reader.u8()?),
            _ => return Ok(None),
        }
        Ok(Some(match kind {
            VOTE => {
                let term = Term(reader.u64()?);
                let flags = flags(reader, 0b11)?;
                let voted_for = if flags & 1 > 0 { Some(node(reader)?) } else { None };
                GroupRecord::Vote { vote: Vote { term, voted_for }, is_lost: flags & 2 > 0 }
            }
            ENTRY => {
                let (entry, is_committed) = decode_entry(reader)?;
                GroupRecord::Entry { entry, is_committed }
            }
            SNAPSHOT => GroupRecord::Snapshot(Snapshot::decode(reader)?),
            GROUP => {
                GroupRecord::Group(GroupId { id: u128::from_be_bytes(reader.array()?), incarnation: reader.u64()? })
            }
            _ => GroupRecord::Commit(Index(reader.u64()?)),
        }))
    }
}

/// Appends `u64 term · u64 index · u8 flags · u8 payload · payload`, as records and messages have it.
pub(super) fn encode_entry(entry: &PlacedEntry, is_committed: bool, out: &mut Vec<u8>) {
    put(out, entry.term.0);
    put(out, entry.index.0);
    out.push(u8::from(is_committed));
    match &entry.payload {
        Payload::Lead(node) => {
            out.push(0);
            put_node(out, *node);
        }
        Payload::Change(bytes) => {
            out.push(1);
            out.extend_from_slice(bytes);
        }
        Payload::Voters(voters) => {
            out.push(2);
            encode_voters(voters, out);
        }
    }
}

/// The entry that all of the bytes are.
pub(super) fn decode_entry(reader: &mut Reader<'_>) -> Result<(PlacedEntry, bool), DecodeError> {
    let (term, index) = (Term(reader.u64()?), Index(reader.u64()?));
    if index == Index(0) {
        return Err(invalid("an entry has index 0"));
    }
    let is_committed = flags(reader, 1)? > 0;
    let payload = match reader.u8()? {
        0 => Payload::Lead(node(reader)?),
        1 => Payload::Change(reader.rest().into()),
        2 => Payload::Voters(decode_voters(reader)?),
        tag => return Err(invalid(format!("an entry has the unknown payload {tag}"))),
    };
    Ok((PlacedEntry { term, index, payload }, is_committed))
}

impl Snapshot {
    /// Appends the body of a record of kind 7, without its version.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let Origin { index, term, leader, configuration } = &self.origin;
        put(out, index.0);
        put(out, term.0);
        out.push(u8::from(leader.is_some()));
        leader.iter().for_each(|node| put_node(out, *node));
        encode_voters(configuration, out);
        varint::encode(self.recent.len() as u64, out);
        for Remembered { id, epoch, is_cancelled } in &self.recent {
            out.extend_from_slice(&id.0.to_be_bytes());
            put(out, epoch.0);
            out.push(u8::from(*is_cancelled));
        }
        match self.parts.is_empty() {
            true => varint::encode(0, out),
            false => Entry::new(self.parts.clone()).encode_parts(out),
        }
    }

    /// The snapshot that [`Snapshot::encode`] wrote.
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Snapshot, DecodeError> {
        let (index, term) = (Index(reader.u64()?), Term(reader.u64()?));
        let leader = if flags(reader, 1)? > 0 { Some(node(reader)?) } else { None };
        let origin = Origin { index, term, leader, configuration: decode_voters(reader)? };
        let count = reader.varint()?;
        if count > RECENT_MAX {
            return Err(invalid(format!("a snapshot remembers {count} proposals")));
        }
        let mut recent = Vec::new();
        for _ in 0..count {
            let id = ProposalId(u128::from_be_bytes(reader.array()?));
            recent.push(Remembered { id, epoch: Index(reader.u64()?), is_cancelled: flags(reader, 1)? > 0 });
        }
        let is_in_order = recent.windows(2).all(|pair| pair[0].epoch < pair[1].epoch);
        if !is_in_order || recent.last().is_some_and(|known| known.epoch > index) {
            return Err(invalid("the proposals of a snapshot are not in the order of their epochs"));
        }
        let parts = match reader.peek().first() {
            Some(0) => {
                reader.u8()?;
                Vec::new()
            }
            _ => Entry::decode_parts(reader)?.parts().to_vec(),
        };
        Ok(Snapshot { origin, recent, parts })
    }
}

fn check_version(version: u8) -> Result<(), DecodeError> {
    match version {
        0 => Err(invalid("a record of the group has format version 0")),
        VERSION => Ok(()),
        version => Err(DecodeError::NewerVersion { version, supported: VERSION }),
    }
}

/// A byte of flags, of which no unknown one is set.
pub(super) fn flags(reader: &mut Reader<'_>, known: u8) -> Result<u8, DecodeError> {
    match reader.u8()? {
        flags if flags & !known == 0 => Ok(flags),
        flags => Err(invalid(format!("unknown flags {flags:#04x}"))),
    }
}

pub(super) fn put(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_be_bytes());
}

pub(super) fn put_node(out: &mut Vec<u8>, NodeId(node): NodeId) {
    out.extend_from_slice(&node.to_be_bytes());
}

pub(super) fn node(reader: &mut Reader<'_>) -> Result<NodeId, DecodeError> {
    Ok(NodeId(u128::from_be_bytes(reader.array()?)))
}

fn encode_voters(voters: &Configuration, out: &mut Vec<u8>) {
    for half in [voters.incoming(), voters.outgoing()] {
        varint::encode(half.len() as u64, out);
        half.iter().for_each(|node| put_node(out, *node));
    }
}

fn decode_voters(reader: &mut Reader<'_>) -> Result<Configuration, DecodeError> {
    let mut half = || {
        let count = reader.varint()?;
        if count > VOTERS_MAX {
            return Err(invalid(format!("a configuration has {count} voters")));
        }
        (0..count).map(|_| node(reader)).collect::<Result<Vec<_>, DecodeError>>()
    };
    let (incoming, outgoing) = (half()?, half()?);
    Configuration::of_halves(incoming, outgoing).map_err(|error| invalid(error.to_string()))
}
