//! CQL lexer, syntax tree, parser and canonical printer.
//!
//! [`parse`] makes a [`Statement`] of text, and [`Statement`]'s `Display` makes text of it that parses to an equal one.
//! Nothing here knows which tables exist. Words and limits: `docs/internals/cql-syntax.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod ast;
mod error;
mod identifier;
mod lexer;
mod long;
mod parser;
mod printer;
pub mod shown;

pub use ast::*;
pub use error::{Place, SyntaxError};
pub use identifier::{is_reserved, quote_identifier};
pub use long::{LongPieces, Scan};
pub use parser::{Parse, parse};

/// The most bytes that a statement's text may have: those of Cassandra's greatest request by default. One constant may have all of them.
pub const LENGTH_MAX: usize = 16 << 20;

/// The most items that the statements of one BATCH may have together, each counting as [`ITEMS_PER_STATEMENT`] beside its own. It bounds the
/// memory of what a text is parsed to, some hundred bytes an item, however few bytes of text an item has.
pub const BATCH_ITEMS_MAX: usize = 1 << 20;

/// Items that a statement of a BATCH counts as.
pub const ITEMS_PER_STATEMENT: usize = 16;

/// The most items that the lists of one statement may have together: terms and names; a relation counts as four, a selector as two. Each statement of a
/// BATCH has as many. It bounds the time that a parse takes between two pauses.
pub const ITEMS_MAX: usize = 10_240;

/// The most columns and calls that a SELECT may name.
pub const SELECTORS_MAX: usize = 4_096;

/// How deep terms, types, relations and selectors may nest.
pub const NESTING_DEPTH_MAX: usize = 128;
