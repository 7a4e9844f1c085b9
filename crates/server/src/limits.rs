//! How much a client may take of the server. Each limit has its reason and its consequence here, in one place.

use std::time::Duration;

/// The part of the connections that may be without a login: a tenth, and a few in any case.
const UNAUTHENTICATED_PART: u32 = 10;
const UNAUTHENTICATED_MIN: u32 = 4;

/// Limits of the native protocol's server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Greatest frame, header included, in bytes. A greater one is discarded as it arrives and answered with an error, as
    /// Cassandra does; default 256 MiB, Cassandra's.
    pub frame_bytes_max: usize,
    /// Connections of the whole node. One more is answered with an error frame and closed.
    pub connections_max: u32,
    /// Connections that have not logged in yet, of the whole node, where a login is needed. They are a part of `connections_max`, and one host has at most half
    /// of them: whoever does not log in keeps no other out.
    pub unauthenticated_max: u32,
    /// Greatest frame of a client that has not logged in, header included, in bytes: what it sends is short, and nothing is known of it.
    pub unauthenticated_frame_bytes_max: usize,
    /// Unsent replies of a connection that may make no requests yet, in bytes. Beyond it the connection is not read until they have gone: whoever asks before a login
    /// and reads no answer holds little.
    pub unauthenticated_out_bytes_max: usize,
    /// Time that a client has to log in.
    pub login_time: Duration,
    /// Requests of one connection that are under way at once: those that became tasks and those whose reply waits for a
    /// sync. At the limit the connection is not read any more, which TCP tells the client. 1,024 is what the common drivers
    /// keep below by default (Java 1,024; the protocol itself would allow 32,768), and bounds a connection's tasks.
    pub connection_requests_max: usize,
    /// Bytes of one connection's requests that became tasks. At the limit the connection is not read any more, so that one
    /// client cannot use up what the shard may hold; a single request may be greater.
    pub connection_bytes_in_flight_max: usize,
    /// Requests of one shard that became tasks. One more is answered with OVERLOADED: each holds memory of its own, and
    /// not reading would not help against many connections.
    pub shard_requests_max: usize,
    /// Bytes of requests that one shard holds beyond each connection's small buffer: large frames that are arriving and
    /// requests that became tasks. Beyond it they are answered with OVERLOADED.
    pub shard_bytes_in_flight_max: usize,
    /// Replies waiting for a slow reader, in bytes. Beyond it the connection is not read until they have gone; a single
    /// reply may be greater.
    pub out_bytes_max: usize,
    /// Unsent replies up to which events are still pushed; beyond it they are dropped for this connection.
    pub event_bytes_max: usize,
    /// A request that took as many microseconds is noted as slow; `u64::MAX`: none is. Default 500 ms, Cassandra's.
    pub slow_request_micros: u64,
    /// A request whose reply has as many bytes is noted as large.
    pub large_reply_bytes: usize,
}

impl Limits {
    /// Sets how many connections there may be, and how many of them without a login.
    pub fn set_connections_max(&mut self, connections: u32) {
        self.connections_max = connections;
        self.unauthenticated_max = (connections / UNAUTHENTICATED_PART).max(UNAUTHENTICATED_MIN);
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            frame_bytes_max: 256 << 20,
            connections_max: 10_000,
            unauthenticated_max: 1_000,
            unauthenticated_frame_bytes_max: 16 << 10,
            unauthenticated_out_bytes_max: 16 << 10,
            login_time: Duration::from_secs(10),
            connection_requests_max: 1_024,
            connection_bytes_in_flight_max: 64 << 20,
            shard_requests_max: 16_384,
            shard_bytes_in_flight_max: 256 << 20,
            out_bytes_max: 1 << 20,
            event_bytes_max: 4 << 20,
            slow_request_micros: 500_000,
            large_reply_bytes: 1 << 20,
        }
    }
}
