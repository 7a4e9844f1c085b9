//! Tasks.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A spawned task. As a future it gives what the task gave; dropped, it leaves the task running.
pub struct TaskHandle<T> {
    output: PhantomData<std::rc::Rc<T>>,
}

impl<T> TaskHandle<T> {
    /// Ends the task: its future is dropped now, or after the poll that calls this.
    pub fn abort(self) {
        todo!()
    }

    /// Whether the task has ended.
    pub fn is_finished(&self) -> bool {
        todo!()
    }
}

impl<T> Future for TaskHandle<T> {
    type Output = T;
    fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<T> {
        todo!()
    }
}
