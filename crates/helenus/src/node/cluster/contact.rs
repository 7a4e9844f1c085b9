//! Where nodes of the cluster are. The log has the address of each registered start; a node that starts at another one cannot register it before others
//! reach it there, since a leader's words go to the address that the log has. So it tells them by itself, and they dial it there until the log has its start.
//!
//! | a node of a group | |
//! |---|---|
//! | has a connection to a member, and the log has another address of its own | tells that member its address |
//! | starts | asks each of its seeds who it is, and tells it its address: all nodes may have moved, and the seed list alone be right |
//! | meets a node of another group so | says so, on both sides, and goes on: clusters never merge |
//!
//! An address that was heard is a way to a node and no more: the handshake on it asks for the host id, and the registry stays as the log has it.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;

use internode::{ANY_NODE, News, Peer, PeerParts, Purpose, Verdict, ask};
use membership::Introduction;
use runtime::Group;
use runtime::sync::Notify;
use topology::HostId;

use super::Inner;

/// Asks a node for its group; body and answer are introductions.
pub(super) const DISCOVER: u8 = 18;

/// A node has told where it is.
pub(super) fn hear_address(inner: &Inner, host_id: HostId, address: SocketAddr) {
    if host_id == inner.local.host_id() {
        return;
    }
    let is_news = inner.moved.borrow_mut().note(&inner.registry.borrow(), host_id, address);
    if is_news {
        tracing::info!(host = %host_id, %address, "node is at another address than its registered start; dialling it there");
        inner.dial();
    }
}

/// Tells a member this node's address, where the log has another one.
pub(super) fn tell_address(inner: &Rc<Inner>, to: HostId) {
    let own = inner.registry.borrow().node(inner.local.host_id()).map(|node| SocketAddr::from(node.start.internode));
    if own.is_none_or(|registered| registered == inner.config.broadcast) {
        return;
    }
    let (asking, body) = (Rc::clone(inner), inner.own_introduction().to_bytes());
    drop(inner.runtime.spawn(Group::Query, async move {
        // A connection that ends meanwhile is made again, and then this is, too.
        let _ = asking.control.ask(to, DISCOVER, &body).await;
    }));
}

/// Asks each seed once, however long it takes to answer. For a node of a group.
pub(super) fn ask_seeds(inner: &Rc<Inner>) {
    for seed in inner.config.seeds.iter().copied().filter(|seed| *seed != inner.config.broadcast) {
        let of = Rc::downgrade(inner);
        drop(inner.runtime.spawn(Group::Query, async move {
            let Some(inner) = of.upgrade() else { return };
            ask_seed(&inner, seed).await;
        }));
    }
}

async fn ask_seed(inner: &Inner, seed: SocketAddr) {
    let state = Rc::new((Cell::new(false), Notify::new()));
    let (watched, group) = (Rc::clone(&state), inner.group.get());
    let watch = move |_, news: News<'_>| {
        match news {
            // This node itself, at another of its addresses.
            News::Refused(Verdict::OtherNode) => watched.0.set(true),
            News::Refused(Verdict::OtherGroup) => {
                let group = group.map(|group| group.to_string()).unwrap_or_default();
                tracing::error!(%seed, %group, "seed is of another metadata group, or of another incarnation of this one; clusters never merge: correct the seed list, or start the nodes that a recovery left out with --recover-metadata");
                watched.0.set(true);
            }
            News::Refused(_) | News::Up(_) | News::Down => {}
        }
        watched.1.notify_all();
    };
    let (local, purpose) = (inner.local.clone(), Purpose::Control);
    let compresses = false;
    let parts = PeerParts { address: seed, host_id: ANY_NODE, local, purpose, compresses, watch: Some(Rc::new(watch)) };
    let peer = Peer::start(&inner.runtime, parts);
    let body = inner.own_introduction().to_bytes();
    let (is_over, has_news) = &*state;
    while !is_over.get() {
        match ask(&peer, DISCOVER, &body).await {
            Ok(answer) => {
                match Introduction::decode(&answer) {
                    Ok(answer) => hear_address(inner, answer.host_id, answer.address),
                    Err(error) => tracing::warn!(%seed, %error, "seed's answer not understood"),
                }
                is_over.set(true);
            }
            // Not connected now.
            Err(_) => has_news.notified().await,
        }
    }
    peer.end();
}
