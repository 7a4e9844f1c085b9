//! Paxos, for conditional statements and SERIAL reads: ballots, what a replica remembers of a partition, and who is next.
//!
//! See `docs/internals/paxos.md`.

mod ballot;
mod queue;
mod rounds;
mod state;
mod table;

pub use ballot::Ballot;
pub use rounds::Attempt;
pub use state::State;
pub use table::{STATE_TABLE, with_state_table};

pub(crate) use rounds::Rounds;
