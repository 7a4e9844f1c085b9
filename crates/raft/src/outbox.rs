//! The outbox: all that the core wants done, until its driver takes it.
//!
//! One [`Ready`] is out at a time, and it says which vote and entries must be durable before its messages leave; messages that are sent meanwhile
//! wait for the next one. The outbox neither makes messages nor remembers those that were taken.

use crate::barriers::BarrierId;
use crate::entry::{Index, NodeId, Term};
use crate::message::{Envelope, Message};
use crate::ready::{Ready, Trouble};
use crate::replicated_log::ReplicatedLog;
use crate::vote::Vote;

/// Messages and news of one node that wait for its driver.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    from: NodeId,
    waiting: Ready,
    /// A `Ready` was given out and is not done yet.
    is_busy: bool,
}

impl Outbox {
    /// An empty outbox of that node.
    pub(crate) fn new(from: NodeId) -> Outbox {
        Outbox { from, waiting: Ready::default(), is_busy: false }
    }

    /// Sends a message of a term.
    pub(crate) fn send(&mut self, to: NodeId, term: Term, message: Message) {
        self.waiting.messages.push(Envelope { from: self.from, to, term, message });
    }

    /// Reports a trouble, once for each `Ready`.
    pub(crate) fn report(&mut self, trouble: Trouble) {
        if !self.waiting.troubles.contains(&trouble) {
            self.waiting.troubles.push(trouble);
        }
    }

    /// Answers barriers that are passed.
    pub(crate) fn pass(&mut self, barriers: Vec<(BarrierId, Index)>) {
        self.waiting.passed.extend(barriers);
    }

    /// Answers barriers that failed.
    pub(crate) fn fail(&mut self, barriers: impl Iterator<Item = BarrierId>) {
        self.waiting.failed.extend(barriers);
    }

    /// True from `take` until `done`.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// True if nothing waits, and the driver does nothing.
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_busy && self.waiting.is_empty()
    }

    /// Gives out what waits, with the vote and the entries that must be durable first, and the committed entries to apply.
    pub(crate) fn take(&mut self, vote: Option<Vote>, log: &ReplicatedLog) -> Option<Ready> {
        if self.is_busy {
            return None;
        }
        let mut ready = std::mem::take(&mut self.waiting);
        ready.vote = vote;
        ready.entries = log.to_write().to_vec();
        ready.committed = log.to_apply().to_vec();
        ready.commit = log.commit_to_apply();
        self.is_busy = !ready.is_empty();
        self.is_busy.then_some(ready)
    }

    /// The driver has done all that it took.
    pub(crate) fn done(&mut self) {
        assert!(self.is_busy, "something was taken");
        self.is_busy = false;
    }
}
