//! The calls that a shard has under way to one other, and the future of one of them.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::link::Links;
use crate::ShardId;
use crate::sync::Permit;

enum State<Rep> {
    Free,
    Waiting {
        waker: Option<Waker>,
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

    /// A call that begins.
    pub(super) fn insert(&mut self, credit: Permit) -> u32 {
        let slot = Slot { state: State::Waiting { waker: None }, credit: Some(credit) };
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
                Replied { waker, unwanted: None, credit }
            }
            State::Abandoned => {
                self.free.push(index);
                Replied { waker: None, unwanted: reply, credit }
            }
            State::Replied(_) | State::Free => unreachable!("a call is replied to once"),
        }
    }

    /// Ends all calls without a reply.
    pub(super) fn end_all(&mut self) -> Vec<Replied<Rep>> {
        let is_waiting = |slot: &Slot<Rep>| matches!(slot.state, State::Waiting { .. } | State::Abandoned);
        let waiting: Vec<usize> = (0..self.slots.len()).filter(|index| is_waiting(&self.slots[*index])).collect();
        waiting.into_iter().map(|index| self.reply(index as u32, None)).collect()
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
            State::Abandoned | State::Free => unreachable!("a call is awaited until it is replied to"),
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
    waker: Option<Waker>,
    unwanted: Option<Rep>,
    credit: Option<Permit>,
}

impl<Rep> Replied<Rep> {
    /// Wakes the caller and gives the credit to the next. Nothing may be borrowed that they could want.
    pub(super) fn settle(self) {
        if let Some(waker) = self.waker {
            waker.wake();
        }
        drop(self.credit);
        drop(self.unwanted);
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
