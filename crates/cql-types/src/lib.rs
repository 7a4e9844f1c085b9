//! CQL types and values: wire encoding, comparison, printing, parsing.
//!
//! A value is bytes as the native protocol carries them; a [`CqlType`] says how to read them. Nothing here knows of tables
//! or statements. Words and layouts: `docs/internals/cql-types.md`.

mod literal;
mod ty;

pub use literal::{Literal, LiteralKind};
pub use ty::{CqlType, Field, NESTING_DEPTH_MAX, TypeError};
