//! Cassandra's SSTable components as pure functions between bytes and values.
//!
//! No I/O, no clock, no runtime: the server, the file tools, the fuzz targets and the tests use the same code. What
//! reads and writes the files is `storage::sstable`. See `docs/internals/sstable.md`.

pub mod checksum;
mod component;
mod error;
mod marker;
pub mod own;
pub mod toc;
mod version;

pub use component::{Component, Descriptor, Generation};
pub use error::Corrupt;
pub use marker::Marker;
pub use version::{Format, Version};
