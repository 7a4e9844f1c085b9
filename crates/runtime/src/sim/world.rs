//! The world: its machines, the processes on them, and the one loop that drives all their shards.

mod machines;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use super::clocks::Clocks;
use super::disk::Disk;
use super::due::Due;
use super::machine::Machine;
use super::shared::{DiskSpeed, Event, Host, HostId, ProcessId, Scheduled, ShardState, Shared, SimClock, Waking};
use crate::core::{Core, CoreParts};
use crate::executor::Task;
use crate::reactor::{Clock, Peers, Random, Reactor};
use crate::{Instant, Runtime, ShardId};

/// How a world is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorldOptions {
    /// All that happens follows from it.
    pub seed: u64,
    /// Ready tasks of a group run in any order, not in that in which they were woken.
    pub shuffle_tasks: bool,
}

impl WorldOptions {
    /// The world of the seed.
    pub fn new(seed: u64) -> Self {
        WorldOptions { seed, shuffle_tasks: true }
    }
}

/// Why [`World::run_until`] came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// What was waited for is so.
    Condition,
    /// The time is over.
    Deadline,
    /// Nothing will ever happen any more: nobody is ready, and nothing is on its way.
    Idle,
}

type Main<'w> = Pin<Box<dyn Future<Output = ()> + 'w>>;

struct Shard<'w> {
    number: usize,
    process: ProcessId,
    core: Rc<Core>,
    main_task: Rc<Task>,
    main: Option<Main<'w>>,
    woken: Vec<Waker>,
}

/// One run of a program.
struct Process {
    host: HostId,
    /// Shards that still run.
    running: usize,
    is_paused: bool,
    handles_signals: bool,
}

/// A world. Dropped, all its processes are gone.
pub struct World<'w> {
    options: WorldOptions,
    shared: Arc<Shared>,
    /// Those that run, by number.
    shards: Vec<Shard<'w>>,
    due: Due,
    processes: Vec<Process>,
}

/// A process that was started: where its mains' results will be.
pub struct Started<T> {
    /// The process.
    pub process: ProcessId,
    outputs: Rc<RefCell<Vec<Option<T>>>>,
}

impl<T> Started<T> {
    /// Whether all its mains have returned.
    pub fn is_over(&self) -> bool {
        self.outputs.borrow().iter().all(Option::is_some)
    }

    /// What its mains returned, in the shards' order, once all have.
    pub fn take_outputs(&self) -> Option<Vec<T>> {
        if !self.is_over() {
            return None;
        }
        Some(self.outputs.borrow_mut().drain(..).flatten().collect())
    }
}

impl<'w> World<'w> {
    /// An empty world.
    pub fn new(options: WorldOptions) -> Self {
        World {
            options,
            shared: Shared::new(options.seed),
            shards: Vec::new(),
            due: Due::default(),
            processes: Vec::new(),
        }
    }

    /// Adds a machine with these addresses, besides the loopback ones, and an empty disk.
    pub fn add_host(&mut self, addresses: &[IpAddr]) -> HostId {
        self.add_host_with(addresses, Disk::default())
    }

    /// Adds a machine with this disk. Machines may be added at any time; no two have the same address.
    pub fn add_host_with(&mut self, addresses: &[IpAddr], disk: Disk) -> HostId {
        let host = Host {
            addresses: Vec::new(),
            disk,
            speed: DiskSpeed::default(),
            faults: Vec::new(),
            disk_calls: 0,
            epoch: 0,
            clocks: Arc::new(Clocks::new()),
            next_port: 32_768,
            boundaries: None,
            faults_hit: 0,
        };
        let mut state = self.shared.state();
        state.hosts.push(host);
        let host = HostId(state.hosts.len() - 1);
        state.give_addresses(host, addresses);
        host
    }

    /// Starts a process on the machine: one shard per entry of `mains`, as [`crate::run`] would. The process ends when all
    /// mains have returned.
    pub fn start<T, F, Fut>(&mut self, host: HostId, handle_signals: bool, mains: Vec<F>) -> Started<T>
    where
        T: 'w,
        F: FnOnce(Runtime) -> Fut,
        Fut: Future<Output = T> + 'w,
    {
        let process = ProcessId(self.processes.len());
        let count = mains.len();
        self.processes.push(Process { host, running: count, is_paused: false, handles_signals: handle_signals });
        let (first_shard, clocks) = {
            let mut state = self.shared.state();
            let first = state.shards.len();
            let fresh = || ShardState { is_alive: true, outcomes: Vec::new(), retries: Vec::new() };
            state.shards.extend((0..count).map(|_| fresh()));
            state.notified.extend(first..first + count);
            (first, state.hosts[host.0].clocks.clone())
        };
        let peers = Peers::simulated(count, Waking::new(self.shared.clone(), first_shard));
        let outputs = Rc::new(RefCell::new((0..count).map(|_| None).collect::<Vec<Option<T>>>()));
        for (index, main) in mains.into_iter().enumerate() {
            let number = first_shard + index;
            let machine = Machine { shared: self.shared.clone(), host, process, shard: number };
            let seed = self.shared.state().random.next();
            let core = Rc::new(Core::new(CoreParts {
                shard: ShardId(u16::try_from(index).expect("shards are counted in 16 bits")),
                reactor: Reactor::simulated(machine),
                peers: peers.clone(),
                handle_signals,
                clock: Clock::simulated(SimClock::new(self.shared.clone(), clocks.clone())),
                random: Random::from_seed(seed),
                idle_poll: Duration::ZERO,
            }));
            if self.options.shuffle_tasks {
                core.scheduler.shuffle(seed);
            }
            let (future, outputs) = (main(Runtime::new(core.clone())), outputs.clone());
            let main: Main<'w> = Box::pin(async move {
                let output = future.await;
                outputs.borrow_mut()[index] = Some(output);
            });
            let main_task = core.scheduler.spawn_main();
            let (main, woken) = (Some(main), Vec::new());
            self.shards.push(Shard { number, process, core, main_task, main, woken });
        }
        Started { process, outputs }
    }

    /// The time since the world's origin.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(self.shared.time())
    }

    /// Whether any process runs on the machine.
    pub fn is_running(&self, host: HostId) -> bool {
        self.processes.iter().any(|process| process.host == host && process.running > 0)
    }

    /// A number that two runs of equal seeds have equal at every step, and others hardly ever.
    pub fn trace_hash(&self) -> u64 {
        self.shared.state().trace.value()
    }

    /// A number of the world's, for who decides what is done to it.
    pub fn random(&mut self) -> u64 {
        self.shared.state().random.next()
    }

    /// Runs until the condition is so, which is asked after every step, for at most so much of the world's time.
    pub fn run_until(&mut self, mut is_so: impl FnMut(&mut Self) -> bool, at_most: Duration) -> Ended {
        let deadline = (self.now() + at_most).as_nanos();
        loop {
            if is_so(self) {
                return Ended::Condition;
            }
            if self.shared.time() >= deadline {
                return Ended::Deadline;
            }
            if !self.step(deadline) {
                return Ended::Idle;
            }
        }
    }

    /// Runs for so much of the world's time.
    pub fn run_for(&mut self, time: Duration) {
        let deadline = (self.now() + time).as_nanos();
        while self.shared.time() < deadline && self.step(deadline) {}
        self.shared.advance_to(deadline);
    }

    /// One turn of one shard, or a jump to when something happens, at most to `deadline`. Whether anything will ever
    /// happen again.
    fn step(&mut self, deadline: u64) -> bool {
        self.happen();
        let now = self.shared.time();
        for shard in std::mem::take(&mut self.shared.state().notified) {
            self.due.add(shard);
        }
        let ready = self.due.at(now);
        if ready.is_empty() {
            let next_event = self.shared.state().events.peek().map_or(u64::MAX, |scheduled| scheduled.at);
            let next = next_event.min(self.due.next_timer().unwrap_or(u64::MAX));
            self.shared.advance_to(next.min(deadline));
            return next < u64::MAX;
        }
        let chosen = {
            let mut state = self.shared.state();
            let chosen = ready[state.random.next() as usize % ready.len()];
            state.trace.note(chosen as u64);
            state.trace.note(now);
            chosen
        };
        self.due.take(chosen);
        self.turn(chosen);
        true
    }

    fn turn(&mut self, number: usize) {
        let index = self.shards.binary_search_by_key(&number, |shard| shard.number).expect("an ended shard is not due");
        let shard = &mut self.shards[index];
        let main = shard.main.as_mut().expect("a shard runs until its main ends");
        let poll = shard.core.turn(&shard.main_task, Pin::new(main), &mut shard.woken);
        if poll.is_pending() {
            let is_ready = shard.core.scheduler.has_ready() || shard.core.has_messages();
            let (core, host) = (shard.core.clone(), self.processes[shard.process.0].host);
            if is_ready {
                self.due.add(number);
            }
            self.due.set_timer(number, first_timer(&self.shared, &core, host));
            return;
        }
        let shard = self.shards.remove(index);
        let process = shard.process;
        self.end_shard(shard);
        let running = &mut self.processes[process.0].running;
        *running -= 1;
        if *running == 0 {
            let now = self.shared.time();
            self.shared.state().close_all(now, process);
        }
    }

    /// Ends the shard: its tasks are dropped, and can do nothing any more if it is not alive.
    fn end_shard(&mut self, mut shard: Shard<'w>) {
        shard.main = None;
        shard.core.shut_down();
        let mut state = self.shared.state();
        state.shards[shard.number].is_alive = false;
        state.notified.remove(&shard.number);
        self.due.forget(shard.number);
    }

    /// Lets happen what is due.
    fn happen(&mut self) {
        let now = self.shared.time();
        let mut state = self.shared.state();
        while state.events.peek().is_some_and(|scheduled| scheduled.at <= now) {
            let Some(Scheduled { at, event, .. }) = state.events.pop() else { return };
            state.trace.note(at);
            match event {
                Event::Disk { host, epoch, waiter, outcome, commit } => {
                    if state.hosts[host.0].epoch == epoch {
                        state.disk_ended(host, waiter, outcome, commit);
                    }
                }
                Event::Arrive { to, from, packet } => state.arrive(now, to, from, packet),
                Event::Knock { from, address } => state.answer_knock(now, from, address),
                Event::GiveUp { end } => state.give_up(now, end),
            }
        }
    }

    /// Ends all processes on the machines at once. Nothing of them runs any more; their connections are reset.
    fn end_processes(&mut self, is_meant: impl Fn(HostId) -> bool) {
        let now = self.shared.time();
        let processes = self.processes.iter().enumerate().filter(|(_, process)| is_meant(process.host));
        let ended: BTreeSet<ProcessId> = processes.map(|(index, _)| ProcessId(index)).collect();
        {
            let mut state = self.shared.state();
            for shard in self.shards.iter().filter(|shard| ended.contains(&shard.process)) {
                state.shards[shard.number].is_alive = false;
            }
            for process in ended.iter().filter(|process| self.processes[process.0].running > 0) {
                state.close_all(now, *process);
            }
        }
        let (gone, left) =
            std::mem::take(&mut self.shards).into_iter().partition(|shard| ended.contains(&shard.process));
        self.shards = left;
        let gone: Vec<Shard<'w>> = gone;
        for shard in gone {
            self.end_shard(shard);
        }
        for process in ended {
            self.processes[process.0].running = 0;
        }
    }
}

/// The world's time of a shard's first timer.
fn first_timer(shared: &Shared, core: &Core, host: HostId) -> Option<u64> {
    let timer = core.timers.borrow().next()?;
    Some(shared.state().hosts[host.0].clocks.world(timer.as_nanos()))
}

impl Drop for World<'_> {
    fn drop(&mut self) {
        // Tasks and their shard refer to each other, so each shard is ended by hand.
        self.end_processes(|_| true);
    }
}
