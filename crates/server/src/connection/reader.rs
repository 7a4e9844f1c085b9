//! The reader of a connection: what arrives is decoded and executed here, in one task for all requests.

use std::rc::Rc;

use runtime::Elapsed;

use super::Connection;
use super::inbound::{Inbound, Next};
use crate::refusals::Refusal;
use crate::stream::discard;

/// Work after which the clock is asked whether the turn is over, which costs about as much as decoding a frame.
const WORK_PER_CLOCK: usize = 16;
/// Bytes of request and reply that count as much work as a small request does.
const BYTES_PER_WORK: usize = 512;

/// Why a turn ended.
enum Turn {
    /// The next frame lacks at least this many bytes.
    Needs(usize),
    /// Others are to run; there is more to do here.
    Yield,
    /// Too much is under way or unsent.
    Full,
    /// The client broke the protocol, and was told.
    End,
}

/// Reads and executes until the client goes away or breaks the protocol. The first bytes may have been read already.
pub(super) async fn run(connection: &Rc<Connection>, first: Vec<u8>) {
    let mut inbound = Inbound::new(connection.server.budget.clone(), connection.server.buffers.clone());
    if !first.is_empty() {
        let mut buffer = inbound.take_for_read(0);
        buffer.extend_from_slice(&first);
        inbound.put_back(buffer, first.len());
        drop(first);
    }
    if connection.must_log_in().is_some() {
        inbound.begin_login();
        let login_time = connection.server.budget.limits.login_time;
        let login = read_until(connection, &mut inbound, |connection| connection.started.get());
        match connection.server.runtime.timeout(login_time, login).await {
            Ok(Read::OfInterest) => inbound.end_login(),
            Ok(Read::Ended) => return,
            Err(Elapsed) => {
                let (server, reason) = (&connection.server, Refusal::LoginTimedOut);
                server.refusals.log(server.runtime.now(), connection.address, &reason);
                return connection.give_up_login();
            }
        }
    }
    read_until(connection, &mut inbound, |_| false).await;
}

/// Why reading ended.
enum Read {
    /// The client went away, or broke the protocol.
    Ended,
    /// The event has come that was waited for.
    OfInterest,
}

/// Reads and executes until the client goes away or breaks the protocol, or until an event that is looked for after each turn.
async fn read_until(connection: &Rc<Connection>, inbound: &mut Inbound, has_come: fn(&Connection) -> bool) -> Read {
    loop {
        match turn(connection, inbound) {
            Turn::Needs(bytes) => {
                let buffer = inbound.take_for_read(bytes);
                let (result, buffer) = connection.stream.read(buffer).await;
                match result {
                    Ok(count) if count > 0 => inbound.put_back(buffer, count),
                    Ok(_) => return Read::Ended,
                    Err(error) => {
                        tracing::debug!(%error, "client connection failed");
                        return Read::Ended;
                    }
                }
            }
            Turn::Yield => connection.server.runtime.yield_now().await,
            Turn::Full => connection.room.notified().await,
            Turn::End => return Read::Ended,
        }
        if connection.output.borrow().broken {
            return Read::Ended;
        }
        if connection.ended.get() {
            discard(connection.stream.tcp()).await;
            return Read::Ended;
        }
        if has_come(connection) {
            return Read::OfInterest;
        }
    }
}

/// Executes the frames that are there, for at most one turn of the shard.
fn turn(connection: &Rc<Connection>, inbound: &mut Inbound) -> Turn {
    let mut borrowed = connection.output.borrow_mut();
    let output = &mut *borrowed;
    let held_before = output.held.len();
    let mut requests: u64 = 0;
    let mut work = 0;
    let end = loop {
        if connection.is_full(output) {
            break Turn::Full;
        }
        let ready_before = output.ready.len();
        let (header, result) = match inbound.next(connection.version.get(), connection.transport.get()) {
            Ok(Next::Frame(header, body)) => {
                connection.version.set(Some(header.version));
                (Some(header), connection.dispatch(&header, body, output))
            }
            Ok(Next::Step) => match connection.server.runtime.should_yield() {
                true => break Turn::Yield,
                false => continue,
            },
            Ok(Next::Large(header, body)) => {
                connection.version.set(Some(header.version));
                (Some(header), connection.dispatch_large(&header, body, output))
            }
            Ok(Next::Needs(bytes)) => break Turn::Needs(bytes),
            Err(violation) => (None, Err(violation)),
        };
        if let Err(violation) = result {
            let violation = match header {
                Some(header) => violation.on(header.version, header.stream),
                None => violation,
            };
            violation.write(&mut output.ready);
            connection.server.count(|stats| stats.protocol_errors += 1);
            if violation.fatal {
                tracing::debug!(error = ?violation.error, "closing client connection: protocol error");
                break Turn::End;
            }
        }
        requests += 1;
        let bytes = output.ready.len() - ready_before + header.map_or(0, |header| header.length as usize);
        work += 1 + bytes / BYTES_PER_WORK;
        if work >= WORK_PER_CLOCK {
            work = 0;
            if connection.server.runtime.should_yield() {
                break Turn::Yield;
            }
        }
    };
    if requests > 0 {
        connection.server.count(|stats| stats.requests += requests);
    }
    if output.held.len() > held_before {
        connection.release_later();
    }
    if !output.ready.is_empty() {
        connection.to_write.notify();
    }
    end
}
