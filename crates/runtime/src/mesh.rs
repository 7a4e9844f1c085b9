//! Calls between shards: typed, bounded by credits, in order per pair of shards.
//!
//! A mesh has one ring (`stdx::spsc`) per ordered pair of shards, which carries calls and replies alike. A shard may have
//! so many calls under way to each other shard as it has credits; a ring has room for as many calls and as many replies,
//! so that neither putting a call nor putting a reply can find it full: a credit reserves the reply's place. Who finds no
//! credit waits as a task, and the shard goes on.

mod call;
mod link;
mod responder;

use std::rc::Rc;

use stdx::spsc::{Consumer, Producer, spsc};

use crate::{Runtime, ShardId};

use call::Call;
use link::Links;
pub use responder::Responder;

/// What a ring carries.
enum Message<Req, Rep> {
    Call {
        slot: u32,
        request: Req,
    },
    /// `None` if the call's responder was dropped.
    Reply {
        slot: u32,
        reply: Option<Rep>,
    },
}

/// The most messages that one mesh takes from one shard in a turn.
const MESSAGES_PER_TURN_MAX: usize = 128;

/// A mesh's end as the shard's loop sees it.
pub(crate) trait Exchange {
    /// Handles what has come. How many messages those were.
    fn exchange(self: Rc<Self>) -> usize;

    /// Whether something has come.
    fn has_incoming(&self) -> bool;

    /// Ends the calls to shards that are gone.
    fn drop_gone(self: Rc<Self>);

    /// Lets go of the handler and of all calls.
    fn close(&self);
}

/// The called shard has ended, or dropped the call's [`Responder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardGone {
    /// The shard that was called.
    pub shard: ShardId,
}

impl std::fmt::Display for ShardGone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "shard {} has stopped", self.shard.0)
    }
}

impl std::error::Error for ShardGone {}

/// One seat per shard of a mesh on which each shard may have `credits` calls under way to each other.
pub fn mesh<Req: Send + 'static, Rep: Send + 'static>(shards: u16, credits: usize) -> Vec<MeshSeat<Req, Rep>> {
    assert!(credits > 0, "without credits nobody can call");
    let seat = |shard| MeshSeat { shard, credits, to: Vec::new(), from: Vec::new() };
    let mut seats: Vec<MeshSeat<Req, Rep>> = (0..shards).map(|shard| seat(ShardId(shard))).collect();
    for sender in 0..usize::from(shards) {
        for receiver in 0..usize::from(shards) {
            let (producer, consumer) = if sender == receiver { (None, None) } else { ring(credits) };
            seats[sender].to.push(producer);
            seats[receiver].from.push(consumer);
        }
    }
    seats
}

type Ring<T> = (Option<Producer<T>>, Option<Consumer<T>>);

fn ring<T: Send>(credits: usize) -> Ring<T> {
    let (producer, consumer) = spsc(credits * 2);
    (Some(producer), Some(consumer))
}

/// One shard's place in a mesh, on its way to the shard's thread.
pub struct MeshSeat<Req, Rep> {
    shard: ShardId,
    credits: usize,
    /// By the number of the other shard; none at the own.
    to: Vec<Option<Producer<Message<Req, Rep>>>>,
    from: Vec<Option<Consumer<Message<Req, Rep>>>>,
}

impl<Req: Send + 'static, Rep: Send + 'static> MeshSeat<Req, Rep> {
    /// The shard that the seat is for.
    pub fn shard(&self) -> ShardId {
        self.shard
    }

    /// Takes the seat on its shard. `handler` gets each call made to this shard, in the caller's order, with the calling
    /// shard; it must be quick, and may spawn.
    ///
    /// # Panics
    /// On another shard than the seat's, or when there are more shards than seats.
    pub fn open(
        self,
        runtime: &Runtime,
        handler: impl FnMut(ShardId, Req, Responder<Rep>) + 'static,
    ) -> Mesh<Req, Rep> {
        assert_eq!(self.shard, runtime.shard(), "a seat is opened on its own shard");
        assert_eq!(self.to.len(), usize::from(runtime.shard_count()), "a mesh has a seat for every shard");
        let links = Rc::new(Links::new(runtime.core().clone(), self, Box::new(handler)));
        runtime.core().meshes.borrow_mut().push(links.clone());
        Mesh { links }
    }
}

/// One shard's end of a mesh.
pub struct Mesh<Req, Rep> {
    links: Rc<Links<Req, Rep>>,
}

impl<Req, Rep> Clone for Mesh<Req, Rep> {
    fn clone(&self) -> Self {
        Mesh { links: self.links.clone() }
    }
}

impl<Req: Send + 'static, Rep: Send + 'static> Mesh<Req, Rep> {
    /// Calls shard `to`, which may be this one, and waits for its reply; first for a credit if all are out. Dropped
    /// while it waits for a credit, no call is made; dropped later, its reply is thrown away. Calls are made in the order
    /// in which they got their credit.
    ///
    /// # Panics
    /// If there is no shard `to`.
    pub async fn call(&self, to: ShardId, request: Req) -> Result<Rep, ShardGone> {
        let gone = ShardGone { shard: to };
        if to == self.links.shard() {
            return self.links.call_here(request).await.map_err(|_| gone);
        }
        let credit = self.links.credit(to).await;
        let Some(slot) = self.links.send_call(to, credit, request) else { return Err(gone) };
        Call::new(&self.links, to, slot).await.ok_or(gone)
    }

    /// Calls another shard without waiting and without a task: `done` gets the reply in the loop's turn in which it comes, so it must be
    /// quick, and may spawn. Gives the request back if there is no credit, or the shard is gone. When this shard ends, `done` is dropped.
    ///
    /// # Panics
    /// If `to` is this shard or there is none such.
    pub fn try_call(
        &self,
        to: ShardId,
        request: Req,
        done: impl FnOnce(Result<Rep, ShardGone>) + 'static,
    ) -> Result<(), Req> {
        self.links.try_call(to, request, move |reply| done(reply.ok_or(ShardGone { shard: to })))
    }

    /// Calls to `to` that can be made without waiting for a credit.
    pub fn credits(&self, to: ShardId) -> usize {
        self.links.credits(to)
    }
}
