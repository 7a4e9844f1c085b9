//! The matrix of access: which statements a role may run with which permission, as a real Cassandra says and as Helenus does.
//!
//! `tests/access/matrix.txt` has the statements and the recorded verdicts; `docs/internals/access.md` says what a cell is.

mod cells;
mod commands;
mod matrix;
mod run;

pub use commands::{check, check_cluster, record};
