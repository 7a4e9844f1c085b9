//! Why a sizing cannot be given. A host is always examined: what cannot be read is a finding that says so.

use thiserror::Error;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DoctorError {
    /// A flag's value, or two together, make no sense.
    #[error("{flag}: {reason}")]
    Flag {
        /// The flag.
        flag: &'static str,
        /// Reason, with the valid values.
        reason: String,
    },
    /// No count of nodes that could be meant is enough.
    #[error("even {nodes} nodes are not enough for {what}; raise {flag}")]
    TooLarge {
        /// The quantity that is too large.
        what: String,
        /// The most nodes that were tried.
        nodes: u64,
        /// The flag whose value is too small for it.
        flag: &'static str,
    },
}
