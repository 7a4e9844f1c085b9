//! The way of a connection from its socket to its first frame, on a port that speaks TLS: first byte, place, handshake.
//!
//! It is walked in the group for maintenance, since any host may ask for a handshake and clients do not wait for it. A plain port has none of it.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use cql_protocol::{ErrorBody, Version, write_error};
use runtime::{Group, Instant, ShardId, Socket, TcpStream};
use thiserror::Error;
use tls::{HandshakeError, TlsState, TlsStream};

use crate::connection;
use crate::ports::{Security, ShardAwarePorts};
use crate::server::Inner;
use crate::stream::{Stream, end_refused};

/// Time from accept to the end of the handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// Bytes that are read before a connection has a place.
const FIRST_BYTES: usize = 512;
/// The first byte of TLS: a record of its handshake.
const TLS_HANDSHAKE: u8 = 0x16;

/// A socket that shard 0 accepted, on its way to the shard that owns it.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) socket: Socket,
    /// That of the port.
    pub(crate) security: Security,
    pub(crate) shard_aware: ShardAwarePorts,
}

/// A connection in the node's count, from accept on, until it is dropped.
pub(crate) struct Counted(Rc<Inner>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.tell_ended();
    }
}

/// A connection whose first frame may come.
pub(crate) struct Opened {
    pub(crate) stream: Stream,
    /// Bytes of the first frames that were read already.
    pub(crate) first: Vec<u8>,
    pub(crate) shard_aware: ShardAwarePorts,
    pub(crate) counted: Counted,
}

/// Why a connection never gets to its first frame.
#[derive(Debug, Error)]
enum Refusal {
    #[error("the client does not use TLS")]
    Plain { first_byte: u8 },
    #[error("too many TLS handshakes are under way")]
    NoPlace,
    #[error("TLS handshake failed: {0}")]
    Handshake(HandshakeError),
    #[error("TLS handshake timed out")]
    TimedOut,
    #[error("connection failed: {0}")]
    Io(#[from] io::Error),
    #[error("the client closed the connection")]
    Closed,
}

/// Takes a socket and serves it until it ends.
pub(crate) fn open(server: Rc<Inner>, arrival: Arrival) {
    let Arrival { socket, security, shard_aware } = arrival;
    let counted = Counted(server.clone());
    let tcp = server.runtime.adopt(socket);
    if security == Security::Plain {
        let opened = Opened { stream: Stream::Plain(tcp), first: Vec::new(), shard_aware, counted };
        return connection::serve(server, opened);
    }
    server.runtime.clone().spawn(Group::Maintenance, async move {
        let limit = server.runtime.timeout(HANDSHAKE_TIME, begin(&server, &tcp, security));
        match limit.await.unwrap_or(Err(Refusal::TimedOut)) {
            Ok(_) if server.draining.get() => {}
            Ok((stream, first)) => {
                drop(tcp);
                connection::serve(server, Opened { stream, first, shard_aware, counted });
            }
            Err(refusal) => {
                refuse(&server, &tcp, &refusal).await;
                drop(counted);
            }
        }
    });
}

/// The connection, with what was read of its first frames.
async fn begin(server: &Rc<Inner>, tcp: &TcpStream, security: Security) -> Result<(Stream, Vec<u8>), Refusal> {
    let from = tcp.peer_addr()?;
    let (read, first) = tcp.read(Vec::with_capacity(FIRST_BYTES)).await;
    read?;
    match first.first() {
        None => return Err(Refusal::Closed),
        Some(&TLS_HANDSHAKE) => {}
        Some(_) if security == Security::Either => return Ok((Stream::Plain(tcp.clone()), first)),
        Some(&first_byte) => return Err(Refusal::Plain { first_byte }),
    }
    let identity = server.tls.get().expect("a port that speaks TLS is opened with certificates");
    let place = server.places.take(from.ip()).await.ok_or(Refusal::NoPlace)?;
    let session = identity.accept(server.runtime.wall_clock_micros());
    let tls = TlsStream::new(&server.runtime, tcp.clone(), TlsState::after(session, first));
    tls.shake().await.map_err(Refusal::Handshake)?;
    drop(place);
    Ok((Stream::Tls(Box::new(tls)), Vec::new()))
}

async fn refuse(server: &Rc<Inner>, tcp: &TcpStream, refusal: &Refusal) {
    let from = tcp.peer_addr().ok();
    match refusal {
        Refusal::Io(_) | Refusal::Closed | Refusal::Handshake(HandshakeError::Closed | HandshakeError::Io(_)) => {
            tracing::debug!(?from, %refusal, "client connection ended before its first frame");
            return;
        }
        _ => server.refusals.log(server.runtime.now(), from, refusal),
    }
    if let Refusal::Plain { first_byte } = refusal
        && let Some(version) = Version::ALL.into_iter().find(|version| version.number() == *first_byte)
    {
        let mut frame = Vec::new();
        let error = ErrorBody::protocol_error("This port requires TLS: enable it in the client's configuration");
        write_error(&mut frame, version, 0, &error);
        let _ = tcp.write_all(frame).await;
    }
    end_refused(&server.runtime, tcp).await;
}

/// Lines about refused connections: one a second, with how many had none.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// No line before.
    quiet_until: Cell<Option<Instant>>,
    suppressed: Cell<u64>,
}

impl Refusals {
    fn log(&self, now: Instant, from: Option<SocketAddr>, reason: &Refusal) {
        const BETWEEN: Duration = Duration::from_secs(1);
        if self.quiet_until.get().is_some_and(|until| now < until) {
            self.suppressed.set(self.suppressed.get() + 1);
            tracing::debug!(?from, %reason, "rejected client connection");
            return;
        }
        self.quiet_until.set(Some(now + BETWEEN));
        let from = from.map_or_else(String::new, |from| from.to_string());
        match self.suppressed.take() {
            0 => tracing::warn!(from, %reason, "rejected client connection"),
            others => tracing::warn!(from, %reason, others, "rejected client connection; others were not logged"),
        }
    }
}

impl Inner {
    /// One connection less; shard 0 counts.
    fn tell_ended(self: &Rc<Self>) {
        match self.runtime.shard() {
            ShardId(0) => self.count_ended(ShardId(0)),
            _ => self.send(ShardId(0), crate::server::Message::Ended),
        }
    }
}
