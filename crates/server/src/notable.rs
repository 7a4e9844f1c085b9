//! Requests that were slow, or whose replies were large: the last ones of the shard, for operators.
//!
//! What a request asked is looked up only when it is noted. A request that is answered within the call costs one comparison of its reply's
//! length, any other one more of a time that was measured in any case; one that waits for the log's sync keeps the id of its statement.

use std::collections::VecDeque;

use cql_protocol::FrameHeader;
use query::StatementSummary;

use crate::connection::Connection;
use crate::requests::RequestKind;

/// How many are kept.
const KEPT_MAX: usize = 100;

/// A request that was slow or large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotableRequest {
    /// When it was answered, milliseconds since 1970.
    pub when_ms: i64,
    /// What it asked.
    pub asked: StatementSummary,
    /// What it took, microseconds.
    pub micros: u64,
    /// Bytes of its reply, uncompressed.
    pub reply_bytes: usize,
    /// Who asked; empty if the client had gone before it was known.
    pub client: String,
    /// What it was.
    pub kind: RequestKind,
}

/// Those that are kept, oldest first, and how many there were.
#[derive(Debug, Default)]
pub(crate) struct Notable {
    kept: VecDeque<NotableRequest>,
    slow: u64,
    large: u64,
}

impl Notable {
    pub(crate) fn all(&self) -> Vec<NotableRequest> {
        self.kept.iter().cloned().collect()
    }

    pub(crate) fn slow_count(&self) -> u64 {
        self.slow
    }

    pub(crate) fn large_count(&self) -> u64 {
        self.large
    }

    fn note(&mut self, request: NotableRequest, is_slow: bool, is_large: bool) {
        self.slow += u64::from(is_slow);
        self.large += u64::from(is_large);
        if self.kept.len() == KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back(request);
    }
}

/// What is known of a request when it is answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered {
    pub(crate) kind: RequestKind,
    pub(crate) micros: u64,
    pub(crate) reply_bytes: usize,
}

impl Answered {
    /// Whether it is to be noted.
    #[inline]
    pub(crate) fn is_notable(&self, connection: &Connection) -> bool {
        let limits = &connection.server.budget.limits;
        self.micros >= limits.slow_request_micros || self.reply_bytes >= limits.large_reply_bytes
    }
}

impl Connection {
    /// Notes a request whose frame is at hand.
    #[cold]
    pub(crate) fn note_request(&self, answered: Answered, header: &FrameHeader, body: &[u8]) {
        self.note(answered, self.server.engine.summary(&self.session, header, body));
    }

    /// Notes a request of which the id of its statement is left, or not even that.
    #[cold]
    pub(crate) fn note_statement(&self, answered: Answered, id: Option<[u8; 16]>) {
        let id = id.as_ref().map_or(&[][..], |id| &id[..]);
        self.note(answered, self.server.engine.summary_by_id(&self.session, id));
    }

    fn note(&self, answered: Answered, asked: StatementSummary) {
        let Answered { kind, micros, reply_bytes } = answered;
        let server = &self.server;
        let limits = &server.budget.limits;
        let request = NotableRequest {
            when_ms: server.runtime.wall_clock_micros() / 1000,
            asked,
            micros,
            reply_bytes,
            client: self.session.client().map_or_else(String::new, |address| address.to_string()),
            kind,
        };
        tracing::debug!(
            client = request.client,
            keyspace = request.asked.keyspace,
            statement = request.asked.statement,
            micros,
            reply_bytes,
            "slow or large request"
        );
        let is_slow = micros >= limits.slow_request_micros;
        server.notable.borrow_mut().note(request, is_slow, reply_bytes >= limits.large_reply_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_ones_are_kept() {
        let mut notable = Notable::default();
        for micros in 0..250 {
            let request = NotableRequest {
                when_ms: 1,
                asked: StatementSummary::default(),
                micros,
                reply_bytes: 0,
                client: String::new(),
                kind: RequestKind::Read,
            };
            notable.note(request, true, micros % 2 == 0);
        }
        let kept = notable.all();
        assert_eq!((kept.len(), kept[0].micros, kept[KEPT_MAX - 1].micros), (KEPT_MAX, 150, 249));
        assert_eq!((notable.slow_count(), notable.large_count()), (250, 125));
    }
}
