//! Merging lanes: several sequences of data, each in the read's order, into what a client is to see.
//!
//! A lane is what one replica answers, or one shard of it. See `docs/internals/read-path.md` and
//! `docs/internals/coordinator.md`.

mod combine;
mod data_page;
mod direct;
mod fill;
mod lane;
mod merge;
mod output;
mod page_room;
mod place;
mod single_source;
mod source;
mod through;

pub(crate) use combine::combine;
pub use data_page::{DataItem, DataPageLimits, DataPageWriter, read_data_item};
pub use lane::{Lane, Page, Source};
pub use merge::{Comparison, ReadDone, merge};
pub use page_room::PageRoom;
pub use place::{clustering_place, row_position};
pub(crate) use through::READS_MAX;
pub use through::Sources;

#[cfg(test)]
mod tests;
