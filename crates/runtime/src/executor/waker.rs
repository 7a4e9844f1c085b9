//! Wakers that are reference-counted without atomics. The standard library's `Waker` may be sent to other threads; ours
//! stop the program when they are used there. Nothing in a shard has a reason to do so: what comes from other threads
//! arrives through the reactor and the meshes.
//!
//! Soundness: a waker's pointer is an `Rc<Task>` turned raw, and the functions below give its count back and forth as
//! `Rc` does. The count is only touched after the check that this is the task's own thread, which reads a field that
//! never changes and so may be read anywhere; a waker of another thread never reaches the count.
#![allow(unsafe_code)]

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::rc::Rc;
use std::task::{RawWaker, RawWakerVTable, Waker};

use super::task::Task;

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, release);

/// A waker that borrows its task's count rather than holding one of its own.
pub(super) struct BorrowedWaker<'a> {
    waker: ManuallyDrop<Waker>,
    task: std::marker::PhantomData<&'a Rc<Task>>,
}

impl<'a> BorrowedWaker<'a> {
    #[inline]
    pub(super) fn new(task: &'a Rc<Task>) -> Self {
        let raw = RawWaker::new(Rc::as_ptr(task).cast(), &VTABLE);
        // SAFETY: the functions of the table keep a waker's contract for a pointer to a counted task; the count that this
        // waker does not hold is never given back, since it is not dropped, and the borrow keeps the task alive.
        let waker = ManuallyDrop::new(unsafe { Waker::from_raw(raw) });
        BorrowedWaker { waker, task: std::marker::PhantomData }
    }
}

impl Deref for BorrowedWaker<'_> {
    type Target = Waker;
    #[inline]
    fn deref(&self) -> &Waker {
        &self.waker
    }
}

/// The task behind a waker's pointer, after the check of the thread.
///
/// # Safety
/// `data` is the pointer of a waker of this module, whose task lives.
#[inline]
unsafe fn task<'a>(data: *const ()) -> &'a Task {
    // SAFETY: the caller's.
    let task = unsafe { &*data.cast::<Task>() };
    task.assert_thread();
    task
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: the pointer is a living waker's, and this is its thread.
    unsafe {
        task(data);
        Rc::increment_strong_count(data.cast::<Task>());
    }
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: the pointer is a waker's, this is its thread, and the count it holds goes to the `Rc`.
    let task = unsafe {
        task(data);
        Rc::from_raw(data.cast::<Task>())
    };
    Task::wake(task);
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the pointer is a living waker's, this is its thread, and the `Rc` does not give back the count it borrows.
    let task = unsafe {
        task(data);
        ManuallyDrop::new(Rc::from_raw(data.cast::<Task>()))
    };
    Task::wake_by_ref(&task);
}

unsafe fn release(data: *const ()) {
    // SAFETY: the pointer is a waker's, this is its thread, and the count it holds is given back once.
    unsafe {
        task(data);
        Rc::decrement_strong_count(data.cast::<Task>());
    }
}
