//! A proposal as the log keeps it: its id, the first epoch at which it may apply, and the entry of domains' changes, or none where its asker cancels it.

use raft::Index;
use stdx::{Reader, varint};

use super::ids::ProposalId;
use crate::cluster::Entry;
use crate::error::{DecodeError, invalid};

/// Changes after which a proposal does not apply any more, and for which ids are remembered: a proposal that was sent again has the effect of
/// once for as long as it has any.
pub const PROPOSALS_REMEMBERED: u64 = 1024;

/// The version that this code writes, and the newest that it reads.
const VERSION: u8 = 1;

/// An entry on its way into the cluster's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Its name.
    pub id: ProposalId,
    /// The first epoch at which it may apply: one after the epoch of the node that asked, when it asked.
    pub first: Index,
    /// The changes. None cancels the proposal: a copy of it that is logged later has no effect.
    pub entry: Option<Entry>,
}

impl Proposal {
    /// `u8 version · 16 id · u64 first · parts`, with parts as in records of kind 6, but for a count of 0 where it is cancelled.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend_from_slice(&self.id.0.to_be_bytes());
        out.extend_from_slice(&self.first.0.to_be_bytes());
        match &self.entry {
            Some(entry) => entry.encode_parts(&mut out),
            None => varint::encode(0, &mut out),
        }
        out
    }

    /// The proposal that `bytes` are, all of them.
    pub fn decode(bytes: &[u8]) -> Result<Proposal, DecodeError> {
        let mut reader = Reader::new(bytes);
        match reader.u8()? {
            0 => return Err(invalid("a proposal has format version 0")),
            VERSION => {}
            version => return Err(DecodeError::NewerVersion { version, supported: VERSION }),
        }
        let id = ProposalId(u128::from_be_bytes(reader.array()?));
        let first = Index(reader.u64()?);
        let entry = match reader.peek() {
            [0, ..] => reader.u8().map(|_| None)?,
            _ => Some(Entry::decode_parts(&mut reader)?),
        };
        match reader.is_empty() {
            true => Ok(Proposal { id, first, entry }),
            false => Err(invalid(format!("{} trailing bytes in a proposal", reader.remaining()))),
        }
    }

    /// False where so many changes lie between asking and `index` that a repetition could pass for a new proposal.
    pub fn may_apply_at(&self, index: Index) -> bool {
        index >= self.first && index.0 - self.first.0 < PROPOSALS_REMEMBERED
    }
}
