//! Shard executor, scheduling groups, timers, files, sockets and cross-shard calls: the one door to the outside world.
//!
//! [`run`] starts one thread per shard; all that a shard does with the world goes through the [`Runtime`] that its main
//! function is given. See `docs/internals/runtime.md`.

mod file;
mod group;
mod mesh;
mod namespace;
mod options;
mod runtime;
pub mod sync;
mod task;
mod tcp;
mod time;

pub use file::{File, OpenOptions};
pub use group::Group;
pub use mesh::{Mesh, MeshSeat, Responder, ShardGone, mesh};
pub use namespace::{DirEntry, FileLock};
pub use options::{Options, ReactorKind, ShardId, StartError};
pub use runtime::{Runtime, RuntimeStats, Signal, run};
pub use stdx::AlignedBuf;
pub use task::TaskHandle;
pub use tcp::{Socket, TcpListener, TcpStream};
pub use time::{Elapsed, Instant, Sleep, Yield};
