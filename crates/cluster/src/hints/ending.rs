//! The end of a node, as its open writes see it: a part that no other node has answered by then becomes a hint while hints are still kept.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use runtime::sync::Notify;

/// The parts of writes that are on their way to other nodes, and the end that they do not outlast.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    has_begun: Cell<bool>,
    begun: Notify,
    open: Cell<usize>,
    closed: Notify,
}

/// A part that is on its way. Its end waits for it; so nothing is waited for with it but what [`Ending::cuts`] cuts short.
pub(crate) struct OpenPart<'e>(&'e Ending);

impl Drop for OpenPart<'_> {
    fn drop(&mut self) {
        let Ending { open, closed, .. } = self.0;
        open.set(open.get() - 1);
        if open.get() == 0 {
            closed.notify_all();
        }
    }
}

impl Ending {
    /// A part is sent.
    pub(crate) fn open_part(&self) -> OpenPart<'_> {
        self.open.set(self.open.get() + 1);
        OpenPart(self)
    }

    /// Waits for something, but no longer than until the node ends: `None`.
    pub(crate) async fn cuts<T>(&self, waiting: impl Future<Output = T>) -> Option<T> {
        let (mut waiting, mut begun) = (pin!(waiting), pin!(self.begun()));
        poll_fn(|context| match waiting.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => begun.as_mut().poll(context).map(|()| None),
        })
        .await
    }

    async fn begun(&self) {
        while !self.has_begun.get() {
            self.begun.notified().await;
        }
    }

    /// The node ends. Waits until no part is open, which takes no more than each one's next turn.
    pub(super) async fn begin(&self) {
        self.has_begun.set(true);
        self.begun.notify_all();
        while self.open.get() > 0 {
            self.closed.notified().await;
        }
    }
}
