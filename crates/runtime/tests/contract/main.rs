//! What every reactor promises, checked on each of them from one source.
//!
//! A test is a function of the reactor's kind; `on_every_reactor!` makes it a test of each. A reactor that comes later
//! joins by one line there.
// The other end of a connection, and files as others see them, are the standard library's.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod cancel;
mod executor;
mod files;
mod groups;
mod meshes;
mod sockets;
mod timers;

use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use runtime::{Options, ReactorKind, Runtime};

/// Makes each named function a test per reactor.
macro_rules! on_every_reactor {
    ($($test:ident),+ $(,)?) => {
        mod uring {
            $(#[test] fn $test() { $crate::on_uring(super::$test); })+
        }
        mod epoll {
            $(#[test] fn $test() { super::$test(runtime::ReactorKind::Epoll); })+
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

/// Runs one shard.
pub(crate) fn run_one<T: Send, Fut: Future<Output = T>>(
    kind: ReactorKind,
    main: impl FnOnce(Runtime) -> Fut + Send,
) -> T {
    let options = Options { reactor: Some(kind), ..Options::default() };
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
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays is only litter.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
