//! A load for the echo server: a fixed number of requests is always under way on each connection, and replies that come
//! together are followed by as many requests in one write.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use runtime::{Group, Runtime, TcpStream};

use crate::frame;

/// What to ask for.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// The server.
    pub address: SocketAddr,
    /// Connections.
    pub connections: u32,
    /// Requests under way on each.
    pub depth: u16,
    /// Requests of all connections together.
    pub requests: u64,
    /// Bytes of a request's body.
    pub request_bytes: usize,
}

/// What came of it.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    /// Requests that were answered.
    pub requests: u64,
    /// How long it took.
    pub elapsed: Duration,
}

/// Runs the load.
pub async fn run(rt: &Runtime, load: Load) -> io::Result<Outcome> {
    let mut streams = Vec::new();
    for _ in 0..load.connections {
        streams.push(rt.connect(load.address).await?);
    }
    let start = rt.now();
    let share = load.requests / u64::from(load.connections.max(1));
    let clients: Vec<_> =
        streams.into_iter().map(|stream| rt.spawn(Group::Query, client(stream, load, share))).collect();
    let mut requests = 0;
    for client in clients {
        requests += client.await?;
    }
    Ok(Outcome { requests, elapsed: rt.now() - start })
}

async fn client(stream: TcpStream, load: Load, share: u64) -> io::Result<u64> {
    let body = vec![7; load.request_bytes];
    let mut requests = Vec::new();
    let first = u64::from(load.depth).min(share);
    for index in 0..first {
        frame::append_request(&mut requests, index as u16, &body);
    }
    let (mut sent, mut answered) = (first, 0);
    let mut replies = Vec::with_capacity(256 << 10);
    while answered < share {
        if !requests.is_empty() {
            let (result, back) = stream.write_all(requests).await;
            result?;
            requests = back;
            requests.clear();
        }
        let (result, back) = stream.read(replies).await;
        replies = back;
        if result? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut rest = &replies[..];
        while let Some(length) = frame::frame_length(rest)
            && let Some((reply, after)) = rest.split_at_checked(length)
        {
            answered += 1;
            if sent < share {
                frame::append_request(&mut requests, frame::reply_stream(reply), &body);
                sent += 1;
            }
            rest = after;
        }
        let taken = replies.len() - rest.len();
        replies.drain(..taken);
    }
    Ok(answered)
}
