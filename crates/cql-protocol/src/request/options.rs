//! OPTIONS: asks what STARTUP may ask for. It has no body.

/// The request; SUPPORTED answers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options;
