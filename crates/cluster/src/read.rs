//! Reads: of a partition and of ranges, from as few replicas as the level needs.

mod ahead;
mod contacts;
mod feed;
mod given;
mod lanes;
mod planned;
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
pub(crate) use given::limits_of_each;
pub(crate) use planned::{judge_read, planned_at};
pub(crate) use reads::Reads;
pub(crate) use running::Running;
pub use speculation::ReadCounters;
