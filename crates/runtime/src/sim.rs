//! Simulated worlds: many machines, each with a disk, a network between them, and processes of many shards, all in one
//! thread and in virtual time. All that happens follows from a seed. Only with the feature `sim`.
//!
//! See `docs/internals/simulation.md`.

mod alone;
mod clocks;
mod disk;
mod due;
mod fault;
mod machine;
mod network;
mod shared;
mod sockets;
mod trace;
mod world;

pub(crate) use alone::run_alone;
pub use disk::{Disk, Keep};
pub use fault::{DiskCall, DiskError, DiskFault};
pub(crate) use machine::{Machine, SimDescriptor};
pub use network::Link;
pub(crate) use shared::{DescriptorId, Outcome, SimClock, Waking};
pub use shared::{DiskSpeed, HostId, ProcessId};
pub(crate) use sockets::Attempt;
pub use world::{Ended, Started, World, WorldOptions};
