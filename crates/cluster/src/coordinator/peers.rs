//! The coordinator's end of connections that other nodes dial: which are accepted, and what answers on them.

use std::cell::OnceCell;
use std::rc::Rc;
use std::time::Duration;

use internode::{Hello, Listening, PeerSocket, Verbs, Verdict, listen_for_peers};
use runtime::{Group, Mesh, MeshSeat, TcpListener};
use topology::Epoch;

use super::Coordinator;
use crate::replica::{answer, register};
use crate::write::Keeper;
use crate::{repair, streaming};

impl Coordinator {
    /// Accepts connections of the ring's other nodes. On shard 0, when every shard has its coordinator.
    ///
    /// # Panics
    /// If the coordinator was made without a way to other nodes.
    pub fn accept_peers(&self, listener: TcpListener) {
        let incoming = self.inner.incoming.clone();
        let judge = move |hello: &Hello| match incoming.is_member(hello.host_id) {
            true => Verdict::Welcome,
            false => Verdict::Stranger,
        };
        let local = self.inner.internode.clone().expect("a node that listens for others says who it is");
        let requests = Rc::new(OnceCell::from(self.peer_sockets()));
        let listening = Listening { local, judge: Rc::new(judge), requests, control: None };
        let runtime = &self.inner.shards.runtime;
        let accepting = runtime.spawn(Group::Query, listen_for_peers(runtime.clone(), listener, listening));
        *self.inner.accepting.borrow_mut() = Some(accepting);
    }

    /// The way of greeted connections for requests to their shards.
    pub fn peer_sockets(&self) -> Mesh<PeerSocket, ()> {
        self.inner.peer_sockets.get().expect("it is set when the coordinator is made").clone()
    }

    /// Accepts no further connections of other nodes; for shard 0, before the shards end theirs.
    pub fn stop_accepting_peers(&self) {
        if let Some(accepting) = self.inner.accepting.take() {
            accepting.abort();
        }
    }

    /// Ends the connections on which this shard answers other nodes: requests being served are answered, if they take no longer than
    /// `patience`. What is answered later would not be in the last sync.
    pub async fn end_peers(&self, patience: Duration) {
        self.inner.incoming.end(patience).await;
    }
}

/// Takes the seat on which greeted connections come to this shard.
pub(super) fn open_peers(coordinator: &Coordinator, seat: MeshSeat<PeerSocket, ()>) {
    let mut verbs = Verbs::new();
    let (shards, keeper) = (Rc::clone(&coordinator.inner.shards), Keeper::new(Rc::clone(&coordinator.inner.writes)));
    register(&mut verbs, move |caller, request| {
        let (keeper, planned) = (keeper.clone(), Epoch(caller.epoch));
        let keep =
            move |name, created, mutations| async move { keeper.keep_copy((name, created), mutations, planned).await };
        answer(Rc::clone(&shards), caller, request, keep)
    });
    streaming::register(&mut verbs, &coordinator.inner.shards);
    repair::register(&mut verbs, &coordinator.inner.shards);
    let mesh = coordinator.inner.incoming.open(&coordinator.inner.shards.runtime, seat, verbs);
    coordinator.inner.peer_sockets.set(mesh).ok().expect("the seat is opened once");
}
