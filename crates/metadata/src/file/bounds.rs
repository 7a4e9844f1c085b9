//! How long a log may be.

use raft::Payload;

use super::record::Record;
use crate::cluster::Domains;
use crate::group::{GroupRecord, Proposal};
use crate::local::Fact;

/// The most bytes that one record may have.
pub(super) const RECORD_BYTES_MAX: usize = 64 << 20;
/// Zeros kept after the last record, in blocks that the file system has allocated: room for records that a full disk must take.
pub(super) const RESERVE_BYTES: u64 = 64 << 10;

/// How long a log may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// A log longer than this is compacted at a start, if that makes it half as long or less, and while it is open when it has grown by its own
    /// length, and by this at least.
    pub(crate) compact_bytes: u64,
    /// Past this a log takes starts alone, and past half of it no more of the cluster's state.
    pub(crate) log_bytes_max: u64,
}

impl Bounds {
    pub(super) const OF_A_NODE: Bounds = Bounds { compact_bytes: 4 << 20, log_bytes_max: 1 << 30 };

    /// The longest log that is read: no log that was written may ever be refused, and starts are always written, one block each. Earlier
    /// versions had no bound, so logs of theirs may be longer than ours.
    pub(super) fn read_bytes_max(&self) -> u64 {
        4 * self.log_bytes_max
    }

    /// The greatest length of the log with a record of this claim. What takes room has half of it, so that what gives room back always has some.
    pub(super) fn bytes_max(&self, claim: Claim) -> u64 {
        match claim {
            Claim::Identity | Claim::Start => u64::MAX,
            Claim::GivesBack => self.log_bytes_max,
            Claim::Takes => self.log_bytes_max / 2,
        }
    }
}

/// A record's claim to room, in the log and on a full disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// The identity, which a new log begins with: no bound stops it.
    Identity,
    /// A start, without which nothing can be read: no bound stops it, nor a full disk.
    Start,
    /// A truncation or a drop: a full disk takes it too.
    GivesBack,
    /// All else.
    Takes,
}

impl Claim {
    pub(super) fn of(record: &Record, domains: &Domains) -> Claim {
        match record {
            Record::Local(Fact::HostId(_)) => Claim::Identity,
            Record::Local(Fact::Boot(_)) => Claim::Start,
            Record::Local(Fact::Truncated(_)) => Claim::GivesBack,
            Record::Entry(entry) if domains.gives_room_back(entry) => Claim::GivesBack,
            Record::Entry(_) => Claim::Takes,
            Record::Group(record) => Claim::of_group(record, domains),
            Record::Several(records) => {
                let claims = records.iter().map(|record| Claim::of(record, domains));
                claims.reduce(Claim::together).unwrap_or(Claim::Takes)
            }
        }
    }

    /// A vote and a commit index are a block each, and the group waits for them. A node without a group has no state that could be full.
    fn of_group(record: &GroupRecord, domains: &Domains) -> Claim {
        match record {
            GroupRecord::Group(_) => Claim::Identity,
            GroupRecord::Vote { .. } | GroupRecord::Commit(_) => Claim::GivesBack,
            GroupRecord::Snapshot(_) => Claim::Takes,
            GroupRecord::Entry { entry, .. } => match &entry.payload {
                Payload::Lead(_) | Payload::Voters(_) => Claim::GivesBack,
                // A cancelled proposal is a block, and takes none of the state's room.
                Payload::Change(bytes) => match Proposal::decode(bytes) {
                    Ok(of) if of.entry.as_ref().is_none_or(|entry| domains.gives_room_back(entry)) => Claim::GivesBack,
                    _ => Claim::Takes,
                },
            },
        }
    }

    /// The claim of two records that count together: a start takes along what it needs, all else is as good as its weaker part.
    fn together(self, other: Claim) -> Claim {
        match (self, other) {
            (Claim::Start, _) | (_, Claim::Start) => Claim::Start,
            (Claim::Takes, _) | (_, Claim::Takes) => Claim::Takes,
            (Claim::Identity, other) => other,
            (claim, _) => claim,
        }
    }

    /// True if a full disk must take the record, out of the reserve.
    pub(super) fn may_use_reserve(self) -> bool {
        matches!(self, Claim::Start | Claim::GivesBack)
    }
}
