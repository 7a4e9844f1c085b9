//! Shard executor, scheduling groups, timers, files, sockets and cross-shard calls: the one door to the outside world.
//!
//! [`run`] starts one thread per shard; all that a shard does with the world goes through the [`Runtime`] that its main
//! function is given. See `docs/internals/runtime.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod core;
mod executor;
mod file;
mod group;
mod idle_poll;
mod mesh;
mod namespace;
mod options;
mod outside;
mod reactor;
mod runtime;
mod secret;
mod signal;
#[cfg(feature = "sim")]
pub mod sim;
mod start;
pub mod sync;
mod sys;
mod tcp;
mod time;
mod timers;
mod unix;
mod workbench;

pub use executor::TaskHandle;
pub use file::{File, OpenOptions};
pub use group::Group;
pub use mesh::{Mesh, MeshSeat, Responder, ShardGone, mesh};
pub use namespace::{DirEntry, FileLock};
pub use options::{Companion, Options, ReactorKind, ShardId, StartError};
pub use outside::{Answer, Outside, OutsideResponder, OutsideSeat, Unanswered, outside};
pub use runtime::{READ_FILE_BYTES_MAX, Runtime, RuntimeStats, Tracing};
pub use secret::fill_secret;
pub use signal::Signal;
pub use start::{run, run_beside};
pub use stdx::{AlignedBuf, TRACE_STEPS_MAX, TRACE_TEXT_MAX, Trace, TraceStep};
pub use sys::clock::process_cpu_time;
pub use tcp::{Socket, TcpListener, TcpStream};
pub use time::{Elapsed, Instant, Sleep, Yield};
pub use unix::UnixListener;
pub use workbench::{Choice, Workbench, WorkbenchSeat, Worker, workbench};
