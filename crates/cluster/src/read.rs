//! Reads: of a partition and of ranges, from as few replicas as the level needs.

mod ahead;
mod contacts;
mod feed;
mod lanes;
mod ranges;
mod reached;
mod reading;
mod reads;
mod repair;
mod repair_writes;
mod replicas;
mod round;
mod running;
mod scan;
mod speculation;

pub use ahead::{PageEnd, ReadPage, ReadsAhead};
pub(crate) use reads::Reads;
pub use speculation::ReadCounters;
