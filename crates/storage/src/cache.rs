//! The row cache: what a shard's files say of partitions that are read often, in memory.
//!
//! See `docs/internals/cache.md`. Here are the entries, which of them stay, and how they are filled, read and brought up to date. When
//! a read asks for them is the [`reader`](crate::reader)'s business.

mod body;
mod builder;
mod counters;
mod ghosts;
mod lookup;
mod marks;
mod merge;
mod pieced;
mod queue;
mod read;
mod room;
mod slots;
mod store;

pub(crate) use body::Body;
pub(crate) use builder::BodyBuilder;
pub use counters::CacheCounters;
pub(crate) use lookup::{Found, Hit, Wanted};
pub(crate) use marks::Marks;
pub(crate) use read::CachedPartition;
pub(crate) use store::{CacheLimits, RowCache};

#[cfg(test)]
mod tests;
