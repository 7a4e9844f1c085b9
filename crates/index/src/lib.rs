//! Secondary indexes as functions between bytes and values: the terms of a value, postings, and the component beside an SSTable that holds both.
//!
//! No I/O, no clock, no runtime: pages are asked for by number through [`sstable::Pages`], and bytes to write are appended to the caller's buffer.
//! It does not know rows, memtables or plans: those who write and read files will give it values and places, and judge every row that it names. No other
//! crate uses it yet. See `docs/internals/indexes.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod collect;
mod component;
mod definition;
mod heap;
mod pages;
mod postings;
mod search;
mod terms;
#[cfg(test)]
mod tests;

pub use component::{Builder, Component, Identity, OpenError, Opened, Totals};
pub use definition::{Analysis, Analyzer, Case, Definition, DefinitionError, Mode, OptionError, Target};
pub use postings::{Posting, token_head};
pub use search::{Count, TermRange, TermWalk, Union};
pub use terms::{SUFFIX_BYTES_MAX, Terms};
