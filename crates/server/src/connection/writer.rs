//! The writer and the releaser of a connection.

use std::io;
use std::rc::Rc;

use cql_protocol::{ErrorBody, Version, write_error};
use runtime::Group;

use super::Connection;
use super::transport::{Sealer, Transport};
use crate::notable::Answered;

/// A buffer that grew beyond this for a large reply is not kept.
const KEPT_BYTES_MAX: usize = 512 << 10;

/// Sends what is ready, one write at a time, until the connection closes and everything is sent, or a write fails.
pub(super) async fn run(connection: Rc<Connection>) {
    let mut frames = Vec::new();
    let mut sealed = Vec::new();
    let mut is_turn_of_large = false;
    loop {
        // What a large reply takes is given back when it is sent, or will never be. Large ones and the others take turns, but
        // what was answered before the transport was chosen goes first.
        let (unframed, _large) = {
            let mut output = connection.output.borrow_mut();
            output.writing = !output.is_empty();
            let server = &connection.server;
            output.unsettled.settle(&mut server.requests.borrow_mut(), server.runtime.poll_start());
            let may_be_large = output.ready.is_empty() || (is_turn_of_large && output.unframed == 0);
            match if may_be_large { output.pop_large() } else { None } {
                Some((reply, held)) => {
                    is_turn_of_large = false;
                    frames = reply;
                    (0, Some(held))
                }
                None => {
                    is_turn_of_large = true;
                    std::mem::swap(&mut output.ready, &mut frames);
                    (std::mem::take(&mut output.unframed), None)
                }
            }
        };
        if frames.is_empty() {
            connection.room.notify();
            if connection.server.draining.get() {
                connection.server.quiet.notify();
            }
            if connection.closing.get() && connection.is_quiet() {
                return;
            }
            connection.to_write.notified().await;
            continue;
        }
        let written;
        (written, frames, sealed) = send(&connection, frames, unframed, sealed).await;
        if let Err(error) = written {
            tracing::debug!(%error, "client disconnected before its replies were sent");
            connection.output.borrow_mut().broken = true;
            connection.shutdown();
            connection.room.notify();
            return;
        }
        connection.room.notify();
    }
}

/// Writes whole frames, sealed as the transport asks; gives both buffers back, empty. One that grew for a large reply is let
/// go.
async fn send(
    connection: &Connection,
    mut frames: Vec<u8>,
    unframed: usize,
    mut sealed: Vec<u8>,
) -> (io::Result<()>, Vec<u8>, Vec<u8>) {
    let transport = connection.transport.get();
    let mut written = Ok(());
    if transport == Transport::Plain {
        (written, frames) = connection.stream.write_all(frames).await;
    } else {
        let mut sealer = Sealer::new(transport, &frames, unframed);
        while written.is_ok() && sealer.next(&mut sealed) {
            (written, sealed) = connection.stream.write_all(sealed).await;
            sealed.clear();
            connection.server.runtime.maybe_yield().await;
        }
    }
    frames.clear();
    for buffer in [&mut frames, &mut sealed] {
        if buffer.capacity() > KEPT_BYTES_MAX {
            *buffer = Vec::new();
        }
    }
    (written, frames, sealed)
}

impl Connection {
    /// Wakes the releaser for newly held replies, or starts it.
    pub(super) fn release_later(self: &Rc<Self>) {
        if self.releaser_runs.replace(true) {
            self.to_release.notify();
        } else {
            self.server.runtime.spawn(Group::Query, release(self.clone()));
        }
    }
}

/// Moves held replies to those that are ready, as syncs cover them. One wait per sync, however many replies it covers.
async fn release(connection: Rc<Connection>) {
    let engine = connection.server.engine.clone();
    loop {
        let oldest = connection.output.borrow().held.oldest();
        let Some(oldest) = oldest else {
            if connection.closing.get() {
                return;
            }
            connection.to_release.notified().await;
            continue;
        };
        let synced = engine.wait_synced(oldest).await;
        {
            let mut output = connection.output.borrow_mut();
            let output = &mut *output;
            match synced {
                Ok(()) => {
                    let (mut requests, now) =
                        (connection.server.requests.borrow_mut(), connection.server.runtime.poll_start());
                    output.held.release(engine.synced(), &mut output.ready, |request, reply_bytes| {
                        let micros = requests.count(request.kind, request.arrived, now, 1);
                        let answered = Answered { kind: request.kind, micros, reply_bytes };
                        if answered.is_notable(&connection) {
                            connection.note_statement(answered, request.id);
                        }
                    });
                }
                Err(poisoned) => {
                    let version = connection.version.get().unwrap_or(Version::V5);
                    let error = ErrorBody::server_error(poisoned.to_string());
                    output.held.fail(|stream, request| {
                        write_error(&mut output.ready, version, stream, &error);
                        connection.server.auditing.failed_sync(&connection, request.id, &error.message);
                    });
                }
            }
        }
        connection.to_write.notify();
        connection.room.notify();
    }
}
