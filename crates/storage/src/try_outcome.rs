//! The outcome of what is tried within the call.

/// The outcome of a call that does not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum TryOutcome<T> {
    /// It is done.
    Done(T),
    /// Nothing was done, for it would have to wait: the asynchronous call of the same name does.
    WouldBlock,
}

impl<T> TryOutcome<T> {
    /// The outcome of what is done.
    #[inline]
    pub fn done(self) -> Option<T> {
        match self {
            TryOutcome::Done(outcome) => Some(outcome),
            TryOutcome::WouldBlock => None,
        }
    }

    /// True if it would have to wait.
    #[inline]
    pub fn would_block(&self) -> bool {
        matches!(self, TryOutcome::WouldBlock)
    }
}
