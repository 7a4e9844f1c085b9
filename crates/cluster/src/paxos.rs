//! Paxos at one replica: ballots, the registers of a partition, and who is next at it.
//!
//! It sends no message: the rounds of attempts are in [`crate::serial`]. See `docs/internals/paxos.md`.

mod ballot;
mod low_bound;
mod moved;
mod queue;
mod state;
mod table;

pub use ballot::Ballot;
pub use low_bound::{
    Bound, LOW_BOUND_VERSION, LowBound, LowBoundChange, LowBoundError, decode_low_bound, encode_low_bound,
};
pub use state::{Commit, Promise, Proposal, Purpose, State};
pub use table::{STATE_TABLE, with_state_table};

pub(crate) use moved::{VOID, replace_positions};
pub(crate) use queue::{Claim, Queue};
pub(crate) use state::Outrun;
pub(crate) use table::{
    Kept, MUTATION_BYTES_MIN, Register, RegisterTimes, StateReader, clustering_of, decode_proposal, encode_proposal,
    encode_registers, registers_of, table_of,
};
