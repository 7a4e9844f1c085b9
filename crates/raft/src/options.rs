//! A voter's settings, and its state at a start as its disk has it.
//!
//! Plain data; nothing here is checked.

use planted::Planted;

use crate::entry::{Index, NodeId};
use crate::log::Log;
use crate::vote::Vote;

/// How often a leader is heard, and how long its silence is borne, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Between two heartbeats.
    pub heartbeat_ticks: u32,
    /// The least election timeout; it is at most twice that.
    pub election_ticks: u32,
    /// Bytes of entries in one message, but for a longer entry alone.
    pub append_bytes_max: usize,
    /// At a start, the only voter goes on in the term that it led. Other nodes that follow its log must not take its entries for those of an older disk: where
    /// there are any, it begins the next term.
    pub keeps_term: bool,
    /// A mistake, in a build with mistakes.
    pub planted: Planted,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            heartbeat_ticks: 1,
            election_ticks: 10,
            append_bytes_max: 256 << 10,
            keeps_term: true,
            planted: Planted::NONE,
        }
    }
}

/// A voter's state as its disk has it at a start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restart {
    /// The node.
    pub id: NodeId,
    /// Its term and vote.
    pub vote: Vote,
    /// Its log.
    pub log: Log,
    /// The commit index, as far as it knew durably. Beyond the log's end it says that the disk has lost a part of the log.
    pub commit: Index,
    /// Entries up to here are part of the driver's state: at least up to the log's beginning, at most up to the commit index.
    pub applied: Index,
    /// It was found before that its log was lost ([`Trouble::LostOwnLog`](crate::Trouble::LostOwnLog)).
    pub is_lost: bool,
}
