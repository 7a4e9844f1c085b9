//! [`Runtime`]: what a shard's code may do with the world.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use stdx::{Trace, TraceStep};

use crate::core::Core;
use crate::executor::with_trace;
use crate::reactor::{InFlight, NamespaceCall, NamespaceReply, Operation};
use crate::signal::{self, Signal};
use crate::{
    DirEntry, Elapsed, File, FileLock, Group, Instant, OpenOptions, ShardId, Sleep, Socket, TaskHandle, TcpListener,
    TcpStream, Yield,
};

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
    /// Processor time of the shard's thread: what a full core's load is measured by.
    pub cpu: Duration,
}

/// One shard's door to the world. Clones are the same door; it stays on its shard's thread.
#[derive(Clone)]
pub struct Runtime {
    pub(crate) core: Rc<Core>,
}

/// Traces of requests. One is the *present* one while a request is polled that is traced, and a task of the query group that is spawned meanwhile
/// has the same: so the code between a request and what it waits for passes nothing on, and what is not traced pays for one look at a spawn.
#[derive(Clone, Copy)]
pub struct Tracing<'r> {
    core: &'r Rc<Core>,
}

impl Tracing<'_> {
    /// A trace that begins now.
    pub fn begin(self, id: [u8; 16]) -> Rc<Trace> {
        Rc::new(Trace::begin(id, self.now()))
    }

    /// Does `work` with the trace as the present one.
    pub async fn under<F: Future>(self, trace: Rc<Trace>, work: F) -> F::Output {
        with_trace(self.core.scheduler.clone(), trace, work).await
    }

    /// The trace of the request that is being worked on.
    #[inline]
    pub fn present(self) -> Option<Rc<Trace>> {
        self.core.scheduler.trace()
    }

    /// Notes a step of the request that is being worked on, if it is traced.
    #[inline]
    pub fn step(self, activity: impl FnOnce() -> String) {
        if let Some(trace) = self.present() {
            self.note(&trace, activity());
        }
    }

    /// Notes a step of this node.
    pub fn note(self, trace: &Trace, activity: String) {
        self.push(trace, None, self.elapsed_micros(trace), activity);
    }

    /// Notes a step of another node, which says when it was on its own clock.
    pub fn note_of(self, trace: &Trace, source: SocketAddr, elapsed_micros: u32, activity: String) {
        self.push(trace, Some(source), elapsed_micros, activity);
    }

    /// Microseconds since a trace has begun.
    pub fn elapsed_micros(self, trace: &Trace) -> u32 {
        trace.elapsed_micros(self.now())
    }

    fn push(self, trace: &Trace, source: Option<SocketAddr>, elapsed_micros: u32, activity: String) {
        let wall_micros = self.core.clock.wall_clock_micros();
        trace.push(TraceStep { activity, source, wall_micros, elapsed_micros });
    }

    fn now(self) -> Duration {
        Duration::from_nanos(self.core.clock.now().as_nanos())
    }
}

/// The most that [`Runtime::read_file`] reads.
pub const READ_FILE_BYTES_MAX: u64 = 64 << 20;

/// Bytes that are touched before the clock is asked.
const TOUCHED_STEP: usize = 64 << 10;

impl Runtime {
    pub(crate) fn new(core: Rc<Core>) -> Self {
        Runtime { core }
    }

    pub(crate) fn core(&self) -> &Rc<Core> {
        &self.core
    }

    /// This shard.
    pub fn shard(&self) -> ShardId {
        self.core.shard
    }

    /// How many shards were started.
    pub fn shard_count(&self) -> u16 {
        u16::try_from(self.core.peers.count()).expect("shards are counted in 16 bits")
    }

    /// `uring`, `epoll+aio`, or `epoll` where workers do what linux-aio would.
    pub fn reactor_name(&self) -> &'static str {
        self.core.io.borrow().reactor.name()
    }

    /// Starts a task.
    #[track_caller]
    pub fn spawn<F: Future + 'static>(&self, group: Group, future: F) -> TaskHandle<F::Output> {
        TaskHandle::spawn(&self.core.scheduler, group, future)
    }

    /// The traces of requests, and whose is the present one.
    #[inline]
    pub fn tracing(&self) -> Tracing<'_> {
        Tracing { core: &self.core }
    }

    /// Has this shard look for something to do without a rest from now on, and never sleep: for a generator of load, which nobody is to pay for waking.
    /// Not on a simulated machine, whose time goes on only while its shards sleep.
    pub fn never_sleep(&self) {
        self.core.never_sleeps.set(true);
    }

    /// The monotonic clock.
    #[inline]
    pub fn now(&self) -> Instant {
        self.core.clock.now()
    }

    /// The monotonic clock as it was when the running poll began: good for what needs no exact time, and free.
    #[inline]
    pub fn poll_start(&self) -> Instant {
        self.core.poll_start.get()
    }

    /// Microseconds since the Unix epoch.
    #[inline]
    pub fn wall_clock_micros(&self) -> i64 {
        self.core.clock.wall_clock_micros()
    }

    /// A random number, not for secrets.
    pub fn random_u64(&self) -> u64 {
        self.core.random.next()
    }

    /// Waits for `duration`.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        self.sleep_until(self.now() + duration)
    }

    /// Waits until `deadline`.
    pub fn sleep_until(&self, deadline: Instant) -> Sleep {
        Sleep::new(self.core.clone(), deadline)
    }

    /// Awaits `future` for at most `duration`, then drops it.
    pub async fn timeout<F: Future>(&self, duration: Duration, future: F) -> Result<F::Output, Elapsed> {
        let mut future = std::pin::pin!(future);
        let mut sleep = std::pin::pin!(self.sleep(duration));
        std::future::poll_fn(|cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Ok(output));
            }
            sleep.as_mut().poll(cx).map(|()| Err(Elapsed))
        })
        .await
    }

    /// Lets other tasks run, and new I/O be seen.
    pub fn yield_now(&self) -> Yield {
        Yield::new(true)
    }

    /// [`Runtime::yield_now`] if [`Runtime::should_yield`], else nothing: for loops over data.
    #[inline]
    pub fn maybe_yield(&self) -> Yield {
        Yield::new(self.should_yield())
    }

    /// Whether the running poll has used up its time: 250 µs for queries, 100 µs for all else. Reads the clock.
    #[inline]
    pub fn should_yield(&self) -> bool {
        self.now() - self.core.poll_start.get() >= self.core.poll_group.get().poll_budget()
    }

    /// An empty buffer with room for `bytes`, all of which was written to before, letting others run in between: the kernel finds and
    /// clears each page at its first use, which takes longer than to fill it.
    pub async fn touched(&self, bytes: usize) -> Vec<u8> {
        let mut buffer = Vec::with_capacity(bytes);
        while buffer.len() < bytes {
            buffer.resize((buffer.len() + TOUCHED_STEP).min(bytes), 0);
            self.maybe_yield().await;
        }
        buffer.clear();
        buffer
    }

    /// Says what the running task does from here on: it stands in the line of a poll that stalls.
    #[inline]
    pub fn label(&self, label: &'static str) {
        self.core.poll_label.set(label);
    }

    /// The shard's counters; the kernel is asked for one of them.
    pub fn stats(&self) -> RuntimeStats {
        let (counters, stalls) = (&self.core.counters, self.core.stalls());
        RuntimeStats {
            polls: counters.polls.get(),
            turns: counters.turns.get(),
            sleeps: counters.sleeps.get(),
            stalls_over_1ms: stalls.over_1ms,
            stalls_over_5ms: stalls.over_5ms,
            longest_poll: stalls.longest,
            tasks: self.core.scheduler.task_count() as u64,
            operations: self.core.io.borrow().running() as u64,
            mesh_calls: counters.mesh_calls.get(),
            mesh_wakes: counters.mesh_wakes.get(),
            cpu: Duration::from_nanos(self.core.clock.thread_cpu_nanos()),
        }
    }

    /// Waits for SIGTERM or SIGINT; for one shard, and with [`Options::handle_signals`], without which none is reported.
    ///
    /// [`Options::handle_signals`]: crate::Options::handle_signals
    pub async fn termination(&self) -> Signal {
        match signal::wait(&self.core).await {
            Ok(signal) => signal,
            Err(error) => {
                tracing::error!(%error, "cannot receive signals; only SIGKILL stops this process");
                std::future::pending().await
            }
        }
    }

    /// Listens for TCP connections.
    pub async fn listen(&self, address: SocketAddr) -> io::Result<TcpListener> {
        let listener = TcpListener::bound(self, address)?;
        listener.listen()?;
        Ok(listener)
    }

    /// Connects to `address`.
    pub async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        TcpStream::connect(self.core.clone(), address).await
    }

    /// Takes a socket into this shard.
    pub fn adopt(&self, socket: Socket) -> TcpStream {
        TcpStream::adopt(self.core.clone(), socket)
    }

    async fn name(&self, call: NamespaceCall) -> io::Result<NamespaceReply> {
        let operation = Operation::Namespace { call: Some(Box::new(call)), reply: None };
        match InFlight::new(&self.core, operation).await {
            (Operation::Namespace { reply: Some(reply), .. }, _) => reply,
            _ => unreachable!("work on names has a reply when it has ended"),
        }
    }

    async fn name_done(&self, call: NamespaceCall) -> io::Result<()> {
        self.name(call).await.map(|_| ())
    }

    /// Opens a file.
    pub async fn open(&self, path: &Path, options: OpenOptions) -> io::Result<File> {
        match self.name(NamespaceCall::Open { path: path.into(), options }).await? {
            NamespaceReply::Opened(descriptor) => {
                let handle = self.core.io.borrow_mut().reactor.adopt_file(descriptor, options.direct);
                Ok(File::new(self.core.clone(), handle))
            }
            _ => unreachable!("{ANSWERED}"),
        }
    }

    /// Makes a directory and its parents; no error if it is there.
    pub async fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.name_done(NamespaceCall::CreateDirAll { path: path.into() }).await
    }

    /// A directory's entries, by name.
    pub async fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        match self.name(NamespaceCall::ReadDir { path: path.into() }).await? {
            NamespaceReply::Entries(entries) => Ok(entries),
            _ => unreachable!("{ANSWERED}"),
        }
    }

    /// Renames a file or directory, replacing a file at `to`.
    pub async fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.name_done(NamespaceCall::Rename { from: from.into(), to: to.into() }).await
    }

    /// Gives a file a further name; an error if there is one already. The file is there until its last name is removed.
    pub async fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.name_done(NamespaceCall::Link { from: from.into(), to: to.into() }).await
    }

    /// Removes a file.
    pub async fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.name_done(NamespaceCall::RemoveFile { path: path.into() }).await
    }

    /// Removes a directory and all in it.
    pub async fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.name_done(NamespaceCall::RemoveDirAll { path: path.into() }).await
    }

    /// Waits until the directory's entries are on the disk.
    pub async fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.name_done(NamespaceCall::SyncDir { path: path.into() }).await
    }

    /// Whether there is a file or directory at `path`.
    pub async fn exists(&self, path: &Path) -> io::Result<bool> {
        match self.name(NamespaceCall::Exists { path: path.into() }).await? {
            NamespaceReply::Exists(exists) => Ok(exists),
            _ => unreachable!("{ANSWERED}"),
        }
    }

    /// Locks the file at `path`, which is made if it is not there; `None` if another holder has it locked.
    pub async fn lock_file(&self, path: &Path) -> io::Result<Option<FileLock>> {
        match self.name(NamespaceCall::Lock { path: path.into() }).await? {
            NamespaceReply::Locked(lock) => Ok(lock.map(FileLock::new)),
            _ => unreachable!("{ANSWERED}"),
        }
    }

    /// A whole file; an error of the kind `FileTooLarge` beyond [`READ_FILE_BYTES_MAX`].
    pub async fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.read_file_at_most(path, READ_FILE_BYTES_MAX).await
    }

    /// A whole file of at most so many bytes; an error of the kind `FileTooLarge` beyond them, and of the kind `InvalidInput` for what is no file but a device or a
    /// pipe, which could be read for ever.
    pub async fn read_file_at_most(&self, path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
        match self.name(NamespaceCall::ReadFile { path: path.into(), bytes_max }).await? {
            NamespaceReply::Bytes(bytes) => Ok(bytes),
            _ => unreachable!("{ANSWERED}"),
        }
    }

    /// What the file system that holds `path` has left for us, bytes.
    pub async fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        match self.name(NamespaceCall::FreeBytes { path: path.into() }).await? {
            NamespaceReply::FreeBytes(bytes) => Ok(bytes),
            _ => unreachable!("{ANSWERED}"),
        }
    }
}

const ANSWERED: &str = "each call on names has its own kind of reply";
