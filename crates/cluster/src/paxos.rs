//! Paxos, for conditional statements and SERIAL reads: ballots, what a replica remembers of a partition, and who is next.
//!
//! The rounds are the coordinator's (`coordinator/serial.rs`). See `docs/internals/paxos.md`.

mod ballot;
mod queue;
mod state;
mod table;

pub use ballot::Ballot;
pub(crate) use queue::{Claim, Queue};
pub(crate) use state::Proposal;
pub use state::State;
pub use table::{STATE_TABLE, with_state_table};
pub(crate) use table::{StateReader, clustering_of, encode_state};
