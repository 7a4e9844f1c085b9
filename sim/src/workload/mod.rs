//! What clients do, and what they are told.

mod history;
mod rows;

pub use history::{Batched, History, Key, Shared, Truncate, Write, padding};
pub use rows::{RowsOptions, SELECT_ALL, prepare, work};
