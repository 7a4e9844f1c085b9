//! Replies on their way out.

use super::held::Held;

/// What a connection still has to send.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// Whole frames that may be sent, unsealed.
    pub(crate) ready: Vec<u8>,
    /// The first bytes of `ready` go as they are, because they were answered before the transport was chosen.
    pub(crate) unframed: usize,
    /// Frames that wait for the log.
    pub(crate) held: Held,
    /// A write is under way.
    pub(crate) writing: bool,
    /// A write has failed: nothing more can be sent.
    pub(crate) broken: bool,
}
