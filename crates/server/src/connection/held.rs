//! Replies that may be sent once the commit log is synced far enough.
//!
//! Sequences do not fall within a connection, whose requests are executed in order on one shard. So the replies that a sync
//! releases are always the oldest ones, their bytes lie together, and releasing them is one copy.

use std::collections::VecDeque;

use query::LogSequence;
use runtime::Instant;

use crate::requests::RequestKind;

/// The held replies of one connection, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Held {
    bytes: Vec<u8>,
    /// Bytes before this are released.
    released: usize,
    replies: VecDeque<Reply>,
}

/// One held reply: when it may go, whom it answers, how long it is, and of what request.
#[derive(Debug)]
struct Reply {
    sequence: LogSequence,
    stream: i16,
    length: usize,
    request: HeldRequest,
}

/// What is remembered of a request whose reply is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeldRequest {
    pub(crate) kind: RequestKind,
    pub(crate) arrived: Instant,
    /// The prepared statement that it runs, or the first of them. A text is gone when the reply may go.
    pub(crate) id: Option<[u8; 16]>,
}

impl Held {
    /// Holds a reply frame until the log is synced up to `sequence`.
    pub(crate) fn push(&mut self, sequence: LogSequence, stream: i16, frame: &[u8], request: HeldRequest) {
        debug_assert!(self.replies.back().is_none_or(|last| last.sequence <= sequence), "a log sequence fell");
        self.bytes.extend_from_slice(frame);
        self.replies.push_back(Reply { sequence, stream, length: frame.len(), request });
    }

    /// How many replies are held.
    pub(crate) fn len(&self) -> usize {
        self.replies.len()
    }

    /// What the oldest reply waits for.
    pub(crate) fn oldest(&self) -> Option<LogSequence> {
        self.replies.front().map(|reply| reply.sequence)
    }

    /// Moves every reply that waits for no more than `synced` to `ready`, and tells of each what its request was and how long it is.
    pub(crate) fn release(
        &mut self,
        synced: LogSequence,
        ready: &mut Vec<u8>,
        mut each: impl FnMut(&HeldRequest, usize),
    ) {
        let mut length = 0;
        while let Some(reply) = self.replies.front()
            && reply.sequence <= synced
        {
            length += reply.length;
            each(&reply.request, reply.length);
            self.replies.pop_front();
        }
        let end = self.released + length;
        ready.extend_from_slice(self.bytes.get(self.released..end).unwrap_or_default());
        self.released = end;
        if self.replies.is_empty() {
            self.bytes.clear();
            self.released = 0;
        } else if self.released > self.bytes.len() / 2 {
            // A client that never pauses always has a reply held: what was released must go all the same. At most as many
            // bytes are moved as were released, so it costs no more than another copy of each.
            self.bytes.drain(..self.released);
            self.released = 0;
        }
    }

    /// Drops every reply, giving each stream and request to `each`: the log will never be synced again.
    pub(crate) fn fail(&mut self, mut each: impl FnMut(i16, &HeldRequest)) {
        for reply in self.replies.drain(..) {
            each(reply.stream, &reply.request);
        }
        self.bytes.clear();
        self.released = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A_WRITE: HeldRequest = HeldRequest { kind: RequestKind::Write, arrived: Instant::from_nanos(7), id: None };

    fn nobody(_: &HeldRequest, _: usize) {}

    #[test]
    fn a_sync_releases_what_it_covers_and_no_more() {
        let mut held = Held::default();
        for (sequence, stream, frame) in [(5, 1, "one"), (5, 2, "two"), (7, 3, "three"), (9, 4, "four")] {
            held.push(LogSequence(sequence), stream, frame.as_bytes(), A_WRITE);
        }
        let mut ready = b"ready ".to_vec();
        held.release(LogSequence(4), &mut ready, nobody);
        assert_eq!(ready, b"ready ");
        assert_eq!(held.oldest(), Some(LogSequence(5)));
        let mut told = Vec::new();
        held.release(LogSequence(7), &mut ready, |request, length| told.push((*request, length)));
        assert_eq!(told, [(A_WRITE, 3), (A_WRITE, 3), (A_WRITE, 5)]);
        assert_eq!(ready, b"ready onetwothree");
        assert_eq!((held.len(), held.oldest()), (1, Some(LogSequence(9))));
        held.push(LogSequence(9), 5, b"five", A_WRITE);
        held.release(LogSequence(100), &mut ready, nobody);
        assert_eq!(ready, b"ready onetwothreefourfive");
        assert_eq!((held.len(), held.oldest(), held.bytes.len()), (0, None, 0));
    }

    #[test]
    fn released_bytes_go_although_a_reply_is_always_held() {
        let mut held = Held::default();
        let mut ready = Vec::new();
        held.push(LogSequence(0), 0, b"frame 0000", A_WRITE);
        for sequence in 1..10_000 {
            held.push(LogSequence(sequence), 0, format!("frame {sequence:04}").as_bytes(), A_WRITE);
            ready.clear();
            held.release(LogSequence(sequence - 1), &mut ready, nobody);
            assert_eq!(ready, format!("frame {:04}", sequence - 1).as_bytes());
        }
        assert_eq!(held.len(), 1);
        assert!(held.bytes.len() <= 20, "{} bytes are kept for one reply", held.bytes.len());
    }

    #[test]
    fn a_poisoned_log_fails_each_held_reply() {
        let mut held = Held::default();
        held.push(LogSequence(1), 11, b"a", A_WRITE);
        held.push(LogSequence(2), 12, b"b", A_WRITE);
        let mut streams = Vec::new();
        held.fail(|stream, _| streams.push(stream));
        assert_eq!(streams, [11, 12]);
        assert_eq!((held.len(), held.bytes.len()), (0, 0));
    }
}
