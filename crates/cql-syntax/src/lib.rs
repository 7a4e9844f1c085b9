//! CQL lexer, syntax tree, parser and canonical printer.
//!
//! [`parse`] makes a [`Statement`] of text, and [`Statement`]'s `Display` makes text of it that parses to an equal one.
//! Nothing here knows which tables exist. Words and limits: `docs/internals/cql-syntax.md`.

pub mod ast;
mod error;
mod identifier;
mod lexer;
mod parser;
mod printer;

pub use ast::*;
pub use error::SyntaxError;
pub use identifier::{is_reserved, quote_identifier};
pub use parser::parse;

/// The most bytes that a statement's text may have.
pub const LENGTH_MAX: usize = 16 << 20;

/// How deep terms, types, relations and selectors may nest.
pub const NESTING_DEPTH_MAX: usize = 128;
