//! The cluster's state: what all nodes must agree on, as a sequence of entries. Each part of an entry is a change of one domain.

mod domain;
mod domains;
mod entry;
mod replay;
mod state;

pub use domain::{Domain, DomainId};
pub use domains::Domains;
pub use entry::{Entry, Part};
pub(crate) use replay::Replay;
pub use state::ClusterState;
