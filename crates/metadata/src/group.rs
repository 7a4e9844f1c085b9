//! The group of nodes that share the cluster's state: its log, as each node keeps it.
//!
//! The consensus core ([`raft`]) orders entries and knows nothing of them. Here is their meaning: a [`Proposal`] on its way into the log, [`GroupState`] as
//! the pure function of all entries, the records by which a node keeps its part ([`GroupRecord`]), and what a start restores of them ([`FoundGroup`]).
//!
//! States, invariants and bytes: `docs/internals/metadata.md`.

mod ask;
mod bounds;
mod driver;
mod found;
mod heartbeat;
mod ids;
mod lead;
mod member;
mod message;
mod proposal;
mod record;
mod state;
mod transfer;
mod wire;

pub use driver::{Applier, Applying, Driver};
pub use found::{FoundGroup, founding};
pub use heartbeat::{Heartbeat, Vitals};
pub use ids::{GroupId, ProposalId, host_id, node_id};
pub use member::{Member, MemberOptions, Plan, Planner, Work, hear_of_epoch};
pub use message::{Answer, GroupMessage, Reply, Request};
pub use proposal::{PROPOSALS_REMEMBERED, Proposal};
pub use raft::{Configuration, Index, NodeId, Term};
pub use record::{GroupRecord, Snapshot};
pub use state::{Effect, GroupState, Remembered};
pub use transfer::{Arrived, GroupWire, TooLong};
pub use wire::MESSAGE_BYTES_MAX;
