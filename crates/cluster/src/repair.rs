//! Repair: each replica of a range copies it from all others, so that all have what any of them has.
//!
//! The node that is asked leads. See `docs/internals/repair.md`.

mod codec;
mod command;
mod error;
mod leader;
mod participant;
mod ranges;
mod verbs;

#[cfg(test)]
mod tests;

pub use command::{CommandState, RepairStatus, Repairs};
pub use error::RepairRefused;
pub use leader::RepairedTable;
pub use ranges::RepairChoice;

pub(crate) use participant::Participant;
pub(crate) use ranges::unwrapped;
pub(crate) use verbs::register;
