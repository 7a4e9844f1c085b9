//! CQL types and values: wire encoding, comparison, printing, parsing.
//!
//! A value is bytes as the native protocol carries them; a [`CqlType`] says how to read them. Nothing here knows of tables
//! or statements. Words and layouts: `docs/internals/cql-types.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod by_class;
pub mod calendar;
pub mod class_name;
pub mod comparable;
mod compare;
mod compose;
mod display;
mod duration;
mod element;
mod error;
pub mod java_digits;
pub mod json;
mod literal;
mod order;
mod parse;
mod print;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
pub mod timeuuid;
mod ty;
mod validate;

pub use by_class::{ByClass, Component};
pub use calendar::timestamp_of_era;
pub use compare::compare;
pub use compose::{CollectionWriter, compose, fields_of, parts_of_collection, push_field};
pub use duration::Duration;
pub(crate) use element::element;
pub use error::ValueError;
pub use literal::{Literal, LiteralKind, LongValue, of_text, parse_literal};
pub use order::{has_order, ordered};
pub use print::print;
pub use ty::{CqlType, DIMENSION_MAX, Field, NESTING_DEPTH_MAX, TypeError};
pub use validate::validate;
