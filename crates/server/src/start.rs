//! The start of a shard's part of the server, and what it does with messages of other shards.

use std::rc::Rc;

use query::Engine;
use runtime::{Group, Responder, Runtime, ShardId};

use crate::Limits;
use crate::arrival;
use crate::events;
use crate::server::{Inner, Message, Seat, Server};

impl Server {
    /// Starts this shard's part. It serves the connections that shard 0 hands over once that accepts.
    pub fn start(runtime: &Runtime, seat: Seat, engine: Engine, limits: Limits) -> Server {
        let inner = Inner::new(runtime, engine, limits);
        let handler = {
            // Weak, because the mesh lives inside what the handler uses.
            let inner = Rc::downgrade(&inner);
            move |from: ShardId, message: Message, responder: Responder<()>| {
                if let Some(inner) = inner.upgrade() {
                    receive(&inner, from, message);
                }
                responder.reply(());
            }
        };
        let mesh = seat.0.open(runtime, handler);
        inner.use_mesh(mesh);
        runtime.spawn(Group::Query, events::push_all(inner.clone()));
        runtime.spawn(Group::Maintenance, inner.buffers.clone().let_idle_go(runtime.clone()));
        Server { inner }
    }
}

fn receive(inner: &Rc<Inner>, from: ShardId, message: Message) {
    match message {
        Message::Adopt(arrival) => arrival::open(inner.clone(), arrival),
        news => inner.take_note(from, &news),
    }
}
