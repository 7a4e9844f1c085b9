//! What every reactor promises, checked on each of them from one source.
//!
//! A test is a function of the reactor's kind; `on_every_reactor!` makes it a test of each. A reactor that comes later
//! joins by one line there. Tests that need the kernel at the other end stand behind `kernel:`, and leave the simulated
//! reactor out.
// The other end of a connection, and files as others see them, are the standard library's.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod cancel;
mod executor;
mod files;
mod groups;
mod meshes;
mod outside;
mod refusal;
mod sockets;
mod timers;
mod traces;
mod unix;
mod workbench;

use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use runtime::{AlignedBuf, OpenOptions, Options, ReactorKind, Runtime};

/// As the server has it.
pub(crate) const IDLE_POLL: Duration = Duration::from_micros(20);

/// Makes each named function a test per reactor.
macro_rules! on_every_reactor {
    ($($test:ident),* $(,)? $(; kernel: $($kernel:ident),+ $(,)?)?) => {
        mod uring {
            $(#[test] fn $test() { $crate::on_uring(super::$test); })*
            $($(#[test] fn $kernel() { $crate::on_uring(super::$kernel); })+)?
        }
        mod epoll {
            $(#[test] fn $test() { super::$test(runtime::ReactorKind::Epoll); })*
            $($(#[test] fn $kernel() { super::$kernel(runtime::ReactorKind::Epoll); })+)?
        }
        mod epoll_workers {
            $(#[test] fn $test() { super::$test(runtime::ReactorKind::EpollWorkers); })*
            $($(#[test] fn $kernel() { super::$kernel(runtime::ReactorKind::EpollWorkers); })+)?
        }
        mod sim {
            $(#[test] fn $test() { $crate::on_sim(super::$test); })*
        }
    };
}
pub(crate) use on_every_reactor;

/// Runs the test, or says that this machine refuses io_uring, as containers do.
pub(crate) fn on_uring(test: fn(ReactorKind)) {
    let options = Options { reactor: Some(ReactorKind::Uring), ..Options::default() };
    match runtime::run(options, vec![|_: Runtime| async {}]) {
        Ok(_) => test(ReactorKind::Uring),
        Err(error) => println!("not run: {error}"),
    }
}

/// Runs the test in a few worlds.
pub(crate) fn on_sim(test: fn(ReactorKind)) {
    (0..3).for_each(|seed| test(ReactorKind::Sim { seed }));
}

/// True for reactors whose time is virtual: what polls take there is the same in each run.
pub(crate) fn is_simulated(kind: ReactorKind) -> bool {
    !matches!(kind, ReactorKind::Uring | ReactorKind::Epoll | ReactorKind::EpollWorkers)
}

/// Runs one shard.
pub(crate) fn run_one<T: Send, Fut: Future<Output = T>>(
    kind: ReactorKind,
    main: impl FnOnce(Runtime) -> Fut + Send,
) -> T {
    let options = Options { reactor: Some(kind), idle_poll: IDLE_POLL, ..Options::default() };
    let mut results = runtime::run(options, vec![main]).expect("the shard starts");
    results.pop().expect("one shard has one result")
}

/// A folder that is removed when the test is over.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
}

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("contract-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        // Not /tmp, which may be held in memory and refuse direct I/O.
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Folder { path }
    }

    /// Makes it on a simulated disk too, which is empty at first.
    pub(crate) async fn make(&self, rt: &Runtime) {
        rt.create_dir_all(&self.path).await.expect("a folder can be made");
    }

    /// A file with these bytes.
    pub(crate) async fn put(&self, rt: &Runtime, name: &str, bytes: &[u8]) -> PathBuf {
        self.make(rt).await;
        let path = self.path.join(name);
        let options = OpenOptions { write: true, create: true, truncate: true, ..OpenOptions::default() };
        let file = rt.open(&path, options).await.expect("the file is made");
        file.write_at(AlignedBuf::from(bytes), 0).await.0.expect("it is written");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays is only litter.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
