//! The level of the log, which an operator may change while the node runs.

use std::sync::Arc;

use tracing::Level;

/// How the level is asked for and changed. Whoever set the log up makes it.
#[derive(Clone)]
pub struct LogLevel {
    /// The level now.
    pub get: Arc<dyn Fn() -> Level + Send + Sync>,
    /// Changes it; false: it cannot be changed.
    pub set: Arc<dyn Fn(Level) -> bool + Send + Sync>,
}
