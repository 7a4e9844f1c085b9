//! How a set of shards is started, and why it may not start.

use std::time::Duration;

/// A shard's number, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub u16);

/// Which interface of the kernel carries the shards' I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReactorKind {
    /// io_uring.
    Uring,
    /// epoll for sockets, linux-aio for reads and writes of files past the page cache if it can be had, workers for the
    /// rest.
    Epoll,
    /// epoll for sockets and workers for all of files.
    EpollWorkers,
    /// A world of one machine, with nothing on its disk, made for this one run; see [`crate::sim`].
    #[cfg(feature = "sim")]
    Sim {
        /// All that happens follows from it.
        seed: u64,
    },
}

/// How to start the shards.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The reactor; `None` is [`ReactorKind::Uring`] where a ring can be made and used, else [`ReactorKind::Epoll`]. Where
    /// linux-aio is refused, that is [`ReactorKind::EpollWorkers`].
    pub reactor: Option<ReactorKind>,
    /// The processor of each shard, or empty: the kernel may move the shards.
    pub cpus: Vec<usize>,
    /// Whether SIGTERM and SIGINT are kept from ending the process, for [`crate::Runtime::termination`] to report.
    pub handle_signals: bool,
    /// How long a shard with nothing to do looks for work before it sleeps, while that pays; see `docs/internals/runtime.md`. Zero: it sleeps at once. A
    /// simulated shard always does.
    pub idle_poll: Duration,
    /// What is done for the process as a whole about once a second, on a thread of its own, so that no shard does it.
    pub housekeeping: Option<fn()>,
}

/// A thread beside the shards. It runs with the shards' signals blocked, and must end when they have: see [`crate::Outside::ended`].
pub struct Companion {
    /// The thread's name.
    pub name: &'static str,
    /// True if the shards come first: it is nicer than they are, and gets a tenth of a core beside one that never rests.
    pub is_background: bool,
    /// What it does.
    pub body: Box<dyn FnOnce() + Send>,
}

/// Why the shards could not be started.
#[derive(Debug)]
pub enum StartError {
    /// The forced reactor cannot be had.
    Reactor {
        /// Its name.
        name: &'static str,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// A shard's thread could not be made or pinned.
    Thread {
        /// The shard.
        shard: u16,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// The lists of processors and of shards differ in length.
    CpuCount {
        /// Processors named.
        cpu_count: usize,
        /// Shards to start.
        shard_count: usize,
    },
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StartError::Reactor { name, source } => write!(f, "reactor {name} is not available: {source}"),
            StartError::Thread { shard, source } => {
                write!(f, "cannot start the thread of shard {shard}: {source}")
            }
            StartError::CpuCount { cpu_count, shard_count } => {
                write!(f, "{cpu_count} processors given for {shard_count} shards")
            }
        }
    }
}

impl std::error::Error for StartError {}
