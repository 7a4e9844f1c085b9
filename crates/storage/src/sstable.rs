//! SSTables as files: writing one, opening one, reading from it.
//!
//! What the bytes mean is crate `sstable`'s; which files are live is the manifest's. See `docs/internals/sstable-files.md`.

mod error;
mod info;
mod pages;
mod reader;
mod writer;

pub use error::{ReadError, WriteError};
pub use info::{Estimates, SstableInfo};
pub use pages::{PageCache, ReadCounts};
pub use reader::{ReadWindow, Sstable};
pub use writer::SstableWriter;
