//! Writes: to the live replicas of each mutation, counted until the level is reached.

mod batch;
mod counter;
mod electors;
mod found;
mod keepers;
mod kept;
mod missed;
mod parts;
mod place;
mod planned;
mod rounds;
mod tally;
mod writes;

pub use planned::{PlannedMutation, are_local};

pub(crate) use electors::Electors;
pub(crate) use found::FoundBatches;
pub(crate) use kept::Keeper;
pub(crate) use place::Place;
pub(crate) use tally::Answer;
pub(crate) use writes::Writes;
