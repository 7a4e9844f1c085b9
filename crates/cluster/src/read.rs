//! Reads: of a partition and of ranges, from as few replicas as the level needs.

mod feed;
mod lanes;
mod ranges;
mod reads;
mod repair;
mod replicas;
mod scan;

pub(crate) use reads::Reads;
