//! The log on disk: one file, `metadata.log`, whose records hold facts of this node and entries of the cluster's log.

mod bounds;
mod compact;
mod folder;
mod history;
pub(crate) mod layout;
mod log;
mod open;
mod record;

pub use history::LogState;
pub use log::MetadataLog;
pub use open::{FoundLog, Opened};
pub use record::Record;

#[cfg(test)]
pub(crate) use bounds::Bounds;
#[cfg(test)]
pub(crate) use compact::compact;
#[cfg(test)]
pub(crate) use history::History;
