//! Attempts at one partition: the rounds of conditional statements and SERIAL reads.
//!
//! Where one replica on this very shard is the whole electorate, all is one record of its log ([`Rounds`]); else replicas of several nodes promise and accept
//! ([`Agreement`]). See `docs/internals/paxos.md`.

mod agreement;
mod asked;
mod findings;
mod low_bound;
#[cfg(test)]
mod model;
mod rounds;

pub use agreement::{Agreement, AgreementError, Agreements, Found, Proposed};
pub use low_bound::{LeftError, PlacedTable};
pub use rounds::Attempt;

pub(crate) use rounds::Rounds;
