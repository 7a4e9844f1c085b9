//! Which task runs next. Each group has a queue and a virtual time, which runs the slower the more shares the group has;
//! the group furthest behind runs. A group that wakes from idleness joins where the furthest behind of the busy ones is,
//! so that idleness saves nothing up. (This is how Linux' fair scheduler orders its tasks.)

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::Location;
use std::rc::Rc;
use std::time::Duration;

use stdx::Trace;

use super::task::{MAIN_INDEX, Task};
use crate::group::{GROUP_COUNT, Group};

/// The queues and the table of a shard's tasks.
#[derive(Default)]
pub(crate) struct Scheduler {
    ready: [RefCell<VecDeque<Rc<Task>>>; GROUP_COUNT],
    /// One bit per group whose queue is not empty.
    ready_mask: Cell<u8>,
    /// Nanoseconds of each group's work, divided by its shares and multiplied by [`SHARES_UNIT`].
    virtual_time: [Cell<u64>; GROUP_COUNT],
    /// The least virtual time of those that had work when something last ran: where idle groups join.
    floor: Cell<u64>,
    tasks: RefCell<Table>,
    is_closed: Cell<bool>,
    /// Of the request that is being worked on, if it is traced: tasks that are spawned now have it too.
    trace: RefCell<Option<Rc<Trace>>>,
    /// Decides which of the ready tasks of a group runs, instead of the order in which they were woken.
    #[cfg(feature = "sim")]
    order: RefCell<Option<crate::reactor::Random>>,
}

const SHARES_UNIT: u64 = 1000;

#[derive(Default)]
struct Table {
    tasks: Vec<Option<Rc<Task>>>,
    free: Vec<u32>,
}

impl Scheduler {
    /// The trace of the request that is being worked on.
    #[inline]
    pub(crate) fn trace(&self) -> Option<Rc<Trace>> {
        self.trace.borrow().clone()
    }

    /// Makes another trace the present one; gives the one before.
    pub(crate) fn set_trace(&self, trace: Option<Rc<Trace>>) -> Option<Rc<Trace>> {
        self.trace.replace(trace)
    }

    /// A task that stands for the shard's main: it is queued like others, and polled by whoever takes it.
    #[track_caller]
    pub(crate) fn spawn_main(self: &Rc<Self>) -> Rc<Task> {
        let task = Task::new(self, Group::Query, MAIN_INDEX, None, Location::caller());
        Task::wake_by_ref(&task);
        task
    }

    /// A task that will be polled for the first time in its turn; `None` once the shard has ended.
    pub(super) fn spawn(
        self: &Rc<Self>,
        group: Group,
        work: std::pin::Pin<Box<dyn Future<Output = ()>>>,
        place: &'static Location<'static>,
    ) -> Option<Rc<Task>> {
        if self.is_closed.get() {
            return None;
        }
        let mut table = self.tasks.borrow_mut();
        let index = table.free.pop().unwrap_or_else(|| {
            table.tasks.push(None);
            u32::try_from(table.tasks.len() - 1).expect("fewer than 2^32 tasks")
        });
        let task = Task::new(self, group, index, Some(work), place);
        table.tasks[index as usize] = Some(task.clone());
        drop(table);
        Task::wake_by_ref(&task);
        Some(task)
    }

    /// Tasks that have not ended, without the main.
    pub(crate) fn task_count(&self) -> usize {
        let table = self.tasks.borrow();
        table.tasks.len() - table.free.len()
    }

    /// Takes an ended task from the table.
    pub(super) fn forget(&self, task: &Rc<Task>) {
        let mut table = self.tasks.borrow_mut();
        let entry = table.tasks.get_mut(task.index() as usize).and_then(Option::take);
        if entry.is_some() {
            table.free.push(task.index());
        }
    }

    pub(super) fn enqueue(&self, task: Rc<Task>) {
        if self.is_closed.get() {
            return;
        }
        let index = task.group().index();
        let mask = self.ready_mask.get();
        if mask & (1 << index) == 0 {
            self.ready_mask.set(mask | 1 << index);
            let time = &self.virtual_time[index];
            time.set(time.get().max(self.floor.get()));
        }
        self.ready[index].borrow_mut().push_back(task);
    }

    /// Whether any task is ready.
    #[inline]
    pub(crate) fn has_ready(&self) -> bool {
        self.ready_mask.get() != 0
    }

    /// Whether a task of the group is ready.
    #[inline]
    pub(crate) fn is_ready(&self, group: Group) -> bool {
        self.ready_mask.get() & (1 << group.index()) != 0
    }

    /// Takes the task to run next.
    #[inline]
    pub(crate) fn next(&self) -> Option<(Group, Rc<Task>)> {
        let mask = self.ready_mask.get();
        let group = match mask {
            0 => return None,
            1 => Group::Query,
            _ => self.furthest_behind(mask)?,
        };
        Some((group, self.pop(group)?))
    }

    /// From now on ready tasks of a group run in any order.
    #[cfg(feature = "sim")]
    pub(crate) fn shuffle(&self, seed: u64) {
        *self.order.borrow_mut() = Some(crate::reactor::Random::from_seed(seed));
    }

    /// Takes a task of the group.
    #[inline]
    pub(crate) fn pop(&self, group: Group) -> Option<Rc<Task>> {
        let mut queue = self.ready[group.index()].borrow_mut();
        #[cfg(feature = "sim")]
        if let (Some(random), 2..) = (&*self.order.borrow(), queue.len()) {
            let chosen = random.next() as usize % queue.len();
            queue.swap(0, chosen);
        }
        let task = queue.pop_front()?;
        if queue.is_empty() {
            self.ready_mask.set(self.ready_mask.get() & !(1 << group.index()));
        }
        Some(task)
    }

    #[inline]
    fn furthest_behind(&self, mask: u8) -> Option<Group> {
        if mask == 0 {
            return None;
        }
        let ready = Group::ALL.into_iter().filter(|group| mask & (1 << group.index()) != 0);
        ready.min_by_key(|group| self.virtual_time[group.index()].get())
    }

    /// Charges the group for time on the core.
    #[inline]
    pub(crate) fn charge(&self, group: Group, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let cell = &self.virtual_time[group.index()];
        let time = cell.get().saturating_add(nanos.saturating_mul(SHARES_UNIT) / group.shares());
        cell.set(time);
        let others = self.ready_mask.get() & !(1 << group.index());
        let least = match self.furthest_behind(others) {
            Some(other) => self.virtual_time[other.index()].get().min(time),
            None => time,
        };
        self.floor.set(self.floor.get().max(least));
    }

    /// Polls the task. Whether it has ended.
    #[inline]
    pub(crate) fn poll(&self, task: &Rc<Task>) {
        if task.poll() {
            self.forget(task);
        }
    }

    /// Drops all tasks, also those that dropping tasks spawns.
    pub(crate) fn close(&self) {
        self.is_closed.set(true);
        loop {
            let table = std::mem::take(&mut *self.tasks.borrow_mut());
            let mut dropped = false;
            for task in table.tasks.into_iter().flatten() {
                task.abort();
                dropped = true;
            }
            if !dropped {
                break;
            }
        }
        for queue in &self.ready {
            let tasks = std::mem::take(&mut *queue.borrow_mut());
            drop(tasks);
        }
        self.ready_mask.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spawn(scheduler: &Rc<Scheduler>, group: Group) {
        let forever = Box::pin(std::future::pending());
        scheduler.spawn(group, forever, Location::caller()).expect("the scheduler is open");
    }

    /// Polls of each group when every poll takes 10 µs and every task is always ready.
    fn run(scheduler: &Rc<Scheduler>, polls: usize) -> [usize; GROUP_COUNT] {
        let mut counts = [0; GROUP_COUNT];
        for _ in 0..polls {
            let (group, task) = scheduler.next().expect("a task is ready");
            counts[group.index()] += 1;
            scheduler.poll(&task);
            scheduler.charge(group, Duration::from_micros(10));
            Task::wake_by_ref(&task);
        }
        counts
    }

    #[test]
    fn groups_share_by_their_shares() {
        let scheduler = Rc::new(Scheduler::default());
        spawn(&scheduler, Group::Query);
        spawn(&scheduler, Group::Maintenance);
        let counts = run(&scheduler, 1_100);
        assert!((980..=1_020).contains(&counts[Group::Query.index()]), "{counts:?}");
        scheduler.close();
    }

    #[test]
    fn a_group_that_was_held_up_catches_up() {
        let scheduler = Rc::new(Scheduler::default());
        spawn(&scheduler, Group::Query);
        spawn(&scheduler, Group::Compaction);
        run(&scheduler, 60);
        // One poll took 10 ms: the other group is due 2 ms, which are 200 of its polls.
        scheduler.charge(Group::Query, Duration::from_millis(10));
        let counts = run(&scheduler, 190);
        assert_eq!(counts[Group::Query.index()], 0, "{counts:?}");
        scheduler.close();
    }

    #[test]
    fn idleness_saves_nothing_up() {
        let scheduler = Rc::new(Scheduler::default());
        spawn(&scheduler, Group::Query);
        run(&scheduler, 10_000);
        spawn(&scheduler, Group::Compaction);
        let counts = run(&scheduler, 120);
        assert!(counts[Group::Compaction.index()] <= 25, "{counts:?}");
        scheduler.close();
        assert_eq!(scheduler.task_count(), 0);
    }
}
