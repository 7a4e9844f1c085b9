//! What comes of a request that was tried on the synchronous way.

use storage::LogSequence;

/// What [`crate::Engine::try_execute`] and its like did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The whole reply frame was appended; it may be sent at once.
    Ready,
    /// The whole reply frame was appended; it may be sent once [`crate::Engine::synced`] has reached this.
    AfterSync(LogSequence),
    /// Nothing was done and nothing was appended: copy the request and give it to [`crate::Engine::run`].
    MustWait,
}

/// A request frame that outlives its connection's read buffer.
#[derive(Debug, Clone)]
pub struct OwnedRequest {
    /// The frame's header.
    pub header: cql_protocol::FrameHeader,
    /// The frame's body, decompressed.
    pub body: Vec<u8>,
}
