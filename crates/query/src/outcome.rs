//! What comes of a request that was tried on the synchronous way.

use cql_protocol::ErrorBody;
use runtime::ShardId;
use storage::LogSequence;

/// What [`crate::Engine::try_execute`] and its like did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The whole reply frame was appended; it may be sent at once.
    Ready,
    /// The whole reply frame was appended; it may be sent once [`crate::Engine::synced`] has reached this.
    AfterSync(LogSequence),
    /// Nothing was done and nothing was appended: the request is about a partition of that shard, and to be handed over with
    /// [`crate::Engine::hand_over`], or run.
    OfShard(ShardId),
    /// Nothing was done and nothing was appended: copy the request and give it to [`crate::Engine::run`].
    MustWait,
}

/// The answer to a QUERY or PREPARE whose text is too long to be looked at, whatever it says. `message` is its body.
pub fn refuse_text(message: &[u8]) -> Option<ErrorBody> {
    let length = u32::from_be_bytes(*message.first_chunk()?) as usize;
    let refused = length > cql_syntax::LENGTH_MAX && length < message.len();
    refused.then(|| {
        let max = cql_syntax::LENGTH_MAX;
        ErrorBody::syntax_error(format!("line 1:0 a statement has at most {max} bytes, this one {length}"))
    })
}
