//! [`Runtime`]: what a shard's code may do with the world.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use crate::{
    DirEntry, Elapsed, File, FileLock, Group, Instant, OpenOptions, Options, ShardId, Sleep, Socket, StartError,
    TaskHandle, TcpListener, TcpStream, Yield,
};

/// Runs one shard per entry of `mains`, each on its own thread, until every main has ended. Gives their results in the
/// shards' order.
pub fn run<T, F, Fut>(options: Options, mains: Vec<F>) -> Result<Vec<T>, StartError>
where
    T: Send,
    F: FnOnce(Runtime) -> Fut + Send,
    Fut: Future<Output = T>,
{
    let _ = (options, mains);
    todo!()
}

/// Why the process is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM.
    Terminate,
    /// SIGINT.
    Interrupt,
}

/// Counters of one shard since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RuntimeStats {
    /// Polls of tasks.
    pub polls: u64,
    /// Turns of the loop.
    pub turns: u64,
    /// Times the shard slept in the kernel.
    pub sleeps: u64,
    /// Polls that held the core for more than 1 ms.
    pub stalls_over_1ms: u64,
    /// Polls that held the core for more than 5 ms.
    pub stalls_over_5ms: u64,
    /// The longest that a poll held the core.
    pub longest_poll: Duration,
    /// Tasks alive.
    pub tasks: u64,
    /// Operations in flight.
    pub operations: u64,
    /// Calls sent to other shards.
    pub mesh_calls: u64,
    /// Wake-ups sent to sleeping shards.
    pub mesh_wakes: u64,
}

/// One shard's door to the world. Clones are the same door; it stays on its shard's thread.
#[derive(Clone)]
pub struct Runtime {
    core: Rc<()>,
}

impl Runtime {
    /// This shard.
    pub fn shard(&self) -> ShardId {
        let _ = &self.core;
        todo!()
    }

    /// How many shards were started.
    pub fn shard_count(&self) -> u16 {
        todo!()
    }

    /// `uring` or `epoll`.
    pub fn reactor_name(&self) -> &'static str {
        todo!()
    }

    /// Starts a task.
    pub fn spawn<F: Future + 'static>(&self, group: Group, future: F) -> TaskHandle<F::Output> {
        let _ = (group, future);
        todo!()
    }

    /// The monotonic clock.
    pub fn now(&self) -> Instant {
        todo!()
    }

    /// The monotonic clock as it was when the running poll began: good for what needs no exact time, and free.
    pub fn poll_start(&self) -> Instant {
        todo!()
    }

    /// Microseconds since the Unix epoch.
    pub fn wall_clock_micros(&self) -> i64 {
        todo!()
    }

    /// A random number, not for secrets.
    pub fn random_u64(&self) -> u64 {
        todo!()
    }

    /// Waits for `duration`.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        self.sleep_until(self.now() + duration)
    }

    /// Waits until `deadline`.
    pub fn sleep_until(&self, deadline: Instant) -> Sleep {
        let _ = deadline;
        todo!()
    }

    /// Awaits `future` for at most `duration`, then drops it.
    pub async fn timeout<F: Future>(&self, duration: Duration, future: F) -> Result<F::Output, Elapsed> {
        let _ = (duration, future);
        todo!()
    }

    /// Lets other tasks run, and new I/O be seen.
    pub fn yield_now(&self) -> Yield {
        todo!()
    }

    /// [`Runtime::yield_now`] if [`Runtime::should_yield`], else nothing: for loops over data.
    pub fn maybe_yield(&self) -> Yield {
        todo!()
    }

    /// Whether the running poll has used up its time. Reads the clock.
    pub fn should_yield(&self) -> bool {
        todo!()
    }

    /// The shard's counters.
    pub fn stats(&self) -> RuntimeStats {
        todo!()
    }

    /// Waits for SIGTERM or SIGINT; for shard 0, with [`Options::handle_signals`].
    pub async fn termination(&self) -> Signal {
        todo!()
    }

    /// Opens a file.
    pub async fn open(&self, path: &Path, options: OpenOptions) -> io::Result<File> {
        let _ = (path, options);
        todo!()
    }

    /// Makes a directory and its parents; no error if it is there.
    pub async fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        todo!()
    }

    /// A directory's entries, by name.
    pub async fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let _ = path;
        todo!()
    }

    /// Renames a file or directory, replacing a file at `to`.
    pub async fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let _ = (from, to);
        todo!()
    }

    /// Removes a file.
    pub async fn remove_file(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        todo!()
    }

    /// Removes a directory and all in it.
    pub async fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        todo!()
    }

    /// Waits until the directory's entries are on the disk.
    pub async fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        todo!()
    }

    /// Whether there is a file or directory at `path`.
    pub async fn exists(&self, path: &Path) -> io::Result<bool> {
        let _ = path;
        todo!()
    }

    /// Locks the file at `path`, which is made if it is not there; `None` if another holder has it locked.
    pub async fn lock_file(&self, path: &Path) -> io::Result<Option<FileLock>> {
        let _ = path;
        todo!()
    }

    /// A whole file of at most 64 MiB.
    pub async fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        let _ = path;
        todo!()
    }

    /// Listens for TCP connections.
    pub async fn listen(&self, address: SocketAddr) -> io::Result<TcpListener> {
        let _ = address;
        todo!()
    }

    /// Connects to `address`.
    pub async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let _ = address;
        todo!()
    }

    /// Takes a socket into this shard.
    pub fn adopt(&self, socket: Socket) -> TcpStream {
        let _ = socket;
        todo!()
    }
}
