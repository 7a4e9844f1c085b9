//! The way back to a caller.

use std::rc::Rc;

use crate::ShardId;
use crate::sync::Sender;

/// Where replies to other shards go.
pub(super) trait ReplyTo<Rep> {
    /// Sends the reply, or that there is none.
    fn reply(&self, to: ShardId, slot: u32, reply: Option<Rep>);
}

enum Way<Rep> {
    /// To a caller on this shard.
    Here(Sender<Rep>),
    There {
        links: Rc<dyn ReplyTo<Rep>>,
        to: ShardId,
        slot: u32,
    },
    Used,
}

/// The way back to a caller. Dropped without a reply, the caller gets [`crate::ShardGone`].
pub struct Responder<Rep> {
    way: Way<Rep>,
}

impl<Rep> Responder<Rep> {
    pub(super) fn here(sender: Sender<Rep>) -> Self {
        Responder { way: Way::Here(sender) }
    }

    pub(super) fn there(links: Rc<dyn ReplyTo<Rep>>, to: ShardId, slot: u32) -> Self {
        Responder { way: Way::There { links, to, slot } }
    }

    /// Answers the call.
    pub fn reply(mut self, reply: Rep) {
        match std::mem::replace(&mut self.way, Way::Used) {
            Way::Here(sender) => {
                // A caller that has gone away does not miss its reply.
                let _ = sender.send(reply);
            }
            Way::There { links, to, slot } => links.reply(to, slot, Some(reply)),
            Way::Used => unreachable!("a responder is used once"),
        }
    }
}

impl<Rep> Drop for Responder<Rep> {
    fn drop(&mut self) {
        if let Way::There { links, to, slot } = std::mem::replace(&mut self.way, Way::Used) {
            links.reply(to, slot, None);
        }
    }
}
