//! News of a peer, for its owner.

use std::rc::Rc;

use topology::HostId;

use crate::handshake::{Verdict, Welcome};

/// A change of a connection that this shard dials.
#[derive(Debug, Clone, Copy)]
pub enum News<'n> {
    /// It is greeted: with its welcome, which says more of the node.
    Up(&'n Welcome),
    /// It has ended.
    Down,
    /// One of the two refuses the other. Reported once for each reason in a row; where nodes have a secret, it is proven.
    Refused(Verdict),
}

/// Receives the news of peers, within the peer's own task: it takes note, and does not wait or end peers.
pub type Watch = Rc<dyn Fn(HostId, News<'_>)>;
