//! What shards tell each other of requests that the one with the connection hands over to the one with the partition.

use cql_protocol::FrameHeader;

/// A client's request on its way to the shard that has its partition.
#[derive(Debug)]
pub(crate) struct HandedOver {
    /// The frame's header.
    pub(crate) header: FrameHeader,
    /// Its body, uncompressed.
    pub(crate) body: Vec<u8>,
    /// The session's keyspace, where the request may leave one to it.
    pub(crate) keyspace: Option<String>,
    /// True if the client sees values of masked columns as their masks show them: the shard that has the connection has decided it.
    pub(crate) masked: bool,
}

/// What became of a request that was handed over.
#[derive(Debug, Default)]
pub struct HandedBack {
    /// The reply, a whole frame, uncompressed.
    pub frame: Vec<u8>,
    /// The request's body, as it was handed over; empty if its shard is gone.
    pub body: Vec<u8>,
}
