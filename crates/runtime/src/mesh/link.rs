//! A shard's end of a mesh: its links to the other shards, and its handler.

use std::cell::RefCell;
use std::rc::Rc;

use stdx::spsc::{Consumer, Producer};

use super::call::{Calls, Done};
use super::responder::{ReplyTo, Responder};
use super::{Exchange, MESSAGES_PER_TURN_MAX, MeshSeat, Message};
use crate::ShardId;
use crate::core::{Core, count};
use crate::sync::{Permit, Receiver, Semaphore, oneshot};

pub(super) type Handler<Req, Rep> = Box<dyn FnMut(ShardId, Req, Responder<Rep>)>;

/// The way to one other shard and back.
struct Link<Req, Rep> {
    outgoing: RefCell<Producer<Message<Req, Rep>>>,
    incoming: RefCell<Consumer<Message<Req, Rep>>>,
    calls: RefCell<Calls<Rep>>,
    credits: Semaphore,
}

impl<Req: Send, Rep: Send> Link<Req, Rep> {
    fn put(&self, message: Message<Req, Rep>) {
        let result = self.outgoing.borrow_mut().push(message);
        assert!(result.is_ok(), "credits keep a ring from being full");
    }
}

/// A shard's end of a mesh.
pub(super) struct Links<Req, Rep> {
    core: Rc<Core>,
    /// By the number of the other shard; none at the own.
    links: Vec<Option<Link<Req, Rep>>>,
    /// `None` once the shard has ended.
    handler: RefCell<Option<Handler<Req, Rep>>>,
}

impl<Req, Rep> Links<Req, Rep> {
    pub(super) fn new(core: Rc<Core>, seat: MeshSeat<Req, Rep>, handler: Handler<Req, Rep>) -> Self {
        let ends = seat.to.into_iter().zip(seat.from);
        let links = ends.map(|(to, from)| {
            Some(Link {
                outgoing: RefCell::new(to?),
                incoming: RefCell::new(from?),
                calls: RefCell::new(Calls::new()),
                credits: Semaphore::new(seat.credits),
            })
        });
        Links { core, links: links.collect(), handler: RefCell::new(Some(handler)) }
    }

    pub(super) fn shard(&self) -> ShardId {
        self.core.shard
    }

    fn link(&self, to: ShardId) -> &Link<Req, Rep> {
        let link = self.links.get(usize::from(to.0)).and_then(Option::as_ref);
        link.unwrap_or_else(|| panic!("shard {} is not another shard of this mesh", to.0))
    }

    pub(super) fn with_calls<T>(&self, to: ShardId, work: impl FnOnce(&mut Calls<Rep>) -> T) -> T {
        work(&mut self.link(to).calls.borrow_mut())
    }

    pub(super) fn credits(&self, to: ShardId) -> usize {
        if to == self.shard() { usize::MAX } else { self.link(to).credits.available() }
    }

    /// Waits for a credit.
    pub(super) async fn credit(&self, to: ShardId) -> Permit {
        let credits = &self.link(to).credits;
        if credits.available() == 0 {
            stdx::sometimes!("mesh queue full");
        }
        credits.acquire().await
    }
}

impl<Req: Send, Rep: Send> Links<Req, Rep> {
    /// Calls this shard's own handler.
    pub(super) fn call_here(&self, request: Req) -> Receiver<Rep> {
        let (sender, receiver) = oneshot();
        self.handle(self.shard(), request, Responder::here(sender));
        receiver
    }

    fn handle(&self, from: ShardId, request: Req, responder: Responder<Rep>) {
        // Without a handler the responder is dropped, which answers that the shard is gone.
        if let Some(handler) = self.handler.borrow_mut().as_mut() {
            handler(from, request, responder);
        }
    }

    /// Sends a call: its slot, or `None` if the shard is gone.
    pub(super) fn send_call(&self, to: ShardId, credit: Permit, request: Req) -> Option<u32> {
        if self.core.peers.is_gone(usize::from(to.0)) {
            return None;
        }
        Some(self.send(to, credit, request, None))
    }

    /// Sends a call if that takes no waiting; else gives the request back.
    pub(super) fn try_call(
        &self,
        to: ShardId,
        request: Req,
        done: impl FnOnce(Option<Rep>) + 'static,
    ) -> Result<(), Req> {
        let credit = match self.core.peers.is_gone(usize::from(to.0)) {
            true => None,
            false => self.link(to).credits.try_acquire(),
        };
        let Some(credit) = credit else { return Err(request) };
        self.send(to, credit, request, Some(Box::new(done)));
        Ok(())
    }

    fn send(&self, to: ShardId, credit: Permit, request: Req, done: Option<Done<Rep>>) -> u32 {
        let link = self.link(to);
        let slot = link.calls.borrow_mut().insert(credit, done);
        link.put(Message::Call { slot, request });
        self.core.mark_sent(to);
        count(&self.core.counters.mesh_calls);
        slot
    }

    fn other_shards(&self) -> impl Iterator<Item = ShardId> + '_ {
        let own = self.shard();
        (0..self.links.len()).map(|index| ShardId(index as u16)).filter(move |shard| *shard != own)
    }
}

impl<Req: Send + 'static, Rep: Send + 'static> Links<Req, Rep> {
    /// Handles at most `limit` of the messages that came from a shard. How many it were.
    fn exchange_with(self: &Rc<Self>, from: ShardId, limit: usize) -> usize {
        let link = self.link(from);
        for handled in 0..limit {
            let message = link.incoming.borrow_mut().pop();
            match message {
                Some(Message::Call { slot, request }) => {
                    self.handle(from, request, Responder::there(self.clone(), from, slot));
                }
                Some(Message::Reply { slot, reply }) => {
                    let replied = link.calls.borrow_mut().reply(slot, reply);
                    replied.settle();
                }
                None => return handled,
            }
        }
        limit
    }
}

impl<Req: Send + 'static, Rep: Send + 'static> Exchange for Links<Req, Rep> {
    fn exchange(self: Rc<Self>) -> usize {
        self.other_shards().map(|shard| self.exchange_with(shard, MESSAGES_PER_TURN_MAX)).sum()
    }

    fn has_incoming(&self) -> bool {
        self.links.iter().flatten().any(|link| !link.incoming.borrow_mut().is_empty())
    }

    fn drop_gone(self: Rc<Self>) {
        for shard in self.other_shards() {
            if !self.core.peers.is_gone(usize::from(shard.0)) {
                continue;
            }
            // Replies that it gave before it ended count.
            self.exchange_with(shard, usize::MAX);
            let ended = self.link(shard).calls.borrow_mut().end_all();
            for replied in ended {
                replied.settle();
            }
        }
    }

    fn close(&self) {
        let handler = self.handler.borrow_mut().take();
        drop(handler);
        for link in self.links.iter().flatten() {
            let handed = link.calls.borrow_mut().abandon_handed();
            drop(handed);
        }
    }
}

impl<Req: Send, Rep: Send> ReplyTo<Rep> for Links<Req, Rep> {
    fn reply(&self, to: ShardId, slot: u32, reply: Option<Rep>) {
        self.link(to).put(Message::Reply { slot, reply });
        self.core.mark_sent(to);
    }
}
