//! Eight workloads by the names that they have in Jepsen's tests: each one's tables and statements, what an answer says, and a checker of its history.
//!
//! | workload | clients | holds |
//! |---|---|---|
//! | [`cas_register`] | write, compare and set, and delete two registers of a partition under conditions | linearizable per partition |
//! | [`list_append`] | append elements to a list under a condition | all reads are prefixes of one order, which agrees with real time |
//! | [`wr_register`] | write some of four registers of a partition at once under a condition | linearizable per partition |
//! | [`counter`] | add to a counter | a count has each acknowledged amount, and each other one or not |
//! | [`set`] | insert distinct rows | a read has each acknowledged element, and none that was never sent |
//! | [`map`] | put distinct entries into a map column | the same of entries |
//! | [`batch_set`] | insert an element into two tables by a logged batch | each element is in both or in neither in the end |
//! | [`write_isolation`] | write two columns of a row, and rows of a partition, at once | no read sees them apart |
//!
//! Pure: no I/O, no clock, no randomness of its own. The simulator and the tests of real processes send the statements, and take note of times and answers.
//! A request without an answer may have happened, may happen at any later time, or never.

pub mod batch_set;
mod bounds;
pub mod cas_register;
pub mod counter;
mod elements;
pub mod linear;
pub mod list_append;
pub mod map;
mod operation;
pub mod set;
mod statement;
#[cfg(test)]
mod tests;
mod workload;
pub mod wr_register;
pub mod write_isolation;

pub use operation::{Answer, History, Operation, Ticket};
pub use statement::{Row, Statement, as_applied, as_big_integer, as_integer, big_integer, integer};
pub use workload::{Random, Request, Way, Workload};
