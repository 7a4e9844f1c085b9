//! CQL lexer, syntax tree, parser and canonical printer.
//!
//! [`parse`] makes a [`Statement`] of text, and [`Statement`]'s `Display` makes text of it that parses to an equal one.
//! Nothing here knows which tables exist. Words and limits: `docs/internals/cql-syntax.md`.

pub mod ast;
mod error;
mod identifier;

pub use ast::*;
pub use error::SyntaxError;
pub use identifier::quote_identifier;
