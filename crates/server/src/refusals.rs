//! Why connections are refused before their first frame, and the lines about them.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use runtime::Instant;
use thiserror::Error;
use tls::HandshakeError;

/// Why a connection never gets to its first frame.
#[derive(Debug, Error)]
pub(crate) enum Refusal {
    #[error("the client does not use TLS")]
    Plain { first_byte: u8 },
    #[error("too many TLS handshakes are under way")]
    NoPlace,
    #[error("TLS handshake failed: {0}")]
    Handshake(HandshakeError),
    #[error("TLS handshake timed out")]
    TimedOut,
    #[error("too many clients have not logged in yet")]
    NotLoggedIn,
    #[error("the client did not log in in time")]
    LoginTimedOut,
    #[error("connection failed: {0}")]
    Io(#[from] io::Error),
    #[error("the client closed the connection")]
    Closed,
}

/// Lines about refused connections: one a second, with how many had none.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// No line before.
    quiet_until: Cell<Option<Instant>>,
    suppressed: Cell<u64>,
}

impl Refusals {
    pub(crate) fn log(&self, now: Instant, from: Option<SocketAddr>, reason: &Refusal) {
        const BETWEEN: Duration = Duration::from_secs(1);
        if self.quiet_until.get().is_some_and(|until| now < until) {
            self.suppressed.set(self.suppressed.get() + 1);
            tracing::debug!(?from, %reason, "rejected client connection");
            return;
        }
        self.quiet_until.set(Some(now + BETWEEN));
        let from = from.map_or_else(String::new, |from| from.to_string());
        match self.suppressed.take() {
            0 => tracing::warn!(from, %reason, "rejected client connection"),
            others => tracing::warn!(from, %reason, others, "rejected client connection; others were not logged"),
        }
    }
}
