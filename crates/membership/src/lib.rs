//! The nodes of a cluster: which may be one. The owner of a range is never said here: that is the topology's.
//!
//! - [`TopologyDomain`]: the registry of nodes as a domain of the cluster's state;
//! - [`judge`]: a node that says hello, against the registry: known, unknown, or refused;
//! - [`Search`]: the decision of a node without a group to found one, to join one, or to wait;
//! - [`plan`]: a request of a node or an operator, as changes of the registry or a refusal.
//!
//! All of them are pure functions. Tables and invariants: `docs/internals/membership.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod domain;
mod fence;
mod founding;
mod plan;
mod request;

#[cfg(test)]
mod examples;

pub use domain::TopologyDomain;
pub use fence::{Greeting, Refusal, Standing, judge};
pub use founding::{Decision, Introduction, JoinAnswer, Search};
pub use plan::{PlanError, plan};
pub use request::{Registration, Request};
