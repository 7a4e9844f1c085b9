//! A task: a future with its place among the others.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use stdx::Trace;

use super::scheduler::Scheduler;
use super::waker::BorrowedWaker;
use crate::group::Group;
use crate::sys;

/// Polls the future with the trace as the present one.
pub(crate) async fn with_trace<F: Future>(scheduler: Rc<Scheduler>, trace: Rc<Trace>, future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| {
        let before = scheduler.set_trace(Some(trace.clone()));
        let polled = future.as_mut().poll(context);
        scheduler.set_trace(before);
        polled
    })
    .await
}

type Work = Pin<Box<dyn Future<Output = ()>>>;

/// What the scheduler knows of a task.
pub(crate) struct Task {
    /// The thread it belongs to. Never changes: wakers read it from wherever they are.
    thread: usize,
    group: Group,
    /// Its place in the table of tasks.
    index: u32,
    is_queued: Cell<bool>,
    is_polled: Cell<bool>,
    is_aborted: Cell<bool>,
    /// `None` for a shard's main, which its thread polls itself, and for a task that has ended.
    work: RefCell<Option<Work>>,
    scheduler: Rc<Scheduler>,
    /// Where it was spawned: what a stall is told by.
    place: &'static Location<'static>,
    /// What it said that it does, in the poll before.
    label: Cell<&'static str>,
}

impl Task {
    pub(super) fn new(
        scheduler: &Rc<Scheduler>,
        group: Group,
        index: u32,
        work: Option<Work>,
        place: &'static Location<'static>,
    ) -> Rc<Task> {
        Rc::new(Task {
            thread: sys::thread::current(),
            group,
            index,
            is_queued: Cell::new(false),
            is_polled: Cell::new(false),
            is_aborted: Cell::new(false),
            work: RefCell::new(work),
            scheduler: scheduler.clone(),
            place,
            label: Cell::new(""),
        })
    }

    /// Stops the program on any thread but the task's.
    #[inline]
    pub(super) fn assert_thread(&self) {
        assert!(sys::thread::current() == self.thread, "a waker was used on a thread that is not its shard's");
    }

    pub(super) fn group(&self) -> Group {
        self.group
    }

    #[inline]
    pub(crate) fn label(&self) -> &'static str {
        self.label.get()
    }

    #[inline]
    pub(crate) fn set_label(&self, label: &'static str) {
        self.label.set(label);
    }

    pub(crate) fn place(&self) -> &'static Location<'static> {
        self.place
    }

    pub(super) fn index(&self) -> u32 {
        self.index
    }

    #[inline]
    pub(super) fn wake(task: Rc<Task>) {
        if !task.is_queued.replace(true) {
            let scheduler = task.scheduler.clone();
            scheduler.enqueue(task);
        }
    }

    #[inline]
    pub(super) fn wake_by_ref(task: &Rc<Task>) {
        if !task.is_queued.replace(true) {
            task.scheduler.enqueue(task.clone());
        }
    }

    /// Polls `main` with this task's waker.
    pub(crate) fn poll_main<F: Future>(self: &Rc<Self>, main: Pin<&mut F>) -> Poll<F::Output> {
        self.is_queued.set(false);
        main.poll(&mut Context::from_waker(&BorrowedWaker::new(self)))
    }

    /// Polls the task's work. Whether it has ended.
    pub(super) fn poll(self: &Rc<Self>) -> bool {
        // Cleared first: a wake from inside the poll is for the next one.
        self.is_queued.set(false);
        let mut work = self.work.borrow_mut();
        let Some(future) = work.as_mut() else { return false };
        self.is_polled.set(true);
        let is_done = future.as_mut().poll(&mut Context::from_waker(&BorrowedWaker::new(self))).is_ready();
        self.is_polled.set(false);
        if !is_done && !self.is_aborted.get() {
            return false;
        }
        let ended = work.take();
        drop(work);
        drop(ended);
        true
    }

    /// Drops the work, at once or after the poll that is under way. True if it was dropped now.
    pub(super) fn abort(&self) -> bool {
        self.is_aborted.set(true);
        if self.is_polled.get() {
            return false;
        }
        let work = self.work.borrow_mut().take();
        work.is_some()
    }
}

/// The index of a shard's main, which is in no table.
pub(super) const MAIN_INDEX: u32 = u32::MAX;

/// What a task leaves for its handle.
struct Join<T> {
    output: RefCell<Option<T>>,
    is_finished: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

pin_project_lite::pin_project! {
    /// A task's future, polled where it is: an `async` block that awaits it would have it twice, and copy it at its first poll.
    struct Finishing<F: Future> {
        #[pin]
        future: F,
        join: Rc<Join<F::Output>>,
    }
}

impl<F: Future> Future for Finishing<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let Poll::Ready(output) = this.future.poll(context) else { return Poll::Pending };
        *this.join.output.borrow_mut() = Some(output);
        this.join.is_finished.set(true);
        let waker = this.join.waker.borrow_mut().take();
        if let Some(waker) = waker {
            waker.wake();
        }
        Poll::Ready(())
    }
}

/// A spawned task. As a future it gives what the task gave; dropped, it leaves the task running.
pub struct TaskHandle<T> {
    join: Rc<Join<T>>,
    task: Option<Rc<Task>>,
}

impl<T> TaskHandle<T> {
    /// Spawns `future` with the scheduler, for its caller.
    #[track_caller]
    pub(crate) fn spawn<F>(scheduler: &Rc<Scheduler>, group: Group, future: F) -> TaskHandle<T>
    where
        F: Future<Output = T> + 'static,
        T: 'static,
    {
        let join =
            Rc::new(Join { output: RefCell::new(None), is_finished: Cell::new(false), waker: RefCell::new(None) });
        let work: Work = Box::pin(Finishing { future, join: join.clone() });
        // What a request leaves to other groups outlives it, and is nothing that it waits for.
        let work = match scheduler.trace() {
            Some(trace) if group == Group::Query => Box::pin(with_trace(scheduler.clone(), trace, work)),
            _ => work,
        };
        let task = scheduler.spawn(group, work, Location::caller());
        TaskHandle { join, task }
    }

    /// Ends the task: its future is dropped now, or after the poll that calls this.
    pub fn abort(self) {
        if let Some(task) = &self.task
            && task.abort()
        {
            task.scheduler.forget(task);
        }
    }

    /// Whether the task has ended by itself.
    pub fn is_finished(&self) -> bool {
        self.join.is_finished.get()
    }
}

impl<T> Future for TaskHandle<T> {
    type Output = T;

    /// # Panics
    /// When polled after it gave the output.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        if let Some(output) = self.join.output.borrow_mut().take() {
            return Poll::Ready(output);
        }
        assert!(!self.join.is_finished.get(), "a task gives its output once");
        *self.join.waker.borrow_mut() = Some(cx.waker().clone());
        Poll::Pending
    }
}
