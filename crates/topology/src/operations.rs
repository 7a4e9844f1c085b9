//! Operations: token ranges that move to other replicas while clients read and write.
//!
//! Pure functions of the nodes and tokens before and after an operation, of a strategy, and of a phase: which replicas are read and written and how many must
//! answer ([`Placements`], [`Phase`]), who copies from whom ([`RangeMove`]), when a phase may pass ([`waits_for`]), and the operations that a cluster has as a state of
//! its log ([`Operations`]). It does not decide that an operation begins, sends nothing, and knows no table.
//!
//! Phases, rules and bytes: `docs/internals/operations.md`.

mod change;
mod codec;
mod conditions;
mod copying;
mod kept;
mod moves;
mod needs;
mod operation;
mod phase;
mod placements;
mod range_move;
mod rings;
mod state;
#[cfg(test)]
mod tests_of_changes;

pub use change::OperationChange;
pub use codec::{DecodeError, VERSION, decode, encode};
pub use conditions::{Confirmed, Waiting, waits_for};
pub use copying::TooFewSources;
pub use needs::{Half, Needs};
pub use operation::{EndNumber, Kind, Operation, OperationId, Target, may_be_placed_by, placed_by};
pub use phase::{Answer, Halves, Phase};
pub use placements::{Levels, Placement, Placements};
pub use range_move::RangeMove;
pub use rings::RingChange;
pub use state::Operations;
