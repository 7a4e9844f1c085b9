//! The decision whether a node may begin the next incarnation of its group, after a majority of the voters was lost for good.
//!
//! It may only if its log is the latest of all nodes that answer: another one with a later log may have served what this one does not know, and a group that
//! has a leader needs no recovery.

use metadata::DecodeError;
use metadata::group::{GroupId, Index, Term};
use planted::{Bug, Planted};
use stdx::Reader;
use topology::HostId;

const VERSION: u8 = 1;

/// A node's log, as it answers one that wants to recover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogEnd {
    /// Its group.
    pub group: GroupId,
    /// The term of its last entry.
    pub term: Term,
    /// The index of its last entry.
    pub index: Index,
    /// It knows a leader.
    pub has_leader: bool,
}

/// Error of a node that may not begin it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecoveryError {
    /// The node is of no group.
    #[error("this node is of no cluster: there is nothing to recover")]
    NoGroup,
    /// The group is at work.
    #[error(
        "the metadata group has a leader, as host {host_id} says: nothing is to be recovered; start without --recover-metadata"
    )]
    HasLeader {
        /// The node that says so.
        host_id: HostId,
    },
    /// Another node's log is later.
    #[error(
        "host {host_id} has a later metadata log (term {term}, index {index}; this node: term {own_term}, index {own_index}): recover on that node, then start this one with --recover-metadata and its address"
    )]
    Later {
        /// The node.
        host_id: HostId,
        /// The end of its log.
        term: Term,
        /// The same.
        index: Index,
        /// The end of this node's log.
        own_term: Term,
        /// The same.
        own_index: Index,
    },
    /// A node is of the group's next incarnation already.
    #[error(
        "the metadata group was recovered already, as {group}, on host {host_id} or before it: start with --recover-metadata and that node's address"
    )]
    Recovered {
        /// The node that says so.
        host_id: HostId,
        /// Its group.
        group: GroupId,
    },
}

/// Decides on a node with this log, given the answers of all others that were reached. `planted`: a mistake, in a build with mistakes.
pub fn may_recover(own: &LogEnd, answers: &[(HostId, LogEnd)], planted: Planted) -> Result<(), RecoveryError> {
    for (host_id, other) in answers {
        let host_id = *host_id;
        if other.group != own.group {
            return Err(RecoveryError::Recovered { host_id, group: other.group });
        }
        if other.has_leader {
            return Err(RecoveryError::HasLeader { host_id });
        }
        let is_later = (other.term, other.index) > (own.term, own.index);
        if is_later && !planted.is(Bug::RecoveryFromTheShorter) {
            let (own_term, own_index) = (own.term, own.index);
            return Err(RecoveryError::Later { host_id, term: other.term, index: other.index, own_term, own_index });
        }
    }
    Ok(())
}

impl LogEnd {
    /// `u8 version (1) · 16 group · u64 incarnation · u64 term · u64 index · u8 flags (1 it knows a leader)`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend_from_slice(&self.group.id.to_be_bytes());
        for number in [self.group.incarnation, self.term.0, self.index.0] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.push(u8::from(self.has_leader));
        out
    }

    /// The log's end that all of the bytes are.
    pub fn decode(bytes: &[u8]) -> Result<LogEnd, DecodeError> {
        let mut reader = Reader::new(bytes);
        let invalid = |problem: String| DecodeError::Invalid { problem };
        match reader.u8()? {
            VERSION => {}
            0 => return Err(invalid("a message has format version 0".to_owned())),
            version => return Err(DecodeError::NewerVersion { version, supported: VERSION }),
        }
        let group = GroupId { id: u128::from_be_bytes(reader.array()?), incarnation: reader.u64()? };
        let (term, index) = (Term(reader.u64()?), Index(reader.u64()?));
        let has_leader = match reader.u8()? {
            0 => false,
            1 => true,
            flags => return Err(invalid(format!("unknown flags {flags:#04x}"))),
        };
        match reader.is_empty() {
            true => Ok(LogEnd { group, term, index, has_leader }),
            false => Err(invalid(format!("{} trailing bytes in a message", reader.remaining()))),
        }
    }
}

#[cfg(test)]
mod tests;
