//! CQL's native functions, aggregates, arithmetic and casts: pure functions between encoded values.
//!
//! A call is resolved once, from what is known of its arguments, and evaluated as often as there are rows. Nothing here knows of
//! tables, plans or clocks: what a function takes from its surroundings comes through [`Context`]. Words, invariants and where
//! it differs from Cassandra: `docs/internals/functions.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod aggregate;
mod argument;
mod arithmetic;
mod blobs;
mod call;
mod casts;
mod collections;
mod context;
mod decimal;
mod error;
mod java_calendar;
mod json;
mod masks;
mod math;
mod number;
mod operator;
mod parameter;
mod resolve;
mod temporal;
#[cfg(test)]
mod tests;
mod time;
mod token;
mod vectors;

pub use aggregate::{Aggregate, AggregateCall, is_aggregate, resolve_aggregate};
pub use argument::{Argument, Fit, Untyped, fit_of_type};
pub use call::Call;
pub use context::Context;
pub use error::{FunctionError, ResolveError};
pub use masks::is_mask;
pub use operator::Operator;
pub use resolve::{cast, is_made, negation, operator, resolve, token};
