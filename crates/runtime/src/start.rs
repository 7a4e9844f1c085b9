//! Starting the shards' threads and waiting for their end.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use crate::core::{Core, CoreParts};
use crate::options::{Companion, Options, ReactorKind, ShardId, StartError};
use crate::reactor::{Clock, Peers, Random, Reactor};
use crate::runtime::Runtime;
use crate::sys::thread::{SignalsBlocked, pin, step_back};

/// How much nicer than the shards a background thread is. Beside a shard that never rests it gets a tenth of the core. With the most, 19, it would get a seventieth: a
/// password's hash of 60 ms would take more than 4 s, and a client would wait as long.
const BACKGROUND_NICENESS: i32 = 10;

/// From one time of [`Options::housekeeping`] to the next.
const HOUSEKEEPING_PERIOD: Duration = Duration::from_secs(1);

/// What a shard does from its start to its end, its result set aside: whatever it is of, the code that runs it is compiled once.
type ShardMain<'m> = Box<dyn FnOnce(Runtime) -> Pin<Box<dyn Future<Output = ()> + 'm>> + Send + 'm>;

/// Runs one shard per entry of `mains`, each on its own thread, until every main has ended. Gives their results in the
/// shards' order. No main begins before all shards have their thread and reactor.
pub fn run<T, F, Fut>(options: Options, mains: Vec<F>) -> Result<Vec<T>, StartError>
where
    T: Send,
    F: FnOnce(Runtime) -> Fut + Send,
    Fut: Future<Output = T>,
{
    run_beside(options, mains, Vec::new())
}

/// [`run`] with threads beside the shards, which begin after them and are waited for at the end. Simulated shards have none.
pub fn run_beside<T, F, Fut>(options: Options, mains: Vec<F>, companions: Vec<Companion>) -> Result<Vec<T>, StartError>
where
    T: Send,
    F: FnOnce(Runtime) -> Fut + Send,
    Fut: Future<Output = T>,
{
    if !options.cpus.is_empty() && options.cpus.len() != mains.len() {
        return Err(StartError::CpuCount { cpu_count: options.cpus.len(), shard_count: mains.len() });
    }
    #[cfg(feature = "sim")]
    if let Some(ReactorKind::Sim { seed }) = options.reactor {
        return Ok(crate::sim::run_alone(seed, options.handle_signals, mains));
    }
    let mut outputs: Vec<Option<T>> = mains.iter().map(|_| None).collect();
    let mains = mains.into_iter().zip(&mut outputs).map(|(main, output)| set_aside(main, output)).collect();
    run_threads(&options, mains, companions)?;
    Ok(outputs.into_iter().map(|output| output.expect("a shard that was let go runs its main")).collect())
}

/// A main whose result is put where it is asked for, so that what runs it need not know of its type.
fn set_aside<'m, T, F, Fut>(main: F, output: &'m mut Option<T>) -> ShardMain<'m>
where
    T: Send,
    F: FnOnce(Runtime) -> Fut + Send + 'm,
    Fut: Future<Output = T> + 'm,
{
    Box::new(move |runtime| Box::pin(async move { *output = Some(main(runtime).await) }))
}

fn run_threads(options: &Options, mains: Vec<ShardMain<'_>>, companions: Vec<Companion>) -> Result<(), StartError> {
    crate::sys::memory::refuse_huge_pages();
    let kind = choose_reactor(options.reactor)?;
    let peers = Peers::new(mains.len()).map_err(|source| StartError::Reactor { name: "eventfd", source })?;
    // Before the first thread, so that all of them have it.
    let _signals_blocked = options.handle_signals.then(SignalsBlocked::new);
    std::thread::scope(|scope| {
        let start = |(index, main)| {
            let cpu = options.cpus.get(index).copied();
            start_shard(scope, ShardStart { kind, index, cpu, peers: peers.clone(), options }, main)
        };
        let started: Vec<_> = mains.into_iter().enumerate().map(start).collect();
        let ready = started.iter().try_for_each(|started| match started {
            Ok(started) => started.wait_ready(),
            Err(_) => Ok(()),
        });
        let shards = started.into_iter().collect::<Result<Vec<_>, _>>();
        // Dropping what was started without a word lets the shards end before their mains begin.
        ready?;
        let shards = shards?;
        // Dropped with this scope, also by a panic: then the thread ends.
        let _shards_run = options.housekeeping.map(|work| keep_house(scope, work)).transpose()?;
        let running: Vec<_> = shards.into_iter().map(StartedShard::go).collect();
        companions.into_iter().for_each(|companion| start_companion(scope, companion));
        running.into_iter().for_each(join);
        Ok(())
    })
}

fn start_companion<'scope>(scope: &'scope Scope<'scope, '_>, companion: Companion) {
    let Companion { name, is_background, body } = companion;
    let body = move || {
        if is_background && let Err(error) = step_back(BACKGROUND_NICENESS) {
            tracing::warn!(%error, name, "cannot lower the priority of a background thread; it competes with the shards");
        }
        body();
    };
    if let Err(error) = Builder::new().name(name.to_owned()).spawn_scoped(scope, body) {
        // The shards have begun, and do without.
        tracing::error!(%error, name, "cannot start companion thread; running without it");
    }
}

/// Does the work again and again until what this gives is dropped.
fn keep_house<'scope>(scope: &'scope Scope<'scope, '_>, work: fn()) -> Result<mpsc::Sender<()>, StartError> {
    let (shards_run, are_over) = mpsc::channel::<()>();
    let body = move || {
        while are_over.recv_timeout(HOUSEKEEPING_PERIOD) == Err(mpsc::RecvTimeoutError::Timeout) {
            work();
        }
    };
    let started = Builder::new().name("housekeeping".to_owned()).spawn_scoped(scope, body);
    started.map(|_| shards_run).map_err(|source| StartError::Thread { shard: 0, source })
}

fn choose_reactor(forced: Option<ReactorKind>) -> Result<ReactorKind, StartError> {
    if forced == Some(ReactorKind::EpollWorkers) {
        return Ok(ReactorKind::EpollWorkers);
    }
    if forced == Some(ReactorKind::Epoll) {
        return Ok(match Reactor::probe_aio() {
            Ok(()) => ReactorKind::Epoll,
            Err(error) => {
                tracing::info!(%error, "linux-aio is refused; using worker threads for files");
                ReactorKind::EpollWorkers
            }
        });
    }
    match (Reactor::probe_uring(), forced) {
        (Ok(()), _) => Ok(ReactorKind::Uring),
        (Err(source), Some(_)) => Err(StartError::Reactor { name: "uring", source }),
        (Err(error), None) => Ok(match Reactor::probe_aio() {
            Ok(()) => {
                tracing::info!(%error, "io_uring is refused; using epoll for sockets and linux-aio for files");
                ReactorKind::Epoll
            }
            Err(aio_error) => {
                let words = "io_uring and linux-aio are refused; using epoll for sockets and worker threads for files";
                tracing::info!(%error, %aio_error, "{words}");
                ReactorKind::EpollWorkers
            }
        }),
    }
}

struct ShardStart<'a> {
    kind: ReactorKind,
    index: usize,
    cpu: Option<usize>,
    peers: Peers,
    options: &'a Options,
}

/// A shard that has a thread and waits to be let go. Dropped, it ends.
struct StartedShard<'scope> {
    shard: u16,
    ready: mpsc::Receiver<Result<(), StartError>>,
    go: mpsc::Sender<()>,
    thread: ScopedJoinHandle<'scope, ()>,
}

impl<'scope> StartedShard<'scope> {
    fn wait_ready(&self) -> Result<(), StartError> {
        let ended = || StartError::Thread { shard: self.shard, source: io::Error::other("the thread ended") };
        self.ready.recv().unwrap_or_else(|_| Err(ended()))
    }

    fn go(self) -> ScopedJoinHandle<'scope, ()> {
        // A thread that has ended is noticed when it is joined.
        let _ = self.go.send(());
        self.thread
    }
}

fn start_shard<'scope, 'm: 'scope>(
    scope: &'scope Scope<'scope, '_>,
    start: ShardStart<'_>,
    main: ShardMain<'m>,
) -> Result<StartedShard<'scope>, StartError> {
    let ShardStart { kind, index, cpu, peers, options } = start;
    let (handle_signals, idle_poll) = (options.handle_signals, options.idle_poll);
    let shard = u16::try_from(index).expect("shards are counted in 16 bits");
    let (ready_sender, ready) = mpsc::channel();
    let (go, go_receiver) = mpsc::channel();
    let body = move || {
        let core = match make_core(kind, shard, cpu, peers, handle_signals, idle_poll) {
            Ok(core) => Rc::new(core),
            Err(error) => {
                // Whoever started this is waiting for it.
                let _ = ready_sender.send(Err(error));
                return;
            }
        };
        let _running = Running { core: &core };
        let _ = ready_sender.send(Ok(()));
        if go_receiver.recv().is_ok() {
            core.run(main(Runtime::new(core.clone())));
        }
    };
    let thread = Builder::new().name(format!("shard-{shard}")).spawn_scoped(scope, body);
    let thread = thread.map_err(|source| StartError::Thread { shard, source })?;
    Ok(StartedShard { shard, ready, go, thread })
}

fn make_core(
    kind: ReactorKind,
    shard: u16,
    cpu: Option<usize>,
    peers: Peers,
    handle_signals: bool,
    idle_poll: Duration,
) -> Result<Core, StartError> {
    if let Some(cpu) = cpu {
        pin(cpu).map_err(|source| StartError::Thread { shard, source })?;
    }
    let name = match kind {
        ReactorKind::Uring => "uring",
        ReactorKind::Epoll | ReactorKind::EpollWorkers => "epoll",
        #[cfg(feature = "sim")]
        ReactorKind::Sim { .. } => "sim",
    };
    let failed = |source| StartError::Reactor { name, source };
    let reactor = Reactor::new(kind, &peers, usize::from(shard)).map_err(failed)?;
    let random = Random::from_kernel().map_err(failed)?;
    let (shard, clock) = (ShardId(shard), Clock::kernel());
    Ok(Core::new(CoreParts { shard, reactor, peers, handle_signals, clock, random, idle_poll }))
}

/// Ends the shard in good order also when its main panics, so that nobody waits for it.
struct Running<'a> {
    core: &'a Core,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.core.shut_down();
    }
}

fn join(thread: ScopedJoinHandle<'_, ()>) {
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Group;

    const SHARDS: usize = 200;

    /// A worker that finishes while the shard is on its way to its last wait must not be waited for in vain. By the clock of these shards such a
    /// wait lasts an hour; a test gives up sooner.
    #[test]
    fn a_shard_ends_as_soon_as_its_workers_do() {
        let mut kinds = vec![ReactorKind::Epoll, ReactorKind::EpollWorkers];
        kinds.extend(Reactor::probe_uring().is_ok().then_some(ReactorKind::Uring));
        for kind in kinds {
            let kind = choose_reactor(Some(kind)).expect("it can be had");
            let (told, ended) = mpsc::channel();
            let shards = Builder::new().spawn(move || {
                for _ in 0..SHARDS {
                    end_with_busy_workers(kind);
                    told.send(()).expect("the test waits");
                }
            });
            for number in 0..SHARDS {
                let end = ended.recv_timeout(Duration::from_secs(60));
                assert!(end.is_ok(), "{kind:?}: shard {number} waits in vain: {end:?}");
            }
            shards.expect("a thread can be made").join().expect("it is done");
        }
    }

    fn end_with_busy_workers(kind: ReactorKind) {
        let peers = Peers::new(1).expect("an eventfd can be made");
        let core = Rc::new(make_core(kind, 0, None, peers, false, Duration::ZERO).expect("a shard can be made"));
        let rt = Runtime::new(core.clone());
        core.run(async move {
            for _ in 0..4 {
                let shard = rt.clone();
                rt.spawn(Group::Flush, async move { shard.read_dir(std::path::Path::new("/")).await.map(drop) });
            }
            rt.yield_now().await;
        });
        let (clock, is_begun) = (Clock::kernel(), std::cell::Cell::new(false));
        // The deadline follows from the first look at this clock.
        core.shut_down_by(|| {
            let ahead = if is_begun.replace(true) { Duration::ZERO } else { Duration::from_secs(3600) };
            clock.now() + ahead
        });
    }
}
