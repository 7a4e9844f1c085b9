//! The world: its machines, the processes on them, and the one loop that drives all their shards.

use std::cell::RefCell;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use super::disk::{Disk, Keep};
use super::fault::DiskFault;
use super::machine::Machine;
use super::network::{Link, Object};
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
    is_ready: bool,
}

impl Shard<'_> {
    fn next_timer(&self) -> Option<u64> {
        self.core.timers.borrow().next().map(Instant::as_nanos)
    }
}

/// A world. Dropped, all its processes are gone.
pub struct World<'w> {
    options: WorldOptions,
    shared: Arc<Shared>,
    /// Those that run.
    shards: Vec<Shard<'w>>,
    /// Where each process runs, and how many of its shards still do.
    processes: Vec<(HostId, usize)>,
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
        World { options, shared: Shared::new(options.seed), shards: Vec::new(), processes: Vec::new() }
    }

    /// Adds a machine with these addresses, besides the loopback ones, and an empty disk.
    pub fn add_host(&mut self, addresses: &[IpAddr]) -> HostId {
        self.add_host_with(addresses, Disk::default())
    }

    /// Adds a machine with this disk.
    pub fn add_host_with(&mut self, addresses: &[IpAddr], disk: Disk) -> HostId {
        let host = Host {
            addresses: addresses.to_vec(),
            disk,
            speed: DiskSpeed::default(),
            faults: Vec::new(),
            disk_calls: 0,
            epoch: 0,
            wall_clock_skew: 0,
            next_port: 32_768,
            boundaries: None,
            faults_hit: 0,
        };
        let mut state = self.shared.state();
        state.hosts.push(host);
        HostId(state.hosts.len() - 1)
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
        self.processes.push((host, count));
        let (first_shard, skew) = {
            let mut state = self.shared.state();
            let first = state.shards.len();
            let fresh = || ShardState { is_alive: true, is_notified: true, outcomes: Vec::new(), retries: Vec::new() };
            state.shards.extend((0..count).map(|_| fresh()));
            (first, state.hosts[host.0].wall_clock_skew)
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
                clock: Clock::simulated(SimClock::new(self.shared.clone(), skew)),
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
            self.shards.push(Shard { number, process, core, main_task, main, woken, is_ready: true });
        }
        Started { process, outputs }
    }

    /// The time since the world's origin.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(self.shared.time())
    }

    /// Whether any process runs on the machine.
    pub fn is_running(&self, host: HostId) -> bool {
        self.processes.iter().any(|(on, shards)| *on == host && *shards > 0)
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
        let mut next_timer = u64::MAX;
        let mut ready = Vec::new();
        {
            let state = self.shared.state();
            for (index, shard) in self.shards.iter().enumerate() {
                let timer = shard.next_timer().unwrap_or(u64::MAX);
                if shard.is_ready || state.shards[shard.number].is_notified || timer <= now {
                    ready.push(index);
                }
                next_timer = next_timer.min(timer);
            }
        }
        if ready.is_empty() {
            let next_event = self.shared.state().events.peek().map_or(u64::MAX, |scheduled| scheduled.at);
            let next = next_event.min(next_timer);
            self.shared.advance_to(next.min(deadline));
            return next < u64::MAX;
        }
        let chosen = {
            let mut state = self.shared.state();
            let chosen = ready[state.random.next() as usize % ready.len()];
            let number = self.shards[chosen].number;
            state.shards[number].is_notified = false;
            state.trace.note(number as u64);
            state.trace.note(now);
            chosen
        };
        self.turn(chosen);
        true
    }

    fn turn(&mut self, index: usize) {
        let shard = &mut self.shards[index];
        let main = shard.main.as_mut().expect("a shard runs until its main ends");
        let poll = shard.core.turn(&shard.main_task, Pin::new(main), &mut shard.woken);
        if poll.is_pending() {
            shard.is_ready = shard.core.scheduler.has_ready() || shard.core.has_messages();
            return;
        }
        let shard = self.shards.remove(index);
        let process = shard.process;
        self.end_shard(shard);
        let (_, running) = &mut self.processes[process.0];
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
        self.shared.state().shards[shard.number].is_alive = false;
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

    /// Ends all processes on the machine at once. Nothing of them runs any more; their connections are reset.
    fn end_processes(&mut self, host: HostId) {
        let now = self.shared.time();
        let ended: Vec<ProcessId> =
            (0..self.processes.len()).filter(|index| self.processes[*index].0 == host).map(ProcessId).collect();
        {
            let mut state = self.shared.state();
            for shard in self.shards.iter().filter(|shard| ended.contains(&shard.process)) {
                state.shards[shard.number].is_alive = false;
            }
            for process in &ended {
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
            self.processes[process.0].1 = 0;
        }
    }

    /// SIGKILL: the processes on the machine are gone, and what they wrote is in its page cache.
    pub fn kill(&mut self, host: HostId) {
        self.end_processes(host);
        let mut state = self.shared.state();
        state.trace.note(0x6b69_6c6c);
        state.hosts[host.0].disk.all_ended();
    }

    /// A power cut, after which the machine is there again with what its disk kept.
    pub fn crash(&mut self, host: HostId, keep: Keep) {
        self.end_processes(host);
        let mut state = self.shared.state();
        state.trace.note(0x0063_7261_7368);
        let host = &mut state.hosts[host.0];
        host.epoch += 1;
        host.disk = host.disk.after_power_cut(keep);
    }

    /// SIGTERM to the processes on the machine that asked to handle it.
    pub fn terminate(&mut self, host: HostId) {
        let processes = self.processes.clone();
        let mut state = self.shared.state();
        let mut readers = Vec::new();
        for owned in state.descriptors.values_mut() {
            if processes[owned.process.0].0 == host
                && let Object::Signals { reader, pending } = &mut owned.object
            {
                *pending += 1;
                readers.push(reader.take());
            }
        }
        for reader in readers {
            state.retry(reader);
        }
    }

    /// Looks at, or changes, a machine's disk.
    pub fn with_disk<R>(&mut self, host: HostId, work: impl FnOnce(&mut Disk) -> R) -> R {
        work(&mut self.shared.state().hosts[host.0].disk)
    }

    /// A fork of the machine's disk as it is now, pending changes included.
    pub fn fork_disk(&self, host: HostId) -> Disk {
        self.shared.state().hosts[host.0].disk.clone()
    }

    /// From now on a fork of the disk is kept at each boundary: when an operation has begun, and when one has changed what
    /// is durable.
    pub fn keep_boundaries(&mut self, host: HostId) {
        self.shared.state().hosts[host.0].boundaries.get_or_insert_default();
    }

    /// The forks since the last call.
    pub fn take_boundaries(&mut self, host: HostId) -> Vec<Disk> {
        self.shared.state().hosts[host.0].boundaries.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Disk operations begun on the machine so far.
    pub fn disk_calls(&self, host: HostId) -> u64 {
        self.shared.state().hosts[host.0].disk_calls
    }

    /// Disk operations that failed because they were told to.
    pub fn disk_faults_hit(&self, host: HostId) -> u64 {
        self.shared.state().hosts[host.0].faults_hit
    }

    /// What goes wrong on the machine's disk from now on.
    pub fn set_disk_faults(&mut self, host: HostId, faults: Vec<DiskFault>) {
        self.shared.state().hosts[host.0].faults = faults;
    }

    /// How fast the machine's disk is from now on.
    pub fn set_disk_speed(&mut self, host: HostId, speed: DiskSpeed) {
        self.shared.state().hosts[host.0].speed = speed;
    }

    /// By how many microseconds the wall clock of the machine's next processes is wrong.
    pub fn set_wall_clock_skew(&mut self, host: HostId, micros: i64) {
        self.shared.state().hosts[host.0].wall_clock_skew = micros;
    }

    /// How one machine reaches another from now on. What a cut held back passes once the link is whole.
    pub fn set_link(&mut self, from: HostId, to: HostId, link: Link) {
        let now = self.shared.time();
        let mut state = self.shared.state();
        state.links.insert((from, to), link);
        state.release_held(now);
    }

    /// How machines reach each other where nothing else was said.
    pub fn set_default_link(&mut self, link: Link) {
        let now = self.shared.time();
        let mut state = self.shared.state();
        state.default_link = link;
        state.release_held(now);
    }

    /// Resets all connections between the two machines.
    pub fn reset_connections(&mut self, one: HostId, other: HostId) {
        self.shared.state().reset_between(one, other);
    }
}

impl Drop for World<'_> {
    fn drop(&mut self) {
        // Tasks and their shard refer to each other, so each shard is ended by hand.
        let hosts = self.shared.state().hosts.len();
        for host in 0..hosts {
            self.end_processes(HostId(host));
        }
    }
}
