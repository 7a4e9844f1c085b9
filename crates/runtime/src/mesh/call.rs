//! The calls that a shard has under way to one other, and the future of one of them.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::link::Links;
use crate::ShardId;
use crate::sync::Permit;

/// What is to be done with a reply that no task waits for; `None` if there is none.
pub(super) type Done<Rep> = Box<dyn FnOnce(Option<Rep>)>;

enum State<Rep> {
    Free,
    Waiting {
        waker: Option<Waker>,
    },
    /// The reply goes to a closure as it comes.
    Handed {
        done: Done<Rep>,
    },
    /// Nobody waits for the reply, which will come all the same.
    Abandoned,
    /// `None` if there is no reply.
    Replied(Option<Rep>),
}

struct Slot<Rep> {
    state: State<Rep>,
    /// Held until the reply is here: it stands for the reply's place in the ring.
    credit: Option<Permit>,
}

/// The calls under way to one shard, at most as many as there are credits.
pub(super) struct Calls<Rep> {
    slots: Vec<Slot<Rep>>,
    free: Vec<u32>,
}

impl<Rep> Calls<Rep> {
    pub(super) fn new() -> Self {
        Calls { slots: Vec::new(), free: Vec::new() }
    }

    /// A call that begins, for whose reply a task waits unless there is something to be `done` with it.
    pub(super) fn insert(&mut self, credit: Permit, done: Option<Done<Rep>>) -> u32 {
        let state = done.map_or(State::Waiting { waker: None }, |done| State::Handed { done });
        let slot = Slot { state, credit: Some(credit) };
        match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = slot;
                index
            }
            None => {
                self.slots.push(slot);
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 credits")
            }
        }
    }

    /// The reply to a call has come. Gives what is to be woken and dropped after the borrow.
    pub(super) fn reply(&mut self, index: u32, reply: Option<Rep>) -> Replied<Rep> {
        let slot = &mut self.slots[index as usize];
        let credit = slot.credit.take();
        match std::mem::replace(&mut slot.state, State::Free) {
            State::Waiting { waker } => {
                slot.state = State::Replied(reply);
                Replied { credit, then: Then::Wake(waker) }
            }
            State::Handed { done } => {
                self.free.push(index);
                Replied { credit, then: Then::Do(done, reply) }
            }
            State::Abandoned => {
                self.free.push(index);
                Replied { credit, then: Then::Drop(reply) }
            }
            State::Replied(_) | State::Free => unreachable!("a call is replied to once"),
        }
    }

    /// Ends all calls without a reply.
    pub(super) fn end_all(&mut self) -> Vec<Replied<Rep>> {
        let is_open =
            |slot: &Slot<Rep>| matches!(slot.state, State::Waiting { .. } | State::Handed { .. } | State::Abandoned);
        let open: Vec<usize> = (0..self.slots.len()).filter(|index| is_open(&self.slots[*index])).collect();
        open.into_iter().map(|index| self.reply(index as u32, None)).collect()
    }

    /// Lets go of what is to be done with replies. It is dropped by the caller, after the borrow.
    pub(super) fn abandon_handed(&mut self) -> Vec<Done<Rep>> {
        let mut handed = Vec::new();
        for slot in &mut self.slots {
            if let State::Handed { .. } = slot.state
                && let State::Handed { done } = std::mem::replace(&mut slot.state, State::Abandoned)
            {
                handed.push(done);
            }
        }
        handed
    }

    fn poll(&mut self, index: u32, waker: &Waker) -> Poll<Option<Rep>> {
        let slot = &mut self.slots[index as usize];
        match std::mem::replace(&mut slot.state, State::Free) {
            State::Replied(reply) => {
                self.free.push(index);
                Poll::Ready(reply)
            }
            State::Waiting { .. } => {
                slot.state = State::Waiting { waker: Some(waker.clone()) };
                Poll::Pending
            }
            State::Handed { .. } | State::Abandoned | State::Free => {
                unreachable!("a call is awaited until it is replied to")
            }
        }
    }

    fn abandon(&mut self, index: u32) -> Option<Rep> {
        let slot = &mut self.slots[index as usize];
        match std::mem::replace(&mut slot.state, State::Abandoned) {
            State::Replied(reply) => {
                slot.state = State::Free;
                self.free.push(index);
                reply
            }
            _ => None,
        }
    }
}

/// What a reply sets free.
pub(super) struct Replied<Rep> {
    credit: Option<Permit>,
    then: Then<Rep>,
}

enum Then<Rep> {
    Wake(Option<Waker>),
    Do(Done<Rep>, Option<Rep>),
    /// Nobody wants the reply.
    Drop(Option<Rep>),
}

impl<Rep> Replied<Rep> {
    /// Gives the credit to the next and the reply to the caller. Nothing may be borrowed that they could want.
    pub(super) fn settle(self) {
        drop(self.credit);
        match self.then {
            Then::Wake(waker) => waker.into_iter().for_each(Waker::wake),
            Then::Do(done, reply) => done(reply),
            Then::Drop(reply) => drop(reply),
        }
    }
}

/// Waits for a reply: `None` if there is none.
pub(super) struct Call<'a, Req, Rep> {
    links: &'a Rc<Links<Req, Rep>>,
    to: ShardId,
    slot: Option<u32>,
}

impl<'a, Req, Rep> Call<'a, Req, Rep> {
    pub(super) fn new(links: &'a Rc<Links<Req, Rep>>, to: ShardId, slot: u32) -> Self {
        Call { links, to, slot: Some(slot) }
    }
}

impl<Req, Rep> Future for Call<'_, Req, Rep> {
    type Output = Option<Rep>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Rep>> {
        let slot = self.slot.expect("a finished call is not polled");
        let poll = self.links.with_calls(self.to, |calls| calls.poll(slot, cx.waker()));
        if poll.is_ready() {
            self.slot = None;
        }
        poll
    }
}

impl<Req, Rep> Drop for Call<'_, Req, Rep> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            let unwanted = self.links.with_calls(self.to, |calls| calls.abandon(slot));
            drop(unwanted);
        }
    }
}
