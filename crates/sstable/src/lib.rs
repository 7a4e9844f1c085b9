//! Cassandra's SSTable components as pure functions between bytes and values.
//!
//! No I/O, no clock, no runtime: the server, the file tools, the fuzz targets and the tests use the same code. What
//! reads and writes the files is `storage::sstable`. See `docs/internals/sstable.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod big;
mod blocks;
pub mod bloom;
pub mod bti;
pub mod byte_comparable;
pub mod checksum;
mod component;
pub mod compression;
pub mod data;
mod deletion;
mod error;
mod header;
pub mod helenus_component;
mod marker;
pub mod marshal;
mod pages;
pub mod statistics;
pub mod toc;
mod version;

pub use blocks::{Block, Blocks};
pub use bloom::{Filter, FilterBuilder, FilterDecoder, KeyHash};
pub use component::{Component, Descriptor, Generation};
pub use error::Corrupt;
pub use header::{EncodingStats, Header, HeaderColumn};
pub use marker::Marker;
pub use pages::{LookupError, NeedPage, PAGE_LENGTH, Pages};
pub use version::{Format, Version};
