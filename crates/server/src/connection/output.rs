//! Replies on their way out.

use std::collections::VecDeque;

use cql_protocol::{ErrorBody, FrameHeader, write_error};

use super::held::Held;
use crate::budget::HeldBytes;
use crate::requests::Unsettled;

/// What a connection still has to send.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// Whole frames that may be sent, unsealed.
    pub(crate) ready: Vec<u8>,
    /// Large replies that may be sent, each a whole frame in memory of its own, since it would take long to copy, with what it
    /// takes of the shard's limit.
    pub(crate) large: VecDeque<(Vec<u8>, HeldBytes)>,
    /// Bytes of `large`.
    pub(crate) large_bytes: usize,
    /// The first bytes of `ready` go as they are, because they were answered before the transport was chosen.
    pub(crate) unframed: usize,
    /// Frames that wait for the log.
    pub(crate) held: Held,
    /// Requests whose replies are ready and are not counted yet.
    pub(crate) unsettled: Unsettled,
    /// A write is under way.
    pub(crate) writing: bool,
    /// A write has failed: nothing more can be sent.
    pub(crate) broken: bool,
}

impl Output {
    /// Bytes that may be sent and are not taken by the writer yet.
    pub(crate) fn len(&self) -> usize {
        self.ready.len() + self.large_bytes
    }

    /// Whether nothing waits to be sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.large.is_empty()
    }

    /// The next large reply.
    pub(crate) fn pop_large(&mut self) -> Option<(Vec<u8>, HeldBytes)> {
        let next = self.large.pop_front()?;
        self.large_bytes -= next.0.len();
        Some(next)
    }

    /// Adds a task's reply. A large one counts against the shard's limit until it is sent: a client may ask for a thousand
    /// of them and read none. Where that is too much it becomes an error, unless it is the only one.
    pub(crate) fn push_reply(
        &mut self,
        header: &FrameHeader,
        reply: Vec<u8>,
        hold: impl FnOnce(usize, bool) -> Option<HeldBytes>,
    ) {
        /// What each connection may have without being counted is bounded by the number of requests under way.
        const LARGE: usize = 64 << 10;
        /// Where a client does not read, replies of this size stay in memory of their own too: `ready`, doubling as it grows, would leave
        /// memory of all sizes behind.
        const LARGE_BEHIND_OTHERS: usize = 4 << 10;
        if reply.len() > LARGE || reply.len() > LARGE_BEHIND_OTHERS && self.ready.len() >= LARGE {
            match hold(reply.len(), self.is_empty()) {
                Some(held) => {
                    self.large_bytes += reply.len();
                    self.large.push_back((reply, held));
                    return;
                }
                None => {
                    let error = ErrorBody::overloaded("Too many bytes of replies wait for their clients on this shard");
                    return write_error(&mut self.ready, header.version, header.stream, &error);
                }
            }
        }
        // What is kept from one write to the next has room for many replies: it is not given away for one that fits.
        match self.ready.is_empty() && self.ready.capacity() < reply.len() {
            true => self.ready = reply,
            false => self.ready.extend_from_slice(&reply),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use cql_protocol::{Flags, Opcode, Version};

    use super::*;
    use crate::Limits;
    use crate::budget::Budget;

    #[test]
    fn large_replies_of_a_client_that_does_not_read_are_bounded() {
        let limits = Limits { shard_bytes_in_flight_max: 1 << 20, ..Limits::default() };
        let budget = Rc::new(Budget::new(limits));
        let mut output = Output::default();
        let header =
            FrameHeader { version: Version::V4, flags: Flags::NONE, stream: 1, opcode: Opcode::Query, length: 0 };
        for _ in 0..100 {
            output.push_reply(&header, vec![0; 300 << 10], |bytes, in_any_case| budget.hold(bytes, in_any_case));
        }
        assert!(output.len() < 1 << 20, "{} bytes wait", output.len());
        assert_eq!(budget.refused(), 97);
        drop(output);
        assert_eq!(budget.bytes(), 0);
        let mut output = Output::default();
        output.push_reply(&header, vec![0; 2 << 20], |bytes, in_any_case| budget.hold(bytes, in_any_case));
        assert_eq!(output.len(), 2 << 20, "a single reply may be larger");
    }

    #[test]
    fn a_small_reply_does_not_take_the_place_of_a_grown_buffer() {
        let header =
            FrameHeader { version: Version::V4, flags: Flags::NONE, stream: 1, opcode: Opcode::Query, length: 0 };
        let mut output = Output { ready: Vec::with_capacity(4096), ..Output::default() };
        let buffer = output.ready.as_ptr();
        for _ in 0..10 {
            output.push_reply(&header, vec![7; 300], |_, _| None);
        }
        assert_eq!((output.ready.len(), output.ready.as_ptr()), (3000, buffer), "nothing was moved");
    }
}
