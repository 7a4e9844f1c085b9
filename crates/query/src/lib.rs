//! From CQL statement to answer: prepare, plan, execute; system tables.
//!
//! [`Engine`] is the door: the server hands it decoded requests and gets reply frames. See `docs/internals/query.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod access;
mod authorizer;
mod catalog;
mod clients;
mod clock;
mod control;
mod describe;
mod discarded;
mod domain;
mod engine;
mod error;
mod event;
mod execute;
mod guardrails;
mod hand_over;
mod node;
mod nodes;
mod outcome;
mod own_proposal;
mod paging;
mod parts;
mod plan;
mod prepared;
mod session;
pub mod system;
mod trace;
mod warnings;

pub use access::{AccessSnapshot, HasherIsBusy, Hashing, PasswordHasher};
pub use cluster::coordinator::{HintOptions, TimeoutKind, TimeoutOptions};
pub use domain::{AccessDomain, LowBoundDomain, SchemaDomain, TruncationsDomain, pending_truncations, truncations_of};
pub use engine::{
    AccessChangesError, EndpointsError, Engine, EngineStats, FAILED_KINDS, FailedCounts, FailedKind, Ran,
    StatementSummary, announce_node, clean_up, clean_up_table, delete_left, deliver_hints, disk_bytes, endpoints,
    finish_left, finished_left, hand_on, has_left, list_client, log_ends, low_bound, plan_roles_import,
    propose_access_changes, propose_first_superuser, refuse_left, settings, unplaced,
};
pub use event::{Event, NodeEvent};
pub use guardrails::{ConsistencyLevels, Guardrails, Listed, Threshold, ThresholdUnit};
pub use hand_over::HandedBack;
pub use node::NodeInfo;
pub use nodes::{LEAVE, MEMBERSHIP, OPERATION, REBUILD};
pub use outcome::{Outcome, refuse_text};
pub use parts::{EngineOptions, EngineParts, EngineSeats, GroupLinks, engine_seats};
pub use session::Session;
pub use storage::LogSequence;
