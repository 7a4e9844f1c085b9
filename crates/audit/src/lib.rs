//! The audit log: who asked what, from where, and whether it was refused, as JSON lines in files that roll.
//!
//! [`Entry`] is a request or a login, its text redacted. [`Desk`](desk::Desk) is the node's bounded queue, a pure value; [`Audit`] is a shard's way to it; [`companion`] is
//! the thread that names tables, filters by keyspace and writes. Not here: what a request is and when it is answered, which the server knows. Words, states and
//! bytes: `docs/internals/audit.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod date;
mod desk;
mod entry;
mod folder;
mod kind;
mod lexer;
mod line;
mod options;
mod shard;
mod statement;
mod threads;

pub use desk::{Figures, Put};
pub use entry::{Entry, Operation};
pub use kind::{Categories, Category, EntryType};
pub use options::{Names, OptionError, Options, RollCycle};
pub use shard::Audit;
pub use statement::kind_of;
pub use threads::{Seat, Thread, companion, seats};
