//! The nodes of a cluster: which may be one. The owner of a range is never said here: that is the topology's.
//!
//! - [`TopologyDomain`]: the registry of nodes as a domain of the cluster's state;
//! - [`OperationsDomain`]: the operations as another one;
//! - [`judge`]: a node that says hello, against the registry: known, unknown, or refused;
//! - [`Heard`]: what nodes have reported of their disks, which is never less later;
//! - [`Liveness`]: which of the others are up, by what they answer;
//! - [`Search`]: the decision of a node without a group to found one, to join one, or to wait;
//! - [`may_recover`]: the decision to begin a group again whose majority is lost;
//! - [`plan`]: a request of a node or an operator, as changes of the registry or a refusal;
//! - [`plan_leave`]: the same of a request that a node leaves, with the conditions that hold for it;
//! - [`Planning`]: the same of requests that begin an operation, take it a step further, or end it: of nodes, and of a keyspace's [replication](Alteration).
//!
//! All of them do no I/O. Tables and invariants: `docs/internals/membership.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod domain;
mod fence;
mod founding;
mod heard;
mod leave;
mod liveness;
mod operations;
mod operations_domain;
mod plan;
mod recovery;
mod replace;
mod replication;
mod request;

#[cfg(test)]
mod examples;

pub use domain::TopologyDomain;
pub use fence::{Greeting, Refusal, Standing, judge, judge_planted};
pub use founding::{Decision, Introduction, JoinAnswer, Search};
pub use heard::{Finding, Heard};
pub use leave::{Conditions, Departure, Leave, LeaveError, plan_leave};
pub use liveness::{Crossing, Liveness, Offset, PhiThreshold, Pong, ROUND, Report, Verdict};
pub use operations::{OperationError, OperationRequest, PlannedChanges, Planning, give_up};
pub use operations_domain::OperationsDomain;
pub use plan::{PlanError, plan};
pub use recovery::{LogEnd, RecoveryError, may_recover};
pub use replace::{ReplaceError, Replaced, is_replaceable};
pub use replication::{Alteration, Rebuild, RebuildError};
pub use request::{Registration, Request};

/// The bug that `HELENUS_PLANT` names, where bugs are compiled in.
#[cfg(test)]
fn planted_by_test() -> planted::Planted {
    #[cfg(feature = "planted")]
    if let Ok(name) = std::env::var("HELENUS_PLANT") {
        return planted::Planted::named(&name).expect("a bug of the list");
    }
    planted::Planted::NONE
}
