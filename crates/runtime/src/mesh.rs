//! Calls between shards: typed, bounded by credits, in order per pair of shards.

use std::marker::PhantomData;
use std::rc::Rc;

use crate::{Runtime, ShardId};

/// The called shard has ended, or dropped the call's [`Responder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardGone {
    /// The shard that was called.
    pub shard: ShardId,
}

impl std::fmt::Display for ShardGone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "shard {} does not answer any more", self.shard.0)
    }
}

impl std::error::Error for ShardGone {}

/// One seat per shard of a mesh on which each shard may have `credits` calls under way to each other.
pub fn mesh<Req: Send + 'static, Rep: Send + 'static>(shards: u16, credits: usize) -> Vec<MeshSeat<Req, Rep>> {
    let _ = credits;
    (0..shards).map(|_| MeshSeat { types: PhantomData }).collect()
}

/// One shard's place in a mesh, on its way to the shard's thread.
pub struct MeshSeat<Req, Rep> {
    types: PhantomData<(Req, Rep)>,
}

impl<Req: Send + 'static, Rep: Send + 'static> MeshSeat<Req, Rep> {
    /// Takes the seat on its shard. `handler` gets each call made to this shard, in the caller's order, with the calling
    /// shard; it must be quick, and may spawn.
    pub fn open(
        self,
        runtime: &Runtime,
        handler: impl FnMut(ShardId, Req, Responder<Rep>) + 'static,
    ) -> Mesh<Req, Rep> {
        let _ = (runtime, handler);
        todo!()
    }
}

/// One shard's end of a mesh.
pub struct Mesh<Req, Rep> {
    types: PhantomData<Rc<(Req, Rep)>>,
}

impl<Req, Rep> Clone for Mesh<Req, Rep> {
    fn clone(&self) -> Self {
        Mesh { types: PhantomData }
    }
}

impl<Req: Send + 'static, Rep: Send + 'static> Mesh<Req, Rep> {
    /// Calls shard `to`, which may be this one, and waits for its reply; first for a credit if all are out.
    pub async fn call(&self, to: ShardId, request: Req) -> Result<Rep, ShardGone> {
        let _ = (to, request);
        todo!()
    }
}

/// The way back to a caller. Dropped without a reply, the caller gets [`ShardGone`].
pub struct Responder<Rep> {
    types: PhantomData<Rc<Rep>>,
}

impl<Rep> Responder<Rep> {
    /// Answers the call.
    pub fn reply(self, reply: Rep) {
        let _ = reply;
        todo!()
    }
}
