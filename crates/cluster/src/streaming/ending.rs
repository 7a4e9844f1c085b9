//! The order to end a job: no task is aborted, so that what is begun on the disk is carried through or taken back.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use runtime::sync::Notify;

use super::error::CopyFailed;

/// An order to end, once it is given. A job looks at it between its steps, and ends a wait for others by it.
#[derive(Debug, Default)]
pub(super) struct Ending {
    reason: RefCell<Option<CopyFailed>>,
    given: Notify,
}

impl Ending {
    /// Gives the order. The first reason stays.
    pub(super) fn end(&self, reason: CopyFailed) {
        self.reason.borrow_mut().get_or_insert(reason);
        self.given.notify_all();
    }

    /// Fails with the reason if the order is given.
    pub(super) fn check(&self) -> Result<(), CopyFailed> {
        match &*self.reason.borrow() {
            Some(reason) => Err(reason.clone()),
            None => Ok(()),
        }
    }

    /// Waits for something that may be dropped at any time, or fails when the order is given.
    pub(super) async fn or<T>(&self, waiting: impl Future<Output = T>) -> Result<T, CopyFailed> {
        self.check()?;
        let (mut waiting, mut given) = (pin!(waiting), pin!(self.given.notified()));
        let output = poll_fn(|context| match waiting.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => given.as_mut().poll(context).map(|()| None),
        });
        match output.await {
            Some(output) => Ok(output),
            None => Err(self.check().expect_err("the signal is given after the reason")),
        }
    }
}
