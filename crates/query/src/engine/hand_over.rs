//! Requests about a partition of another shard: that shard runs them, as if the client had sent them there.
//!
//! One that is prepared goes as it came, without a task on the shard that has the connection ([`Engine::hand_over`]); one that turns out to
//! be another shard's while a task runs it goes by that task.

use cluster::coordinator::Unsynced;
use cql_protocol::request::{self, Batch, Execute};
use cql_protocol::{ErrorBody, FrameHeader, Opcode, write_error};
use runtime::{Group, Responder, ShardId};
use storage::SyncError;

use super::Engine;
use super::reply::REPLY_BYTES_USUAL;
use crate::error::QueryError;
use crate::hand_over::{HandedBack, HandedOver};
use crate::{Outcome, Session};

/// A reply that may be given once the log is synced.
pub(super) struct HeldBack {
    header: FrameHeader,
    back: HandedBack,
    responder: Responder<HandedBack>,
}

impl HeldBack {
    /// What such replies wait in.
    pub(super) fn queue(runtime: &runtime::Runtime, storage: storage::Shard) -> Unsynced<HeldBack> {
        Unsynced::new(runtime, storage, HeldBack::give)
    }

    fn give(mut self, synced: Result<(), SyncError>) {
        if let Err(error) = synced {
            self.back.frame.clear();
            let body = ErrorBody::server_error(error.to_string());
            write_error(&mut self.back.frame, self.header.version, self.header.stream, &body);
        }
        self.responder.reply(self.back);
    }
}

impl Engine {
    /// Has `shard` run an EXECUTE or BATCH for which the synchronous way gave [`Outcome::OfShard`]; `done` gets what became of it, within a
    /// turn of the shard's loop, so it must be quick. Gives the body back where too many requests are under way there: the request is to be
    /// run as a task, which waits.
    pub fn hand_over(
        &self,
        shard: ShardId,
        header: &FrameHeader,
        body: Vec<u8>,
        done: impl FnOnce(HandedBack) + 'static,
    ) -> Result<(), Vec<u8>> {
        stdx::sometimes!("handed over");
        let header = *header;
        let request = HandedOver { header, body, keyspace: None, masked: false };
        let handed = self.handed_over().try_call(shard, request, move |back| {
            done(back.unwrap_or_else(|gone| {
                let mut back = HandedBack::default();
                let body = ErrorBody::server_error(gone.to_string());
                write_error(&mut back.frame, header.version, header.stream, &body);
                back
            }));
        });
        handed.map_err(|request| {
            stdx::sometimes!("too many handed over");
            request.body
        })
    }

    /// Where a request that a task runs turned out to be another shard's, has that shard run it.
    pub(super) async fn or_on_other_shard(
        &self,
        outcome: Result<(), QueryError>,
        session: &Session,
        (header, body): (&FrameHeader, &[u8]),
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        let Err(QueryError::OfShard { shard, masked }) = outcome else { return outcome };
        let keyspace = session.keyspace().map(|keyspace| keyspace.to_string());
        let request = HandedOver { header: *header, body: body.to_vec(), keyspace, masked };
        match self.handed_over().call(shard, request).await {
            Ok(back) => {
                out.clear();
                out.extend_from_slice(&back.frame);
                Ok(())
            }
            Err(gone) => Err(QueryError::Server { message: gone.to_string() }),
        }
    }

    /// Runs a request of another shard's client, which is about a partition of this shard.
    pub(super) fn serve_handed_over(&self, request: HandedOver, responder: Responder<HandedBack>) {
        let mut frame = Vec::with_capacity(REPLY_BYTES_USUAL);
        // Many requests are handled between two turns of the loop: long ones must not add up.
        let outcome = match self.inner.runtime.should_yield() {
            true => Outcome::MustWait,
            false => self.try_handed_over(&request, &mut frame),
        };
        let HandedOver { header, body, keyspace, masked } = request;
        match outcome {
            Outcome::Ready => responder.reply(HandedBack { frame, body }),
            Outcome::AfterSync(sequence) => {
                stdx::sometimes!("handed over and held");
                let held = HeldBack { header, back: HandedBack { frame, body }, responder };
                self.inner.held_back.push(sequence, held);
            }
            Outcome::MustWait | Outcome::OfShard(_) => {
                let engine = self.clone();
                self.inner.runtime.spawn(Group::Query, async move {
                    let session = Session::of_other_shard(keyspace.as_deref(), masked);
                    let frame = engine.run(&session, &header, &body).await.frame;
                    responder.reply(HandedBack { frame, body });
                });
            }
        }
    }

    fn try_handed_over(&self, request: &HandedOver, out: &mut Vec<u8>) -> Outcome {
        let HandedOver { header, body, masked, .. } = request;
        if *masked {
            return Outcome::MustWait;
        }
        self.inner.runtime.label(header.opcode.name());
        // It was decoded where it came from. What cannot be decoded here is refused by the task.
        let Ok(message) = request::message(header, body) else { return Outcome::MustWait };
        match header.opcode {
            Opcode::Execute => match Execute::decode(message, header.version) {
                Ok(request) => self.try_execute(&self.inner.of_other_shards, header, &request, out),
                Err(_) => Outcome::MustWait,
            },
            Opcode::Batch => match Batch::decode(message, header.version) {
                Ok(request) => self.try_batch(&self.inner.of_other_shards, header, &request, out),
                Err(_) => Outcome::MustWait,
            },
            _ => Outcome::MustWait,
        }
    }
}
