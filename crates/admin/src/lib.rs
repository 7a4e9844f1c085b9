//! HTTP for operators: REST, metrics and the console, on one thread beside the shards. See `docs/internals/admin.md`.
//!
//! Knows nothing of the shards' insides: it asks them [`Question`]s and puts their answers together.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod access;
mod ask;
mod console;
mod cql;
mod facts;
mod guard;
mod json;
mod listen;
mod logging;
mod metrics;
mod need;
mod parameters;
mod problem;
mod routes;
mod secure;
mod serve;
#[allow(clippy::disallowed_types, reason = "all requests of the admin thread share the logins")]
mod sessions;
#[allow(clippy::disallowed_types, reason = "all connections of the admin thread share the counts of hosts")]
mod shares;
mod snapshot;
mod state;

pub use ask::{
    Answer, AuditOrder, DrainStep, HintSwitch, LoginAttempt, Question, QuestionResponder, QuestionSeat, Questions,
    Refusal, RepairOrder, RepairTerms, RolesOrder, SnapshotStep, TimeoutKind, questions,
};
pub use facts::{
    AuditFacts, AuditFigures, Buckets, CompactionFacts, CopyingFacts, EndedCompactionFacts, FailedFacts, GroupFacts,
    HintFacts, KeyspaceFacts, LifeFacts, NodeFacts, NodeHintFacts, OperationFacts, OperationsFacts, ProcessFacts,
    RepairFacts, RequestFacts, RingNode, SampledFacts, SampledPartition, ScrubFacts, ShardFigures, SlowQuery,
    SnapshotFacts, StreamFacts, TableFacts, TableName, TlsFacts, UpgradeFacts, UpgradeNode,
};
pub use listen::{Bound, Endpoint, ListenError, Refused, bind};
pub use logging::LogLevel;
pub use need::Need;
pub use serve::{Parts, companion};
pub use snapshot::take_snapshot;
