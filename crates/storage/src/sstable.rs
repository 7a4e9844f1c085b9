//! SSTables as files: writing one, opening one, reading from it.
//!
//! What the bytes mean is crate `sstable`'s; which files are live is the manifest's. See `docs/internals/sstable-files.md`.

mod check;
mod data_file;
mod error;
mod index;
mod info;
mod input;
mod open;
mod output;
mod pages;
mod reader;
mod reading;
mod salvage;
mod scan;
mod slices;
mod writer;

pub use data_file::ReadWindow;
pub use error::{ReadError, WriteError};
pub use info::{Estimates, SstableInfo};
pub use pages::{PageCache, ReadCounts};
pub use reader::{FilterCounts, Sstable};
pub use salvage::{Salvage, Salvaged};
pub use scan::{At, Scan};
pub use writer::SstableWriter;

#[cfg(test)]
mod tests;
