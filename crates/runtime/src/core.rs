//! What a shard consists of, and its loop.
//!
//! A turn of the loop: fire timers, take messages from other shards, run ready tasks for a while, wake the shards that
//! were sent something, enter the reactor, and wait there if there is nothing else to do. Every wait of a shard is that
//! one wait in the reactor: sockets, files, workers, other shards and timers all end it.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::executor::{Polled, Scheduler, StallDetector, Task};
use crate::group::{BACKGROUND_BUDGET, Group, TURN_BUDGET};
use crate::idle_poll::IdlePoll;
use crate::mesh::Exchange;
use crate::options::ShardId;
use crate::reactor::{Clock, Io, Peers, Random, Reactor, Wait};
use crate::time::Instant;
use crate::timers::Timers;

/// One shard.
pub(crate) struct Core {
    pub(crate) shard: ShardId,
    pub(crate) handles_signals: bool,
    pub(crate) scheduler: Rc<Scheduler>,
    pub(crate) io: RefCell<Io>,
    pub(crate) timers: RefCell<Timers>,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) peers: Peers,
    /// This shard's ends of the meshes.
    pub(crate) meshes: RefCell<Vec<Rc<dyn Exchange>>>,
    /// Where threads that are no shards ask this one.
    pub(crate) outside: RefCell<Vec<Rc<dyn Exchange>>>,
    /// Shards that were sent something in this turn.
    pub(crate) sent_to: RefCell<Vec<bool>>,
    has_sent: Cell<bool>,
    /// Whether it looks at the reactor again and again in place of waiting in it.
    pub(crate) never_sleeps: Cell<bool>,
    idle_poll: RefCell<IdlePoll>,
    gone_count: Cell<u32>,
    stalls: RefCell<StallDetector>,
    pub(crate) poll_start: Cell<Instant>,
    pub(crate) poll_group: Cell<Group>,
    /// What the running poll says that it does.
    pub(crate) poll_label: Cell<&'static str>,
    pub(crate) counters: Counters,
}

/// What a shard is made of.
pub(crate) struct CoreParts {
    pub(crate) shard: ShardId,
    pub(crate) reactor: Reactor,
    pub(crate) peers: Peers,
    pub(crate) handle_signals: bool,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    /// How long it looks for work before it sleeps. Zero on a simulated machine, whose time goes on only while its shards sleep.
    pub(crate) idle_poll: Duration,
}

/// Plain counters, read by [`crate::Runtime::stats`].
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) polls: Cell<u64>,
    pub(crate) turns: Cell<u64>,
    pub(crate) sleeps: Cell<u64>,
    pub(crate) mesh_calls: Cell<u64>,
    pub(crate) mesh_wakes: Cell<u64>,
}

/// Adds one.
#[inline]
pub(crate) fn count(counter: &Cell<u64>) {
    counter.set(counter.get() + 1);
}

impl Core {
    pub(crate) fn new(parts: CoreParts) -> Core {
        let CoreParts { shard, reactor, peers, handle_signals, clock, random, idle_poll } = parts;
        let now = clock.now();
        Core {
            shard,
            handles_signals: handle_signals,
            scheduler: Rc::new(Scheduler::default()),
            io: RefCell::new(Io::new(reactor)),
            timers: RefCell::default(),
            random,
            meshes: RefCell::default(),
            outside: RefCell::default(),
            sent_to: RefCell::new(vec![false; peers.count()]),
            has_sent: Cell::new(false),
            never_sleeps: Cell::new(false),
            idle_poll: RefCell::new(IdlePoll::new(idle_poll, now)),
            gone_count: Cell::new(0),
            peers,
            stalls: RefCell::new(StallDetector::new(shard.0, clock.clone(), now)),
            clock,
            poll_start: Cell::new(now),
            poll_group: Cell::new(Group::Query),
            poll_label: Cell::new(""),
            counters: Counters::default(),
        }
    }

    fn index(&self) -> usize {
        usize::from(self.shard.0)
    }

    /// Runs the shard until `main` ends.
    pub(crate) fn run<F: Future>(&self, main: F) -> F::Output {
        let mut main = std::pin::pin!(main);
        let main_task = self.scheduler.spawn_main();
        let mut woken = Vec::new();
        loop {
            if let Poll::Ready(output) = self.turn(&main_task, main.as_mut(), &mut woken) {
                return output;
            }
        }
    }

    /// One turn of the loop. The shards of a simulated world are driven by this alone.
    pub(crate) fn turn<F: Future>(
        &self,
        main_task: &Rc<Task>,
        main: Pin<&mut F>,
        woken: &mut Vec<Waker>,
    ) -> Poll<F::Output> {
        count(&self.counters.turns);
        let now = self.clock.now();
        self.fire_timers(now, woken);
        let now = self.exchange(now);
        let output = self.run_ready(now, main_task, main);
        self.wake_peers();
        if output.is_pending() {
            self.enter_reactor(woken);
        }
        output
    }

    /// Polls ready tasks until there are none, or the turn has lasted long enough.
    fn run_ready<F: Future>(&self, start: Instant, main_task: &Rc<Task>, mut main: Pin<&mut F>) -> Poll<F::Output> {
        let mut now = start;
        let turn_end = start + TURN_BUDGET;
        let mut background = Duration::ZERO;
        while let Some((group, task)) = self.next_task(background) {
            self.stalls.borrow_mut().before(now);
            self.poll_start.set(now);
            self.poll_group.set(group);
            self.poll_label.set(task.label());
            let output = if Rc::ptr_eq(&task, main_task) {
                main_task.poll_main(main.as_mut())
            } else {
                self.scheduler.poll(&task);
                Poll::Pending
            };
            let end = self.clock.after_poll();
            let label = self.poll_label.get();
            task.set_label(label);
            self.note_poll(Polled { group, place: Some(task.place()), label, start: now, end });
            self.idle_poll.borrow_mut().worked(Rc::as_ptr(&task).addr(), now, end);
            if output.is_ready() {
                return output;
            }
            if group != Group::Query {
                background += end - now;
                if background >= BACKGROUND_BUDGET && !self.scheduler.is_ready(Group::Query) {
                    // Requests may have come that only the reactor knows of.
                    break;
                }
            }
            now = end;
            if now >= turn_end {
                break;
            }
        }
        Poll::Pending
    }

    fn next_task(&self, background: Duration) -> Option<(Group, Rc<Task>)> {
        if background >= BACKGROUND_BUDGET {
            return self.scheduler.pop(Group::Query).map(|task| (Group::Query, task));
        }
        self.scheduler.next()
    }

    fn note_poll(&self, polled: Polled) {
        count(&self.counters.polls);
        self.scheduler.charge(polled.group, polled.end - polled.start);
        self.stalls.borrow_mut().after(polled);
    }

    /// Takes messages from the other shards. The time afterwards.
    fn exchange(&self, now: Instant) -> Instant {
        let is_asked = self.is_asked_from_outside();
        if self.peers.count() == 1 && !is_asked {
            return now;
        }
        let gone_count = self.peers.gone_count();
        let has_gone = gone_count != self.gone_count.replace(gone_count);
        self.poll_start.set(now);
        self.poll_group.set(Group::Query);
        self.poll_label.set("messages of other shards");
        let mut messages = 0;
        let mut index = 0;
        // Not an iterator: a handler may open a further mesh.
        while let Some(mesh) = self.mesh(index) {
            messages += mesh.clone().exchange();
            if has_gone {
                mesh.drop_gone();
            }
            index += 1;
        }
        if is_asked {
            let ends = self.outside.borrow().clone();
            messages += ends.into_iter().map(Exchange::exchange).sum::<usize>();
        }
        if messages == 0 {
            return now;
        }
        let end = self.clock.now();
        self.note_poll(Polled { group: Group::Query, place: None, label: self.poll_label.get(), start: now, end });
        self.idle_poll.borrow_mut().worked(std::ptr::from_ref(self).addr(), now, end);
        end
    }

    fn mesh(&self, index: usize) -> Option<Rc<dyn Exchange>> {
        self.meshes.borrow().get(index).cloned()
    }

    pub(crate) fn has_messages(&self) -> bool {
        self.peers.gone_count() != self.gone_count.get()
            || self.meshes.borrow().iter().any(|mesh| mesh.has_incoming())
            || self.is_asked_from_outside()
    }

    #[inline]
    fn is_asked_from_outside(&self) -> bool {
        self.outside.borrow().iter().any(|end| end.has_incoming())
    }

    /// Takes note that the shard is to be woken at the turn's end if it sleeps.
    #[inline]
    pub(crate) fn mark_sent(&self, to: ShardId) {
        self.sent_to.borrow_mut()[usize::from(to.0)] = true;
        self.has_sent.set(true);
    }

    fn wake_peers(&self) {
        if !self.has_sent.replace(false) {
            return;
        }
        for (index, is_sent_to) in self.sent_to.borrow_mut().iter_mut().enumerate() {
            if std::mem::replace(is_sent_to, false) && self.peers.wake(index) {
                count(&self.counters.mesh_wakes);
            }
        }
    }

    /// One turn of the reactor, which sleeps if nothing else is to be done.
    fn enter_reactor(&self, woken: &mut Vec<Waker>) {
        let mut io = self.io.borrow_mut();
        if self.scheduler.has_ready() || self.never_sleeps.get() || self.looks_for_work() {
            io.turn(Wait::No, woken);
        } else {
            self.peers.announce_sleep(self.index());
            if self.has_messages() || io.reactor.has_finished_work() {
                io.turn(Wait::No, woken);
            } else {
                count(&self.counters.sleeps);
                io.turn(Wait::Until(self.timers.borrow().next()), woken);
            }
            self.peers.announce_awake(self.index());
        }
        drop(io);
        woken.drain(..).for_each(Waker::wake);
    }

    #[inline]
    fn looks_for_work(&self) -> bool {
        self.idle_poll.borrow_mut().looks(|| self.clock.now())
    }

    fn fire_timers(&self, now: Instant, woken: &mut Vec<Waker>) {
        let mut timers = self.timers.borrow_mut();
        if timers.next().is_none_or(|deadline| deadline > now) {
            return;
        }
        timers.advance(now, woken);
        drop(timers);
        woken.drain(..).for_each(Waker::wake);
    }

    pub(crate) fn stalls(&self) -> crate::executor::Stalls {
        self.stalls.borrow().stalls
    }

    /// Ends the shard: its tasks are dropped, its meshes close, and nothing of it is in flight afterwards.
    pub(crate) fn shut_down(&self) {
        let clock = self.clock.clone();
        self.shut_down_by(|| clock.now());
    }

    /// The same; how long operations in flight are waited for is judged by this clock.
    pub(crate) fn shut_down_by(&self, now: impl Fn() -> Instant) {
        self.scheduler.close();
        let meshes = std::mem::take(&mut *self.meshes.borrow_mut());
        for mesh in &meshes {
            mesh.close();
        }
        drop(meshes);
        let outside = std::mem::take(&mut *self.outside.borrow_mut());
        for end in outside {
            end.close();
        }
        self.peers.announce_gone(self.index());
        // From here on every wait is the reactor's, which workers must end.
        self.peers.announce_sleep(self.index());
        self.io.borrow_mut().shut_down(now);
    }
}
