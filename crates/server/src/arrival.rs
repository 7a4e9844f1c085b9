//! The way of a connection from its socket to its first frame, on a port that speaks TLS: first byte, place, handshake.
//!
//! It is walked in the group for maintenance, since any host may ask for a handshake and clients do not wait for it. A plain port has none of it.

use std::rc::Rc;
use std::time::Duration;

use cql_protocol::{ErrorBody, Version, write_error};
use runtime::{Group, TcpStream};
use tls::{HandshakeError, TlsState, TlsStream};

use crate::connection::{self, Opened};
use crate::ports::{Arrival, Security};
use crate::refusals::Refusal;
use crate::server::{Counted, Inner};
use crate::stream::{Stream, end_refused};

/// Time from accept to the end of the handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// Bytes that are read before a connection has a place.
const FIRST_BYTES: usize = 512;
/// The first byte of TLS: a record of its handshake.
const TLS_HANDSHAKE: u8 = 0x16;

/// Takes a socket and serves it until it ends.
pub(crate) fn open(server: Rc<Inner>, arrival: Arrival) {
    let Arrival { socket, address, standing, security, shard_aware } = arrival;
    let counted = Counted::new(&server, standing);
    let tcp = server.runtime.adopt(socket);
    if security == Security::Plain {
        let opened = Opened { stream: Stream::Plain(tcp), first: Vec::new(), address, shard_aware, counted };
        return connection::serve(server, opened);
    }
    server.runtime.clone().spawn(Group::Maintenance, async move {
        let limit = server.runtime.timeout(HANDSHAKE_TIME, begin(&server, &tcp, security));
        match limit.await.unwrap_or(Err(Refusal::TimedOut)) {
            Ok(_) if server.draining.get() => {}
            Ok((stream, first)) => {
                drop(tcp);
                connection::serve(server, Opened { stream, first, address, shard_aware, counted });
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
